"""The lines that a process has written to its journal and that are not on the disk yet.

`sync` waits for the disk: together with the other processes that append (`group_sync.py`), or alone while the journal's
lock is held, if there are several files or a new one. Lines that cannot be synced are removed and never acknowledged.
"""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.files.lock import Lock, NoLock, let_others_run
from bb.ledger.journal import group_sync
from bb.ledger.journal.group_sync import GroupSync, Line, SyncFailed
from bb.ledger.journal.segments import NO_FOLLOW, OpenSegment, Segment, last_line_feed, lines_backwards, path_of
from bb.ledger.journal.writers import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.ledger.journal.group_sync import Known

HEAD = 256  # bytes of a line that distinguish it from every other line
TO_APPEND = os.O_RDWR | os.O_APPEND | NO_FOLLOW


class Unsynced:
    """The unsynced lines in FOLDER. LOCK makes the journal's lock."""

    def __init__(self, folder: str, lock: Callable[[], Lock]) -> None:
        self._folder = folder
        self._new_lock = lock
        self._files: dict[str, OpenSegment] = {}  # those with a write
        self._ahead: OpenSegment | None = None  # opened before the journal's lock was taken
        self._ready: OpenSegment | None = None  # the last segment, open and without a write
        self._last: tuple[int, bytes] | None = None  # the last write: its offset and its bytes
        self._group: GroupSync | None = None

    def open_ahead(self) -> None:
        """Before the journal's lock is taken: open what a write will probably need. Others have to wait less then."""
        group = self._opened_group(has_lock=True)
        first = group.read().segment if group and not self._ahead else 0
        if first:
            self._ahead = self._opened(Segment(first, path_of(self._folder, first)))

    def state(self) -> Known | None:
        """What the processes that write here know of its end; None without a group. The journal's lock must be held."""
        group = self._opened_group(has_lock=True)
        return group.read() if group else None

    def open_last(self, segment: Segment, state: Known) -> OpenSegment | None:
        """Open the last SEGMENT, as the STATE names it; None if anything in it was not announced."""
        if self._ready:
            os.close(self._ready.fd)
            self._ready = None
        try:
            last = self._opened(segment)
        except FileNotFoundError:
            return None
        if not (state.is_end_of(last) and last.size):
            os.close(last.fd)
            return None
        self._ready = last
        return last

    def write(self, segment: Segment, octets: bytes, former: Callable[[], Sequence[str]], ends: Segment | None) -> int:
        """Write OCTETS at the end of SEGMENT; return its inode.

        FORMER returns the segments before it. ENDS is the segment that ends because this one begins.
        """
        self._last = None
        opened = self._files.get(segment.path)
        if opened is None:
            opened = self._files[segment.path] = self._prepared(segment, former, ends)
        try:
            disk.write_all(opened.fd, octets)
        except OSError:
            os.ftruncate(opened.fd, opened.size)
            raise
        self._last = opened.size, octets
        opened.size += len(octets)
        return opened.inode

    def _prepared(self, segment: Segment, former: Callable[[], Sequence[str]], ends: Segment | None) -> OpenSegment:
        """Open a segment that will be written. Nothing in it is of doubtful fate afterwards."""
        ready, self._ready = self._ready, None
        if ready and ready.path == segment.path:
            return ready
        if ready:
            os.close(ready.fd)

        def sync_former() -> None:
            """Sync the segment before it, whose writer may have been killed."""
            if paths := former():
                with disk.Reading(paths[-1], NO_FOLLOW) as (fd, _):
                    disk.sync_data(fd)
            disk.sync_folder(self._folder)

        group = self._opened_group()
        if ends:
            over = self._opened(ends)
            try:
                if group:
                    group.prepare(over, sync_former, is_over=True)
            finally:
                os.close(over.fd)
        opened = self._opened(segment, is_new=True)
        try:
            if group:
                group.prepare(opened, sync_former)
        except BaseException:
            os.close(opened.fd)
            raise
        return opened

    def _opened(self, segment: Segment, *, is_new: bool = False) -> OpenSegment:
        """Open a segment to write. If it IS_NEW, it is created unless it exists."""
        ahead, self._ahead = self._ahead, None
        if ahead:
            if ahead.path == segment.path and ahead.is_still_there():
                return ahead
            os.close(ahead.fd)
        try:
            fd = os.open(segment.path, TO_APPEND)
        except FileNotFoundError:
            if not is_new:
                raise
            fd = disk.create(segment.path, TO_APPEND)
        return OpenSegment(segment, fd)

    def _opened_group(self, *, has_lock: bool = False) -> GroupSync | None:
        """The state that we share with the processes that write here; None for a journal without a lock. If it HAS a
        LOCK, as the caller knows, nobody looks."""
        if self._group is None and group_sync.is_possible():
            has_lock = has_lock or os.path.exists(self._folder + os.sep + LOCK)
            self._group = GroupSync(self._folder) if has_lock else None
        return self._group

    def take_back_lost(self, segments: Sequence[Segment]) -> None:
        """Remove the lines that could not be synced. The journal's lock must be held."""
        if self._group and segments:
            last = self._opened(segments[-1])
            try:
                self._group.take_back(last)
            finally:
                os.close(last.fd)

    # -- waiting for the disk

    def sync(self, lock: Lock | None, segments: Callable[[], Sequence[Segment]]) -> None:
        """Wait until all writes are on the disk. The journal's lock must be held; if it is given, it is released as
        early as possible. If nothing was written, wait for the lines of others, on which an answer may depend."""
        files, self._files = list(self._files.values()), {}
        last, self._last = self._last, None
        group, self._group = self._group, None
        try:
            if not files:
                if group and group.has_pending():
                    self._wait_for_others(group, lock, segments())
            elif lock and group and last and len(files) == 1 and files[0].before:
                self._sync_together(group, lock, files[0], last)
            else:
                self._sync_alone(group, files)
        finally:
            if lock:
                lock.__exit__()
            self.close_last()
            if group:
                group.close()

    def close(self) -> None:
        """Close the files without waiting for the disk. The caller syncs them in another way."""
        files, self._files, self._last = self._files, {}, None
        for opened in files.values():
            os.close(opened.fd)

    def close_unwritten(self) -> None:
        """Close what was opened for a write that did not come."""
        self.close_last()
        if self._group:
            self._group.close()
            self._group = None

    def close_last(self) -> None:
        """Close the segment that was opened to be written, unless it was written."""
        for opened in (self._ahead, self._ready):
            if opened:
                os.close(opened.fd)
        self._ahead = self._ready = None

    def _sync_together(self, group: GroupSync, lock: Lock, segment: OpenSegment, last: tuple[int, bytes]) -> None:
        """Release the LOCK and wait for the disk with other processes."""
        try:
            try:
                group.announce(segment)
            except BaseException:
                os.ftruncate(segment.fd, segment.before)
                raise
            lock.__exit__()
            let_others_run()  # we shall sleep anyway, and the lock is free
            self._wait(group, segment, *last)
        finally:
            os.close(segment.fd)

    def _wait(self, group: GroupSync, segment: OpenSegment, start: int, octets: bytes) -> None:
        try:
            group.wait(Line(segment, start, start + len(octets), octets[:HEAD]))
        except SyncFailed as failure:
            with self._new_lock():
                group.take_back(segment)
            raise failure.error from None

    def _wait_for_others(self, group: GroupSync, lock: Lock | None, segments: Sequence[Segment]) -> None:
        if not segments:
            return
        raw, end = next(lines_backwards(segments[-1]), b""), last_line_feed(segments[-1])
        last = self._opened(segments[-1])
        try:
            if lock is None:
                with group:
                    group.sync_alone([last])
            else:
                lock.__exit__()
                self._wait(group, last, end - len(raw) - 1, raw + b"\n")
        finally:
            os.close(last.fd)

    def _sync_alone(self, group: GroupSync | None, files: Sequence[OpenSegment]) -> None:
        """Sync FILES while the journal's lock is held."""
        try:
            with group or NoLock():
                if group:
                    group.sync_alone(files)
                else:
                    for opened in files:
                        disk.sync_data(opened.fd)
            if not all(opened.before for opened in files):
                disk.sync_folder(self._folder)
        except BaseException:
            _take_back(files)
            raise
        for opened in files:
            os.close(opened.fd)


def _take_back(files: Sequence[OpenSegment]) -> None:
    """Remove lines that could not be synced. They are not acknowledged, so a retry would record them twice."""
    for opened in files:
        os.ftruncate(opened.fd, opened.before)
    for opened in files:
        os.close(opened.fd)  # Windows cannot remove an open file
        if not opened.before:
            disk.remove_if_there(opened.path)
