"""The clones whose relays this daemon runs, kept in its home: a daemon that starts again resumes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from bb.kernel import json_text
from bb.ledger.files import disk
from bb.ledger.git.place import Place

NAME = "fleet_clones.json"
LARGEST = 1 << 20  # bytes


def read(folder: str) -> list[Place]:
    """The clones in the daemon's FOLDER. Entries that are not valid are left out."""
    try:
        found: Any = json_text.read(disk.read_small(os.path.join(folder, NAME), LARGEST) or b"")
    except ValueError:
        return []
    entries = found.get("clones") if type(found) is dict else None
    return [place for entry in entries or () if (place := _place(entry))] if type(entries) is list else []


def write(folder: str, places: Iterable[Place]) -> None:
    """Replace the list of clones."""
    entries = [{"common": place.common, "work_tree": place.work_tree} for place in places]
    disk.replace(os.path.join(folder, NAME), json_text.dumps({"v": 1, "clones": entries}).encode() + b"\n", mode=0o600)


def _place(entry: Any) -> Place | None:
    if type(entry) is not dict:
        return None
    common, work_tree = entry.get("common"), entry.get("work_tree")
    if not isinstance(common, str) or not os.path.isabs(common) or not isinstance(work_tree, str | None):
        return None
    return Place(common, work_tree, common)
