"""The journals of other clones: `received/<writer>/`, and the log that says which of them have changed.

A clone of a large project has thousands of them, so no everyday command may look at each. They change only when lines
are imported or repaired, and every such change is noted in `received/log`:

    + <writer> <writer> .     lines of these writers are about to be written
    = <writer> <writer> .     their journals have changed

`received/heads/<digest>.json` has the heads of a marker that merged lines of very many writers. The marker itself has
only their digest: it is published, and no other clone needs thousands of heads from each of thousands of writers.

The index stores how far it has read the log, and looks only at the journals in later `=` entries. The journals in
`j/` are those that processes with access to this store write; there are few, and every command looks at them.
"""

from __future__ import annotations

import errno
import os

from bb.kernel import ids, json_text
from bb.kernel.digest import HEX_LENGTH, digest
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER, LOG, HEADS, LOCK = "received", "log", "heads", "lock"
PATIENCE = 60.0  # seconds to wait for another process that writes received journals
BEGUN, CHANGED = b"+", b"="
END = b" .\n"  # an entry without it was cut off by a crash
LARGEST_HEADS = 64 << 20
LARGEST = 4 << 20  # bytes of the log; a new one makes every clone's index look at all journals once


def keep_heads(store: str, heads: Mapping[str, int]) -> str:
    """Save HEADS, before a marker is recorded. Returns their digest."""
    octets = json_text.canonical(heads).encode()
    name = digest(octets)
    disk.make_folder(os.path.join(store, FOLDER, HEADS))
    disk.replace(_heads_path(store, name), octets, durable=True)
    return name


def kept_heads(store: str, name: str) -> dict[str, int]:
    """The heads with that digest; empty if they are lost. Then the lines are merged again by the next marker."""
    if len(name) != HEX_LENGTH or not name.isalnum():
        return {}
    octets = disk.read_small(_heads_path(store, name), LARGEST_HEADS) or b""
    heads = json_text.read(octets) if digest(octets) == name else {}
    return heads if isinstance(heads, dict) else {}


def _heads_path(store: str, name: str) -> str:
    return os.path.join(store, FOLDER, HEADS, f"{name}.json")


class Mark(Record):
    """How far the log has been read: the file, and the offset in it."""

    inode: int = 0
    size: int = 0


class Changes(Record):
    """The writers whose journals have changed since a mark, or None if any may have; and the mark after them."""

    writers: tuple[str, ...] | None
    mark: Mark


def folder_of(store: str, writer: str) -> str:
    """The folder of a received journal."""
    return os.path.join(store, FOLDER, writer)


def all_in(store: str) -> list[str]:
    """Every writer with a received journal."""
    return [name for name in disk.names(os.path.join(store, FOLDER)) if ids.is_writer_id(name)]


def mark_of(store: str) -> Mark:
    """The mark after the last entry."""
    for path in (_path(store), os.path.join(store, FOLDER)):  # the log may be lost
        try:
            status = os.stat(path)
        except OSError:
            continue
        return Mark(status.st_ino, status.st_size if path.endswith(LOG) else 0)
    return Mark()


def changes_since(store: str, before: Mark) -> Changes:
    """What has changed since the mark BEFORE."""
    now = mark_of(store)
    if now == before:
        return Changes((), now)
    if now.inode != before.inode or now.size < before.size:
        return Changes(None, now)
    octets = (disk.read_small(_path(store), now.size) or b"")[before.size :] if now.size else b""
    whole = octets[: octets.rfind(b"\n") + 1]
    return Changes(tuple(dict.fromkeys(_writers(whole, CHANGED))), Mark(now.inode, before.size + len(whole)))


class Turn:
    """`with Turn(store):` one process at a time writes received journals: a sync, or the relay of a fleet. Refused if
    the store is not there any more, so that the relay makes no folder where a clone was deleted."""

    def __init__(self, store: str, patience: float = PATIENCE) -> None:
        from bb.ledger.files.lock import Lock  # noqa: PLC0415  (commands that read lock nothing)

        path = os.path.join(store, FOLDER, LOCK)
        if not os.path.exists(path):
            if not os.path.isdir(store):
                raise disk.refusal(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), store))
            disk.make_folder(os.path.join(store, FOLDER))
            disk.make_empty(path)
        self._lock = Lock(path, patience)

    def __enter__(self) -> None:
        self._lock.__enter__()

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()


class Changing:
    """`with Changing(store, writers):` notes that the journals of these writers change. If it IS QUICK, it does not
    wait for the disk, and no earlier change was left half noted: the caller has called `settle` once, and after a power
    failure it looks at all journals."""

    def __init__(self, store: str, writers: Iterable[str], *, is_quick: bool = False) -> None:
        self._store = store
        self._names = " ".join(dict.fromkeys(writers)).encode()
        self._is_quick = is_quick

    def __enter__(self) -> None:
        if not self._is_quick:
            settle(self._store)
        path = _path(self._store)
        if mark_of(self._store).size > LARGEST:
            disk.replace(path, b"", durable=True)
        disk.make_folder(os.path.dirname(path))
        _add(path, BEGUN, self._names, is_synced=not self._is_quick)

    def __exit__(self, *_: object) -> None:
        # Also after a failure: some of the journals may have changed.
        _add(_path(self._store), CHANGED, self._names, is_synced=not self._is_quick)


def settle(store: str) -> None:
    """Note the changes of a process that was killed between its two entries."""
    path, size = _path(store), mark_of(store).size
    octets = (disk.read_small(path, size) if size else b"") or b""
    last = octets.rpartition(BEGUN + b" ")[2]
    is_torn = octets != b"" and not octets.endswith(b"\n")
    if last and last != octets and (is_torn or not list(_writers(last, CHANGED))):
        names = b" ".join(name.encode() for name in _writers(BEGUN + b" " + last, BEGUN))
        _add(path, CHANGED, names)


def _writers(octets: bytes, mark: bytes) -> Iterable[str]:
    """The writers in the whole entries of one kind."""
    for entry in octets.split(b"\n"):
        words = entry.decode("ascii", "replace").split(" ")
        if words[0].encode() == mark and words[-1] == ".":
            yield from filter(ids.is_writer_id, words)


def _add(path: str, mark: bytes, names: bytes, *, is_synced: bool = True) -> None:
    entry = mark + b" " + names + END
    try:
        fd = disk.create(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(fd).st_size
            if size and _last_byte(fd, size) != b"\n":
                entry = b"\n" + entry
            disk.write_all(fd, entry)
            if is_synced:
                disk.sync_data(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error


def _last_byte(fd: int, size: int) -> bytes:
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def _path(store: str) -> str:
    return os.path.join(store, FOLDER, LOG)
