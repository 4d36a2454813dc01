"""Redaction: removes the content of an event that should not have been recorded."""

from __future__ import annotations

from typing import Any

from bb.coordination.records import redactions
from bb.kernel import ids
from bb.kernel.event import Event
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.ledger.records import events, payload_removal
from bb.ledger.records.store import Store
from bb.messaging.facts import Sent
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentOrPerson, AllowSecretReason, Text


@op(
    "ledger.redact",
    examples=(
        "bb ledger redact k7q2mzp4x3ab.17 --reason 'a password' --agent user",
        "bb ledger redact k7q2mzp4x3ab.17 --reason 'a name that must not be there' --json",
    ),
)
def redact(desk: Desk, event: Text, *, reason: AllowSecretReason, agent: AgentOrPerson | None = None) -> dict[str, Any]:
    """Remove the content of an event: at once in this clone, and in other clones when they sync.

    The line stays in its place with its author, time and kind, so all chains remain valid. The content is removed from
    this clone at once, from the published branch with the next sync, and from other clones with their next sync. Git
    keeps the earlier commits of the branch, also in every clone that fetched them: change a password that was
    published. The author may redact an event, and the person (`--agent user`) may redact any event. Doing it again
    changes nothing. If a dialect expanded a message, its recipients recorded the expansion: `repeated_in` lists those
    lines.

    Parameters:
        event (EVENT): The event's id, as shown by `bb ledger log`.
        reason: The reason. It is recorded, so it must not repeat the content to remove.
    """
    who = signs_of_life.caller(desk, agent or desk.env.get("BB_AGENT") or ids.PERSON, may_be_person=True)
    store = desk.store
    store.require_ledger()
    payload_removal.blank(store)  # first completes an interrupted redaction, whose line cannot be read
    original = events.event(store, event)
    fact = redactions.redact(event, original.kind, original.by, who, reason)

    def decide(index: Index) -> list[Any]:
        return [] if who in index.hidden().get(event, ()) else [fact]

    repeated = _repeated(store, original)
    store.record(decide, by=who, now=desk.now())
    payload_removal.blank(store)
    return {
        "event_id": event,
        "kind": original.kind,
        "by": original.by,
        "redacted_by": who,
        "reason": reason,
        "repeated_in": repeated,
    }


def _repeated(store: Store, original: Event) -> list[str]:
    """The ids of events that repeat the content of ORIGINAL. They must be redacted separately."""
    message = kinds.fact_of(original.kind, original.data, original.by)
    if not isinstance(message, Sent) or message.cbcl is None:
        return []
    from bb.ledger.views import cbcl  # noqa: PLC0415  (loads CBCL, which most redactions do not need)

    return cbcl.events_repeating(store, store.index, original.id, message.to)
