"""Turns: one process at a time syncs a clone. Clones that collide at a remote wait for random times."""

from __future__ import annotations

import os
import time

from bb.kernel.errors import BbError, Busy
from bb.ledger.files import disk
from bb.ledger.files.lock import try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

LOCK = "sync.lock"
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts

AlreadySyncing = Busy.declare(
    "ALREADY_SYNCING",
    "Another process is syncing this clone",
    hint="wait for that sync; lines that it misses go with the next sync",
)


def random_pause(pause: float) -> float:
    """Wait for about PAUSE seconds, with a random factor. Returns the pause for the next attempt."""
    time.sleep(pause * (0.5 + os.urandom(1)[0] / 512))
    return min(2 * pause, LONGEST_PAUSE)


class SyncLock:
    """`with SyncLock(store, patience):` makes this process the only one that syncs the clone. AlreadySyncing if another
    process syncs it for longer than PATIENCE seconds."""

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
                raise AlreadySyncing()
            time.sleep(FIRST_PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def is_syncing(store: str) -> bool:
    """Whether a process syncs the clone just now, or this user may not sync it."""
    try:
        with SyncLock(store):
            return False
    except BbError:
        return True
