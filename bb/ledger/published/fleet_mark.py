"""`fleet/charter`: an empty file, which is there while the published ledger, as this clone has fetched it, has a fleet.
So a command finds out with one look at the disk, without reading `pins.json`."""

from __future__ import annotations

import os

from bb.ledger.files import disk

PATH = os.path.join("fleet", "charter")


def is_there(store: str) -> bool:
    return os.path.exists(os.path.join(store, PATH))


def note(store: str, *, has_fleet: bool) -> None:
    """Make the file, or remove it."""
    if has_fleet == is_there(store):
        return
    path = os.path.join(store, PATH)
    if has_fleet:
        disk.make_folder(os.path.dirname(path))
        disk.make_empty(path)
    else:
        disk.remove_if_there(path)
