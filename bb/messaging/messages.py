"""Messages as a fold, with one entry for each message, whatever the number of recipients."""

from __future__ import annotations

from bb.coordination.protocol.events import BLOCKED
from bb.kernel.total_order import earliest, event, sortable
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "letter"
FACTS = (Sent,)


def keys(fact: Sent, at: Place) -> list[str]:  # noqa: ARG001
    """The entry of the message."""
    return [event(at)]


def step(state: State | None, fact: Sent, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    earliest(after, "said", at, [ts, fact.as_dict()])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """The search terms of a message."""
    place, message = sortable(state["said"][:3]), sent(state)
    always = [(f"bead {message.bead}", place)]
    if message.payload is None:
        return always
    blocked = [(blocked_term(message.sender), place)] if message.category == BLOCKED else []
    return [*always, *blocked, ("protocol", place), (message.category, place)]


def blocked_term(sender: str) -> str:
    """The search term for the BLOCKED messages of SENDER."""
    return f"blocked {sender}"


def sent(state: State) -> Sent:
    """The message that STATE describes."""
    fields: dict[str, Any] = state["said"][3][1]
    return Sent(*fields.values())  # the stored order is the order of the fields


def sent_at(state: State) -> str:
    """The time at which it was sent, by its sender's clock."""
    return str(state["said"][3][0])
