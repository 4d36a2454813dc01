"""Redactions: events whose payload is removed.

An event may be redacted by its author or by the person. That is checked when a line is read, so the two lines may
arrive in any order. Events that change state, such as a release, takeover or retirement, cannot be redacted: they have
no secrets, and without them an earlier state would return. The person's orders cannot be redacted either: a freeze is
ended by a thaw, which is visible. The reason of an order cannot be redacted alone, because the line's head has one
digest of the whole payload, and a changed payload could not be distinguished from a forged one.
"""

from __future__ import annotations

from bb.coordination.facts import Redacted
from bb.kernel import ids
from bb.kernel.errors import Forbidden, Refused
from bb.kernel.total_order import earliest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from bb.kernel.total_order import Place, State

Hidden: TypeAlias = "Mapping[str, frozenset[str]]"  # by event: the agents that redacted it

NAME = "redaction"
FACTS = (Redacted,)

LASTING = frozenset(
    [
        *("group.create", "actor.remove", "x.bb.merged", "x.bb.redacted", "x.bb.resolved"),
        *("x.bb.released", "x.bb.expired", "x.bb.taken_over", "x.bb.renewed", "x.bb.seen"),
        *("x.bb.transferred", "x.bb.unpaused", "x.bb.signed", "x.bb.left_line"),
    ]
)

NotRedactable = Refused.declare(
    "NOT_REDACTABLE",
    "Events of that kind cannot be redacted",
    hint=(
        "only messages, notices, registrations and agents' reservations can be redacted; to undo an order, give the "
        "opposite order, such as `bb thaw` or `bb agent unpause`"
    ),
)

ORDER = (
    "undo it with the opposite order, such as `bb thaw` or `bb agent unpause`. If its reason has a secret, change the "
    "secret, give the order again with another --why, and redact the messages that repeat the reason (docs/sync.md)"
)

RedactForbidden = Forbidden.declare(
    "REDACT_FORBIDDEN",
    "Another agent recorded that event, so you cannot redact it",
    hint="ask its author or the person to redact it: `bb send user 'text'`",
)


def redact(event: str, kind: str, by: str, who: str, reason: str) -> Redacted:
    """Decide whether WHO may redact an EVENT of a KIND, which was recorded BY an agent."""
    if kind in LASTING:
        raise NotRedactable(f"{event} is a {kind} event; events of that kind cannot be redacted", event_id=event)
    if _is_order(kind, by):
        message = f"{event} is an order of the person ({kind}); orders cannot be redacted"
        raise NotRedactable(message, hint=ORDER, event_id=event)
    if who not in (by, ids.PERSON):
        raise RedactForbidden(f"{by} recorded {event}", event_id=event, by=by)
    return Redacted(who, event, reason)


def keys(fact: Redacted, at: Place) -> list[str]:  # noqa: ARG001
    """The redacted event."""
    return [fact.event]


def step(state: State | None, fact: Redacted, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    earliest(after, f"by {fact.agent}", at, [ts, fact.reason])
    return after


def hidden(states: Iterable[tuple[str, State]]) -> dict[str, frozenset[str]]:
    """The events to hide, each with the agents that redacted it."""
    return {event: frozenset(register.removeprefix("by ") for register in state) for event, state in states}


def is_hidden(event: str, by: str, kind: str, known: Hidden) -> bool:
    """Whether an event of a KIND, recorded BY an agent, has a valid redaction."""
    wishes = known.get(event)
    if wishes is None or kind in LASTING or wishes.isdisjoint((by, ids.PERSON)):
        return False
    return not _is_order(kind, by)


def _is_order(kind: str, by: str) -> bool:
    if by != ids.PERSON:
        return False
    from bb.coordination.records import signed_lines  # noqa: PLC0415  (rarely needed)

    return signed_lines.is_order(kind, by)
