"""`try_lock` and `unlock` for systems without `flock` (Windows), by the package filelock.

filelock takes several times as long to load as the interpreter, so it is loaded when the first file is locked. Only its
locks on an open file are used: the system releases them when their process ends. Its `SoftFileLock` is never used,
because its lock file stays behind when the process is killed. If the system cannot lock files, recording is refused.
"""

from __future__ import annotations

from bb.ledger.files import disk


def try_lock(fd: int, *, shared: bool = False) -> bool:  # noqa: ARG001  (there are no shared locks here)
    """Take the lock if it is free; return whether it was free."""
    import filelock  # noqa: PLC0415

    try:
        return filelock.lock_descriptor(fd, blocking=False)
    except OSError as error:
        raise disk.refusal(error) from error


def unlock(fd: int) -> None:
    """Release the lock, if it is held."""
    import filelock  # noqa: PLC0415

    filelock.unlock_descriptor(fd)
