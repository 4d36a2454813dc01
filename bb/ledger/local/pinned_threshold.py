"""The stale minutes that the person has pinned, beside the ledger, so that a heartbeat need not open it to know them.

A cache: what counts is the ledger, which whoever judges others has open (`Desk.stale_after_in`). The file is written
when the person says so and when a sync has brought the word of another clone; losing it loses nothing.
"""

from __future__ import annotations

import os

from bb.ledger.files import disk

FILE = "stale-minutes"


def read(store: str) -> int | None:
    """The minutes that are pinned; None where none are, or the file says nothing."""
    text = disk.read_small(os.path.join(store, FILE)) or b""
    return int(text) if text.isdigit() and len(text) < 8 and int(text) else None


def write(store: str, minutes: int | None) -> None:
    """Remember what is pinned."""
    if read(store) == minutes:
        return
    path = os.path.join(store, FILE)
    if minutes is None:
        disk.remove_if_there(path)
    else:
        disk.replace(path, str(minutes).encode())
