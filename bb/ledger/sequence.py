"""`seq`: where an event stands in this clone's own order.

A clone's order is that of its own lines. Before each of its `x.bb.merged` markers stand the foreign lines that the
marker brought in, in the total order. So positions never change, whatever else is fetched later, and an index can be
rebuilt without a cursor losing its place.
"""

from __future__ import annotations

import bisect

from bb.kernel import ids
from bb.ledger import line as lines
from bb.ledger.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.kernel.event import Event, Order
    from bb.ledger.index import Marker


class Places:
    """Positions in this clone's order: its own lines, and before each marker the foreign lines it brought in."""

    def __init__(self, store: str, own_writer: str | None, markers: list[Marker]) -> None:
        self._store = store
        self._own_writer = own_writer
        self._markers = markers
        self._starts = [marker.n for marker in markers]
        self._batches: dict[int, list[Order]] = {}

    def of(self, event: Event) -> int | None:
        writer, n = ids.split_event_id(event.id)
        if writer == self._own_writer:
            return n + self._markers[bisect.bisect_right(self._starts, n) - 1].foreign_before
        for before, marker in zip(self._markers, self._markers[1:], strict=False):
            if marker.heads.get(writer, 0) >= n:
                return (
                    marker.n
                    + before.foreign_before
                    + bisect.bisect_left(self._batch(before.heads, marker), event.order)
                )
        return None  # known, but no line of ours accounts for it yet

    def _batch(self, before: dict[str, int], marker: Marker) -> list[Order]:
        """The orders of the foreign lines that one marker brought in, sorted."""
        if marker.n not in self._batches:
            self._batches[marker.n] = sorted(
                (lines.clock_and_kind(raw)[0], writer, n)
                for writer, head in marker.heads.items()
                for n, raw in enumerate(
                    _range(Journal(self._store, writer), before.get(writer, 0), head), before.get(writer, 0) + 1
                )
            )
        return self._batches[marker.n]


def _range(journal: Journal, after: int, last: int) -> Iterator[bytes]:
    """The lines of JOURNAL behind AFTER, up to LAST."""
    n = 0
    for segment, _, block in journal.read():
        n = segment.first - 1 if n < segment.first else n
        for raw in block.lines():
            n += 1
            if after < n <= last:
                yield raw
