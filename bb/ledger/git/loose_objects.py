"""Puts objects into git's own store, as loose ones.

`git commit` does not wait for the disk either. But after a power failure, a ref that leads to an empty file breaks
every `git fetch` in the clone, and nobody asked for the commits that bb makes.
"""

from __future__ import annotations

import os
import zlib

from bb.ledger.files import disk
from bb.ledger.git.object_ids import object_id


class LooseObjects:
    """The store of the repository whose common directory is GIT_DIR. LENGTH is that of its object ids."""

    def __init__(self, git_dir: str, length: int) -> None:
        self._folder = os.path.join(git_dir, "objects")
        self.length = length
        self._kept: dict[str, None] = {}

    def keep(self, kind: str, octets: bytes) -> str:
        """Put an object into the store; its id."""
        whole = b"%s %d\0" % (kind.encode(), len(octets)) + octets
        name = object_id(whole, self.length)
        path = self.add(name)
        if not _has_content(path):
            disk.make_folder(os.path.dirname(path))
            disk.replace(path, zlib.compress(whole, 1), mode=0o444)
        return name

    def add(self, name: str) -> str:
        """Count an object in that git has put into the store; its file."""
        path = os.path.join(self._folder, name[:2], name[2:])
        self._kept[path] = None
        return path

    def wait_for_disk(self) -> None:
        """Wait until everything that was put into the store is on the disk."""
        for path in self._kept:
            disk.sync_file_if_there(path)
        for folder in {os.path.dirname(path) for path in self._kept}:
            if os.path.isdir(folder):
                disk.sync_folder(folder)
        self._kept.clear()


def _has_content(path: str) -> bool:
    """Whether a file is there that a power failure has not emptied."""
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False
