"""The last real call of each hook: which program called it, at which moment, and when.

`bb hooks status` and `bb doctor` use this to find hooks that are installed but never called, for example because a
person has not reviewed them yet. Each hook has one empty file, `<store>/hook-calls/<host>.<moment>`; the time of the
call is the file's modification time. It is set at most once a minute, so most calls only read the status of one file.
"""

from __future__ import annotations

import os

from bb.kernel import clock
from bb.ledger.files import disk

FOLDER = "hook-calls"
GIT = "git"  # the host of git's hooks
RARELY = clock.MINUTE


def is_due(store: str, host: str, moment: str, now: int) -> bool:
    """Whether the call of a hook should be noted: not within a minute of the noted one, and only beside a ledger."""
    try:
        noted = os.stat(_path(store, host, moment)).st_mtime_ns // 1_000_000
    except OSError:
        return os.path.isdir(store)
    return abs(now - noted) >= RARELY


def note(store: str, host: str, moment: str, now: int) -> None:
    """Note that HOST has called the hook of MOMENT."""
    path = _path(store, host, moment)
    try:
        if not os.path.isdir(os.path.dirname(path)):
            disk.make_folder(os.path.dirname(path))
        disk.make_empty(path)
        os.utime(path, ns=(now * 1_000_000, now * 1_000_000))
    except OSError as error:
        raise disk.refusal(error) from error


def last_calls(store: str) -> dict[tuple[str, str], int]:
    """The time of the last real call of each hook, by host and moment. A hook that was never called is not in it."""
    calls = {}
    for name in disk.names(os.path.join(store, FOLDER)):
        host, _, moment = name.partition(".")
        try:
            calls[host, moment] = os.stat(os.path.join(store, FOLDER, name)).st_mtime_ns // 1_000_000
        except OSError:
            continue
    return calls


def _path(store: str, host: str, moment: str) -> str:
    return os.path.join(store, FOLDER, f"{host}.{moment}")
