"""Reads the text that a command is given as a file, on stdin or on the command line, as unchanged bytes.

A file name is never taken for the text itself; otherwise a missing file would be reported as malformed text. Reading
stops as soon as the text is known to be too large.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import IO

from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ops.desk.desk import Desk

STDIN = "-"
PORTION = 1 << 20
LONGEST_NAME = 200  # characters of a file's name that a refusal repeats

FileOrText = Usage.declare(
    "FILE_OR_TEXT",
    "The text must be given exactly once: in a file or on the command line",
    hint="name a FILE, or - for stdin; or pass --text TEXT",
)

FileNotRead = NotFound.declare(
    "FILE_NOT_READ", "The file cannot be read", hint="name an existing file that you have permission to read"
)
NoStdin = Usage.declare("NO_STDIN", "A client of the daemon has no stdin there", hint="pass the text itself, as `text`")


class Source(Record):
    """A text, and its name for error messages."""

    name: str
    octets: bytes


def file_or_text(
    desk: Desk, file: str | None, text: str | None, most: int, too_large: Callable[[str, int], BbError]
) -> Source:
    """The content of FILE, or TEXT; refused with TOO_LARGE if it has more than MOST octets."""
    if (file is None) == (text is None):
        raise FileOrText()
    if text is None:
        return read(desk, str(file), most, too_large)
    octets = text.encode("utf-8", "surrogatepass")
    if len(octets) > most:
        raise too_large("the text", len(octets))
    return Source("<text>", octets)


def read(desk: Desk, file: str, most: int, too_large: Callable[[str, int], BbError]) -> Source:
    """The content of FILE; `-` is stdin."""
    if file == STDIN:
        if desk.stdin is None:
            raise NoStdin()
        return Source("<stdin>", _within(desk.stdin, "the text on stdin", most, too_large))
    name = harmless(file[:LONGEST_NAME])
    try:
        with opened(desk, file) as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > most:
                raise too_large(name, status.st_size)
            return Source(file, _within(stream, name, most, too_large))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or "it is not a valid file name"
        raise FileNotRead(f"{name} cannot be read: {reason}", path=file[:LONGEST_NAME]) from error


def opened(desk: Desk, file: str) -> IO[bytes]:
    """Open FILE. Raises OSError if it cannot be read, ValueError for a NUL in its name.

    On the command line it may be a pipe. In a daemon a pipe is refused, because it could block all clients.
    """
    return disk.reader(os.path.join(desk.cwd, os.path.expanduser(file)), may_wait=desk.stdin is not None)


def file_exists(desk: Desk, file: str) -> bool:
    """Whether FILE exists."""
    try:
        return os.path.isfile(os.path.join(desk.cwd, os.path.expanduser(file)))
    except ValueError:
        return False


def _within(stream: IO[bytes], name: str, most: int, too_large: Callable[[str, int], BbError]) -> bytes:
    """The content of STREAM, unless it is too large. A pipe does not report its size, so the bytes are counted."""
    portions: list[bytes] = []
    size = 0
    while portion := stream.read(min(PORTION, most + 1 - size)):
        portions.append(portion)
        size += len(portion)
        if size > most:
            raise too_large(name, size)
    return b"".join(portions)
