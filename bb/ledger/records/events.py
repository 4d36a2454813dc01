"""Reads recorded events: by id, and with their sequence numbers. `newest_first.py` reads those of all writers.

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
    from bb.ledger.index.index import Index
    from bb.ledger.journal.cursors import Marker
    from bb.ledger.records.store import Store

BEGINNING: Order = (0, "", 0)  # before all events

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


def numbered(store: Store, events: Sequence[Event]) -> list[Event]:
    """The events with their sequence numbers."""
    places = sequence_numbers(store, min((event.order for event in events), default=BEGINNING))
    return [event.replace(seq=places.of(event)) for event in events]


def last_recorded_at(store: Store) -> str:
    """The time of the newest line of all journals, by its writer's clock; empty if there are no lines."""
    newest = (next(readable(journal.backwards()), None) for journal in store.journals())
    return max((event.ts for event in newest if event), default="")


def sequence_numbers(store: Store, since: Order = BEGINNING) -> SequenceNumbers:
    """The sequence numbers, in this clone's own order, of events from the place SINCE on."""
    return SequenceNumbers(store.path, store.index_with_markers(), since)


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
    """Sequence numbers in this clone's order: its own lines, and before each marker the foreign lines it merged.

    The lines of writers that have none from the place SINCE on are only counted, not read: there may be thousands.
    """

    def __init__(self, store: str, index: Index, since: Order) -> None:
        self._store = store
        self._own_writer = index.own_writer
        self._markers = index.markers()
        self._still_writing = index.writers_since(since[0])
        self._batches: dict[int, tuple[int, list[Order]]] = {}

    def of(self, event: Event) -> int | None:
        writer, n = ids.split_event_id(event.id)
        if writer == self._own_writer:
            last = bisect.bisect_right(self._markers, n, key=lambda marker: marker.n) - 1
            return n + self._markers[last].foreign_before
        for before, marker in itertools.pairwise(self._markers):
            if writer in marker.runs and marker.runs[writer][1] >= n:
                older, others = self._batch(marker)
                return marker.n + before.foreign_before + older + bisect.bisect_left(others, event.order)
        return None  # the line is here, but no marker of ours has merged it yet

    def _batch(self, marker: Marker) -> tuple[int, list[Order]]:
        """The foreign lines that one marker merged: the number of those of writers that only have older ones, and the
        lines of the others, sorted in the total order."""
        if marker.n not in self._batches:
            runs, read = marker.runs, self._still_writing.intersection(marker.runs)
            older = sum(last - after for writer, (after, last) in runs.items() if writer not in read)
            others = sorted(
                (lines.clock_and_kind(raw)[0], writer, n)
                for writer in read
                for n, raw in _numbered(Journal(self._store, writer), *runs[writer])
            )
            self._batches[marker.n] = older, others
        return self._batches[marker.n]


def _numbered(journal: Journal, after: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The lines of JOURNAL after number AFTER, up to LAST, with their numbers."""
    raws = (raw for _, _, block in journal.read() for raw in block.lines())
    return itertools.islice(enumerate(raws, 1), after, last)
