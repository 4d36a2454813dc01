"""The contents of files as bb has seen them, by blob id, in a store of objects of bb's own.

The store has git's format: `GIT_ALTERNATE_OBJECT_DIRECTORIES=.git/bb/lines/objects git cat-file blob ID` shows one. It
is not part of git's own store, so `git gc` removes nothing that bb still needs, and edits do not bring git's next
automatic gc nearer. bb removes what no log names any more.
"""

from __future__ import annotations

import os
import time
import zlib

from bb.ledger.files import disk
from bb.ledger.git.object_ids import object_id

LARGEST = 1 << 24  # bytes; a larger file is one unit, and its content is not kept
COMPRESSED = 1 << 16  # bytes; compressing a longer content takes longer than all the rest of an edit


class Contents:
    """The store in FOLDER. LENGTH is that of the repository's object ids."""

    def __init__(self, folder: str, length: int) -> None:
        self._folder = folder
        self._length = length

    def id_of(self, octets: bytes) -> str:
        """The blob id of a content, as git computes it."""
        return object_id(b"blob %d\0" % len(octets) + octets, self._length)

    def keep(self, blob: str, octets: bytes) -> None:
        """Keep a content, unless it is there.

        It is not waited for: what a power failure loses is a content whose changes then count as unattributed.
        """
        path = self._path(blob)
        if os.path.exists(path):
            return
        level = 1 if len(octets) <= COMPRESSED else 0
        packed = zlib.compress(b"blob %d\0" % len(octets) + octets, level)
        disk.make_private_folder(os.path.dirname(path))  # a file such as `.env` may be readable by its owner only
        disk.replace(path, packed, mode=0o444)

    def read(self, blob: str) -> bytes | None:
        """The content with this id; None if it is not here, or damaged. A damaged one is removed, so that `keep` writes
        it anew."""
        try:
            with disk.reader(self._path(blob)) as file:
                packed = file.read()
        except OSError:
            return None
        try:
            header, _, octets = zlib.decompress(packed).partition(b"\0")  # which checks a sum of the content
        except zlib.error:
            header, octets = b"", b""
        if header == b"blob %d" % len(octets):
            return octets
        self.forget(blob)
        return None

    def names(self) -> list[str]:
        """The ids of all contents."""
        return [start + rest for start in disk.names(self._folder) for rest in disk.names(self._in(start))]

    def age(self, blob: str) -> float:
        """Seconds since a content was kept; 0 if it is not here."""
        try:
            return time.time() - os.stat(self._path(blob)).st_mtime
        except OSError:
            return 0.0

    def forget(self, blob: str) -> None:
        disk.remove_if_there(self._path(blob))

    def _in(self, start: str) -> str:
        return os.path.join(self._folder, start)

    def _path(self, blob: str) -> str:
        return os.path.join(self._folder, blob[:2], blob[2:])
