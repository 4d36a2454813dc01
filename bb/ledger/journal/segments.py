"""The segment files of a journal, read forwards in blocks or backwards from the end."""

from __future__ import annotations

import os

from bb.kernel.errors import BbError, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".jsonl"
BLOCK = 1 << 17  # bytes; a block and the objects made from it fit into a processor's cache
TAIL_BLOCK = 1 << 12
LARGEST = 1 << 26  # bytes; far more than a segment can have, because a new one is begun after 4 MiB
NEAR = 1 << 14  # bytes; reading so many is cheaper than another step of the search
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

LedgerDamaged = Refused.declare(
    "LEDGER_DAMAGED",
    "A journal contains a damaged line",
    hint="run `bb ledger verify` to see the line; run `bb doctor --fix` to keep the valid lines and continue",
)


class Block(Record):
    """Some whole lines, with their line feeds."""

    octets: bytes

    def lines(self) -> list[bytes]:
        rows = self.octets.split(b"\n")
        rows.pop()  # empty, after the last line feed
        return rows


def path_of(folder: str, first: int) -> str:
    """The path of the segment in FOLDER whose first line is number FIRST."""
    return f"{folder}{os.sep}{first:012}{SUFFIX}"


class Segment(Record):
    """One file of a journal."""

    first: int
    path: str

    def size(self) -> int:
        return self.status().st_size

    def status(self) -> os.stat_result:
        try:
            return os.stat(self.path)
        except OSError as error:
            raise disk.refusal(error) from error

    def octets(self) -> bytes:
        """The whole file, unchecked."""
        with disk.Reading(self.path, NO_FOLLOW) as (fd, status):
            if status.st_size > LARGEST:
                raise LedgerDamaged(f"{self.path} is larger than a segment can be", path=self.path)
            return read_at(fd, status.st_size, 0)

    def is_whole(self) -> bool:
        """Whether it ends with a whole line, or is empty."""
        with disk.Reading(self.path, NO_FOLLOW) as (fd, status):
            size = status.st_size
            return size == 0 or read_at(fd, 1, size - 1) == b"\n"

    def blocks(self, offset: int = 0) -> Iterator[tuple[int, Block]]:
        """Whole lines from OFFSET on, block by block, with each block's offset.

        Reading ends at a line that is longer than the limit.
        """
        with disk.Reading(self.path, NO_FOLLOW) as (fd, _):
            while octets := read_at(fd, BLOCK, offset):
                if b"\n" not in octets:
                    octets = read_at(fd, lines.MAX_LINE, offset)
                whole = octets.rfind(b"\n") + 1
                if not whole:
                    return
                yield offset, Block(octets[:whole])
                offset += whole


class OpenSegment:
    """A segment that is open for writing. SIZE is its size after our last write."""

    __slots__ = ("before", "fd", "first", "inode", "path", "size")

    def __init__(self, segment: Segment, fd: int) -> None:
        status = os.fstat(fd)
        self.fd = fd
        self.first = segment.first
        self.path = segment.path
        self.inode = status.st_ino
        self.size = self.before = status.st_size

    def is_still_there(self) -> bool:
        """Whether its name still stands for this file. Its size is read again."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return False
        self.size = self.before = status.st_size
        return status.st_ino == self.inode

    def last_line(self) -> bytes:
        """The last line without its line feed; empty if the segment does not end with a whole line of usual length."""
        tail = read_at(self.fd, TAIL_BLOCK, max(0, self.size - TAIL_BLOCK))
        start = tail.rfind(b"\n", 0, -1) + 1
        return tail[start:-1] if tail.endswith(b"\n") and (start or len(tail) == self.size) else b""


def offset_near(segment: Segment, prefix: bytes, n: int) -> int:
    """The offset of line N or of a line shortly before it, by binary search.

    Every line of the writer begins with PREFIX, followed by its number. Other text is skipped, so damage only makes the
    search slower.
    """
    with disk.Reading(segment.path, NO_FOLLOW) as (fd, status):
        low, high = 0, status.st_size
        while high - low > NEAR:
            middle = (low + high) // 2
            octets = read_at(fd, TAIL_BLOCK, middle)
            start = octets.find(b"\n" + prefix) + 1
            number = octets[start + len(prefix) :].partition(b'"')[0] if start else b""
            if not number.isdigit():
                high = middle  # in the middle of a long line
            elif int(number) <= n:
                low = middle + start
            else:
                high = middle
        return low


def lines_backwards(segment: Segment, end: int | None = None) -> Iterator[bytes]:
    """The whole lines of a segment before END, last first, read in growing blocks."""
    with disk.Reading(segment.path, NO_FOLLOW) as (fd, status):
        rest, size, is_end = b"", TAIL_BLOCK, True
        end = status.st_size if end is None else end
        while end:
            start = max(0, end - size)
            pieces = (read_at(fd, end - start, start) + rest).split(b"\n")
            if is_end and len(pieces) > 1:
                pieces.pop()  # empty, or an incomplete last line
                is_end = False
            rest = pieces[0]
            if len(rest) > 2 * lines.MAX_LINE:  # a sparse file would fill the memory
                raise _too_long(segment)
            if not is_end:
                yield from reversed(pieces[1:])
            end, size = start, min(size * 4, BLOCK)
        if not is_end:
            yield rest


def _too_long(segment: Segment) -> BbError:
    return LedgerDamaged(f"{segment.path} contains a line that is longer than the limit", path=segment.path)


def last_line_feed(segment: Segment) -> int:
    """The offset after the last line feed."""
    with disk.Reading(segment.path, NO_FOLLOW) as (fd, status):
        end, size = status.st_size, TAIL_BLOCK
        while end:
            start = max(0, end - size)
            offset = read_at(fd, end - start, start).rfind(b"\n")
            if offset >= 0:
                return start + offset + 1
            if status.st_size - start > 2 * lines.MAX_LINE:
                raise _too_long(segment)
            end, size = start, min(size * 4, BLOCK)
        return 0


def read_at(fd: int, length: int, offset: int) -> bytes:
    """LENGTH bytes at OFFSET, or fewer at the end of the file."""
    if hasattr(os, "pread"):
        octets = os.pread(fd, length, offset)
        if len(octets) in (0, length):
            return octets
        return octets + read_at(fd, length - len(octets), offset + len(octets))
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, length)
