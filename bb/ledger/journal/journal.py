"""One writer's journal: segments of ledger lines in `j/<writer>/`, which only ever grow at the end.

    open, lock, read the tail, mend a torn one, chain, one write, fdatasync, unlock, answer

Whoever is told that a line was recorded finds it on the disk. A line that could not be synced is taken back and
never acknowledged. A writer killed in the middle of a write leaves a torn last line; the next append finishes it if
it is whole but for its line feed, and otherwise puts the fragment aside in `torn/`.
"""

from __future__ import annotations

import os

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock, NoLock, StandingLock
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.journal.segments import NO_FOLLOW, Segment, last_line_feed, lines_backwards, place_before, read_at
from bb.ledger.journal.segments import LedgerDamaged as LedgerDamaged  # noqa: PLC0414  (others know it from here)
from bb.ledger.journal.writers import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bb.kernel.event import Event
    from bb.ledger.journal.segments import Block

SEGMENT_SIZE = 4 << 20
SUFFIX = ".jsonl"
PORTION = 1 << 20  # so much is written at once, so that a segment does not grow far beyond its size


class Position(Record):
    """A place between two lines of a journal: the segment by its first n, the offset in it, the link before it."""

    segment: int
    offset: int
    link: Link


class Written(Record):
    """What was written last: the lines, the link before them, the place behind them, and in which file that is."""

    octets: bytes
    before: Link
    end: Position
    inode: int


class Journal:
    """The journal of one writer."""

    def __init__(self, store: str, writer: str) -> None:
        self.writer = writer
        self.folder = os.path.join(store, "j", writer)
        self.torn = os.path.join(store, "torn")
        # What holds as long as nobody else can write here: the segments, and the last link.
        self._kept: list[Segment] | None = None
        self.written: Written | None = None
        # The files that were written to and not waited for yet: where they are open, and how long they were before.
        self._unsynced: dict[str, tuple[int, int]] = {}
        self._standing_lock: StandingLock | None = None
        self._names = disk.Names(self.folder)
        self._listed: tuple[list[str], list[Segment]] = [], []

    def keep(self) -> None:
        """From now on nobody else writes here: what was looked up once need not be looked up again. Neither need what
        we left here when we wrote last, if it is as it was."""
        if not self._is_as_left():
            self._kept = self.written = None
            self._names = disk.Names(self.folder)  # who writes wants to be sure of them
            self.mend()
            self._kept = list(self.segments())

    def _is_as_left(self) -> bool:
        if self.written is None or not self._kept:
            return False
        try:
            file = os.stat(self._kept[-1].path)
        except OSError:
            return False
        # From this size on, somebody else may have begun another file.
        is_last = file.st_size < SEGMENT_SIZE
        return is_last and (file.st_ino, file.st_size) == (self.written.inode, self.written.end.offset)

    def segments(self, since: int = 0) -> list[Segment]:
        """The segments, oldest first; those that begin with line SINCE or behind it."""
        there = self._kept if self._kept is not None else self._there()
        return [segment for segment in there if segment.first >= since] if since else there

    def _there(self) -> list[Segment]:
        names = self._names.now()
        if names is not self._listed[0]:
            stems = [name[: -len(SUFFIX)] for name in names if name.endswith(SUFFIX)]
            self._listed = (
                names,
                [
                    Segment(int(stem), os.path.join(self.folder, stem + SUFFIX))
                    for stem in stems
                    if len(stem) == 12 and stem.isascii() and stem.isdigit()
                ],
            )
        return self._listed[1]

    def signature(self) -> str:
        """What changes whenever somebody writes to the journal."""
        status = [segment.status() for segment in self.segments()]
        return " ".join(f"{file.st_ino}:{file.st_size}:{file.st_mtime_ns}" for file in status)

    def lock(self) -> Lock:
        return Lock(os.path.join(self.folder, LOCK))

    def standing_lock(self) -> StandingLock:
        """The same lock, for somebody who takes it again and again."""
        if self._standing_lock is None:
            self._standing_lock = StandingLock(os.path.join(self.folder, LOCK))
        return self._standing_lock

    def close(self) -> None:
        """Let go of the lock's files."""
        if self._standing_lock is not None:
            self._standing_lock.close()

    def lock_if_any(self) -> Lock | NoLock:
        """Its lock; what only syncing writes, once at a time, has none."""
        return self.lock() if os.path.exists(os.path.join(self.folder, LOCK)) else NoLock()

    # -- reading

    def tail(self) -> Link:
        """The link of the last whole line."""
        for segment in reversed(self.segments()):
            for raw in lines_backwards(segment):
                try:
                    return lines.link_alone(raw, self.writer)
                except BadLine as error:
                    problem = f"the last line of {segment.path} is damaged: {error}"
                    raise LedgerDamaged(problem, path=segment.path) from None
        return lines.START

    def read(self, start: Position | None = None) -> Iterator[tuple[Segment, int, Block]]:
        """Blocks of whole lines from START on: the segment, the offset of the block, and the block.

        Ends at the first thing that is no whole line; `stuck` tells whether that is a line still being written or
        a damage.
        """
        for segment in self.segments(start.segment if start else 0):
            end = start.offset if start and segment.first == start.segment else 0
            for offset, block in segment.blocks(end):
                yield segment, offset, block
                end = offset + len(block.octets)
            if end < segment.size():
                return

    def sizes(self, since: int) -> list[tuple[Segment, int]]:
        """The segments that begin with line SINCE or behind it, and how long they are now."""
        return [(segment, segment.size()) for segment in self.segments(since)]

    def stuck(self, position: Position, sizes: list[tuple[Segment, int]]) -> tuple[Segment, int, str] | None:
        """Where and why reading cannot go on behind POSITION, if that is more than a line being written.

        Judged by the SIZES of before it was read: a line and a new segment may have come since.
        """
        for place, (file, size) in enumerate(sizes):
            if file.first < position.segment:
                continue
            offset = position.offset if file.first == position.segment else 0
            if (rest := size - offset) > 0 and place + 1 < len(sizes):
                return file, offset, "a segment ends in the middle of a line"
            if rest >= lines.MAX_LINE:
                return file, offset, "it is longer than a line may be"
        return None

    def has(self, position: Position) -> bool:
        """Whether the line that ends at POSITION is still the one that was read there."""
        for segment in self.segments():
            if segment.first == position.segment and segment.size() >= position.offset:
                raw = next(lines_backwards(segment, position.offset), b"")
                try:
                    return lines.link_alone(raw, self.writer) == position.link
                except BadLine:
                    return False
        return False

    def offset_of_last(self) -> int:
        """Where the last whole line starts, in its segment."""
        for segment in reversed(self.segments()):
            for raw in lines_backwards(segment):
                return last_line_feed(segment) - len(raw) - 1
        return 0

    def backwards(self) -> Iterator[bytes]:
        """Every whole line, last first."""
        for segment in reversed(self.segments()):
            yield from lines_backwards(segment)

    def line(self, n: int) -> bytes | None:
        """Line N as it stands, or None. Its id says which segment it is in."""
        home = [segment for segment in self.segments() if segment.first <= n]
        if not home:
            return None
        start = lines.PREFIX_OF % (self.writer.encode(), n)
        near = place_before(home[-1], lines.PREFIX_OF.partition(b"%d")[0] % self.writer.encode(), n)
        for offset in dict.fromkeys((near, 0)):
            for _, block in home[-1].blocks(offset):
                for raw in block.lines() if start in block.octets else ():
                    if raw.startswith(start):
                        return raw
        return None

    def lines_from(self, n: int) -> Iterator[bytes]:
        """Every whole line from number N on, sound or not."""
        segments = self.segments()
        home = max((place for place, segment in enumerate(segments) if segment.first <= n), default=len(segments))
        for place, segment in enumerate(segments[home:], home):
            start = self._offset_of(segment, n, is_last=place + 1 == len(segments)) if place == home else 0
            for _, block in segment.blocks(start):
                yield from block.lines()

    def link_before(self, n: int) -> Link:
        """The link that line N has to follow, taken from the line before it by itself."""
        return lines.START if n == 1 else lines.link_alone(next(self.lines_from(n - 1)), self.writer)

    def _offset_of(self, segment: Segment, n: int, *, is_last: bool) -> int:
        """Where line N starts in its segment: counted from the end in the last one, where what is wanted is mostly
        near it, and else from the start."""
        start = lines.PREFIX_OF % (self.writer.encode(), n)
        if is_last:
            offset = last_line_feed(segment)
            for raw in lines_backwards(segment):
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

    # -- writing

    def extend(self, octets: bytes) -> None:
        """Put whole lines of this chain, checked already, behind the last one."""
        self.mend()
        while octets:
            end = octets.rfind(b"\n", 0, PORTION) + 1 or octets.find(b"\n") + 1
            first = lines.number_of(octets)
            try:
                self._write(self.end(), first, octets[:end])
            finally:
                self.sync()
            octets = octets[end:]

    def cut(self, n: int, aside: str) -> int:
        """Move everything from line N on into the file ASIDE; how many lines that were. The lock must be held.

        What stays is a file of its own: whoever has read on in the old one sees that it is not the one he has read.
        """
        segments = self.segments()
        home = max((place for place, segment in enumerate(segments) if segment.first <= n), default=0)
        start = self._offset_of(segments[home], n, is_last=home + 1 == len(segments))
        moved = b"".join([segments[home].octets()[start:], *(segment.octets() for segment in segments[home + 1 :])])
        disk.replace(aside, moved, durable=True)
        for segment in reversed(segments[home + 1 :]):
            disk.remove_if_there(segment.path)
        disk.replace(segments[home].path, segments[home].octets()[:start], durable=True)
        return moved.count(b"\n")

    def blank(self, n: int) -> bool:
        """Take the payload out of line N where it stands; whether it was still there. The lock must be held.

        The line stays as long as it was, and its head as it is, so every link of the chain holds.
        """
        home = [segment for segment in self.segments() if segment.first <= n]
        raw = self.line(n)
        after = None if raw is None else lines.blanked(raw)
        if not home or after is None or after == raw:
            return False
        try:
            fd = os.open(home[-1].path, os.O_RDWR | NO_FOLLOW)
            try:
                os.lseek(fd, self._offset_of(home[-1], n, is_last=False), os.SEEK_SET)
                disk.write_all(fd, after)
                disk.sync_data(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error
        return True

    def append(
        self, events: Callable[[Link], Sequence[Event]], salt: Callable[[], str], *, is_synced: bool = True
    ) -> list[Event]:
        """Record the events that follow from the last link, in one write. The lock must be held.

        What is not to be synced at once is the caller's to `sync`, before anybody is told.
        """
        self.mend()
        start = self.end()
        before = link = self.written.end.link if self.written else self.tail()
        recorded = list(events(link))
        raws = []
        for event in recorded:
            raw, link = lines.write(event, link, salt())
            raws.append(raw)
        octets = b"".join(raws)
        if octets:
            try:
                segment, file = self._write(start, before.n + 1, octets)
            finally:
                if is_synced:
                    self.sync()
            if self._kept is not None:
                end = Position(segment, file.st_size + len(octets), link)
                self.written = Written(octets, before, end, file.st_ino)
        return recorded

    def end(self) -> tuple[int, int]:
        """Where the next line will be written: how many segments there are, and how long the last one is."""
        segments = self.segments()
        if self.written:
            return len(segments), self.written.end.offset
        return len(segments), segments[-1].size() if segments else 0

    def sync(self) -> None:
        """Wait until all that was written is on the disk; if it cannot be, take it back. The lock must be held."""
        files, self._unsynced = self._unsynced, {}
        try:
            try:
                for fd, _ in files.values():
                    disk.sync_data(fd)
                if not all(before for _, before in files.values()):
                    disk.sync_folder(self.folder)
            except BaseException:
                self._take_back(files)
                raise
            for fd, _ in files.values():
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error

    def _take_back(self, files: Mapping[str, tuple[int, int]]) -> None:
        """What is not synced is not acknowledged, so it must not stay: a retry would record it twice."""
        self._kept = self.written = None
        for fd, before in files.values():
            os.ftruncate(fd, before)
        for path, (fd, before) in files.items():
            os.close(fd)  # there are systems that remove nothing that is open
            if not before:
                disk.remove_if_there(path)

    def is_torn(self) -> bool:
        """Whether the last line lacks its end: somebody is writing it now, or was killed while doing so."""
        segments = self.segments()
        return bool(segments) and not segments[-1].is_whole()

    def mend(self) -> bool:
        """Finish or put aside a torn last line; whether there was one. The lock must be held."""
        segments = self.segments()
        if self._kept is not None or not segments or segments[-1].is_whole():
            return False
        segment = segments[-1]
        end = last_line_feed(segment)
        try:
            fd = os.open(segment.path, os.O_RDWR | NO_FOLLOW)
            try:
                fragment = read_at(fd, segment.size() - end, end)
                if self._is_whole(fragment):
                    os.lseek(fd, 0, os.SEEK_END)
                    disk.write_all(fd, b"\n")
                else:
                    disk.make_folder(self.torn)
                    aside = os.path.join(self.torn, f"{self.writer}-{segment.first:012}-{end}-{os.urandom(3).hex()}")
                    disk.replace(aside, fragment, durable=True)
                    os.ftruncate(fd, end)
                disk.sync_data(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error
        return True

    def _is_whole(self, fragment: bytes) -> bool:
        """Whether a fragment without a line feed is a whole line that follows from the one before it."""
        try:
            lines.check(fragment, self.writer, self.tail())
        except (BadLine, LedgerDamaged):
            return False
        return len(fragment) < lines.MAX_LINE

    def _write(self, end: tuple[int, int], first: int, octets: bytes) -> tuple[int, os.stat_result]:
        """Write lines, the FIRST of which has that number, at the END; into which segment, and what its file was."""
        segment = self.segments()[-1] if end[0] else None
        is_new = segment is None or end[1] >= SEGMENT_SIZE
        path = os.path.join(self.folder, f"{first:012}{SUFFIX}") if is_new or segment is None else segment.path
        try:
            if path in self._unsynced:
                fd, _ = self._unsynced[path]
                before = os.fstat(fd)
            else:
                fd = disk.create(path, os.O_RDWR | os.O_APPEND | NO_FOLLOW)
                before = os.fstat(fd)
                self._unsynced[path] = fd, before.st_size
            try:
                disk.write_all(fd, octets)
            except OSError:
                os.ftruncate(fd, before.st_size)
                raise
        except OSError as error:
            self._kept = self.written = None
            raise disk.refusal(error) from error
        if is_new and self._kept is not None:
            self._kept.append(Segment(first, path))
        return first if is_new or segment is None else segment.first, before
