"""The last bytes of a terminal's output, and their conversion to text.

The raw bytes are kept, so a sequence that arrives in two reads is parsed as one. An invalid byte is shown as U+FFFD.
"""

from __future__ import annotations

from bb.daemon.terminal.screen import HEIGHT, MOST_CHARS, Screen
from bb.daemon.terminal.sequences import Parser

# One megabyte holds a hundred full redraws of a large screen. Twenty actors together use less memory than CCCC allows
# for one. The limit can be raised up to LARGEST.
LIMIT, LARGEST = 1 << 20, 10 << 20
PARTIAL = 4096  # bytes in which to search for the end of a partial first line
READ_FOR_EACH, READ_ALWAYS = 16, 1 << 16  # bytes read for each requested character; most bytes are sequences
CONTINUATIONS, LONGEST = bytes(range(0x80, 0xC0)), 3  # continuation bytes of UTF-8, and their largest number


class Transcript:
    """The last LIMIT bytes of a terminal's output."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = min(max(limit, 1), LARGEST)
        self._octets = bytearray()
        self._is_torn = False  # whether the oldest bytes were dropped
        self.position = 0  # number of bytes received in all

    def append(self, octets: bytes) -> None:
        """Add output. (A bytearray drops its first bytes without moving the others.)"""
        self._octets += octets[-self._limit :]
        self.position += len(octets)
        if (excess := len(self._octets) - self._limit) > 0 or len(octets) > self._limit:
            self._is_torn = True
            del self._octets[: max(excess, 0)]

    def clear(self) -> None:
        """Drop all bytes; the position is kept."""
        self._octets.clear()
        self._is_torn = False

    def since(self, position: int) -> bytes:
        """The bytes after POSITION that are still kept."""
        start = self.position - len(self._octets)
        return bytes(self._octets[max(position - start, 0) :])

    def recent(self, most: int = LARGEST) -> bytes:
        """The last MOST bytes, without a partial line, sequence or character at their start."""
        octets = bytes(self._octets[max(len(self._octets) - most, 0) :])
        if not self._is_torn and len(octets) == len(self._octets):
            return octets
        if start := octets.find(b"\n", 0, PARTIAL) + 1:
            return octets[start:] or octets
        start = max(octets.find(b"\x1b", 0, PARTIAL), 0)
        return octets[start:] if start else octets[:LONGEST].lstrip(CONTINUATIONS) + octets[LONGEST:]

    def tail(self, max_chars: int, *, strip_ansi: bool = True, compact: bool = True, height: int = HEIGHT) -> str:
        """The last characters: raw, as plain text, or (COMPACT) as a screen of that HEIGHT shows them."""
        most = min(max(max_chars, 0), MOST_CHARS)
        if not strip_ansi:
            return _last(_decoded(self.recent()[-4 * most - 4 :]), most)
        octets = self.recent(max(READ_FOR_EACH * most, READ_ALWAYS))
        return _last(compacted(octets, height) if compact else stripped(octets), most)


def stripped(octets: bytes) -> str:
    """All printed text in order, without sequences."""
    sink = _Printed()
    Parser(sink).feed(_decoded(octets))
    return sink.written()


def compacted(octets: bytes, height: int = HEIGHT) -> str:
    """The visible text: without overwritten or erased text, repeated blank lines and earlier frames of a spinner."""
    sink = Screen(height)
    Parser(sink).feed(_decoded(octets))
    return sink.written()


def _decoded(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _last(text: str, most: int) -> str:
    """At most MOST characters from the end of TEXT, without a partial first line unless it is the only one."""
    if len(text) <= most:
        return text
    cut = text[len(text) - most :]
    if text[len(text) - most - 1] == "\n":
        return cut
    start = cut.find("\n") + 1
    return cut[start:] or cut


class _Printed:
    """Collects text in order. A lone carriage return starts a new line, so that texts are not joined."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._has_returned = False

    def text(self, run: str) -> None:
        if self._has_returned:
            self._pieces.append("\n")
            self._has_returned = False
        self._pieces.append(run)

    def control(self, character: str) -> None:
        if character == "\n":
            self._pieces.append("\n")
            self._has_returned = False
        elif character == "\r":
            self._has_returned = bool(self._pieces) and self._pieces[-1] != "\n"
        elif character == "\t":
            self.text("\t")

    def csi(self, final: str, arguments: str) -> None: ...

    def written(self) -> str:
        return "".join(self._pieces)
