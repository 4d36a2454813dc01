"""Assembles lines of JSON from received bytes (CCCC daemon IPC §4.2, §4.3). The caller owns the socket."""

from __future__ import annotations

MOST_REQUEST = 2_000_000  # bytes of a request, its line feed included
MOST_ANSWER = 4_000_000  # bytes that a client reads of an answer


class TooLong(Exception):
    """A line is longer than allowed."""


class Framer:
    """Gathers bytes until they make a line."""

    def __init__(self, most: int = MOST_REQUEST) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, octets: bytes) -> bytes | None:
        """The line that OCTETS complete, without its line feed; None if it is incomplete. Raises TooLong beyond the
        limit. Bytes after the line feed are ignored, because a connection carries one request."""
        line, feed, _ = octets.partition(b"\n")
        self._size += len(line) + len(feed)
        if self._size > self._most:
            raise TooLong
        self._pieces.append(line)
        return b"".join(self._pieces) if feed else None

    @property
    def rest(self) -> bytes:
        """The bytes of the incomplete line."""
        return b"".join(self._pieces)
