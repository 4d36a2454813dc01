"""Reads recorded events: by id, newest first, and with their sequence numbers.

A clone's order is the order of its own lines. The foreign lines that an `x.bb.merged` marker merged come directly
before that marker, in the total order. So the sequence number of an event, its place in that order, never changes when
more lines are fetched, and a cursor stays valid when the index is rebuilt.
"""

from __future__ import annotations

import bisect
import itertools

from bb.kernel import ids
from bb.kernel.errors import NotFound, Refused
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from bb.kernel.event import Event
    from bb.kernel.ids import Order
    from bb.ledger.journal.cursors import Marker
    from bb.ledger.records.store import Store

EventNotFound = NotFound.declare(
    "EVENT_NOT_FOUND", "The ledger has no event with that id", hint="run `bb ledger log` to list the events"
)

EventUnreadable = Refused.declare(
    "EVENT_UNREADABLE",
    "This version of bb cannot read that event",
    hint="upgrade bb, if a newer version wrote the event; `bb ledger export --raw` prints the line unchanged",
)


def event(store: Store, event_id: str) -> Event:
    """One event by its id."""
    try:
        return numbered(store, [lines.event(line(store, event_id))])[0]
    except lines.Unreadable as error:
        raise EventUnreadable(f"{event_id} cannot be read: {error}", event_id=event_id) from None


def line(store: Store, event_id: str) -> bytes:
    """The raw line that records one event."""
    writer, n = ids.split_event_id(event_id)
    is_sound = n <= store.caught_up().head_of(writer)
    raw = Journal(store.path, writer).line(n) if is_sound else None
    if raw is None:
        raise EventNotFound(f"there is no event {event_id}", event_id=event_id)
    return raw


def octets(store: Store, writer: str, first: int, last: int) -> bytes:
    """The raw lines of a writer from number FIRST to LAST."""
    return b"".join(
        raw + b"\n" for raw in itertools.islice(Journal(store.path, writer).lines_from(first), last - first + 1)
    )


def newest_first(
    store: Store,
    decode: Callable[[bytes], Any] | None,
    wanted: Callable[[bytes], bool],
    *,
    with_unreadable: bool = False,
) -> Iterator[Event]:
    """Every event whose line is WANTED, in the total order, newest first, without lines after a damage."""
    import heapq  # noqa: PLC0415  (most commands need one event)

    read = events_with_unreadable if with_unreadable else readable

    index = store.caught_up()
    heads = index.heads()
    return heapq.merge(
        *(_backwards(journal, heads.get(journal.writer, 0), decode, wanted, read) for journal in store.journals()),
        key=lambda event: event.order,
        reverse=True,
    )


def numbered(store: Store, events: Sequence[Event]) -> list[Event]:
    """The events with their sequence numbers."""
    places = sequence_numbers(store)
    return [event.replace(seq=places.of(event)) for event in events]


def last_recorded_at(store: Store) -> str:
    """The time of the newest line of all journals, by its writer's clock; empty if there are no lines."""
    newest = (next(readable(journal.backwards()), None) for journal in store.journals())
    return max((event.ts for event in newest if event), default="")


def sequence_numbers(store: Store) -> SequenceNumbers:
    """The sequence numbers of events in this clone's own order."""
    return SequenceNumbers(store.path, store.writer, store.index_with_markers().markers())


def _backwards(
    journal: Journal,
    head: int,
    decode: Callable[[bytes], Any] | None,
    wanted: Callable[[bytes], bool],
    read: Callable[[Iterable[bytes], Callable[[bytes], Any] | None], Iterator[Event]],
) -> Iterator[Event]:
    for event in read((raw for raw in journal.backwards() if wanted(raw)), decode):
        if ids.split_event_id(event.id)[1] <= head:
            yield event


def readable(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines record, without unreadable ones."""
    return (event for event in events_with_unreadable(raws, decode) if not event.unreadable)


def events_with_unreadable(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines record; for an unreadable line, a stand-in with its place and the reason."""
    for raw in raws:
        try:
            event = lines.event(raw, decode)
            ids.split_event_id(event.id)
        except lines.Unreadable as error:
            event = lines.unreadable_event(raw, str(error))
        except ids.InvalidEventId.error:
            continue
        yield event


class SequenceNumbers:
    """Sequence numbers in this clone's order: its own lines, and before each marker the foreign lines it merged."""

    def __init__(self, store: str, own_writer: str | None, markers: list[Marker]) -> None:
        self._store = store
        self._own_writer = own_writer
        self._markers = markers
        self._batches: dict[int, list[Order]] = {}

    def of(self, event: Event) -> int | None:
        writer, n = ids.split_event_id(event.id)
        if writer == self._own_writer:
            last = bisect.bisect_right(self._markers, n, key=lambda marker: marker.n) - 1
            return n + self._markers[last].foreign_before
        for before, marker in itertools.pairwise(self._markers):
            if writer in marker.runs and marker.runs[writer][1] >= n:
                return marker.n + before.foreign_before + bisect.bisect_left(self._batch(marker), event.order)
        return None  # the line is here, but no marker of ours has merged it yet

    def _batch(self, marker: Marker) -> list[Order]:
        """The foreign lines that one marker merged, sorted in the total order."""
        if marker.n not in self._batches:
            self._batches[marker.n] = sorted(
                (lines.clock_and_kind(raw)[0], writer, n)
                for writer, (after, last) in marker.runs.items()
                for n, raw in _numbered(Journal(self._store, writer), after, last)
            )
        return self._batches[marker.n]


def _numbered(journal: Journal, after: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The lines of JOURNAL after number AFTER, up to LAST, with their numbers."""
    raws = (raw for _, _, block in journal.read() for raw in block.lines())
    return itertools.islice(enumerate(raws, 1), after, last)
