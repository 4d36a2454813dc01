"""Reads the newest events of all journals, without opening journals whose lines are all older.

The index knows the place of each writer's last line. So the journals are opened in the order of their last lines, and
only as many as are needed: the last thirty events of ten thousand writers are in at most thirty journals.
"""

from __future__ import annotations

import heapq

from bb.ledger.journal.journal import Journal
from bb.ledger.records.events import events_with_unreadable, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bb.kernel.event import Event
    from bb.kernel.ids import Order
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store

    Wanted = Callable[[bytes], bool]
    Read = Callable[[Iterable[bytes]], Iterator[Event]]

FIRST = 64  # writers that are looked up at first; most requests need no more
RECEIVED = """
    select lamport, writer, n from cursor where not is_local and n > 0
    order by lamport desc, writer desc limit ? offset ?"""


class _Newest:
    """The next event of a journal. It sorts before older ones."""

    __slots__ = ("event", "order", "others")

    def __init__(self, event: Event, others: Iterator[Event]) -> None:
        self.event = event
        self.others = others
        self.order = event.order

    def __lt__(self, other: _Newest) -> bool:
        return self.order > other.order


def newest_first(store: Store, wanted: Wanted, *, with_unreadable: bool = False) -> Iterator[Event]:
    """Every event whose line is WANTED, in the total order, newest first, without lines after a damage."""
    read: Read = events_with_unreadable if with_unreadable else readable
    opened: list[_Newest] = []
    for last in _last_lines(store.caught_up()):
        while opened and opened[0].order > last:  # all lines of the journals that are not open are older
            yield _next_of(opened)
        events = _backwards(store, last, wanted, read)
        if event := next(events, None):
            heapq.heappush(opened, _Newest(event, events))
    while opened:
        yield _next_of(opened)


def _next_of(opened: list[_Newest]) -> Event:
    """The newest event of the OPENED journals, which continue with the event after it."""
    newest = opened[0]
    if following := next(newest.others, None):
        heapq.heapreplace(opened, _Newest(following, newest.others))
    else:
        heapq.heappop(opened)
    return newest.event


def _last_lines(index: Index) -> Iterator[Order]:
    """The place of the last line of each writer that has been read, newest first."""
    here = [
        (cursor.lamport, writer, cursor.n) for writer in index.cursors.local() if (cursor := index.cursors.of(writer)).n
    ]
    return heapq.merge(sorted(here, reverse=True), _received(index), reverse=True)


def _received(index: Index) -> Iterator[Order]:
    """The same of the writers of other clones."""
    yield from index.ask(RECEIVED, FIRST, 0)
    yield from index.ask(RECEIVED, -1, FIRST)


def _backwards(store: Store, last: Order, wanted: Wanted, read: Read) -> Iterator[Event]:
    """The events of a journal, newest first, from its LAST line on that has been read."""
    journal = Journal(store.path, last[1])
    return (event for event in read(raw for raw in journal.backwards() if wanted(raw)) if event.order <= last)
