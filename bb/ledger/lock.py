"""One writer at a time: an advisory lock on a file that is never removed.

The wait is bounded, and whoever waits in vain is told who has it. The lock file itself stays empty and untouched
for ever, because its inode is what tells a store from a copy of it (`ledger/writers.py`); the holder's name is
written beside it.
"""

from __future__ import annotations

import errno
import os
import sys
import time

from bb.kernel.errors import Busy
from bb.ledger import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

PATIENCE = 5.0  # seconds; an append takes a fraction of a millisecond, so this is many thousands of turns
FIRST_PAUSE, LONGEST_PAUSE = 0.0002, 0.004


class LedgerBusy(Busy):
    """Another process has been writing to the ledger for too long."""

    code = "LEDGER_BUSY"
    hint = "try again; if it persists, look at the process that holds the lock"


class Lock:
    """`with Lock(path):` holds the lock; LedgerBusy after `patience` seconds."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            fd = os.open(self.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise disk.refusal(error) from error
        try:
            is_ours = _try_lock(fd) or _wait_in_line(fd, self.patience)
        except BaseException:
            os.close(fd)
            raise
        if not is_ours:
            os.close(fd)
            holder = _holder(self.path)
            raise LedgerBusy(f"the ledger is held by {holder}", holder=holder)
        self._fd = fd
        self._sign()
        return self

    def __exit__(self, *_: object) -> None:
        _unlock(self._fd)
        os.close(self._fd)
        self._fd = -1

    def _sign(self) -> None:
        """Leave our name for those who wait. They can do without, so a failure to write it is no failure."""
        try:
            fd = os.open(self.path + ".holder", os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
            os.write(fd, f"{os.getpid():>10}\n".encode())
            os.close(fd)
        except OSError:
            return


def _holder(path: str) -> str:
    pid = (disk.read_small(path + ".holder") or b"").decode("ascii", "replace").strip()
    return f"process {pid}" if pid.isdigit() else "an unknown process"


def _ask_again_and_again(fd: int, patience: float) -> bool:
    """Wait for the lock where there is no queue to wait in."""
    deadline = time.monotonic() + patience
    pause = FIRST_PAUSE
    while not _try_lock(fd):
        if time.monotonic() >= deadline:
            return False
        # Half the pause is chance, so that processes that collided once do not march in step.
        time.sleep(pause / 2 * (1 + os.urandom(1)[0] / 255))
        pause = min(pause * 2, LONGEST_PAUSE)
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise disk.refusal(error) from error
        return True

    def _unlock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    _wait_in_line = _ask_again_and_again

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise disk.refusal(error) from error
        return True

    def _unlock(fd: int) -> None:
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
