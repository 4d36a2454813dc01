"""Turns small packs into loose objects, because git repacks the whole repository of somebody who has fifty packs.

A fetch of a few objects leaves a pack if the objects are to be checked: `fetch.fsckObjects` works only while git makes
the index of a pack. Without the check, git itself writes loose objects. A hundred syncs left a hundred packs, and every
git process looked into each of them.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.git import git, trees

MOST_PACKS = 20
FEW_OBJECTS = 100  # git itself keeps a pack of more
LARGEST_PACK, LARGEST_OBJECT = 1 << 20, 16 << 20
PACK, INDEX = ".pack", ".idx"
CAN_BE_MADE_AGAIN = {PACK, INDEX, ".rev"}  # a pack with any other file beside it is left alone
OF_MANY = "multi-pack-index"
VERSION_2, FANOUT = b"\xfftOc\x00\x00\x00\x02", 256 * 4


def unpack(git_dir: str) -> None:
    """Unpack the small packs of the repository whose common directory is GIT_DIR, if it has many packs.

    A pack is removed only after all its objects are on the disk in the other form.
    """
    folder = os.path.join(git_dir, "objects", "pack")
    names = disk.names(folder)
    if sum(name.endswith(PACK) for name in names) <= MOST_PACKS or OF_MANY in names:
        return
    try:
        with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
            for stem in [os.path.join(folder, name.removesuffix(PACK)) for name in names if name.endswith(PACK)]:
                ids = _ids(stem, names)
                if ids and _are_kept_loose(git_dir, objects, ids):
                    os.unlink(stem + INDEX)  # without it, git does not look for the pack
                    disk.remove_if_there(stem + ".rev")
                    disk.remove_if_there(stem + PACK)
    except (BbError, OSError):  # the packs are valid as they are, and the next fetch tries again
        return


def _ids(stem: str, names: list[str]) -> list[str]:
    """The objects of a pack; empty if it is not small, or is more than a plain pack."""
    base = os.path.basename(stem)
    if not {name.removeprefix(base) for name in names if name.startswith(f"{base}.")} <= CAN_BE_MADE_AGAIN:
        return []
    try:
        if os.path.getsize(stem + PACK) > LARGEST_PACK:
            return []
        index = disk.read_small(stem + INDEX, LARGEST_PACK) or b""
    except OSError:  # another process has just removed it
        return []
    start = len(VERSION_2) + FANOUT
    count = int.from_bytes(index[start - 4 : start], "big")
    width = (len(base.removeprefix("pack-"))) // 2
    if not index.startswith(VERSION_2) or not 0 < count < FEW_OBJECTS or len(index) < start + count * width:
        return []
    return [index[at : at + width].hex() for at in range(start, start + count * width, width)]


def _are_kept_loose(git_dir: str, objects: git.Conversation, ids: list[str]) -> bool:
    """Write each object as a loose one. Whether all of them are on the disk."""
    paths = []
    for name in ids:
        found = trees.read_object(objects, name, LARGEST_OBJECT)
        if found is None or trees.keep_in(git_dir, *found, len(name)) != name:
            return False
        paths.append(trees.loose_path(git_dir, name))
    for path in paths:
        disk.sync_file(path)
    for folder in {os.path.dirname(path) for path in paths}:
        disk.sync_folder(folder)
    return True
