"""Group commit: the processes that append to one journal wait for the disk together.

A process writes its line under the journal's lock and releases the lock. Then it leads a sync of the segment for all
lines that were written until then, or waits for the process that does. The file `tail` says which segment is the last
one, and how far it is written and synced. It is never synced itself: it is only needed while these processes run.

    segment, inode, written   the last segment, and the end of its last announced line; changed under the journal's lock
    status, durable, round    the state of the last sync, how far the segment is on the disk, and the number of the last
                              sync that has ended; changed by the leader

The leader of sync N holds lock N of the file (`numbered_locks.py`), and so only after sync N-1 has ended. The first
process whose line comes too late for sync N takes lock N+1, waits for lock N, and is the next leader. The others wait
for lock N+1. So the processes whose lines are on the disk are not held up by the next sync.

Whoever needs both kinds of locks takes the journal's lock first. What happens if something goes wrong:

- A sync fails: the system may have dropped the data, so another sync would prove nothing. The status says so, and no
  line after `durable` is acknowledged. All of them are removed, by the leader or by the next process that writes, and
  their processes find that their lines are gone and refuse.
- The leader is killed: nobody knows whether its sync failed. The next leader writes the bytes after `durable` again, so
  that its own sync covers them.
- A process is killed between writing and announcing, or another program changed the file: the file's size is not
  `written`. The next process that writes syncs everything before it goes on.

A process that writes opens the last segment by this file too. So it need not list the folder.

See docs/decisions/0058-group-commit.md.
"""

from __future__ import annotations

import errno
import os
import time

from bb.ledger.files import disk
from bb.ledger.files.lock import PATIENCE, LedgerBusy, is_shareable
from bb.ledger.files.numbered_locks import NumberedLocks
from bb.ledger.journal.segments import NO_FOLLOW, OpenSegment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

TAIL = "tail"
CALM, RUNNING, FAILED = "c", "r", "f"
WRITTEN = "%12d%20d%20d"
STATUS = "%s%6d%20d%12d"
# Each of them is in the file twice, because it is read without a lock.
STATUS_AT, WHOLE = 2 * 52, 2 * 52 + 2 * 39
MOST_READ = 100  # attempts to read a state that others are changing
PATIENCE_FOR_DISK = 60.0  # seconds; the line is written, so a refusal would have to leave its fate open
PATIENT = 3  # attempts to become the leader without insisting


class Known:
    """The contents of the file `tail`."""

    __slots__ = ("durable", "inode", "number", "round", "segment", "status", "written")

    def __init__(
        self, segment: int, inode: int, written: int, status: str, number: int, durable: int, round_: int
    ) -> None:
        self.segment = segment  # the number of its first line
        self.inode = inode
        self.written = written
        self.status = status
        self.number = number  # of the system's error, when a sync has failed
        self.durable = durable
        self.round = round_

    @property
    def has_failed(self) -> bool:
        """Whether lines that could not be synced must be removed."""
        return self.status == FAILED

    def is_end_of(self, segment: OpenSegment) -> bool:
        """Whether everything in SEGMENT was announced."""
        return (self.inode, self.written) == (segment.inode, segment.size)


NOTHING_KNOWN = Known(0, 0, 0, CALM, 0, 0, 0)


class Line:
    """A line (or several) of ours that was written: its open segment, its place in it, and its first bytes."""

    __slots__ = ("end", "head", "segment", "start")

    def __init__(self, segment: OpenSegment, start: int, end: int, head: bytes) -> None:
        self.segment = segment
        self.start = start
        self.end = end
        self.head = head

    def is_there(self) -> bool:
        """Whether it was not removed. Another line never has the same head."""
        return os.pread(self.segment.fd, len(self.head), self.start) == self.head


class SyncFailed(Exception):
    """A sync has failed with an ERROR, and the lines after the last successful one must be removed."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class GroupSync:
    """The synced state of the journal in FOLDER."""

    def __init__(self, folder: str) -> None:
        self._fd = _opened(folder + os.sep + TAIL)
        self._locks = NumberedLocks(self._fd)
        self._held = 0

    def __enter__(self) -> Self:
        """Take the leader's lock: no leader is at work."""
        deadline = time.monotonic() + PATIENCE
        while True:
            number = self.read().round + 1
            self._take(number, deadline)
            if self.read().round + 1 == number:
                self._held = number
                return self
            self._locks.release(number)

    def __exit__(self, *_: object) -> None:
        self._locks.release(self._held)

    def close(self) -> None:
        os.close(self._fd)

    # -- under the journal's lock

    def prepare(self, segment: OpenSegment, sync_former: Callable[[], None], *, is_over: bool = False) -> None:
        """Before a write to the last SEGMENT: make sure that everything in it was announced. If it IS_OVER, because
        another one will begin, make sure that everything in it is on the disk.

        SYNC_FORMER syncs the segments before it. OSError if a sync has failed; the lines that were lost are removed.
        """
        known = self.read()
        if known.is_end_of(segment) and not known.has_failed and not is_over:
            return
        with self:
            known = self.read()
            is_same = known.inode == segment.inode
            if is_same and known.has_failed:
                self._take_back(segment.fd, known)
                raise _error(known)
            if not is_same:
                sync_former()
            is_doubtful = is_same and (known.status == RUNNING or known.written != segment.size)
            start = min(known.durable, segment.size) if is_same else 0
            self._write_state(segment, RUNNING, start, known.round)
            if is_doubtful:
                _write_again(segment, start, segment.size)
            if segment.size:
                disk.sync_data(segment.fd)
            self._write_state(segment, CALM, segment.size, known.round)

    def announce(self, segment: OpenSegment) -> None:
        """Tell the next leader how far the segment is written."""
        self._write_at(0, _written(segment.first, segment.inode, segment.size))

    def has_pending(self) -> bool:
        """Whether lines were announced that are not on the disk."""
        known = self.read()
        return known.status != CALM or known.durable < known.written

    def sync_alone(self, segments: Sequence[OpenSegment]) -> None:
        """Sync SEGMENTS, of which the last is the last one of the journal. The leader's lock must be held too."""
        known = self.read()
        if known.has_failed:
            raise _error(known)
        for segment in segments:
            if known.status == RUNNING and segment.inode == known.inode:  # the last leader was killed
                _write_again(segment, known.durable, segment.size)
        # If a sync fails, the earlier lines of others are doubtful too.
        self._set_status(RUNNING, 0, known.durable, known.round)
        for segment in segments:
            disk.sync_data(segment.fd)
        self._write_state(segments[-1], CALM, segments[-1].size, known.round)

    def take_back(self, segment: OpenSegment) -> None:
        """Remove the lines that a failed sync has left."""
        with self:
            known = self.read()
            if known.has_failed and known.inode == segment.inode:
                self._take_back(segment.fd, known)

    def _take_back(self, fd: int, known: Known) -> None:
        if os.fstat(fd).st_size > known.durable:
            os.ftruncate(fd, known.durable)
        octets = _written(known.segment, known.inode, known.durable)
        self._write_at(0, octets + _status(CALM, known.number, known.durable, known.round))

    # -- without the journal's lock

    def wait(self, line: Line) -> None:
        """Return when LINE is on the disk. SyncFailed if a sync has failed; OSError if the line was removed."""
        deadline = time.monotonic() + PATIENCE_FOR_DISK
        attempts = 0
        while not self._is_durable(line, known := self.read()):
            attempts += 1
            first, second = known.round + 1, known.round + 2
            number = first
            if not self._locks.try_take(first):
                if attempts > PATIENT:  # others hold the locks all the time
                    self._take(first, deadline)
                elif self._locks.are_several and self._locks.try_take(second):
                    self._take(first, deadline, shared=True)  # a sync that may have begun before our line was written
                    self._locks.release(first)
                    number = second
                else:
                    self._take(second, deadline, shared=True)  # the sync of another leader, for our line too
                    self._locks.release(second)
                    continue
            if self._leads(line, number):
                return

    def _leads(self, line: Line, number: int) -> bool:
        """Lead sync NUMBER, if it is the next one and LINE needs it; return whether that was so. Release its lock."""
        try:
            known = self.read()
            if known.round + 1 != number or self._is_durable(line, known):
                return False
            self._lead(line.segment, known)
        finally:
            self._locks.release(number)
        return True

    def _is_durable(self, line: Line, known: Known) -> bool:
        if not line.is_there():
            raise _error(known)
        if known.inode not in (line.segment.inode, 0):
            return True  # a segment is synced before another one begins or replaces it
        if known.durable < line.end and known.has_failed:
            raise SyncFailed(_error(known))
        return known.durable >= line.end

    def _lead(self, segment: OpenSegment, known: Known) -> None:
        try:
            if known.status == RUNNING:  # the last leader was killed
                _write_again(segment, known.durable, known.written)
            self._set_status(RUNNING, 0, known.durable, known.round)
            disk.sync_data(segment.fd)
        except OSError as error:
            self._set_status(FAILED, error.errno or errno.EIO, known.durable, known.round + 1)
            raise SyncFailed(error) from error
        self._set_status(CALM, 0, known.written, known.round + 1)

    # -- the file

    def read(self) -> Known:
        """The state. A part that is changed meanwhile is read again."""
        for _ in range(MOST_READ):
            octets = os.pread(self._fd, WHOLE, 0)
            if octets[:52] == octets[52:104] and octets[104:143] == octets[143:]:
                break
        try:
            first, inode, written = int(octets[:12]), int(octets[12:32]), int(octets[32:52])
            number, durable, round_ = int(octets[105:111]), int(octets[111:131]), int(octets[131:143])
            return Known(first, inode, written, chr(octets[104]), number, durable, round_)
        except (ValueError, IndexError):  # the file is new
            return NOTHING_KNOWN

    def _write_state(self, segment: OpenSegment, status: str, durable: int, round_: int) -> None:
        octets = _written(segment.first, segment.inode, segment.size) + _status(status, 0, durable, round_)
        self._write_at(0, octets)

    def _set_status(self, status: str, number: int, durable: int, round_: int) -> None:
        self._write_at(STATUS_AT, _status(status, number, durable, round_))

    def _take(self, number: int, deadline: float, *, shared: bool = False) -> None:
        if not self._locks.take(number, max(deadline - time.monotonic(), 0.001), shared=shared):
            message = "another process has been waiting for the disk for too long"
            raise LedgerBusy(message, hint="look whether it was recorded before you repeat it")

    def _write_at(self, place: int, octets: bytes) -> None:
        if os.pwrite(self._fd, octets, place) != len(octets):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_possible() -> bool:
    """Whether this system has what a group commit needs; without it, each process syncs under the journal's lock."""
    return is_shareable and hasattr(os, "pwrite")


def _written(first: int, inode: int, written: int) -> bytes:
    return (WRITTEN % (first, inode, written)).encode() * 2


def _status(status: str, number: int, durable: int, round_: int) -> bytes:
    return (STATUS % (status, number, durable, round_)).encode() * 2


def _opened(path: str) -> int:
    flags = os.O_RDWR | NO_FOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return disk.create(path, flags)


def _write_again(segment: OpenSegment, start: int, end: int) -> None:
    """Write the bytes from START to END to the file again, so that the next sync covers them."""
    fd = os.open(segment.path, os.O_RDWR | NO_FOLLOW)  # not for appending: then the system ignores the place
    try:
        while os.fstat(fd).st_ino == segment.inode and start < end:
            octets = os.pread(fd, min(end - start, 1 << 20), start)
            if not octets:
                return
            start += os.pwrite(fd, octets, start)
    finally:
        os.close(fd)


def _error(known: Known) -> OSError:
    number = known.number or errno.EIO
    return OSError(number, os.strerror(number))
