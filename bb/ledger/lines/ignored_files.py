"""Ignored files of the work tree in a throw-away tree: folders as links, files as copies.

Installed packages are large and rarely written by tests, so their folders are links to the real ones. A file, such as
`.env` or a small database, is copied up to a size, because tests may well write it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bb.coordination.lines.left_out import is_left_out
from bb.kernel.errors import Refused
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.lines import tree_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.lines.tree_places import TreePlace

LARGEST_COPY = 1 << 24  # bytes; larger files are linked
LARGEST_LIST = 1 << 26

CannotLink = Refused.declare(
    "CANNOT_LINK",
    "Ignored files of the work tree cannot be linked into the throw-away tree",
    hint="permit symbolic links (on Windows: the Developer Mode), or pass --clean to go without these files",
)


def wanted(place: Place) -> list[str]:
    """The ignored files and folders of the work tree at PLACE that a throw-away tree gets."""
    assert place.work_tree is not None  # noqa: S101  (the caller has checked it)
    listed = git.output(
        ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name", "--", ":/"],
        at=place.work_tree,
    )
    paths = [os.fsdecode(path).rstrip("/") for path in listed.split(b"\0")]
    return sorted(path for path in paths if path and not is_left_out(path))


def put(place: Place, taken: TreePlace, paths: Sequence[str]) -> None:
    """Put PATHS into the tree, where it has the folder for them and nothing of that name."""
    if not paths:
        return
    here = [path for path in paths if _has_room(os.path.join(taken.folder, path))]
    disk.replace(taken.copies, b"\0".join(map(os.fsencode, here)), mode=0o600)
    for path in here:
        _put(os.path.join(str(place.work_tree), path), os.path.join(taken.folder, path))


def remove(taken: TreePlace) -> None:
    """Remove them again: a link must not lead anybody else out of the tree, and a copy may hold secrets."""
    listed = disk.read_small(taken.copies, LARGEST_LIST)
    for path in (listed or b"").split(b"\0"):
        whole = os.path.join(taken.folder, os.fsdecode(path))
        if path and _is_inside(os.path.dirname(whole), taken.folder):
            if os.path.islink(whole) or not os.path.isdir(whole):
                disk.remove_if_there(whole)
            else:
                tree_places.remove(whole)
    disk.remove_if_there(taken.copies)


def _has_room(target: str) -> bool:
    return os.path.isdir(os.path.dirname(target)) and not os.path.lexists(target)


def _is_inside(folder: str, top: str) -> bool:
    """Whether FOLDER is in the tree: a command may have replaced a folder by a link out of it."""
    real = os.path.realpath(folder)
    return real == top or real.startswith(top + os.sep)


def _put(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # removed since the files were listed
        if os.path.isfile(source) and not os.path.islink(source):
            with disk.reader(source) as file:
                status = os.fstat(file.fileno())
                if status.st_size <= LARGEST_COPY:
                    _copy(file.read(LARGEST_COPY), target, status)
                    return
        try:
            os.symlink(os.path.realpath(source), target, target_is_directory=os.path.isdir(source))
        except OSError as error:
            raise CannotLink(f"a link to {source} cannot be made: {error.strerror}", path=source) from error


def _copy(octets: bytes, target: str, status: os.stat_result) -> None:
    disk.replace(target, octets, mode=status.st_mode & 0o777)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
