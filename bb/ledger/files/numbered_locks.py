"""Several locks in one file: lock number N is a lock on one byte of it.

Linux has such locks for an open file (OFD locks). A process that waits for one number is not delayed by those that take
another one. On other systems all numbers are one lock, the `flock` of the file.
"""

from __future__ import annotations

import errno
import sys

from bb.ledger.files import disk, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBERS = 64  # a number stands for the same lock as this number more
SET, SET_AND_WAIT = 37, 38  # F_OFD_SETLK, F_OFD_SETLKW
HAS_NUMBERS = sys.platform == "linux" and sys.maxsize > 1 << 32
UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)  # the kernel or the file system has no such locks


class NumberedLocks:
    """The locks of the open file FD. Closing it releases them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.are_several = HAS_NUMBERS  # otherwise, all numbers are one lock; certain after the first `try_take`

    def try_take(self, number: int, *, shared: bool = False) -> bool:
        """Take the lock if it is free; return whether it was free."""
        if self.are_several:
            try:
                _set(self._fd, SET, number, READ if shared else WRITE)
            except (BlockingIOError, PermissionError):
                return False
            except OSError as error:
                if error.errno not in UNKNOWN:
                    raise disk.refusal(error) from error
                self.are_several = False
            else:
                return True
        return lock.try_lock(self._fd, shared=shared)

    def take(self, number: int, patience: float, *, shared: bool = False) -> bool:
        """Take the lock, waiting for it for PATIENCE seconds at most; return whether it was taken."""
        if self.try_take(number, shared=shared):
            return True
        if not self.are_several:
            return lock.wait_for_lock(self._fd, patience, shared=shared)
        return lock.wait(
            lambda: _set(self._fd, SET_AND_WAIT, number, READ if shared else WRITE),
            lambda: self.try_take(number, shared=shared),
            patience,
        )

    def release(self, number: int) -> None:
        """Release the lock, if it is held."""
        if self.are_several:
            _set(self._fd, SET, number, UNLOCKED)
        else:
            lock.unlock(self._fd)


try:
    import fcntl
except ImportError:  # on Windows, where nothing here is used
    READ = WRITE = UNLOCKED = 0
else:
    READ, WRITE, UNLOCKED = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK


def _set(fd: int, command: int, number: int, kind: int) -> Any:
    # struct flock of a 64-bit system: type, whence, padding, start, length, pid, padding.
    order = sys.byteorder
    start = (number % NUMBERS).to_bytes(8, order)
    return fcntl.fcntl(fd, command, kind.to_bytes(2, order) + bytes(6) + start + (1).to_bytes(8, order) + bytes(8))
