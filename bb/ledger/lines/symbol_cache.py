"""A cache of the symbols of files, `<store>/symbols/<two digits>`: one file of text for each, and at most 256.

To find the symbols of 20,000 lines takes as long as starting Python twice, and loading tree-sitter takes as long again.
A hook asks at every edit, mostly about a file that has not changed since the last question. Then the file is not even
read: its status tells that it is the same. After a change, its contents decide.

Two changes within one tick of the file system's clock leave the same status. So a status is kept only if the file's
last change was older than the longest tick when the file was read.

It is only a cache: a damaged one is ignored, and one that cannot be written is not needed.
"""

from __future__ import annotations

import os
import stat
import time
from binascii import crc32

from bb.coordination.lines.symbol import LARGEST
from bb.coordination.lines.symbol_table import Table, table
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.lines import grammar_folder

FOLDER = "symbols"
LARGEST_KEPT = 1 << 24  # bytes of a cache file
VERSION = 2  # of the rules and of the format: raised if they change
MOST = 8  # files whose symbols this process keeps
SMALL = 1 << 12  # bytes of a file whose symbols the simple rules find faster than the cache is read
MOST_READ = LARGEST + 1  # bytes; a longer file has no symbols
NO_STATUS = "-"


class Read(Record):
    """A file as it was read: its CONTENT, and its STATUS, if that tells whether the file has changed since."""

    content: bytes
    status: str | None


class Kept(Record):
    """What is known of a file: its SYMBOLS, for the contents with the digest OF, and the STATUS of the file then. The
    CONTENT is known if this process has read it."""

    symbols: Table
    of: str
    status: str
    content: bytes | None = None


_latest: dict[str, Kept] = {}  # by file


def read(file: str) -> Read:
    """Read a FILE. One that does not exist is empty. Refused if it is not a regular file."""
    started = time.time_ns()
    try:
        with disk.Reading(file) as (fd, found):
            return Read(os.read(fd, MOST_READ), _status(found, started))
    except BbError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return Read(b"", None)
        raise


def _status(found: os.stat_result, now: int) -> str | None:
    """What changes if a file changes after NOW; None if nothing is certain to change, as on Windows, where any program
    may set all of it."""
    if os.name == "nt" or not stat.S_ISREG(found.st_mode) or now - found.st_ctime_ns <= disk.LONGEST_TICK:
        return None
    return f"{found.st_dev}.{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"


def of_unchanged(file: str, store: str | None) -> Table | None:
    """The symbols of a FILE that has not changed since they were kept; None if that is not certain."""
    try:
        status = _status(os.stat(file), time.time_ns())
    except (OSError, ValueError):
        return None
    if store is None or status is None:
        return None
    latest = _latest.get(file)
    kept = latest if latest and latest.status == status else _kept(file, store)
    if kept is None or kept.status != status:
        return None
    _note(file, kept)
    return kept.symbols


def of_content(file: str, path: str, found: Read, store: str | None) -> Table | None:
    """The symbols of a FILE as it was FOUND; None if they are not worth a cache, or cannot be kept. Its PATH in the
    work tree tells its language."""
    is_quick = len(found.content) < SMALL and not grammar_folder.is_installed()
    if store is None or is_quick:
        return None
    latest = _latest.get(file)
    of = latest.of if latest and latest.content == found.content else digest(found.content)
    before = latest if latest and latest.of == of else _kept(file, store)
    is_known = before is not None and before.of == of
    symbols = before.symbols if before and is_known else _symbols(path, found.content)
    if symbols is None:
        return None
    kept = Kept(symbols, of, found.status or NO_STATUS, found.content)
    if not before or not is_known or found.status not in (None, before.status):
        _keep(file, kept, store)
    _note(file, kept)
    return symbols


def _symbols(path: str, content: bytes) -> Table | None:
    from bb.ledger.lines import grammars  # noqa: PLC0415  (the cache mostly answers)

    return table(grammars.symbols(path, content))


def _note(file: str, kept: Kept) -> None:
    if len(_latest) >= MOST:
        _latest.clear()
    _latest[file] = kept


# -- the files of the cache: a checksum and a line about the file, and behind it the symbols


def _place(file: str, store: str) -> str:
    return os.path.join(store, FOLDER, digest(os.fsencode(file))[:2])


def _about(file: str) -> str:
    """The file that a cache file is about, and how its symbols are found."""
    return f"{VERSION} {'tree-sitter' if grammar_folder.is_installed() else 'rules'} {digest(os.fsencode(file))}"


def _keep(file: str, kept: Kept, store: str) -> None:
    octets = f" {_about(file)} {kept.of} {kept.status}\n".encode() + kept.symbols.text
    try:
        disk.replace_in_new_folder(_place(file, store), b"%08x" % crc32(octets) + octets)
    except (BbError, OSError):
        return  # they are found again next time


def _kept(file: str, store: str) -> Kept | None:
    """What is kept of a FILE; None if there is nothing, or it is damaged."""
    try:
        octets = disk.read_small(_place(file, store), LARGEST_KEPT) or b""
        start = octets.find(b"\n") + 1
        about, of, status = octets[9:start].decode().rstrip().rsplit(" ", 2)
        is_sound = octets[:8] == b"%08x" % crc32(memoryview(octets)[8:])
    except (BbError, ValueError):
        return None
    return Kept(Table(octets, start), of, status) if is_sound and about == _about(file) else None
