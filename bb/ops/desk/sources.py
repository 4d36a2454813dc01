"""Where a text comes from that a command is about: a file, stdin, or the command line itself; as octets, unchanged.

A name is a file's and never the text: were it tried as both, a missing file would be called a malformed text. Of what
is larger than it may be, no more is read than it takes to know that.
"""

from __future__ import annotations

import os
import stat

from bb.kernel.errors import NotFound, Usage
from bb.kernel.record import Record
from bb.kernel.show import harmless
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from bb.kernel.errors import BbError
    from bb.ops.desk.desk import Desk

STDIN = "-"
PORTION = 1 << 20
LONGEST_NAME = 200  # characters of a file's name that are repeated


class FileOrText(Usage):
    """A text comes from a file or stands on the command line: one of the two."""

    code = "FILE_OR_TEXT"
    hint = "name a FILE, or - for stdin; or pass --text TEXT"


class TextNotRead(NotFound):
    """That file cannot be read."""

    code = "FILE_NOT_READ"
    hint = "name a file that is there and that you may read"


class NoStdin(Usage):
    """Whoever asks a daemon has no stdin there."""

    code = "NO_STDIN"
    hint = "pass the text itself, as `text`"


class Source(Record):
    """A text and what it is called where its mistakes are told."""

    name: str
    octets: bytes


def given(
    desk: Desk, file: str | None, text: str | None, most: int, too_large: Callable[[str, int], BbError]
) -> Source:
    """The text that is in FILE, or is TEXT; refused as TOO_LARGE when it has more than MOST octets."""
    if (file is None) == (text is None):
        raise FileOrText
    if text is None:
        return read(desk, str(file), most, too_large)
    octets = text.encode("utf-8", "surrogatepass")
    if len(octets) > most:
        raise too_large("the text", len(octets))
    return Source("<text>", octets)


def read(desk: Desk, file: str, most: int, too_large: Callable[[str, int], BbError]) -> Source:
    """What FILE holds."""
    if file == STDIN:
        if desk.stdin is None:
            raise NoStdin
        return Source("<stdin>", _within(desk.stdin, "what comes from stdin", most, too_large))
    name = harmless(file[:LONGEST_NAME])
    try:
        with opened(desk, file) as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > most:
                raise too_large(name, status.st_size)
            return Source(file, _within(stream, name, most, too_large))
    except (OSError, ValueError) as error:  # a NUL in its name, say
        reason = getattr(error, "strerror", None) or "that is no name of a file"
        raise TextNotRead(f"{name} cannot be read: {reason}", path=file[:LONGEST_NAME]) from error


def opened(desk: Desk, file: str) -> IO[bytes]:
    """A file that was named; OSError where it cannot be read, ValueError for a NUL in its name.

    At a terminal it may be a pipe. Whoever asks a daemon could make everybody wait with one.
    """
    return disk.reader(os.path.join(desk.cwd, os.path.expanduser(file)), may_wait=desk.stdin is not None)


def beside(desk: Desk, file: str) -> bool:
    """Whether there is a file of that name."""
    try:
        return os.path.isfile(os.path.join(desk.cwd, os.path.expanduser(file)))
    except ValueError:
        return False


def _within(stream: IO[bytes], name: str, most: int, too_large: Callable[[str, int], BbError]) -> bytes:
    """All that STREAM gives, unless that is too much: what is no ordinary file does not tell its size."""
    found: list[bytes] = []
    size = 0
    while portion := stream.read(min(PORTION, most + 1 - size)):
        found.append(portion)
        size += len(portion)
        if size > most:
            raise too_large(name, size)
    return b"".join(found)
