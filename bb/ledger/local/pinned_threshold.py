"""The stale minutes that the person has pinned, in a file beside the ledger. A heartbeat reads it without opening the
ledger.

The file is a cache of the ledger. Commands that judge other agents read the ledger (`Desk.stale_after_in`). The file is
written when the person changes the setting, and when a sync brings a change from another clone.
"""

from __future__ import annotations

import os

from bb.ledger.files import disk

FILE = "stale-minutes"


def read(store: str) -> int | None:
    """The pinned minutes; None if none are pinned, or the file is invalid."""
    text = disk.read_small(os.path.join(store, FILE)) or b""
    return int(text) if text.isdigit() and len(text) < 8 and int(text) else None


def write(store: str, minutes: int | None) -> None:
    """Save the pinned minutes; None removes the file."""
    if read(store) == minutes:
        return
    path = os.path.join(store, FILE)
    if minutes is None:
        disk.remove_if_there(path)
    else:
        disk.replace(path, str(minutes).encode())
