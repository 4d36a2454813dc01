"""The lines that a process has written to its journal and that are not on the disk yet.

`sync` waits for the disk: together with the other processes that append (`group_sync.py`), or alone while the journal's
lock is held, if there are several files or a new one. Lines that cannot be synced are removed and never acknowledged.
"""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.files.lock import Lock, NoLock
from bb.ledger.journal import group_sync
from bb.ledger.journal.group_sync import GroupSync, Line, SyncFailed
from bb.ledger.journal.segments import NO_FOLLOW, last_line_feed, lines_backwards
from bb.ledger.journal.writers import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bb.ledger.journal.segments import Segment

HEAD = 256  # bytes of a line that distinguish it from every other line


class Unsynced:
    """The unsynced lines in FOLDER. LOCK makes the journal's lock."""

    def __init__(self, folder: str, lock: Callable[[], Lock]) -> None:
        self._folder = folder
        self._new_lock = lock
        self._files: dict[str, tuple[int, int]] = {}  # the open descriptor, and the size before the first write
        self._last: tuple[int, bytes] | None = None  # the last write: its offset and its bytes
        self._group: GroupSync | None = None

    def write(self, path: str, octets: bytes, former: Sequence[str], *, ends: str | None) -> os.stat_result:
        """Write OCTETS at the end of the segment at PATH; return its status before.

        FORMER are the segments before it. ENDS is the segment that ends because this one begins.
        """
        self._last = None
        if path not in self._files:
            if ends:
                os.close(self._prepared(ends, former, is_over=True))
            fd = self._prepared(path, former)
            self._files[path] = fd, os.fstat(fd).st_size
        fd, _ = self._files[path]
        before = os.fstat(fd)
        try:
            disk.write_all(fd, octets)
        except OSError:
            os.ftruncate(fd, before.st_size)
            raise
        self._last = before.st_size, octets
        return before

    def _prepared(self, path: str, former: Sequence[str], *, is_over: bool = False) -> int:
        """Open a segment that will be written or that IS_OVER. Nothing in it is of doubtful fate afterwards."""

        def sync_former() -> None:
            """Sync the segment before it, whose writer may have been killed."""
            if former:
                with disk.Reading(former[-1], NO_FOLLOW) as (fd, _):
                    disk.sync_data(fd)
            disk.sync_folder(self._folder)

        flags = os.O_RDWR | os.O_APPEND | NO_FOLLOW
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            fd = disk.create(path, flags)
        try:
            if group := self._opened_group():
                group.prepare(fd, path, sync_former, is_over=is_over)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _opened_group(self) -> GroupSync | None:
        """The state that we share with the processes that write here; None for a journal without a lock."""
        has_lock = self._group is None and group_sync.is_possible() and os.path.exists(self._folder + os.sep + LOCK)
        if has_lock:
            self._group = GroupSync(self._folder)
        return self._group

    def has_lost_lines(self) -> bool:
        """Whether a sync has failed, and the process that has found that out could not remove the lines."""
        group = self._opened_group()
        return bool(group and group.has_failed())

    def take_back_lost(self, segments: Sequence[Segment]) -> None:
        """Remove these lines. The journal's lock must be held."""
        if self._group and segments:
            fd = os.open(segments[-1].path, os.O_RDWR | NO_FOLLOW)
            try:
                self._group.take_back(fd)
            finally:
                os.close(fd)

    # -- waiting for the disk

    def sync(self, lock: Lock | None, segments: Callable[[], Sequence[Segment]]) -> None:
        """Wait until all writes are on the disk. The journal's lock must be held; if it is given, it is released as
        early as possible. If nothing was written, wait for the lines of others, on which an answer may depend."""
        files, self._files = self._files, {}
        last, self._last = self._last, None
        group, self._group = self._group, None
        try:
            if not files:
                if group:
                    self._wait_for_others(group, lock, segments())
            elif lock and group and last and len(files) == 1 and all(before for _, before in files.values()):
                self._sync_together(group, lock, files, last)
            else:
                self._sync_alone(group, files)
        finally:
            if lock:
                lock.__exit__()
            if group:
                group.close()

    def close(self) -> None:
        """Close the files without waiting for the disk. The caller syncs them in another way."""
        files, self._files, self._last = self._files, {}, None
        for fd, _ in files.values():
            os.close(fd)

    def _sync_together(
        self, group: GroupSync, lock: Lock, files: Mapping[str, tuple[int, int]], last: tuple[int, bytes]
    ) -> None:
        """Release the LOCK and wait for the disk with other processes."""
        ((path, (fd, before)),) = files.items()
        try:
            try:
                group.announce(os.fstat(fd).st_ino, last[0] + len(last[1]))
            except BaseException:
                os.ftruncate(fd, before)
                raise
            lock.__exit__()
            self._wait(group, fd, path, *last)
        finally:
            os.close(fd)

    def _wait(self, group: GroupSync, fd: int, path: str, start: int, octets: bytes) -> None:
        try:
            group.wait(Line(fd, path, os.fstat(fd).st_ino, start, start + len(octets), octets[:HEAD]))
        except SyncFailed as failure:
            with self._new_lock():
                group.take_back(fd)
            raise failure.error from None

    def _wait_for_others(self, group: GroupSync, lock: Lock | None, segments: Sequence[Segment]) -> None:
        if not (segments and group.has_pending()):
            return
        path = segments[-1].path
        raw, end = next(lines_backwards(segments[-1]), b""), last_line_feed(segments[-1])
        fd = os.open(path, os.O_RDWR | NO_FOLLOW)
        try:
            if lock is None:
                with group:
                    group.sync_alone([(fd, path)])
            else:
                lock.__exit__()
                self._wait(group, fd, path, end - len(raw) - 1, raw + b"\n")
        finally:
            os.close(fd)

    def _sync_alone(self, group: GroupSync | None, files: Mapping[str, tuple[int, int]]) -> None:
        """Sync FILES while the journal's lock is held."""
        try:
            with group or NoLock():
                if group:
                    group.sync_alone([(fd, path) for path, (fd, _) in files.items()])
                else:
                    for fd, _ in files.values():
                        disk.sync_data(fd)
            if not all(before for _, before in files.values()):
                disk.sync_folder(self._folder)
        except BaseException:
            _take_back(files)
            raise
        for fd, _ in files.values():
            os.close(fd)


def _take_back(files: Mapping[str, tuple[int, int]]) -> None:
    """Remove lines that could not be synced. They are not acknowledged, so a retry would record them twice."""
    for fd, before in files.values():
        os.ftruncate(fd, before)
    for path, (fd, before) in files.items():
        os.close(fd)  # Windows cannot remove an open file
        if not before:
            disk.remove_if_there(path)
