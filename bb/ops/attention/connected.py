"""Marks that a harness of an agent is connected, so that no other process delivers the agent's messages meanwhile.

The mark is a lock that the process of the harness holds. It ends with the process, however that ends.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk, lock

FOLDER, SUFFIX = "harnesses", ".lock"
PATIENCE = 1.0  # seconds; others hold the lock only for a moment, to see whether it is free


class Mark:
    """The mark of one harness of AGENT, in the ledger at STORE."""

    def __init__(self, store: str, agent: str) -> None:
        self._fd = -1
        try:
            disk.make_private_folder(os.path.join(store, FOLDER))
            self._fd = disk.create(_path(store, agent), lock.HOW)
            _ = lock.try_lock(self._fd, shared=True) or lock.wait_for_lock(self._fd, PATIENCE, shared=True)
        except (OSError, BbError):  # without a mark, a message may be delivered in the other place, but only once
            self.remove()

    def remove(self) -> None:
        """Remove the mark: the harness has disconnected."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_connected(store: str, agent: str) -> bool:
    """Whether a harness of AGENT is connected."""
    try:
        fd = os.open(_path(store, agent), lock.HOW)
    except OSError:
        return False
    try:
        return not lock.try_lock(fd)
    except BbError:
        return False
    finally:
        os.close(fd)


def _path(store: str, agent: str) -> str:
    return os.path.join(store, FOLDER, agent + SUFFIX)
