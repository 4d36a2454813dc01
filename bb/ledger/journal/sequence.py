"""`seq`: an event's sequence number in this clone's own order.

A clone's order is the order of its own lines. The foreign lines that an `x.bb.merged` marker merged come directly
before that marker, in the total order. So sequence numbers never change when more lines are fetched, and a cursor stays
valid when the index is rebuilt.
"""

from __future__ import annotations

import itertools

from bb.kernel import ids
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.kernel.event import Event
    from bb.kernel.ids import Order
    from bb.ledger.journal.cursors import Marker


class SequenceNumbers:
    """Sequence numbers in this clone's order: its own lines, and before each marker the foreign lines it merged."""

    def __init__(self, store: str, own_writer: str | None, markers: list[Marker]) -> None:
        self._store = store
        self._own_writer = own_writer
        self._markers = markers
        self._batches: dict[int, list[Order]] = {}

    def of(self, event: Event) -> int | None:
        import bisect  # noqa: PLC0415  (commands that only write or check reservations ask for no number)

        writer, n = ids.split_event_id(event.id)
        if writer == self._own_writer:
            last = bisect.bisect_right(self._markers, n, key=lambda marker: marker.n) - 1
            return n + self._markers[last].foreign_before
        for before, marker in itertools.pairwise(self._markers):
            if marker.heads.get(writer, 0) >= n:
                batch = self._batch(before.heads, marker)
                return marker.n + before.foreign_before + bisect.bisect_left(batch, event.order)
        return None  # the line is here, but no marker of ours has merged it yet

    def _batch(self, before: dict[str, int], marker: Marker) -> list[Order]:
        """The foreign lines that one marker merged, sorted in the total order."""
        if marker.n not in self._batches:
            self._batches[marker.n] = sorted(
                (lines.clock_and_kind(raw)[0], writer, n)
                for writer, head in marker.heads.items()
                for n, raw in _numbered(Journal(self._store, writer), before.get(writer, 0), head)
            )
        return self._batches[marker.n]


def _numbered(journal: Journal, after: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The lines of JOURNAL after number AFTER, up to LAST, with their numbers."""
    raws = (raw for _, _, block in journal.read() for raw in block.lines())
    return itertools.islice(enumerate(raws, 1), after, last)
