"""What was taken back: events whose payload nobody is to read any more.

An event may be redacted by whoever recorded it, or by the person. That is judged when a line is read, so it does not
matter which of the two lines arrives first. What says how things stand (a release, a take-over, a retirement) cannot be
redacted: it carries no secret, and without it the past would come back. Nor can the person's orders be: a freeze is
ended by a thaw, which shows, and not by a line that says nothing any more. Nor can the reason alone be taken out of
one: the line's head has one digest of all that the line says, so the scope could not be told from a forged one.
"""

from __future__ import annotations

from bb.coordination.facts import Redacted
from bb.kernel import ids
from bb.kernel.errors import Forbidden, Refused
from bb.kernel.order import earliest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bb.kernel.order import Place, State

    Hidden = Mapping[str, frozenset[str]]  # by event: who wants it hidden

NAME = "redaction"
FACTS = (Redacted,)

LASTING = frozenset(
    [
        *("group.create", "actor.remove", "x.bb.merged", "x.bb.redacted", "x.bb.resolved"),
        *("x.bb.released", "x.bb.expired", "x.bb.taken_over", "x.bb.renewed", "x.bb.seen"),
        *("x.bb.transferred", "x.bb.unpaused", "x.bb.signed"),
    ]
)


class NotRedactable(Refused):
    """That event says how things stand, and holds nothing that could be taken back."""

    code = "NOT_REDACTABLE"
    hint = (
        "messages, notices, registrations and agents' reservations can be redacted; an order is undone by another one, "
        "such as `bb thaw` or `bb agent unpause`"
    )


ORDER = (
    "another order undoes it, such as `bb thaw` or `bb agent unpause`. If its reason holds a secret, change that "
    "secret, give the order again with another --why, and redact the messages that repeat the reason (docs/sync.md)"
)


class RedactForbidden(Forbidden):
    """Somebody else recorded that event."""

    code = "REDACT_FORBIDDEN"
    hint = "whoever recorded it may redact it, and so may the person: --agent user"


def redact(event: str, kind: str, by: str, who: str, reason: str) -> Redacted:
    """Decide whether WHO may redact an EVENT of a KIND that was recorded BY somebody."""
    if kind in LASTING:
        raise NotRedactable(f"{event} is a {kind}, which holds nothing that could be taken back", event_id=event)
    if _is_order(kind, by):
        message = f"{event} is an order of the person's ({kind}), which stays on record"
        raise NotRedactable(message, hint=ORDER, event_id=event)
    if who not in (by, ids.PERSON):
        raise RedactForbidden(f"{by} recorded {event}", event_id=event, by=by)
    return Redacted(who, event, reason)


def keys(fact: Redacted, at: Place) -> list[str]:  # noqa: ARG001
    """The event that is taken back."""
    return [fact.event]


def step(state: State | None, fact: Redacted, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    earliest(after, f"by {fact.agent}", at, [ts, fact.reason])
    return after


def hidden(states: Iterable[tuple[str, State]]) -> dict[str, frozenset[str]]:
    """What is to be hidden, and by whose wish."""
    return {event: frozenset(register.removeprefix("by ") for register in state) for event, state in states}


def is_hidden(event: str, by: str, kind: str, known: Hidden) -> bool:
    """Whether an event of a KIND, recorded BY somebody, was rightly taken back."""
    wishes = known.get(event)
    if wishes is None or kind in LASTING or wishes.isdisjoint((by, ids.PERSON)):
        return False
    return not _is_order(kind, by)


def _is_order(kind: str, by: str) -> bool:
    if by != ids.PERSON:
        return False
    from bb.coordination.records import vouching  # noqa: PLC0415  (hardly ever is anything of the person's taken back)

    return vouching.is_order(kind, by)
