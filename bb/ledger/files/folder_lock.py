"""A lock on a folder that leaves no file behind: one process at a time may act in it.

It is for work that must not leave a trace, such as `bb setup`, whose undo restores the git directory exactly. The lock
ends with the process. Windows has no such lock; there the work is not locked.
"""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

PATIENCE = 20.0  # seconds; a setup takes less than one
PAUSE = 0.01

FolderBusy = Busy.declare(
    "FOLDER_BUSY", "Another process is doing the same here", hint="wait until it has ended, then try again"
)


class FolderLock:
    """`with FolderLock(path):` holds the lock; FolderBusy after PATIENCE seconds."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        if os.name == "nt":
            return self
        try:
            self._fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise disk.refusal(error) from error
        deadline = time.monotonic() + self._patience
        while not self._is_taken():
            if time.monotonic() >= deadline:
                self.__exit__()
                raise FolderBusy(f"another process holds the lock of {self._path}")
            time.sleep(PAUSE)
        return self

    def _is_taken(self) -> bool:
        import fcntl  # noqa: PLC0415  (Windows has no fcntl)

        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # a file system without locks
        return True

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
