"""What was said, each message once, however many it went to."""

from __future__ import annotations

from bb.kernel.order import earliest, event, sortable
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.order import Place, State

NAME = "letter"
FACTS = (Sent,)


def keys(fact: Sent, at: Place) -> list[str]:  # noqa: ARG001
    """A message is an entry of its own."""
    return [event(at)]


def step(state: State | None, fact: Sent, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    earliest(after, "said", at, [ts, fact.as_dict()])
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What a message is found by."""
    place, said = sortable(state["said"][:3]), sent(state)
    found = [(f"bead {said.bead}", place)]
    return found if said.payload is None else [*found, ("protocol", place), (said.category, place)]


def sent(state: State) -> Sent:
    """The message that STATE describes."""
    said: dict[str, Any] = state["said"][3][1]
    return Sent(*said.values())  # in the order of its fields, as it was kept


def sent_at(state: State) -> str:
    """When it was sent, by its sender's clock."""
    return str(state["said"][3][0])
