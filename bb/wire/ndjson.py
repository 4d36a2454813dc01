"""Lines of JSON out of bytes that come in pieces (CCCC daemon IPC §4.2, §4.3). Somebody else owns the socket."""

from __future__ import annotations

MOST_REQUEST = 2_000_000  # bytes of a request, its line feed included
MOST_ANSWER = 4_000_000  # bytes that a client reads of an answer


class TooLong(Exception):
    """A line is longer than a line may be."""


class Framer:
    """Gathers bytes until they make a line."""

    def __init__(self, most: int = MOST_REQUEST) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, octets: bytes) -> bytes | None:
        """The line that OCTETS complete, without its line feed; None while there is none. TooLong when it is no use
        to wait for its end. What comes behind the line feed is not looked at: one request, one answer."""
        line, feed, _ = octets.partition(b"\n")
        self._size += len(line) + len(feed)
        if self._size > self._most:
            raise TooLong
        self._pieces.append(line)
        return b"".join(self._pieces) if feed else None

    @property
    def rest(self) -> bytes:
        """What there is of a line that has no end yet."""
        return b"".join(self._pieces)
