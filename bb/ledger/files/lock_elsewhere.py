"""The same two functions as in `lock.py` where the system has no `flock`: on Windows, by the package filelock.

filelock takes several times as long to load as the interpreter, so it is loaded once there is something to lock. Only
its locks on an open file are used: they end with the process that holds them. Its `SoftFileLock`, a file that stays
behind when its process is killed, is never used; where the system can lock no file, recording is refused.
"""

from __future__ import annotations

from bb.ledger.files import disk


def try_lock(fd: int, *, shared: bool = False) -> bool:  # noqa: ARG001  (there are no shared locks here)
    """Take the lock if it is free; whether it was."""
    import filelock  # noqa: PLC0415

    try:
        return filelock.lock_descriptor(fd, blocking=False)
    except OSError as error:
        raise disk.refusal(error) from error


def unlock(fd: int) -> None:
    """Let go of the lock, if we have it."""
    import filelock  # noqa: PLC0415

    filelock.unlock_descriptor(fd)
