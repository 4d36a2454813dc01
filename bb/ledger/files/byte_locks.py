"""Locks on single bytes of an open file (OFD locks), which Linux has. Closing the file releases them."""

from __future__ import annotations

import errno
import sys

try:
    import fcntl
except ImportError:  # on Windows
    HAS_FCNTL = False
else:
    HAS_FCNTL = True

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SET, SET_AND_WAIT = 37, 38  # F_OFD_SETLK, F_OFD_SETLKW
READ, WRITE, UNLOCKED = 0, 1, 2  # F_RDLCK, F_WRLCK, F_UNLCK on Linux
ARE_THERE = HAS_FCNTL and sys.platform == "linux" and sys.maxsize > 1 << 32
UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)  # the kernel or the file system has no such locks


def change(fd: int, command: int, byte: int, kind: int, length: int = 1) -> Any:
    """Take or release the lock of a BYTE, or of LENGTH bytes, where 0 means all that follow."""
    # struct flock of a 64-bit system: type, whence, padding, start, length, pid, padding.
    order = sys.byteorder
    place = bytes(6) + byte.to_bytes(8, order) + length.to_bytes(8, order) + bytes(8)
    return fcntl.fcntl(fd, command, kind.to_bytes(2, order) + place)


def release_all(fd: int) -> None:
    """Release the locks of all bytes."""
    change(fd, SET, 0, UNLOCKED, 0)
