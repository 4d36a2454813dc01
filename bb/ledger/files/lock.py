"""An advisory file lock: one writer at a time.

The wait is bounded. If it ends in vain, the refusal names the process that holds the lock. The lock file is never
removed or written, because its inode distinguishes a store from a copy of it (`ledger/journal/writers.py`). The holder
writes its process id into the queue file beside it.
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

PATIENCE = 5.0  # seconds; an append takes less than a millisecond, so thousands of writers get a turn meanwhile
ATTEMPTS = 20  # before a process stands in line
FIRST_PAUSE, LONGEST_PAUSE = 0.0002, 0.004
GLANCES, GLANCE = 20, 0.005  # attempts and seconds between them
QUEUE = ".queue"
HOW = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)

LedgerBusy = Busy.declare(
    "LEDGER_BUSY",
    "Another process has held the ledger's lock for too long",
    hint="try again; if this happens again, check what the process that holds the lock is doing",
)


class Lock:
    """`with Lock(path):` holds the lock; LedgerBusy after `patience` seconds.

    A process tries a few times first, and lets others run between the attempts. If the lock is still not free, it
    stands in line. A second lock file serves as the queue: a process locks the queue, then waits for the lock, then
    unlocks the queue. See docs/decisions/0006-standing-in-line.md.
    """

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self.patience
        queue = _opened(self.path + QUEUE, may_create=True)
        try:
            fd = _opened(self.path)
            try:
                if not _taken_soon(fd):
                    _stand_in_line(queue, fd, deadline)
                _sign(queue)
            except BaseException:
                os.close(fd)
                raise
        finally:
            os.close(queue)
        self._fd = fd
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock, unless it was released already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class ReusableLock(Lock):
    """A lock for repeated use: its files stay open until `close`.

    It stands in line at once. A process that takes the lock again and again would otherwise leave no turn to those that
    wait.
    """

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__(path, patience)
        self._queue = -1
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
            _stand_in_line(self._queue, self._fd, deadline)
            _sign(self._queue)
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
        """Close the files; if the lock is held, close them when it is released."""
        self._is_over = self._is_held
        if self._is_held:
            return
        for fd in (self._queue, self._fd):
            if fd >= 0:
                os.close(fd)
        self._queue = self._fd = -1


def taken_for_good(path: str) -> int | None:
    """Take a lock that is held as long as this process runs: its file number, or None if another process holds it.
    Several attempts, since a check by another process (`is_held`) also takes it briefly."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise disk.refusal(error) from error
    for _ in range(GLANCES):
        if try_lock(fd):
            return fd
        time.sleep(GLANCE)
    os.close(fd)
    return None


def is_held(path: str) -> bool:
    """Whether a process holds the lock at PATH. For locks that are held as long as a process runs."""
    try:
        fd = os.open(path, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise disk.refusal(error) from error
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def is_still_at(path: str, fd: int) -> bool:
    """Whether the file at PATH is the one that is open as FD. It is another one, or none, if its folder was deleted, or
    is on a disk that is away."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return False


def is_replaced(path: str, fd: int) -> bool:
    """Whether another file than the one that is open as FD is at PATH: its folder was deleted and made anew."""
    return os.path.exists(path) and not is_still_at(path, fd)


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


def _taken_soon(fd: int) -> bool:
    """Take a lock that becomes free within a few attempts; return whether it was taken.

    The holder mostly needs less time than a process needs to fall asleep and wake up.
    """
    for _ in range(ATTEMPTS):
        if try_lock(fd):
            return True
        let_others_run()
    return False


def _stand_in_line(queue: int, fd: int, deadline: float) -> None:
    if not (_taken(queue, deadline) and _taken(fd, deadline)):
        holder = _holder(queue)
        raise LedgerBusy(f"the ledger is held by {holder}", holder=holder)


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
        pid = os.read(queue, 64).decode("ascii", "replace").strip()
    except OSError:  # on Windows, other processes cannot read a locked file
        pid = ""
    return f"process {pid}" if pid.isdigit() else "an unknown process"


def let_others_run() -> None:
    """Give the processor to another process that is ready to run, if there is one."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


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
