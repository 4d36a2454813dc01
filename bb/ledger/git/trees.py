"""Makes a tree that differs from a commit's tree in some files. Only the folders of these files are read and written.

git's own way, an index of all files, takes longer in a larger repository. The objects are written in git's loose
format (`ledger/lines/contents.py` has the same for contents).
"""

from __future__ import annotations

import os
import zlib

from bb.ledger.files import disk
from bb.ledger.git import git, program
from bb.ledger.git.object_ids import object_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place

    Entry = tuple[str, str]  # mode and object id
    Folder = dict[bytes, Entry]
    Wanted = dict[bytes, "Wanted | Entry | None"]

TREE = "40000"


def keep_object(place: Place, kind: str, octets: bytes, length: int) -> str:
    """Put an object into git's store; its id. LENGTH is that of the repository's ids."""
    return keep_in(place.common, kind, octets, length)


def keep_in(git_dir: str, kind: str, octets: bytes, length: int) -> str:
    """The same for the repository whose common directory is GIT_DIR."""
    whole = b"%s %d\0" % (kind.encode(), len(octets)) + octets
    name = object_id(whole, length)
    path = os.path.join(git_dir, "objects", name[:2], name[2:])
    if not os.path.exists(path):
        disk.make_folder(os.path.dirname(path))
        disk.replace(path, zlib.compress(whole, 1), mode=0o444)
    return name


def changed(place: Place, commit: str, changes: Mapping[str, Entry | None], length: int) -> str:
    """The id of the tree of COMMIT with CHANGES: the mode and blob of each file, or None if it is removed. Without a
    commit, the tree has these files only."""
    with git.Conversation(["cat-file", "--batch"], git_dir=place.git_dir) as objects:
        return changed_in(place.common, objects, commit, changes, length)


def changed_in(
    git_dir: str, objects: git.Conversation, commit: str, changes: Mapping[str, Entry | None], length: int
) -> str:
    """The same in the repository whose common directory is GIT_DIR, and whose OBJECTS a process reads."""
    wanted: Wanted = {}
    for path, entry in removed_first(changes):
        *folders, name = os.fsencode(path).split(b"/")
        place_in = wanted
        for folder in folders:
            inner = place_in.get(folder)
            if inner is None:  # also for a file that a folder replaces
                inner = place_in[folder] = {}
            if not isinstance(inner, dict):
                raise program.GitFailed(f"{path!r} is both a file and a folder")
            place_in = inner
        place_in[name] = entry
    tree = _changed(git_dir, objects, f"{commit}^{{tree}}" if commit else "", wanted, length)
    return tree or keep_in(git_dir, "tree", b"", length)


def removed_first(changes: Mapping[str, Entry | None]) -> list[tuple[str, Entry | None]]:
    """CHANGES in an order in which a folder can come in the place of a file, and the other way round."""
    return sorted(changes.items(), key=lambda change: change[1] is not None)


def differences(place: Place, old: str, new: str) -> dict[str, Entry | None]:
    """The files that differ between two trees, as NEW has them; None for a file that it does not have."""
    octets = git.output(
        ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new], git_dir=place.git_dir
    )
    rows = iter(octets.split(b"\0"))
    found: dict[str, Entry | None] = {}
    for row in rows:
        if row.startswith(b":"):
            _, mode, _, blob, kind = row.decode("ascii").split(" ")
            found[os.fsdecode(next(rows))] = None if kind == "D" else (mode, blob)
    return found


def _changed(git_dir: str, objects: git.Conversation, tree: str, wanted: Wanted, length: int) -> str:
    """The id of the changed tree; empty if nothing is left in it."""
    folder = _read(objects, tree, length // 2) if tree else {}
    for name, change in wanted.items():
        if isinstance(change, dict):
            mode, inner = folder.get(name, ("", ""))
            made = _changed(git_dir, objects, inner if mode == TREE else "", change, length)
            change = (TREE, made) if made else None
        if change:
            folder[name] = change
        else:
            folder.pop(name, None)
    return keep_in(git_dir, "tree", _written(folder), length) if folder else ""


def contents(objects: git.Conversation, name: str, kind: str = "blob") -> bytes | None:
    """The contents of the object that NAME leads to; None if there is none of that KIND."""
    objects.write(name.encode() + b"\n")
    header = objects.read_line().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    octets = objects.read(int(header[2]) + 1)[:-1]
    return octets if header[1] == kind.encode() else None


def _read(objects: git.Conversation, tree: str, length: int) -> Folder:
    octets = contents(objects, tree, "tree")
    if octets is None:
        raise program.GitFailed("git cannot read a folder of the commit")
    folder: Folder = {}
    start = 0
    while start < len(octets):
        end = octets.index(b"\0", start)
        mode, _, name = octets[start:end].partition(b" ")
        folder[name] = (mode.decode("ascii"), octets[end + 1 : end + 1 + length].hex())
        start = end + 1 + length
    return folder


def _written(folder: Folder) -> bytes:
    """git sorts a folder as if its name ended in a slash."""
    rows = sorted((name + b"/" if mode == TREE else name, name, mode, blob) for name, (mode, blob) in folder.items())
    return b"".join(b"%s %s\0" % (mode.encode(), name) + bytes.fromhex(blob) for _, name, mode, blob in rows)
