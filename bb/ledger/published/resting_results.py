"""Reads `fleet/results.sqlite` where SQLite cannot: SQLite makes two files beside it, and this process may not. The
disk is read-only or has no free inode, or the folder belongs to another user.

While a relay runs, its last changes are in the log beside the file (`-wal`). Without a log, the file has everything,
and SQLite can be told that nobody changes it (`immutable`). It then takes no locks, so what it has read counts only if
the file is the same afterwards, and there is still no log. A relay changes the file only out of its log, and removes
the log only when the file has everything.
"""

from __future__ import annotations

import contextlib
import errno
import os

from bb.ledger.files import disk
from bb.ledger.files.sqlite import in_uri, sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    State = tuple[int, int, int, int]

LOGS = ("-wal", "-journal")


def rows(path: str, query: str, values: Sequence[object]) -> list[Any] | None:
    """The rows that a QUERY finds in the file at PATH; None if a relay changes it now, or has left a log. Raises the
    errors of SQLite."""
    before = _resting(path)
    if before is None:
        return None
    try:
        with contextlib.closing(_opened(path)) as connection:
            found = connection.execute(query, values).fetchall()
    except sqlite3.DatabaseError:
        if _resting(path) != before:
            return None
        if not os.access(path, os.R_OK):
            raise disk.refusal(PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)) from None
        raise
    return found if _resting(path) == before else None


def has_log(path: str) -> bool:
    """Whether some of the results are in a log beside the file, so that the file alone must not be read."""
    try:
        return _log_beside(path)
    except OSError:
        return False


def _opened(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{in_uri(path)}?mode=ro&immutable=1", isolation_level=None, uri=True)


def _resting(path: str) -> State | None:
    """The state of the file, if it has everything. None if it does not, or is being made anew."""
    try:
        # The log is looked for after the file: whatever changes the file from then on also changes its state.
        found = os.stat(path)
        is_whole = not _log_beside(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk.refusal(error) from error
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_whole else None


def _log_beside(path: str) -> bool:
    """Whether there is a log with content beside the file."""
    folder, name = os.path.split(path)
    beside = os.listdir(folder)  # a network disk may remember for long that there was no file of a name
    return any(name + log in beside and os.path.getsize(path + log) for log in LOGS)
