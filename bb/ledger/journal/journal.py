"""One writer's journal: segments of ledger lines in `j/<writer>/`, which only grow at the end. An append is:

    lock, open, read the tail, repair a torn line, chain, one write, unlock, fdatasync, answer

Processes that append at the same time share one fdatasync (`group_sync.py`). An acknowledged line is on the disk. A
line that could not be synced is removed and never acknowledged. A process killed during a write leaves a torn last
line. If only its line feed is missing, the next append adds it; otherwise the next append moves the fragment to
`torn/`.
"""

from __future__ import annotations

import os

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock, NoLock, ReusableLock
from bb.ledger.journal import line as lines
from bb.ledger.journal import received
from bb.ledger.journal.journal_reader import JournalReader, Position
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.journal.segments import NO_FOLLOW, Segment, last_line_feed, path_of, read_at
from bb.ledger.journal.segments import LedgerDamaged as LedgerDamaged  # noqa: PLC0414  (others know it from here)
from bb.ledger.journal.writers import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.kernel.event import Event
    from bb.ledger.journal.group_sync import Known
    from bb.ledger.journal.unsynced import Unsynced

SEGMENT_SIZE = 4 << 20
PORTION = 1 << 20  # bytes of one write, so that a segment does not grow far beyond its size


class Written(Record):
    """The last write: the lines, the link before them, the position after them, and the inode of the file.

    After a write of another process, `octets` is empty.
    """

    octets: bytes
    before: Link
    end: Position
    inode: int


class Journal(JournalReader):
    """The journal of one writer."""

    def __init__(self, store: str, writer: str) -> None:
        super().__init__(store, writer)
        self.torn = os.path.join(store, "torn")
        # Valid while no other process can write here: the segments, once they were listed, and the last write.
        self._kept: list[Segment] | None = None
        self.written: Written | None = None
        self._writes: Unsynced | None = None
        self._standing_lock: ReusableLock | None = None

    def keep_segments(self) -> None:
        """Keep in memory where the journal ends, because no other process writes here from now on.

        If nothing has changed since our last write, what was kept then is used again.
        """
        try:
            state = self._unsynced.state()
            if state and state.has_failed:  # and the process that has found that out could not remove the lines
                self._forget()
                self._unsynced.take_back_lost(self._listed_segments())
            elif self._is_unchanged() or (state and self._find_end(state)):
                return
        except OSError as error:
            raise disk.refusal(error) from error
        self._forget()
        self.repair_tail()
        self._kept = list(self._listed_segments())

    def open_ahead(self) -> None:
        """Open the files that a write will need. This is only a guess: `keep_segments` checks it under the lock."""
        try:
            self._unsynced.open_ahead()
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk.refusal(error) from error

    def _forget(self) -> None:
        self._kept = self.written = None
        self._names = disk.FolderListing(self.folder)  # a writer needs a fresh listing

    def _find_end(self, state: Known) -> bool:
        """Find the end of the journal without listing its folder. False if that is not possible, or if the last line
        may have to be repaired."""
        self._forget()
        last = self._unsynced.open_last(Segment(state.segment, path_of(self.folder, state.segment)), state)
        if last is None:
            return False
        try:
            link = lines.link_without_previous(last.last_line(), self.writer)
        except BadLine:
            link = None
        if link is None or last.size >= SEGMENT_SIZE:  # at this size, another version of bb may have begun a new one
            self._unsynced.close_last()
            return False
        self.written = Written(b"", link, Position(last.first, last.size, link), last.inode)
        return True

    def _is_unchanged(self) -> bool:
        if self.written is None:
            return False
        try:
            file = os.stat(path_of(self.folder, self.written.end.segment))
        except OSError:
            return False
        # At this size, another process may have begun a new segment.
        is_last = file.st_size < SEGMENT_SIZE
        return is_last and (file.st_ino, file.st_size) == (self.written.inode, self.written.end.offset)

    def _current_segments(self) -> list[Segment]:
        if self._kept is None and self.written is not None:
            self._kept = list(self._listed_segments())
        return self._kept if self._kept is not None else self._listed_segments()

    def lock(self) -> Lock:
        return Lock(os.path.join(self.folder, LOCK))

    def standing_lock(self) -> ReusableLock:
        """The same lock, for repeated use."""
        if self._standing_lock is None:
            self._standing_lock = ReusableLock(os.path.join(self.folder, LOCK))
        return self._standing_lock

    def close(self) -> None:
        """Close the lock's files, and what was opened for a write that was refused."""
        if self._standing_lock is not None:
            self._standing_lock.close()
        if self._writes is not None:
            self._writes.close_unwritten()

    def lock_to_change(self) -> Lock | NoLock | received.Changing:
        """Its lock. A received journal has none, because only sync writes it, one process at a time; but the change is
        noted, so that others look at it."""
        if self.is_received:
            return received.Changing(self.store, [self.writer])
        return self.lock() if os.path.exists(os.path.join(self.folder, LOCK)) else NoLock()

    def extend(self, octets: bytes, *, is_synced: bool = True) -> None:
        """Append whole lines of this chain that were checked already. Unless IS_SYNCED, the caller syncs all files to
        the disk before it acknowledges the lines."""
        self.repair_tail()
        start = 0
        while start < len(octets):
            end = octets.rfind(b"\n", start, start + PORTION) + 1 or octets.find(b"\n", start) + 1
            portion, start = octets[start:end], end
            try:
                self._write(*self.end(), lines.number_of(portion), portion)
            finally:
                if is_synced:
                    self.sync()
                elif self._writes is not None:
                    self._writes.close()

    def append(
        self, events: Callable[[Link], Sequence[Event]], salt: Callable[[], str], *, is_synced: bool = True
    ) -> list[Event]:
        """Record the events that EVENTS makes for the last link, in one write. The lock must be held.

        Unless IS_SYNCED, the caller must call `sync` before it acknowledges the lines.
        """
        self.repair_tail()
        segment, size = self.end()
        before = link = self.written.end.link if self.written else self.tail()
        recorded = list(events(link))
        raws = []
        for event in recorded:
            raw, link = lines.write(event, link, salt())
            raws.append(raw)
        octets = b"".join(raws)
        if octets:
            try:
                segment, start, inode = self._write(segment, size, before.n + 1, octets)
            finally:
                if is_synced:
                    self.sync()
            if self._is_kept:
                self.written = Written(octets, before, Position(segment.first, start + len(octets), link), inode)
        return recorded

    @property
    def _is_kept(self) -> bool:
        return self._kept is not None or self.written is not None

    def end(self) -> tuple[Segment | None, int]:
        """The place of the next line: the last segment, if there is any, and its size."""
        if self.written:
            end = self.written.end
            return Segment(end.segment, path_of(self.folder, end.segment)), end.offset
        segments = self.segments()
        return (segments[-1], segments[-1].size()) if segments else (None, 0)

    def sync(self, lock: Lock | None = None) -> None:
        """Wait until all writes are on the disk; remove them if that fails.

        The lock must be held. If it is given, it is released as early as possible: other processes append while this
        one waits.
        """
        try:
            self._unsynced.sync(lock, self.segments)
        except OSError as error:
            self._kept = self.written = None
            raise disk.refusal(error) from error
        except BaseException:
            self._kept = self.written = None
            raise

    @property
    def _unsynced(self) -> Unsynced:
        if self._writes is None:
            from bb.ledger.journal.unsynced import Unsynced  # noqa: PLC0415  (only a process that writes needs it)

            self._writes = Unsynced(self.folder, self.lock)
        return self._writes

    def repair_tail(self) -> bool:
        """Complete or move away a torn last line; return whether there was one. The lock must be held."""
        if self._is_kept or not (segments := self.segments()) or segments[-1].is_whole():
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
        """Whether a fragment without a line feed is a whole line that follows the line before it."""
        try:
            lines.check(fragment, self.writer, self.tail())
        except (BadLine, LedgerDamaged.error):
            return False
        return len(fragment) < lines.MAX_LINE

    def _write(self, last: Segment | None, size: int, first: int, octets: bytes) -> tuple[Segment, int, int]:
        """Write lines after the LAST segment's first SIZE bytes. FIRST is the number of the first one.

        Return the segment that has them, their offset in it, and its inode.
        """
        is_new = last is None or size >= SEGMENT_SIZE
        segment = Segment(first, path_of(self.folder, first)) if is_new or last is None else last
        offset = 0 if is_new else size

        def former() -> list[str]:
            return [older.path for older in self.segments() if older.first < segment.first]

        try:
            inode = self._unsynced.write(segment, octets, former, last if is_new else None)
        except OSError as error:
            self._kept = self.written = None
            raise disk.refusal(error) from error
        if is_new and self._kept is not None:
            self._kept.append(segment)
        return segment, offset, inode
