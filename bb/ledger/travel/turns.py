"""Taking turns: one process at a time syncs a clone, and clones that meet at a remote wait for chance."""

from __future__ import annotations

import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.files.lock import try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

LOCK = "sync.lock"
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts, when others are faster


class AlreadySyncing(Busy):
    """Another process is syncing this clone."""

    code = "ALREADY_SYNCING"
    hint = "what you want is done by it, or by the next sync"


def wait(pause: float) -> float:
    """Wait for about so many seconds, by chance, so that two do not march in step; how long to wait the next time."""
    time.sleep(pause * (0.5 + os.urandom(1)[0] / 512))
    return min(2 * pause, LONGEST_PAUSE)


class Turn:
    """`with Turn(store, patience):` is the only one that syncs this clone; AlreadySyncing if that takes too long."""

    def __init__(self, store: str, patience: float = 0.0) -> None:
        self._path = os.path.join(store, LOCK)
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self._fd = disk.create(self._path, os.O_RDWR)
        except OSError as error:
            raise disk.refusal(error) from error
        deadline = time.monotonic() + self._patience
        while not try_lock(self._fd):
            if time.monotonic() >= deadline:
                os.close(self._fd)
                raise AlreadySyncing
            time.sleep(FIRST_PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
