"""The state of a file before bb writes it, and the way back to it, to the byte and to the permission.

A work tree may contain links that lead anywhere, so files in it are written through `work_tree_files`. Hooks of git lie
elsewhere and may be links, which are made again.
"""

from __future__ import annotations

import base64
import os
import stat

from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.files import disk, work_tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.git.place import Place

LARGEST = 1 << 24  # bytes; no part writes a larger file


class State(Record):
    """A file: its permissions with its bytes, or the target of a link. All are None if there is no file."""

    mode: int | None = None
    octets: bytes | None = None
    link: str | None = None

    @property
    def mark(self) -> str:
        """A digest that differs for different states."""
        return digest(b"%r %r " % (self.mode, self.link and os.fsencode(self.link)) + (self.octets or b"-"))

    def as_json(self) -> dict[str, Any]:
        octets = None if self.octets is None else base64.b64encode(self.octets).decode()
        return {"mode": self.mode, "octets": octets, "link": self.link}

    @classmethod
    def from_json(cls, members: dict[str, Any]) -> State:
        octets = members["octets"]
        return cls(members["mode"], None if octets is None else base64.b64decode(octets), members["link"])


def state_of(path: str) -> State:
    """The present state of the file at PATH."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return State(link=os.readlink(path))
    except (FileNotFoundError, NotADirectoryError):
        return State()
    except OSError as error:
        raise disk.refusal(error) from error
    return State(stat.S_IMODE(status.st_mode), disk.read_small(path, LARGEST) or b"")


def missing_folders(path: str) -> list[str]:
    """The folders above PATH that do not exist, the deepest first."""
    missing = []
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder) and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def restore(path: str, state: State, place: Place) -> None:
    """Make the file at PATH what it was in the repository at PLACE."""
    try:
        if state.link is None and place.work_tree is not None and _is_work(path, place.work_tree):
            _restore_in(place.work_tree, os.path.relpath(path, place.work_tree).replace(os.sep, "/"), state)
        else:
            _restore_elsewhere(path, state)
    except OSError as error:
        raise disk.refusal(error) from error


def _is_work(path: str, work_tree: str) -> bool:
    """Whether PATH lies in the work tree, and not in the git directory inside it."""
    inside = os.path.relpath(path, work_tree).split(os.sep)
    return inside[0] not in (os.pardir, work_tree_files.GIT) and not os.path.isabs(inside[0])


def _restore_in(work_tree: str, name: str, state: State) -> None:
    if state.octets is None:
        work_tree_files.remove(work_tree, name, keeps_folders=True)
        return
    work_tree_files.write(work_tree, name, state.octets)
    os.chmod(os.path.join(work_tree, *name.split("/")), state.mode or disk.PLAIN)


def _restore_elsewhere(path: str, state: State) -> None:
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    if state.link is not None:
        os.symlink(state.link, temporary)
    elif state.octets is not None:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            disk.write_all(fd, state.octets)
        finally:
            os.close(fd)
        os.chmod(temporary, state.mode or disk.PLAIN)
    else:
        disk.remove_if_there(path)
        return
    os.replace(temporary, path)


def remove_empty(folders: Sequence[str]) -> None:
    """Remove the FOLDERS that are empty, the deepest first."""
    for folder in sorted(folders, key=len, reverse=True):
        disk.remove_folder_if_empty(folder)
