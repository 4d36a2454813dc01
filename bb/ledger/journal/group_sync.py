"""Group commit: the processes that append to one journal wait for the disk together.

A process writes its line under the journal's lock and releases the lock. Then it takes the lock `sync`, as the leader,
and syncs the file for all lines that were written until then. The processes whose lines it has synced wait only for the
leader. The file `synced` says how far the last segment is written and synced. It is never synced itself: it is only
needed while these processes run.

    inode, written    the last segment, and the end of its last announced line; changed under the journal's lock
    status, durable   the state of the last sync, and how far the segment is on the disk; changed under the lock `sync`

Whoever needs both locks takes the journal's lock first. What happens if something goes wrong:

- A sync fails: the system may have dropped the data, so another sync would prove nothing. The status says so, and no
  line after `durable` is acknowledged. All of them are removed, by the leader or by the next process that writes, and
  their processes find that their lines are gone and refuse.
- The leader is killed: nobody knows whether its sync failed. The next leader writes the bytes after `durable` again, so
  that its own sync covers them.
- A process is killed between writing and announcing, or another program changed the file: the file's size is not
  `written`. The next process that writes syncs everything before it goes on.

See docs/decisions/0058-group-commit.md.
"""

from __future__ import annotations

import errno
import os
import time

from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.files.lock import PATIENCE, LedgerBusy, is_shareable, try_lock, unlock, wait_for_lock
from bb.ledger.journal.segments import NO_FOLLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

LOCK, STATE = "sync", "synced"
CALM, RUNNING, FAILED = "c", "r", "f"
NUMBER = "%20d"
WRITTEN_AT, STATUS_AT, WHOLE = 0, 80, 107
MOST_READ = 100  # attempts to read a state that others are changing
PATIENCE_FOR_DISK = 60.0  # seconds; the line is written, so a refusal would have to leave its fate open
PATIENT = 3  # attempts to become the leader without waiting


class Known:
    """The contents of the file `synced`."""

    __slots__ = ("durable", "inode", "number", "status", "written")

    def __init__(self, inode: int, written: int, status: str, number: int, durable: int) -> None:
        self.inode = inode
        self.written = written
        self.status = status
        self.number = number  # of the system's error, when a sync has failed
        self.durable = durable


NOTHING_KNOWN = Known(0, 0, CALM, 0, 0)


class Line(Record):
    """A line (or several) of ours that was written: the open file, its place in it, and its first bytes."""

    fd: int
    path: str
    inode: int
    start: int
    end: int
    head: bytes

    def is_there(self) -> bool:
        """Whether it was not removed. Another line never has the same head."""
        return os.pread(self.fd, len(self.head), self.start) == self.head


class SyncFailed(Exception):
    """A sync has failed with an ERROR, and the lines after the last successful one must be removed."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class GroupSync:
    """The synced state of the journal in FOLDER."""

    def __init__(self, folder: str) -> None:
        self._lock = _opened(folder + os.sep + LOCK)
        try:
            self._state = _opened(folder + os.sep + STATE)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        """Take the lock `sync`: no leader is at work."""
        _take(self._lock, time.monotonic() + PATIENCE, shared=False)
        return self

    def __exit__(self, *_: object) -> None:
        unlock(self._lock)

    def close(self) -> None:
        os.close(self._lock)
        os.close(self._state)

    # -- under the journal's lock

    def prepare(self, fd: int, path: str, sync_former: Callable[[], None], *, is_over: bool = False) -> None:
        """Before a write to the last segment: make sure that everything in it was announced. If the segment IS_OVER,
        because another one will begin, make sure that everything in it is on the disk.

        SYNC_FORMER syncs the segments before it. OSError if a sync has failed; the lines that were lost are removed.
        """
        file = os.fstat(fd)
        known = self._read()
        is_announced = (known.inode, known.written) == (file.st_ino, file.st_size)
        if is_announced and known.status != FAILED and not is_over:
            return
        with self:
            known = self._read()
            is_same = known.inode == file.st_ino
            if is_same and known.status == FAILED:
                self._take_back(fd, known)
                raise _error(known)
            if not is_same:
                sync_former()
            is_doubtful = is_same and (known.status == RUNNING or known.written != file.st_size)
            start = min(known.durable, file.st_size) if is_same else 0
            self._write(Known(file.st_ino, file.st_size, RUNNING, 0, start))
            if is_doubtful:
                _write_again(path, file.st_ino, start, file.st_size)
            if file.st_size:
                disk.sync_data(fd)
            self._write(Known(file.st_ino, file.st_size, CALM, 0, file.st_size))

    def announce(self, inode: int, end: int) -> None:
        """Tell the next leader that the segment is written until END."""
        self._write_at(WRITTEN_AT, _first(inode, end))

    def has_failed(self) -> bool:
        """Whether lines that could not be synced must be removed."""
        return self._read().status == FAILED

    def has_pending(self) -> bool:
        """Whether lines were announced that are not on the disk."""
        known = self._read()
        return known.status != CALM or known.durable < known.written

    def sync_alone(self, files: list[tuple[int, str]]) -> None:
        """Sync FILES, of which the last is the last segment. The lock `sync` must be held too."""
        known = self._read()
        if known.status == FAILED:
            raise _error(known)
        for fd, path in files:
            if known.status == RUNNING and os.fstat(fd).st_ino == known.inode:  # the last leader was killed
                _write_again(path, known.inode, known.durable, os.fstat(fd).st_size)
        self._set_status(RUNNING, 0, known.durable)  # if a sync fails, the earlier lines of others are doubtful too
        for fd, _ in files:
            disk.sync_data(fd)
        last = os.fstat(files[-1][0])
        self._write(Known(last.st_ino, last.st_size, CALM, 0, last.st_size))

    def take_back(self, fd: int) -> None:
        """Remove the lines that a failed sync has left."""
        with self:
            known = self._read()
            if known.status == FAILED and known.inode == os.fstat(fd).st_ino:
                self._take_back(fd, known)

    def _take_back(self, fd: int, known: Known) -> None:
        if os.fstat(fd).st_size > known.durable:
            os.ftruncate(fd, known.durable)
        self._write(Known(known.inode, known.durable, CALM, known.number, known.durable))

    # -- without the journal's lock

    def wait(self, line: Line) -> None:
        """Return when LINE is on the disk. SyncFailed if a sync has failed; OSError if the line was removed."""
        deadline = time.monotonic() + PATIENCE_FOR_DISK
        try:
            for _ in range(PATIENT):
                if try_lock(self._lock):
                    break
                _take(self._lock, deadline, shared=True)
                if self._is_durable(line):
                    return
            else:  # others look at the state all the time
                _take(self._lock, deadline, shared=False)
            if not self._is_durable(line):
                self._lead(line)
        finally:
            unlock(self._lock)

    def _is_durable(self, line: Line) -> bool:
        known = self._read()
        if not line.is_there():
            raise _error(known)
        if known.inode not in (line.inode, 0):
            return True  # a segment is synced before another one begins or replaces it
        if known.durable < line.end and known.status == FAILED:
            raise SyncFailed(_error(known))
        return known.durable >= line.end

    def _lead(self, line: Line) -> None:
        known = self._read()
        try:
            if known.status == RUNNING:  # the last leader was killed
                _write_again(line.path, line.inode, known.durable, known.written)
            self._set_status(RUNNING, 0, known.durable)
            disk.sync_data(line.fd)
        except OSError as error:
            self._set_status(FAILED, error.errno or errno.EIO, known.durable)
            raise SyncFailed(error) from error
        self._set_status(CALM, 0, known.written)

    # -- the file

    def _read(self) -> Known:
        """The state. A part that is changed meanwhile is read again."""
        for _ in range(MOST_READ):
            octets = os.pread(self._state, WHOLE, 0)
            if octets[:40] == octets[40:80]:
                break
        try:
            return Known(int(octets[:20]), int(octets[20:40]), chr(octets[80]), int(octets[81:87]), int(octets[87:]))
        except (ValueError, IndexError):  # the file is new
            return NOTHING_KNOWN

    def _write(self, known: Known) -> None:
        self._write_at(WRITTEN_AT, _first(known.inode, known.written) + _second(known))

    def _set_status(self, status: str, number: int, durable: int) -> None:
        self._write_at(STATUS_AT, _second(Known(0, 0, status, number, durable)))

    def _write_at(self, place: int, octets: bytes) -> None:
        if os.pwrite(self._state, octets, place) != len(octets):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_possible() -> bool:
    """Whether this system has what a group commit needs; without it, each process syncs under the journal's lock."""
    return is_shareable and hasattr(os, "pwrite")


def _first(inode: int, written: int) -> bytes:
    # Twice, because it is read without a lock.
    return (NUMBER % inode + NUMBER % written).encode() * 2


def _second(known: Known) -> bytes:
    return f"{known.status}{known.number:6d}{NUMBER % known.durable}".encode()


def _opened(path: str) -> int:
    flags = os.O_RDWR | NO_FOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return disk.create(path, flags)


def _take(fd: int, deadline: float, *, shared: bool) -> None:
    if not (try_lock(fd, shared=shared) or wait_for_lock(fd, max(deadline - time.monotonic(), 0.001), shared=shared)):
        message = "another process has been waiting for the disk for too long"
        raise LedgerBusy(message, hint="look whether it was recorded before you repeat it")


def _write_again(path: str, inode: int, start: int, end: int) -> None:
    """Write the bytes from START to END to the file again, so that the next sync covers them."""
    fd = os.open(path, os.O_RDWR | NO_FOLLOW)  # not for appending: then the system ignores the place
    try:
        while os.fstat(fd).st_ino == inode and start < end:
            octets = os.pread(fd, min(end - start, 1 << 20), start)
            if not octets:
                return
            start += os.pwrite(fd, octets, start)
    finally:
        os.close(fd)


def _error(known: Known) -> OSError:
    number = known.number or errno.EIO
    return OSError(number, os.strerror(number))
