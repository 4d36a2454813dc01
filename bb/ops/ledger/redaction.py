"""Taking back what should never have been said."""

from __future__ import annotations

from bb.coordination.records import redactions
from bb.kernel import ids
from bb.ledger.journal import kinds
from bb.ledger.records import redaction
from bb.messaging.facts import Sent
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.params import Reason, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk


class Why(Reason):
    """Why; it is recorded, so it must not repeat what is to be hidden."""


class EventId(Text):
    """The event, as `bb ledger log` shows it."""

    metavar = "EVENT"


@op(
    "ledger.redact",
    examples=(
        "bb ledger redact k7q2mzp4x3ab.17 --reason 'a password' --agent user",
        "bb ledger redact k7q2mzp4x3ab.17 --reason 'a name that must not be there' --json",
    ),
)
def redact(desk: Desk, event: EventId, *, reason: Why, agent: Someone | None = None) -> dict[str, Any]:
    """Take back what an event says: hidden at once, and blanked in every copy that syncs.

    The line stays in its place with its head (who, when, which kind), so every chain still holds. What it said is gone
    from this clone at once, from the published copy with the next sync, from other clones with theirs. Git keeps the
    earlier commits of the branch, and so does whoever fetched them: a password that was published has to be changed.
    Whoever recorded the event may redact it, and the person (`--agent user`) anything. Doing it again changes nothing.
    What a dialect made of a message stands on the lines of those who heard it: `repeated_in` names them.
    """
    who = signs_of_life.caller(desk, agent or desk.env.get("BB_AGENT") or ids.PERSON, may_be_person=True)
    store = desk.store
    store.must_exist()
    redaction.blank(store)  # if an earlier one was cut short, its line cannot be read before that
    found = store.event(event)
    fact = redactions.redact(event, found.kind, found.by, who, reason)

    def decide(index: Index) -> list[Any]:
        return [] if who in index.hidden().get(event, ()) else [fact]

    repeated = _repeated(store, found)
    store.record(decide, by=who, now=desk.now())
    redaction.blank(store)
    return {
        "event_id": event,
        "kind": found.kind,
        "by": found.by,
        "redacted_by": who,
        "reason": reason,
        "repeated_in": repeated,
    }


def _repeated(store: Store, found: Event) -> list[str]:
    """The lines, by their events, that go on saying what FOUND says, until they are taken back themselves."""
    said = kinds.fact_of(found.kind, found.data, found.by)
    if not isinstance(said, Sent) or said.cbcl is None:
        return []
    from bb.ledger.views import cbcl  # noqa: PLC0415  (the language, for which most redactions have no use)

    return cbcl.repeated_in(store, store.index, found.id, said.to)
