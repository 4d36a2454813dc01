"""What is known about attention, out of the index and the journals: the book that the rules read."""

from __future__ import annotations

from bb.attention.book import Book, Someone
from bb.coordination import liveness, roster
from bb.kernel.errors import BbError
from bb.ledger import line as lines
from bb.ledger import presence
from bb.ledger.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index import Index
    from bb.ledger.store import Store


def book(store: Store, index: Index, now: int, stale_after: int) -> Book:
    """What is known NOW."""
    return Book(index, agents(store, index, now, stale_after), lambda name: data_of(store, name))


def agents(store: Store, index: Index, now: int, stale_after: int) -> dict[str, Someone]:
    """The agents in service, and whether they can be expected to answer."""
    found: dict[str, Someone] = {}
    for each in roster.in_order(index.states(roster.NAME)):
        last = presence.read(store.path, each.agent_id, now)
        seen = presence.last_seen(each.heard_at, last, now)
        state = liveness.liveness(seen, now, stale_after)
        is_live, is_evicted = state == liveness.ACTIVE, state == liveness.EVICTED
        found[each.agent_id] = Someone(each.role, is_live=is_live, is_evicted=is_evicted)
    return found


def data_of(store: Store, name: str) -> dict[str, Any] | None:
    """What the line of that name says; None when there is none, or it says nothing any more."""
    try:
        writer, dot, n = name.partition(".")
        raw = Journal(store.path, writer).line(int(n)) if dot else None
        return lines.event(raw).data if raw is not None and not lines.is_blank(raw) else None
    except (BbError, lines.Unreadable, ValueError, OSError):
        return None
