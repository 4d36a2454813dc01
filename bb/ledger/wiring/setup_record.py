"""What `bb setup` has done in a work tree, with everything that undoing it needs: `<git directory>/bb-setup.json`.

Each entry is one part with the files that it wrote: their state before, and a mark of their state after. An entry is
written before its part is installed, so an interrupted setup can be undone too. A file may occur in several entries; it
is undone from the last one to the first. The file contains copies of settings, so only this user can read it.
"""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.wiring import snapshots
from bb.ledger.wiring.snapshots import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.git.place import Place

NAME = "bb-setup.json"
LARGEST = 1 << 26
FORMAT = 1
WORK, GIT, ANYWHERE = "work", "git", ""

RecordUnreadable = Refused.declare(
    "SETUP_RECORD_UNREADABLE",
    "The record of `bb setup` is damaged or was written by a newer bb",
    hint="undo the parts one by one: bb hooks uninstall, bb mcp install --host HOST --undo, bb init --undo --skill",
)


class Written(Record):
    """One file that a part wrote."""

    path: str
    before: State
    after: str | None  # the mark of its state afterwards; None if the setup was interrupted


class Entry(Record):
    """One installed part: its files, and the folders that were made for them."""

    part: str
    version: str
    files: tuple[Written, ...] = ()
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, part: str, version: str, paths: Sequence[str]) -> Entry:
        """The entry of a part that is about to write to PATHS."""
        folders = dict.fromkeys(folder for path in paths for folder in snapshots.missing_folders(path))
        return cls(
            part, version, tuple(Written(path, snapshots.state_of(path), None) for path in paths), tuple(folders)
        )

    def finished(self) -> Entry:
        """The entry with the present states of its files, without the files that did not change."""
        files = [file.replace(after=snapshots.state_of(file.path).mark) for file in self.files]
        return self.replace(files=tuple(file for file in files if file.after != file.before.mark))


def path_of(place: Place) -> str:
    return os.path.join(place.git_dir or place.common, NAME)


def read(place: Place) -> list[Entry]:
    """The entries, the oldest first; none if there is no record."""
    octets = disk.read_small(path_of(place), LARGEST)
    if octets is None:
        return []
    try:
        members = json_text.read(octets)
        if members["format"] != FORMAT:
            raise RecordUnreadable(f"{path_of(place)} was written by a newer bb")
        return [_entry(place, each) for each in members["parts"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordUnreadable(f"{path_of(place)} is damaged") from error


def write(place: Place, entries: Sequence[Entry]) -> None:
    """Replace the record. Without entries, it is removed."""
    if not entries:
        disk.remove_if_there(path_of(place))
        return
    members = {"format": FORMAT, "parts": [_as_json(place, entry) for entry in entries]}
    disk.replace(path_of(place), json_text.dumps(members).encode(), mode=0o600)


def _as_json(place: Place, entry: Entry) -> dict[str, Any]:
    files = [
        {"path": _shortened(place, file.path), "before": file.before.as_json(), "after": file.after}
        for file in entry.files
    ]
    folders = [_shortened(place, folder) for folder in entry.folders]
    return {"part": entry.part, "bb": entry.version, "files": files, "folders": folders}


def _entry(place: Place, members: dict[str, Any]) -> Entry:
    files = [
        Written(_whole(place, file["path"]), State.from_json(file["before"]), file["after"])
        for file in members["files"]
    ]
    folders = [_whole(place, folder) for folder in members["folders"]]
    return Entry(members["part"], members["bb"], tuple(files), tuple(folders))


# Paths are stored relative to the work tree or the git directory, because a repository may be moved.


def _shortened(place: Place, path: str) -> list[str]:
    for kind, folder in ((GIT, place.common), (WORK, place.work_tree)):
        if folder and path.startswith(os.path.join(folder, "")):
            return [kind, os.path.relpath(path, folder).replace(os.sep, "/")]
    return [ANYWHERE, path]


def _whole(place: Place, stored: list[str]) -> str:
    kind, path = stored
    folder = {GIT: place.common, WORK: place.work_tree or ""}.get(kind, "")
    return os.path.join(folder, *path.split("/")) if kind else path
