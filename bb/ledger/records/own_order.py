"""The course: every line in this clone's own order, from any sequence number on.

The order is that of our own journal. The foreign lines that an `x.bb.merged` marker merged come before the marker, in
the total order. So lines that are fetched later never come before a line that was passed already, and a sequence number
(`seq`) stays valid when the index is rebuilt. Foreign lines that no marker has merged are not in the course yet; the
next record here adds a marker.

Every line has a sequence number, whether it counts or not. Each passed line tells whether it counts (`counts`), so that
readers of the course need not know the law. A line that begins to count later is passed again then, with the same
sequence number (`is_late`).
"""

from __future__ import annotations

import bisect
import os
from collections import deque

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.index import counting
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.segments import NO_FOLLOW, SUFFIX, read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from bb.kernel.event import Event
    from bb.kernel.ids import Order
    from bb.ledger.index.counting import Counting
    from bb.ledger.index.index import Index
    from bb.ledger.journal.segments import Segment
    from bb.ledger.records.store import Store

MARK = b'"kind":"x.bb.merged"'
NO_NEWS = (b"x.bb.merged", b"x.bb.seen")
PIECE = 1 << 14  # bytes: about twenty lines
MOST_UNCOUNTED = 1000  # lines to remember that did not count when they were passed


class Passed(Record):
    """One line of the course: its sequence number and its place in a journal."""

    seq: int
    writer: str
    n: int
    segment: int
    offset: int
    raw: bytes
    counts: bool = True  # under the law; a line that does not count must not be shown as if it did
    is_late: bool = False  # it was passed before without counting


class CoursePosition(Record):
    """A place in the course: after line N of our own journal and FOREIGN_BEFORE lines of other journals."""

    n: int = 0
    segment: int = 0
    offset: int = 0
    foreign_before: int = 0


START = CoursePosition()


class Course:
    """Passes through the events of a store in the clone's order; later calls continue with new events."""

    def __init__(self, store: Store, spot: CoursePosition = START) -> None:
        self._store = store
        self._rebuilt = store.index.rebuilt
        self._foreign: dict[str, CoursePosition] = {}  # the place of the next line of each other writer
        self._uncounted: deque[Passed] = deque(maxlen=MOST_UNCOUNTED)  # without their content
        self.spot = spot

    @property
    def seq(self) -> int:
        """The sequence number of the last line that was passed."""
        return self.spot.n + self.spot.foreign_before

    def new_lines(self) -> Iterator[Passed]:
        """The lines after the last one passed, as far as the index has read and checked them."""
        index, writer = self._store.index, self._store.writer
        if writer is None:
            return
        head = index.position(writer)
        if self._rebuilt != index.rebuilt or head.link.n < self.spot.n:
            # A line that could not be synced was removed, or the journal was repaired. Line numbers are still valid.
            self._start_over()
        counted = counting.for_index(index)
        if self._uncounted:
            yield from self._counting_by_now(counted)
        if head.link.n == self.spot.n:
            return
        for n, segment, offset, raw in _lines(Journal(self._store.path, writer), self.spot):
            if n > head.link.n:
                return
            if not raw.startswith(lines.PREFIX_OF % (writer.encode(), n)):
                self._start_over()  # a line was removed, and another one was recorded since
                return
            if MARK in raw:
                yield from self._merged(index, n, counted)
            self.spot = self.spot.replace(n=n, segment=segment, offset=offset + len(raw) + 1)
            yield self._judged(Passed(self.seq, writer, n, segment, offset, raw), counted)

    def _merged(self, index: Index, n: int, counted: Counting | None) -> Iterator[Passed]:
        """The foreign lines that the marker in line N merged."""
        marker = index.marker(n)
        if marker is None:
            return  # the line contains the mark but is not a marker
        import heapq  # noqa: PLC0415

        seq = self.seq
        batches = [self._lines_of(writer, after, last) for writer, (after, last) in marker.runs.items()]
        for at, segment, offset, raw in heapq.merge(*batches, key=lambda row: row[0]):
            seq += 1
            yield self._judged(Passed(seq, at[1], at[2], segment, offset, raw), counted)
        self.spot = self.spot.replace(foreign_before=marker.foreign_before)

    def _judged(self, passed: Passed, counted: Counting | None) -> Passed:
        """PASSED with `counts` set. A line that does not count is remembered."""
        judged = _judged(passed, counted)
        if not judged.counts:
            self._uncounted.append(judged.replace(raw=b""))
        return judged

    def _counting_by_now(self, counted: Counting | None) -> Iterator[Passed]:
        """The lines that did not count when they were passed and count now."""
        with Lines(self._store.path) as reader:
            for _ in range(len(self._uncounted)):
                passed = self._uncounted.popleft()
                if counted and passed.n > counted.of(passed.writer).upto:
                    self._uncounted.append(passed)
                elif raw := reader.at(passed.writer, passed.n, passed.segment, passed.offset):
                    now = self._judged(passed.replace(raw=raw), counted)
                    if now.counts:
                        yield now.replace(is_late=True)

    def _lines_of(self, writer: str, after: int, last: int) -> Iterator[tuple[Order, int, int, bytes]]:
        """The lines of another writer after number AFTER, up to LAST: order, segment, offset, line."""
        spot = self._foreign.get(writer, START)
        for n, segment, offset, raw in _lines(
            Journal(self._store.path, writer), spot if spot.n == after else CoursePosition(after)
        ):
            if n > last:
                return
            self._foreign[writer] = CoursePosition(n, segment, offset + len(raw) + 1)
            yield (lines.clock_and_kind(raw)[0], writer, n), segment, offset, raw

    def _start_over(self) -> None:
        """Find the current place again by its sequence number."""
        index = self._store.index
        self.spot, self._rebuilt = spot_before(index, min(self.seq, length(index))), index.rebuilt
        self._foreign.clear()


def unmerged_lines(store: Store) -> Iterator[Passed]:
    """The foreign lines that are not in the course yet, in the total order. They have no sequence number."""
    import heapq  # noqa: PLC0415

    index = store.index
    counted = counting.for_index(index)
    batches = [
        _brought(Journal(store.path, writer), after, last) for writer, (after, last) in index.unmerged_runs().items()
    ]
    for at, segment, offset, raw in heapq.merge(*batches, key=lambda row: row[0]):
        yield _judged(Passed(0, at[1], at[2], segment, offset, raw), counted)


def _judged(passed: Passed, counted: Counting | None) -> Passed:
    if counted is None:
        return passed
    return passed.replace(counts=counted.counts_as_written(passed.writer, passed.n, passed.raw))


def _brought(journal: Journal, after: int, last: int) -> Iterator[tuple[Order, int, int, bytes]]:
    for n, segment, offset, raw in _lines(journal, CoursePosition(after)):
        if n > last:
            return
        yield (lines.clock_and_kind(raw)[0], journal.writer, n), segment, offset, raw


def is_news(passed: Passed) -> bool:
    """Whether a line is news for a reader: not a marker, and not a heartbeat."""
    return lines.clock_and_kind(passed.raw)[1] not in NO_NEWS


def spot_before(index: Index, seq: int) -> CoursePosition:
    """The last place between two of our own lines that is not after SEQ. The caller skips the lines up to SEQ."""
    markers = index.markers()
    # After a marker's own line, all of its foreign lines have been passed.
    last = markers[bisect.bisect_right([marker.n + marker.foreign_before for marker in markers], seq) - 1]
    following = next((marker.n for marker in markers if marker.n > last.n), None)
    n = seq - last.foreign_before
    if following is not None:
        n = min(n, following - 1)
    return CoursePosition(n=max(n, 0), foreign_before=last.foreign_before)


def length(index: Index) -> int:
    """The number of lines in the course."""
    own = index.position(index.own_writer).link.n if index.own_writer else 0
    return own + index.markers()[-1].foreign_before


def event_at(store: Store, seq: int) -> Event:
    """The event with the sequence number SEQ."""
    for passed in Course(store, spot_before(store.index, seq - 1)).new_lines():
        if passed.seq == seq:
            return lines.event(passed.raw).replace(seq=seq)
    raise ValueError(f"there is no event with the sequence number {seq}")


class Lines:
    """Reads lines of the journals by their places. Consecutive lines share one read."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._path = ""
        self._fd = -1
        self._start, self._octets = 0, b""

    def at(self, writer: str, n: int, segment: int, offset: int) -> bytes | None:
        """Line N of WRITER at that place; None if another line or none is there now."""
        try:
            self._go(os.path.join(Journal(self._store, writer).folder, f"{segment:012}{SUFFIX}"))
            line = self._line(offset)
        except OSError:
            return None
        return line if line and line.startswith(lines.PREFIX_OF % (writer.encode(), n)) else None

    def _go(self, path: str) -> None:
        if path != self._path:
            self.close()
            self._fd, _ = disk.open_to_read(path, NO_FOLLOW)
            self._path = path

    def _line(self, offset: int) -> bytes | None:
        """The line that begins at OFFSET."""
        size = PIECE
        while True:
            start = offset - self._start
            end = self._octets.find(b"\n", start) if 0 <= start < len(self._octets) else -1
            if end >= 0:
                return self._octets[start:end]
            if size > lines.MAX_LINE * 8:
                return None
            self._start, self._octets = offset, read_at(self._fd, size, offset)
            if b"\n" not in self._octets and len(self._octets) < size:
                return None
            size *= 8

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._path, self._fd, self._start, self._octets = "", -1, 0, b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines(journal: Journal, spot: CoursePosition) -> Iterator[tuple[int, int, int, bytes]]:
    """The lines of a journal after a SPOT: number, segment, offset, and the line."""
    for segment in _from(journal, spot.n + 1):
        is_known = segment.first == spot.segment
        n = spot.n if is_known else segment.first - 1
        for offset, block in segment.blocks(spot.offset if is_known else 0):
            for raw in block.lines():
                n += 1
                if n > spot.n:
                    yield n, segment.first, offset, raw
                offset += len(raw) + 1


def _from(journal: Journal, n: int) -> list[Segment]:
    """The segments from the one that contains line N on."""
    segments = journal.segments()
    return segments[max((place for place, segment in enumerate(segments) if segment.first <= n), default=0) :]
