"""An advisory file lock: one writer at a time.

The wait is bounded. If it ends in vain, the refusal names the process that holds the lock. The lock file is never
removed or written, because its inode distinguishes a store from a copy of it (`ledger/journal/writers.py`). The holder
writes its process id into the queue file beside it.
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import byte_locks, disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

PATIENCE = 5.0  # seconds; an append takes less than a millisecond, so thousands of writers get a turn meanwhile
FIRST_PAUSE, LONGEST_PAUSE = 0.0002, 0.004
QUEUE = ".queue"
IN_LINE = 1.0  # seconds to wait for the process before us in the queue, which may have been stopped
TICKET_AT, TICKET_SIZE, MOST_TICKETS = 64, 8, 1 << 40  # in the queue file: the number of the last ticket
HOW = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)

LedgerBusy = Busy.declare(
    "LEDGER_BUSY",
    "Another process has held the ledger's lock for too long",
    hint="try again; if this happens again, check what the process that holds the lock is doing",
)


class Lock:
    """`with Lock(path):` holds the lock; LedgerBusy after `patience` seconds.

    A second lock file serves as a FIFO queue, so a process that just released the lock cannot jump ahead of those that
    wait. Each process takes the next ticket, a byte of the queue file which it locks, and waits for the ticket before
    it, which is released with the lock. If the system cannot lock bytes, a process locks the queue, waits for the lock,
    and unlocks the queue.
    """

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._fd = self._queue = -1

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self.patience
        try:
            self._queue = _opened(self.path + QUEUE, may_create=True)
            self._fd = _opened(self.path)
            _wait_for(self._queue, self._fd, deadline)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock, unless it was released already."""
        self._close()

    def _close(self) -> None:
        for fd in (self._fd, self._queue):  # in this order: the next one in the queue finds the lock free
            if fd >= 0:
                os.close(fd)
        self._queue = self._fd = -1


class ReusableLock(Lock):
    """A lock for repeated use: its files stay open until `close`."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__(path, patience)
        self._is_held = self._is_over = False

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self.patience
        if self._fd < 0:
            self._queue = _opened(self.path + QUEUE, may_create=True)
            try:
                self._fd = _opened(self.path)
            except BaseException:
                self.close()
                raise
        try:
            _wait_for(self._queue, self._fd, deadline)
        except BaseException:
            self._release()
            raise
        self._is_held = True
        return self

    def _release(self) -> None:
        unlock(self._fd)
        _leave(self._queue)

    def __exit__(self, *_: object) -> None:
        self._release()
        self._is_held = False
        if self._is_over:
            self.close()

    def close(self) -> None:
        """Close the files; if the lock is held, close them when it is released."""
        self._is_over = self._is_held
        if not self._is_held:
            self._close()


class NoLock:
    """A lock that does nothing, for a ledger that has no other writer."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _opened(path: str, *, may_create: bool = False) -> int:
    try:
        try:
            return os.open(path, HOW)
        except FileNotFoundError:
            if may_create:
                return disk.create(path, HOW)
            raise
    except OSError as error:
        raise disk.refusal(error) from error


def _wait_for(queue: int, fd: int, deadline: float) -> None:
    has_ticket = _has_waited_in_line(queue, deadline)
    is_taken = (has_ticket or _taken(queue, deadline)) and _taken(fd, deadline)
    if not has_ticket:
        unlock(queue)
    if not is_taken:
        holder = _holder(queue)
        raise LedgerBusy(f"the ledger is held by {holder}", holder=holder)
    _sign(queue)


def _has_waited_in_line(queue: int, deadline: float) -> bool:
    """Take a ticket and wait for the ticket before it. False if the system has no tickets, or the disk is full."""
    if not byte_locks.ARE_THERE:
        return False
    deadline = min(deadline, time.monotonic() + IN_LINE)
    try:
        _take_byte(queue, 0, byte_locks.WRITE, deadline)  # while a ticket is taken
        before = int.from_bytes(os.pread(queue, TICKET_SIZE, TICKET_AT), "big") % MOST_TICKETS
        os.pwrite(queue, (before + 1).to_bytes(TICKET_SIZE, "big"), TICKET_AT)
        _take_byte(queue, before + 2, byte_locks.WRITE, deadline)
        byte_locks.change(queue, byte_locks.SET, 0, byte_locks.UNLOCKED)
        _take_byte(queue, before + 1, byte_locks.READ, deadline)
    except OSError:
        _leave(queue)
        return False
    return True


def _take_byte(queue: int, byte: int, kind: int, deadline: float) -> None:
    """Take the lock of a byte, if it becomes free in time. The queue only keeps the order, so it may fail."""

    def try_take() -> bool:
        try:
            byte_locks.change(queue, byte_locks.SET, byte, kind)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def take() -> None:
        byte_locks.change(queue, byte_locks.SET_AND_WAIT, byte, kind)

    if not try_take():
        wait(take, try_take, max(deadline - time.monotonic(), FIRST_PAUSE))


def _leave(queue: int) -> None:
    """Leave the queue."""
    if byte_locks.ARE_THERE:
        try:
            byte_locks.release_all(queue)
        except OSError:  # the file system has no such locks
            return


def _taken(fd: int, deadline: float) -> bool:
    return try_lock(fd) or wait_for_lock(fd, max(deadline - time.monotonic(), FIRST_PAUSE))


def _sign(queue: int) -> None:
    """Write our process id into the queue file, for the refusal of a waiter. A failed write does not matter."""
    try:
        octets = f"{os.getpid():>10}\n".encode()
        if hasattr(os, "pwrite"):
            os.pwrite(queue, octets, 0)
        else:
            os.lseek(queue, 0, os.SEEK_SET)
            os.write(queue, octets)
    except OSError:
        return


def _holder(queue: int) -> str:
    try:
        os.lseek(queue, 0, os.SEEK_SET)
        pid = os.read(queue, TICKET_AT).partition(b"\n")[0].decode("ascii", "replace").strip()
    except OSError:  # on Windows, other processes cannot read a locked file
        pid = ""
    return f"process {pid}" if pid.isdigit() else "an unknown process"


def _poll(try_take: Callable[[], bool], patience: float) -> bool:
    """Poll for a lock, where the system offers no way to wait for it with a time limit."""
    deadline = time.monotonic() + patience
    pause = FIRST_PAUSE
    while not try_take():
        if time.monotonic() >= deadline:
            return False
        # Half of the pause is random, so that processes that collided once do not collide again.
        time.sleep(pause / 2 * (1 + os.urandom(1)[0] / 255))
        pause = min(pause * 2, LONGEST_PAUSE)
    return True


try:
    import fcntl
except ImportError:  # on Windows
    from bb.ledger.files import lock_elsewhere

    try_lock, unlock = lock_elsewhere.try_lock, lock_elsewhere.unlock
    is_shareable = False

    def wait(take: Callable[[], object], try_take: Callable[[], bool], patience: float) -> bool:  # noqa: ARG001
        """Poll for a lock."""
        return _poll(try_take, patience)

    def wait_for_lock(fd: int, patience: float, *, shared: bool = False) -> bool:
        """Poll for the lock of a file."""
        return _poll(lambda: try_lock(fd, shared=shared), patience)

else:
    is_shareable = True

    def try_lock(fd: int, *, shared: bool = False) -> bool:
        """Take the lock if it is free; return whether it was free."""
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise disk.refusal(error) from error
        return True

    def unlock(fd: int) -> None:
        """Release the lock, if it is held."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    class _OutOfPatienceError(Exception):
        pass

    def wait(take: Callable[[], object], try_take: Callable[[], bool], patience: float) -> bool:
        """Wait in TAKE, a system call that returns as soon as a lock is free; return whether it was taken.

        An alarm signal ends the wait. Only the main thread can receive it; other threads poll with TRY_TAKE.
        """
        # The module `signal` wraps these functions in enumerations, which takes longer than most waits.
        import _signal as signal  # type: ignore[import-not-found] # noqa: PLC0415  (needed only when there is a wait)

        def give_up(*_: object) -> None:
            raise _OutOfPatienceError

        try:
            before = signal.signal(signal.SIGALRM, give_up)
        except ValueError:
            return _poll(try_take, patience)
        try:
            signal.setitimer(signal.ITIMER_REAL, patience)
            take()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except _OutOfPatienceError:
            return False
        except OSError as error:
            raise disk.refusal(error) from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return True

    def wait_for_lock(fd: int, patience: float, *, shared: bool = False) -> bool:
        """Wait for the lock of a file; return whether it was taken within PATIENCE seconds."""
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        return wait(lambda: fcntl.flock(fd, how), lambda: try_lock(fd, shared=shared), patience)
