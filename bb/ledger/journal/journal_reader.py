"""One writer's journal as a reader sees it: the whole lines in its segments, from the first or from the last on."""

from __future__ import annotations

import os

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import line as lines
from bb.ledger.journal import received
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.journal.segments import (
    SUFFIX,
    LedgerDamaged,
    Segment,
    last_line_feed,
    lines_backwards,
    offset_near,
    path_of,
)
from bb.ledger.journal.writers import JOURNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ledger.journal.segments import Block


class Position(Record):
    """A place between two lines: the number of the segment's first line, the offset in it, and the link before it."""

    segment: int
    offset: int
    link: Link


class JournalReader:
    """The lines of one writer. They only become more, at the end."""

    def __init__(self, store: str, writer: str) -> None:
        self.writer = writer
        self.store = store
        self.folder = os.path.join(store, JOURNALS, writer)
        self.is_received = not os.path.isdir(self.folder)  # it is another clone's
        if self.is_received:
            self.folder = received.folder_of(store, writer)
        self._names = disk.FolderListing(self.folder)
        self._listed: tuple[list[str], list[Segment]] = [], []

    def segments(self, since: int = 0) -> list[Segment]:
        """The segments, oldest first; with SINCE, only those whose first line is SINCE or later."""
        segments = self._current_segments()
        return [segment for segment in segments if segment.first >= since] if since else segments

    def _current_segments(self) -> list[Segment]:
        return self._listed_segments()

    def _listed_segments(self) -> list[Segment]:
        names = self._names.now()
        if names is not self._listed[0]:
            stems = [name[: -len(SUFFIX)] for name in names if name.endswith(SUFFIX)]
            firsts = [int(stem) for stem in stems if len(stem) == 12 and stem.isascii() and stem.isdigit()]
            self._listed = names, [Segment(first, path_of(self.folder, first)) for first in firsts]
        return self._listed[1]

    def signature(self) -> str:
        """A text that changes with every write to the journal."""
        status = [segment.status() for segment in self.segments()]
        return " ".join(f"{file.st_ino}:{file.st_size}:{file.st_mtime_ns}" for file in status)

    def is_torn(self) -> bool:
        """Whether the last line is incomplete: a process is writing it, or was killed while writing it."""
        segments = self.segments()
        return bool(segments) and not segments[-1].is_whole()

    def tail(self) -> Link:
        """The link of the last whole line."""
        for segment in reversed(self.segments()):
            for raw in lines_backwards(segment):
                try:
                    return lines.link_without_previous(raw, self.writer)
                except BadLine as error:
                    problem = f"the last line of {segment.path} is damaged: {error}"
                    raise LedgerDamaged(problem, path=segment.path) from None
        return lines.START

    def read(self, start: Position | None = None) -> Iterator[tuple[Segment, int, Block]]:
        """Blocks of whole lines from START on: the segment, the offset of the block, and the block.

        Reading ends before the first incomplete line; `stuck` tells whether that line is damaged or still being
        written.
        """
        for segment in self.segments(start.segment if start else 0):
            end = start.offset if start and segment.first == start.segment else 0
            for offset, block in segment.blocks(end):
                yield segment, offset, block
                end = offset + len(block.octets)
            if end < segment.size():
                return

    def sizes(self, since: int) -> list[tuple[Segment, int]]:
        """The segments whose first line is SINCE or later, and their current sizes."""
        return [(segment, segment.size()) for segment in self.segments(since)]

    def stopped_at(self, position: Position, sizes: list[tuple[Segment, int]]) -> tuple[Segment, int, str] | None:
        """Where and why reading stopped at POSITION, if the reason is a damage and not a line being written.

        SIZES were taken before reading, because lines and segments may have been added since.
        """
        for place, (file, size) in enumerate(sizes):
            if file.first < position.segment:
                continue
            offset = position.offset if file.first == position.segment else 0
            if (rest := size - offset) > 0 and place + 1 < len(sizes):
                return file, offset, "a segment ends in the middle of a line"
            if rest >= lines.MAX_LINE:
                return file, offset, "the line is longer than the limit"
        return None

    def has(self, position: Position) -> bool:
        """Whether the line that ends at POSITION is still the same."""
        for segment in self.segments():
            if segment.first == position.segment and segment.size() >= position.offset:
                raw = next(lines_backwards(segment, position.offset), b"")
                try:
                    return lines.link_without_previous(raw, self.writer) == position.link
                except BadLine:
                    return False
        return False

    def offset_of_last(self) -> int:
        """The offset of the last whole line in its segment."""
        for segment in reversed(self.segments()):
            end = last_line_feed(segment)
            for raw in lines_backwards(segment, end):
                return end - len(raw) - 1
        return 0

    def backwards(self) -> Iterator[bytes]:
        """Every whole line, last first."""
        for segment in reversed(self.segments()):
            yield from lines_backwards(segment)

    def line(self, n: int) -> bytes | None:
        """Line N, or None."""
        home = [segment for segment in self.segments() if segment.first <= n]
        if not home:
            return None
        start = lines.PREFIX_OF % (self.writer.encode(), n)
        near = offset_near(home[-1], lines.PREFIX_OF.partition(b"%d")[0] % self.writer.encode(), n)
        for offset in dict.fromkeys((near, 0)):
            for _, block in home[-1].blocks(offset):
                for raw in block.lines() if start in block.octets else ():
                    if raw.startswith(start):
                        return raw
        return None

    def lines_from(self, n: int) -> Iterator[bytes]:
        """Every whole line from number N on, without checking it."""
        segments = self.segments()
        home = max((place for place, segment in enumerate(segments) if segment.first <= n), default=len(segments))
        for place, segment in enumerate(segments[home:], home):
            start = self.offset_of(segment, n, is_last=place + 1 == len(segments)) if place == home else 0
            for _, block in segment.blocks(start):
                yield from block.lines()

    def link_before(self, n: int) -> Link:
        """The link that line N must follow, computed from the line before it."""
        return lines.START if n == 1 else lines.link_without_previous(next(self.lines_from(n - 1)), self.writer)

    def offset_of(self, segment: Segment, n: int, *, is_last: bool) -> int:
        """The offset of line N in its segment. The last segment is searched from its end, because callers mostly
        want recent lines; other segments are searched from the start."""
        start = lines.PREFIX_OF % (self.writer.encode(), n)
        if is_last:
            offset = last_line_feed(segment)
            for raw in lines_backwards(segment, offset):  # not to the end: another process may be appending
                offset -= len(raw) + 1
                if raw.startswith(start):
                    return offset
            return segment.size()
        for offset, block in segment.blocks():
            for raw in block.lines():
                if raw.startswith(start):
                    return offset
                offset += len(raw) + 1
        return segment.size()
