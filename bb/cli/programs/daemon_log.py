"""Reads the daemon's log. The log contains no message text."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from bb.kernel.escaping import clipped
from bb.ledger.files import disk
from bb.ledger.local import descriptor

GLANCE = 0.1  # seconds between two reads
MOST = 4 << 20  # bytes searched for the last lines
LONGEST_LINE = 1000


def path(home: str) -> str:
    return os.path.join(home, "daemon", descriptor.LOG)


def size(home: str) -> int:
    return _about(path(home))[1]


def since(home: str, start: int) -> list[str]:
    """The lines written after the first START bytes."""
    return _lines(_read(path(home), start, size(home)))


def last(home: str, count: int, end: int | None = None) -> list[str]:
    """The last COUNT lines of the first END bytes."""
    end = size(home) if end is None else end
    start = max(end - MOST, 0)
    return _lines(_read(path(home), start, end))[-count:]


def follow(home: str, count: int) -> Iterator[str]:
    """The last COUNT lines, then new lines as they are written."""
    file, at = _about(path(home))
    yield from last(home, count, at)
    rest = b""
    while True:
        inode, end = _about(path(home))
        if inode != file or end < at:  # the log was rotated
            file, at = inode, 0
        octets = _read(path(home), at, end)
        at += len(octets)
        whole, feed, rest = (rest + octets).rpartition(b"\n")
        yield from _lines(whole + feed)
        time.sleep(GLANCE)


def _lines(octets: bytes) -> list[str]:
    return [clipped(line.decode("utf-8", "backslashreplace"), LONGEST_LINE) for line in octets.split(b"\n") if line]


def _read(where: str, start: int, end: int) -> bytes:
    try:
        with disk.reader(where) as file:
            file.seek(start)
            return file.read(max(end - start, 0))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise disk.refusal(error) from error


def _about(where: str) -> tuple[int, int]:
    """The inode and size of a file."""
    try:
        file_stat = os.stat(where)
    except OSError:
        return 0, 0
    return file_stat.st_ino, file_stat.st_size
