"""Where bb keeps what it knows of the uncommitted lines of one work tree: `<git dir of the work tree>/bb/lines`.

It has a log for each file, the contents that the logs name, the agents whose edits hooks bracket, and the shell
commands that are going on. `git worktree remove` removes it with the work tree. Whoever writes a log holds the lock.
"""

from __future__ import annotations

import os

from bb.coordination.lines import line_diff
from bb.coordination.lines.file_state import ABSENT, Version
from bb.kernel.errors import Refused
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock
from bb.ledger.git import git, head
from bb.ledger.git.object_ids import SHA1_LENGTH, SHA256_LENGTH
from bb.ledger.git.place import NoWorkTree
from bb.ledger.lines import edit_log, work_files
from bb.ledger.lines.contents import Contents
from bb.ledger.lines.edit_log import EditLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from bb.coordination.lines.file_state import FileState
    from bb.ledger.git.place import Place

FOLDER = os.path.join("bb", "lines")
LOGS, OBJECTS, LOCK = "files", "objects", "lock"

ContentLost = Refused.declare(
    "CONTENT_LOST",
    "A content that bb needs is missing from the repository",
    hint="`git fsck` shows what is missing; fetch it from a clone that has it",
)


InThrowawayTree = Refused.declare(
    "IN_THROWAWAY_TREE",
    "This is the throw-away tree of a command, so its changes belong to nobody",
    hint="change to the real work tree",
)


def has_lines(place: Place) -> bool:
    """Whether anything is known of the uncommitted lines of the work tree at PLACE."""
    is_real = place.work_tree is not None and not place.is_aside
    return is_real and os.path.isdir(os.path.join(folder_of(place), LOGS))


def folder_of(place: Place) -> str:
    return os.path.join(place.git_dir, FOLDER)


class LinesStore:
    """What is known of the uncommitted lines of the work tree at PLACE. `with store:` holds the lock.

    It is kept in FOLDER, if that is not the usual one.
    """

    def __init__(self, place: Place, folder: str | None = None) -> None:
        if place.work_tree is None:
            raise NoWorkTree()
        if place.is_aside:
            raise InThrowawayTree()
        self.place = place
        self.folder = folder or folder_of(place)
        self._depth = 0
        self._lock: Lock | None = None
        self._head: str | None = None
        self._contents: Contents | None = None
        self._offered: dict[str, bytes] = {}  # contents of files that were just read, in case theirs is damaged
        self._lines: dict[str, list[bytes]] = {}
        self._bases: dict[tuple[str, str], Version] = {}  # by commit and path

    def paths(self) -> list[str]:
        """The files of which something is known."""
        return edit_log.names(os.path.join(self.folder, LOGS))

    def log(self, path: str) -> EditLog:
        return EditLog(os.path.join(self.folder, LOGS), path)

    def state(self, path: str) -> FileState | None:
        """What is known of a file, without looking at it."""
        return self.log(path).last()

    # -- versions and their lines

    @property
    def head(self) -> str:
        """The commit that is checked out; empty if there is none."""
        if self._head is None:
            self._head = head.commit(self.place)
        return self._head

    def look_again(self) -> None:
        """Forget which commit was checked out, because that has changed."""
        self._head = None

    @property
    def contents(self) -> Contents:
        if self._contents is None:
            self._contents = Contents(os.path.join(self.folder, OBJECTS), self.id_length)
        return self._contents

    @property
    def id_length(self) -> int:
        """The number of hex digits in the repository's object ids."""
        return len(self.head) or self._length_of_ids()

    def _length_of_ids(self) -> int:
        done = git.ask(["rev-parse", "--show-object-format"], git_dir=self.place.git_dir)
        return SHA256_LENGTH if done.out.strip() == b"sha256" else SHA1_LENGTH

    def content(self, blob: str) -> bytes:
        """The content with this id, from bb's own store or from git's; none if the id is empty."""
        if not blob:
            return b""
        octets = self.contents.read(blob)
        if octets is None:
            octets = self._offered.get(blob) or self._in_git(blob)
            self.contents.keep(blob, octets)
        return octets

    def _in_git(self, blob: str) -> bytes:
        done = git.ask(["cat-file", "blob", blob], git_dir=self.place.git_dir)
        if done.status != 0:
            raise ContentLost(f"the content {blob[:12]} is neither among bb's objects nor among git's")
        return done.out

    def offer(self, blob: str, octets: bytes) -> None:
        """OCTETS is the content with this id, should it be needed and be missing."""
        self._offered[blob] = octets

    def keep(self, octets: bytes) -> str:
        """Keep a content; its id."""
        blob = self.contents.id_of(octets)
        self.contents.keep(blob, octets)
        return blob

    def lines(self, version: Version, *, is_whole: bool = False) -> list[bytes]:
        """The lines of a version. A version that counts as one unit has one line, which stands for it."""
        if not version.blob or is_whole:
            return [version.blob.encode()] if version.blob else []
        if version.blob not in self._lines:
            self._lines[version.blob] = line_diff.split(self.content(version.blob))
        return self._lines[version.blob]

    def base(self, path: str) -> Version:
        """The version of a file in HEAD."""
        if (self.head, path) not in self._bases:
            self.read_bases([path])
        return self._bases[self.head, path]

    def read_bases(self, paths: Sequence[str]) -> None:
        """Read the versions of many files in HEAD at once."""
        found = work_files.entries(self.place, self.head, paths)
        if links := [path for path, entry in found.items() if entry.mode == work_files.SUBMODULE]:
            raise work_files.NotAFile(f"{links[0]!r} is a submodule", path=links[0])
        for path in paths:
            version = Version(found[path].blob, found[path].mode) if path in found else ABSENT
            self._bases[self.head, path] = version

    # -- the lock

    def __enter__(self) -> Self:
        if self._depth == 0:
            if self._lock is None:
                disk.make_folder(self.folder)
                path = os.path.join(self.folder, LOCK)
                if not os.path.exists(path):
                    disk.make_empty(path)
                self._lock = Lock(path)  # closed whenever it is released: a daemon makes many stores
            self._lock.__enter__()
            self._head = None  # another process may have committed while this one waited
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._lock:
            self._lock.__exit__()
