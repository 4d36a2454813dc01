"""One writer at a time: an advisory lock on a file that is never removed.

The wait is bounded, and whoever waits in vain is told who has it. The lock file itself stays empty and untouched
for ever, because its inode is what tells a store from a copy of it (`ledger/journal/writers.py`); the holder's name is
written into the queue beside it.
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

PATIENCE = 5.0  # seconds; an append takes a fraction of a millisecond, so this is many thousands of turns
FIRST_PAUSE, LONGEST_PAUSE = 0.0002, 0.004
QUEUE = ".queue"


class LedgerBusy(Busy):
    """Another process has been writing to the ledger for too long."""

    code = "LEDGER_BUSY"
    hint = "try again; if it persists, look at the process that holds the lock"


class Lock:
    """`with Lock(path):` holds the lock; LedgerBusy after `patience` seconds.

    Who wants the lock first takes the queue beside it, then waits for the lock, then leaves the queue. So somebody
    who has just let go and wants it again stands behind those who have been waiting, instead of overtaking them.
    """

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self.patience
        queue = _opened(self.path + QUEUE, os.O_CREAT)
        try:
            fd = _opened(self.path)
            try:
                _wait_for(queue, fd, deadline)
            except BaseException:
                os.close(fd)
                raise
        finally:
            os.close(queue)
        self._fd = fd
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
        self._fd = -1


class StandingLock(Lock):
    """The same for somebody who takes it again and again: its files stay open until it is closed."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__(path, patience)
        self._queue = -1
        self._is_held = self._is_over = False

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self.patience
        if self._fd < 0:
            self._queue = _opened(self.path + QUEUE, os.O_CREAT)
            try:
                self._fd = _opened(self.path)
            except BaseException:
                self.close()
                raise
        try:
            _wait_for(self._queue, self._fd, deadline)
        except BaseException:
            unlock(self._fd)
            raise
        finally:
            unlock(self._queue)
        self._is_held = True
        return self

    def __exit__(self, *_: object) -> None:
        unlock(self._fd)
        self._is_held = False
        if self._is_over:
            self.close()

    def close(self) -> None:
        """Let go of the files, as soon as the lock is not held."""
        self._is_over = self._is_held
        if self._is_held:
            return
        for fd in (self._queue, self._fd):
            if fd >= 0:
                os.close(fd)
        self._queue = self._fd = -1


class NoLock:
    """Where nobody else writes."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _opened(path: str, flags: int = 0) -> int:
    try:
        how = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        return disk.create(path, how) if flags & os.O_CREAT else os.open(path, how)
    except OSError as error:
        raise disk.refusal(error) from error


def _wait_for(queue: int, fd: int, deadline: float) -> None:
    if not (_taken(queue, deadline) and _taken(fd, deadline)):
        holder = _holder(queue)
        raise LedgerBusy(f"the ledger is held by {holder}", holder=holder)
    _sign(queue)


def _taken(fd: int, deadline: float) -> bool:
    return try_lock(fd) or _wait_in_line(fd, max(deadline - time.monotonic(), FIRST_PAUSE))


def _sign(queue: int) -> None:
    """Leave our name for those who wait. They can do without, so a failure to write it is no failure."""
    try:
        os.lseek(queue, 0, os.SEEK_SET)
        os.write(queue, f"{os.getpid():>10}\n".encode())
    except OSError:
        return


def _holder(queue: int) -> str:
    try:
        os.lseek(queue, 0, os.SEEK_SET)
        pid = os.read(queue, 64).decode("ascii", "replace").strip()
    except OSError:  # on Windows, nobody else can read what a process has locked
        pid = ""
    return f"process {pid}" if pid.isdigit() else "an unknown process"


def _ask_again_and_again(fd: int, patience: float) -> bool:
    """Wait for the lock where there is no queue to wait in."""
    deadline = time.monotonic() + patience
    pause = FIRST_PAUSE
    while not try_lock(fd):
        if time.monotonic() >= deadline:
            return False
        # Half the pause is chance, so that processes that collided once do not march in step.
        time.sleep(pause / 2 * (1 + os.urandom(1)[0] / 255))
        pause = min(pause * 2, LONGEST_PAUSE)
    return True


try:
    import fcntl
except ImportError:  # there is none on Windows
    from bb.ledger.files import lock_elsewhere

    try_lock, unlock = lock_elsewhere.try_lock, lock_elsewhere.unlock
    _wait_in_line = _ask_again_and_again

else:

    def try_lock(fd: int, *, shared: bool = False) -> bool:
        """Take the lock if it is free; whether it was."""
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise disk.refusal(error) from error
        return True

    def unlock(fd: int) -> None:
        """Let go of the lock, if we have it."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    class _OutOfPatienceError(Exception):
        pass

    def _wait_in_line(fd: int, patience: float) -> bool:
        """Wait for the lock in the system's own queue, where a waiter is woken the moment it is free.

        An alarm ends the wait. Only the main thread can have one; any other asks again and again.
        """
        import signal  # noqa: PLC0415  (only who has to wait pays for it)

        def give_up(*_: object) -> None:
            raise _OutOfPatienceError

        try:
            before = signal.signal(signal.SIGALRM, give_up)
        except ValueError:
            return _ask_again_and_again(fd, patience)
        try:
            signal.setitimer(signal.ITIMER_REAL, patience)
            fcntl.flock(fd, fcntl.LOCK_EX)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except _OutOfPatienceError:
            return False
        except OSError as error:
            raise disk.refusal(error) from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return True
