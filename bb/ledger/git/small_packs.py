"""Puts small packs together, because git repacks the whole repository of somebody who has fifty packs.

A fetch of a few objects leaves a pack if the objects are to be checked: `fetch.fsckObjects` works only while git makes
the index of a pack. A hundred syncs left a hundred packs, and every git process looked into each of them.
"""

from __future__ import annotations

import os

from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_PACKS = 20
SIZES = (100, 2000)  # objects: packs of the first size are put together to one of the second, and so on
LARGEST_PACK = 16 << 20
ONE_PACK = ("-c", "pack.packSizeLimit=0", "-c", "pack.indexVersion=2")
PACK, INDEX, REVERSE = ".pack", ".idx", ".rev"  # a pack with any other file beside it is left alone
OF_MANY = "multi-pack-index"
VERSION_2, FANOUT, TRAILER, CHECK = b"\xfftOc\x00\x00\x00\x02", 256 * 4, 2, 8  # the parts of an index


def put_together(git_dir: str) -> None:
    """Put packs together in the repository whose common directory is GIT_DIR, if it has many small ones.

    git writes the new pack, and has it on the disk before the others are removed.
    """
    folder = os.path.join(git_dir, "objects", "pack")
    names = disk.names(folder)
    stems = [name.removesuffix(PACK) for name in names if name.endswith(PACK)]
    if len(stems) <= MOST_PACKS or OF_MANY in names:
        return
    plain = [os.path.join(folder, stem) for stem in stems if _is_plain(stem, names)]
    for most in SIZES:
        small = {stem: ids for stem in plain if 0 < _count(stem) < most and (ids := _ids(stem))}
        if len(small) > MOST_PACKS:
            _put_together(git_dir, small)
            return


def _put_together(git_dir: str, packs: Mapping[str, Sequence[str]]) -> None:
    """Make one pack of the PACKS, of which each has these objects, and remove them."""
    to = os.path.join(git_dir, "objects", "pack", "pack")
    given = "".join(f"{name}\n" for name in sorted({name for ids in packs.values() for name in ids}))
    try:
        made = git.output([*ONE_PACK, "pack-objects", "-q", to], git_dir=git_dir, given=given.encode())
        new = f"{to}-{made.decode('ascii', 'replace').strip()}"
        if os.path.exists(new + PACK) and os.path.exists(new + INDEX):
            for stem in packs:
                if stem != new:
                    os.unlink(stem + INDEX)  # without it, git does not look for the pack
                    disk.remove_if_there(stem + REVERSE)
                    disk.remove_if_there(stem + PACK)
    except (BbError, OSError):  # the packs are valid as they are, and the next fetch tries again
        return


def _is_plain(stem: str, names: list[str]) -> bool:
    """Whether a pack is nothing but a pack: git does not keep it for a reason."""
    beside = {name.removeprefix(stem) for name in names if name.startswith(f"{stem}.")}
    return {PACK, INDEX} <= beside <= {PACK, INDEX, REVERSE}


def _count(stem: str) -> int:
    """The number of objects in a pack; 0 if it cannot be told, or the pack is large."""
    try:
        if os.path.getsize(stem + PACK) > LARGEST_PACK:
            return 0
        width, size = _width(stem), os.path.getsize(stem + INDEX)
    except OSError:  # another process has just removed it
        return 0
    return (size - len(VERSION_2) - FANOUT - TRAILER * width) // (width + CHECK)


def _ids(stem: str) -> list[str]:
    """The objects of a pack; none if its index is not of version 2."""
    index = disk.read_small(stem + INDEX, LARGEST_PACK) or b""  # another process may have just removed it
    start, width = len(VERSION_2) + FANOUT, _width(stem)
    count = int.from_bytes(index[start - 4 : start], "big")
    if not index.startswith(VERSION_2) or len(index) < start + count * (width + CHECK):
        return []
    return [index[at : at + width].hex() for at in range(start, start + count * width, width)]


def _width(stem: str) -> int:
    """The number of bytes of an object id, which is also that of the checksum in the pack's name."""
    return len(os.path.basename(stem).removeprefix("pack-")) // 2
