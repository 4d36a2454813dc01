"""The files of a journal, each of which holds some of its lines: read forwards in blocks, or backwards from the end."""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 17  # what a processor's cache holds together with all that is made of it
TAIL_BLOCK = 1 << 12
LARGEST = 1 << 26  # bytes; far more than any segment has, which ends soon behind its fourth million
NEAR = 1 << 14  # reading so many bytes costs less than another look
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class LedgerDamaged(Refused):
    """A journal has a line that cannot be right."""

    code = "LEDGER_DAMAGED"
    hint = "`bb ledger verify` names the line; `bb doctor --fix` keeps what is whole and goes on"


class Block(Record):
    """Some whole lines as they stand, line feeds and all."""

    octets: bytes

    def lines(self) -> list[bytes]:
        found = self.octets.split(b"\n")
        found.pop()  # nothing stands behind the last line feed
        return found


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
        """The whole file, sound or not."""
        try:
            fd, status = disk.open_to_read(self.path, NO_FOLLOW)
            try:
                if status.st_size > LARGEST:
                    raise LedgerDamaged(f"{self.path} is larger than any segment", path=self.path)
                return read_at(fd, status.st_size, 0)
            finally:
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error

    def is_whole(self) -> bool:
        """Whether it ends with a whole line, or is empty."""
        try:
            fd, status = disk.open_to_read(self.path, NO_FOLLOW)
            try:
                size = status.st_size
                return size == 0 or read_at(fd, 1, size - 1) == b"\n"
            finally:
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error

    def blocks(self, offset: int = 0) -> Iterator[tuple[int, Block]]:
        """Whole lines from OFFSET on, block by block, with each block's offset.

        A line longer than any line may be ends the reading.
        """
        try:
            fd, _ = disk.open_to_read(self.path, NO_FOLLOW)
            try:
                while octets := read_at(fd, BLOCK, offset):
                    if b"\n" not in octets:
                        octets = read_at(fd, lines.MAX_LINE, offset)
                    whole = octets.rfind(b"\n") + 1
                    if not whole:
                        return
                    yield offset, Block(octets[:whole])
                    offset += whole
            finally:
                os.close(fd)
        except OSError as error:
            raise disk.refusal(error) from error


def place_before(segment: Segment, prefix: bytes, n: int) -> int:
    """The offset of a line that stands at or before line N, and not far before it. PREFIX is what every line of the
    writer begins with, up to its number. What does not read so is passed over, so damage costs time and nothing else.
    """
    try:
        fd, status = disk.open_to_read(segment.path, NO_FOLLOW)
        try:
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
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error


def lines_backwards(segment: Segment, end: int | None = None) -> Iterator[bytes]:
    """The whole lines of a segment up to END, last first, read in growing blocks."""
    try:
        fd, status = disk.open_to_read(segment.path, NO_FOLLOW)
        try:
            rest, size, is_end = b"", TAIL_BLOCK, True
            end = status.st_size if end is None else end
            while end:
                start = max(0, end - size)
                pieces = (read_at(fd, end - start, start) + rest).split(b"\n")
                if is_end and len(pieces) > 1:
                    pieces.pop()  # empty after a line feed, or a line that is not whole yet
                    is_end = False
                rest = pieces[0]
                if len(rest) > 2 * lines.MAX_LINE:  # a file with a hole in it would fill the memory
                    raise _too_long(segment)
                if not is_end:
                    yield from reversed(pieces[1:])
                end, size = start, min(size * 4, BLOCK)
            if not is_end:
                yield rest
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error


def _too_long(segment: Segment) -> LedgerDamaged:
    return LedgerDamaged(f"{segment.path} holds something longer than a line may be", path=segment.path)


def last_line_feed(segment: Segment) -> int:
    """The offset behind the last line feed."""
    try:
        fd, status = disk.open_to_read(segment.path, NO_FOLLOW)
        try:
            end, size = status.st_size, TAIL_BLOCK
            while end:
                start = max(0, end - size)
                found = read_at(fd, end - start, start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                if status.st_size - start > 2 * lines.MAX_LINE:
                    raise _too_long(segment)
                end, size = start, min(size * 4, BLOCK)
            return 0
        finally:
            os.close(fd)
    except OSError as error:
        raise disk.refusal(error) from error


def read_at(fd: int, length: int, offset: int) -> bytes:
    """Up to LENGTH bytes at OFFSET: less only at the end of the file."""
    if hasattr(os, "pread"):
        octets = os.pread(fd, length, offset)
        if len(octets) in (0, length):
            return octets
        return octets + read_at(fd, length - len(octets), offset + len(octets))
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, length)
