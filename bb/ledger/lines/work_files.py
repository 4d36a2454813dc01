"""Reads the files of a work tree in the form in which git would store them."""

from __future__ import annotations

import os
import stat
import time

from bb.coordination.lines.authorship import is_binary
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.real_index import LITERAL
from bb.ledger.lines.contents import LARGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.git.place import Place

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
CONVERTING = ("text", "eol", "crlf", "ident", "filter", "working-tree-encoding")  # attributes
USUAL_TICK, SECOND = 20_000_000, 1_000_000_000  # nanoseconds
PLAIN_VALUES = ("unspecified", "unset")

NotAFile = Refused.declare(
    "NOT_A_FILE", "That path is a folder or a submodule, so it has no lines", hint="name the files in it"
)


class Found(Record):
    """A file as the work tree has it: its mode as git writes it, and its content. OCTETS is None if it is too large to
    be kept. If the file does not exist, both are empty."""

    mode: str = ""
    octets: bytes | None = b""

    @property
    def is_whole(self) -> bool:
        """Whether the content counts as one unit, and not as lines."""
        return self.octets is None or self.mode == LINK or is_binary(self.octets)


def read(place: Place, path: str) -> Found:
    """The file PATH, as it is on the disk."""
    full = full_path(place, path)
    try:
        status = os.lstat(full)
        if stat.S_ISLNK(status.st_mode):
            return Found(LINK, os.fsencode(os.readlink(full)))
        if stat.S_ISDIR(status.st_mode):
            return Found()
        fd, status = disk.open_to_read(full)
        try:
            mode = PROGRAM if status.st_mode & stat.S_IXUSR and os.name != "nt" else FILE
            return Found(mode, None if status.st_size > LARGEST else _all_of(fd, status.st_size))
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        return Found()
    except OSError as error:
        raise disk.refusal(error) from error


def _all_of(fd: int, size: int) -> bytes:
    pieces = []
    while octets := os.read(fd, max(size + 1, 1 << 16)):
        pieces.append(octets)
    return b"".join(pieces)


def stamp(place: Place, path: str) -> str:
    """What the file system says of a file, if that differs after every later change; empty if it cannot.

    Two changes within one tick of the file system's clock leave the same time. So the time must be older than that. A
    file system that counts only seconds has a long tick.
    """
    try:
        status = os.lstat(full_path(place, path))
    except OSError:
        return ""
    changed = max(status.st_ctime_ns, status.st_mtime_ns)
    tick = USUAL_TICK if changed % SECOND else disk.LONGEST_TICK
    if time.time_ns() - changed < tick or os.name == "nt":
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_mode}"


def full_path(place: Place, path: str) -> str:
    return os.path.join(place.work_tree or "", os.fsencode(path).decode("utf-8", "surrogateescape"))


def is_folder(place: Place, path: str) -> bool:
    """Whether there is a folder at PATH; a link to one is none."""
    full = full_path(place, path)
    return os.path.isdir(full) and not os.path.islink(full)


def is_converted(place: Place, path: str) -> bool:
    """Whether git stores another content than the file has: because of an attribute, or of `core.autocrlf`."""
    at = place.work_tree
    out = git.output(["check-attr", "-z", *CONVERTING, "--", path], at=at).split(b"\0")
    values = {value.decode("utf-8", "replace") for value in out[2::3]}
    if not values.issubset(PLAIN_VALUES):
        return True
    setting = git.ask(["config", "--get", "core.autocrlf"], at=at).out.strip().lower()
    return setting not in (b"", b"false", b"no", b"off", b"0")


def converted(place: Place, path: str, octets: bytes) -> bytes:
    """The content that git would store for a file with the content OCTETS."""
    blob = git.output(["hash-object", "-w", "--stdin", "--path", path], at=place.work_tree, given=octets).strip()
    return git.output(["cat-file", "blob", blob.decode("ascii")], git_dir=place.git_dir)


def blob_of_large(place: Place, path: str) -> str:
    """The blob id of a file that is too large to be read at once."""
    return git.run(["hash-object", "--", full_path(place, path)], at=place.work_tree).strip()


def ignores_modes(place: Place) -> bool:
    """Whether git ignores the executable bit here (`core.fileMode`)."""
    return git.ask(["config", "--type=bool", "--get", "core.fileMode"], git_dir=place.git_dir).out.strip() == b"false"


class TreeEntry(Record):
    mode: str
    blob: str


def entries(place: Place, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
    """The files among PATHS as COMMIT has them. A path that it does not have is missing."""
    if not commit:
        return {}
    arguments = [LITERAL, "ls-tree", "-z", "--full-tree", commit, "--"]
    parts = [git.output([*arguments, *part], git_dir=place.git_dir) for part in git.in_parts(paths)]
    found = {}
    for row in b"".join(parts).split(b"\0"):
        how, tab, name = row.partition(b"\t")
        if tab:
            mode, kind, blob = how.decode("ascii").split(" ")
            if kind != "tree":
                found[os.fsdecode(name)] = TreeEntry(mode, blob)
    return found
