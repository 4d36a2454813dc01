"""`sync.json`: the last sync of this clone and its result. The file's modification time is the time of the last
attempt, so a background sync can check cheaply whether it is due."""

from __future__ import annotations

import os
import time

from bb.kernel import json_text, validation
from bb.kernel.record import Record
from bb.ledger.files import disk

NAME = "sync.json"


class LastSync(Record):
    """The last attempt, and the time of the last success."""

    remote: str
    at: int
    ok_at: int | None
    code: str | None  # of the refusal, if the attempt failed
    message: str | None
    came: int = 0
    went: int = 0
    background: bool = False


def read(store: str) -> LastSync | None:
    octets = disk.read_small(os.path.join(store, NAME))
    try:
        members = json_text.read(octets or b"")
        last = LastSync(**{name: members[name] for name in LastSync.__match_args__})
    except (ValueError, TypeError, KeyError):
        return None
    is_right = all(type(last.as_dict()[name]) is int for name in ("at", "came", "went")) and validation.is_unfolded(
        last.remote
    )
    is_right = is_right and (last.code is None or validation.is_kind(last.code))
    is_right = is_right and (last.message is None or type(last.message) is str)
    return last if is_right and (last.ok_at is None or type(last.ok_at) is int) else None


def write(store: str, last: LastSync) -> None:
    disk.replace(os.path.join(store, NAME), json_text.dumps(last.as_dict()).encode())


def touch(store: str) -> None:
    """Note an attempt now."""
    try:
        os.utime(os.path.join(store, NAME))
    except OSError:
        return


def age(store: str) -> float | None:
    """Seconds since the last attempt; None if there was none. Both the file's time and the clock are this machine's."""
    try:
        return time.time() - os.stat(os.path.join(store, NAME)).st_mtime
    except OSError:
        return None
