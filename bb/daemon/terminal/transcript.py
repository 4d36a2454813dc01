"""What a terminal has shown: the last bytes of it, and how they read as text.

The bytes are kept as they came, so a sequence that arrives in two halves is whole again here; a stray byte is shown as
U+FFFD.
"""

from __future__ import annotations

from bb.daemon.terminal.screen import HEIGHT, MOST_CHARS, Screen
from bb.daemon.terminal.sequences import Parser

# A megabyte holds a hundred full redraws of a large screen, and twenty actors together stay below the memory that one
# of them may use in CCCC. Who needs more asks for it, up to LARGEST.
LIMIT, LARGEST = 1 << 20, 10 << 20
PARTIAL = 4096  # bytes to look for the end of a line in that is there in part
READ_FOR_EACH, READ_ALWAYS = 16, 1 << 16  # bytes that are read for each character asked for; sequences are most of them
CONTINUATIONS, LONGEST = bytes(range(0x80, 0xC0)), 3  # what a character goes on with, and for how long


class Transcript:
    """The last bytes that a terminal has shown, LIMIT of them at most."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = min(max(limit, 1), LARGEST)
        self._octets = bytearray()
        self._is_torn = False  # whether the first of them have been given up
        self.position = 0  # how many bytes there have been in all

    def append(self, octets: bytes) -> None:
        """Take what was shown. (A bytearray gives up its first bytes without moving the others.)"""
        self._octets += octets[-self._limit :]
        self.position += len(octets)
        if (excess := len(self._octets) - self._limit) > 0 or len(octets) > self._limit:
            self._is_torn = True
            del self._octets[: max(excess, 0)]

    def clear(self) -> None:
        """Forget all of it; positions go on counting."""
        self._octets.clear()
        self._is_torn = False

    def since(self, position: int) -> bytes:
        """What came after POSITION, as far as it is still here."""
        start = self.position - len(self._octets)
        return bytes(self._octets[max(position - start, 0) :])

    def recent(self, most: int = LARGEST) -> bytes:
        """All there is, or the last of it; not the rest of a line, sequence or character that begins before."""
        octets = bytes(self._octets[max(len(self._octets) - most, 0) :])
        if not self._is_torn and len(octets) == len(self._octets):
            return octets
        if start := octets.find(b"\n", 0, PARTIAL) + 1:
            return octets[start:] or octets
        start = max(octets.find(b"\x1b", 0, PARTIAL), 0)
        return octets[start:] if start else octets[:LONGEST].lstrip(CONTINUATIONS) + octets[LONGEST:]

    def tail(self, max_chars: int, *, strip_ansi: bool = True, compact: bool = True, height: int = HEIGHT) -> str:
        """The last characters as they came, or as text, or as text of what a screen of that HEIGHT shows of them."""
        most = min(max(max_chars, 0), MOST_CHARS)
        if not strip_ansi:
            return _last(_decoded(self.recent()[-4 * most - 4 :]), most)
        octets = self.recent(max(READ_FOR_EACH * most, READ_ALWAYS))
        return _last(compacted(octets, height) if compact else stripped(octets), most)


def stripped(octets: bytes) -> str:
    """All that was printed, in the order it came."""
    sink = _Printed()
    Parser(sink).feed(_decoded(octets))
    return sink.written()


def compacted(octets: bytes, height: int = HEIGHT) -> str:
    """What can be seen: what was overwritten or erased is gone, and so are blank lines and frames of a spinner."""
    sink = Screen(height)
    Parser(sink).feed(_decoded(octets))
    return sink.written()


def _decoded(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _last(text: str, most: int) -> str:
    """At most so many characters from the end of TEXT. A line that would be cut is left out, if another one is left."""
    if len(text) <= most:
        return text
    cut = text[len(text) - most :]
    if text[len(text) - most - 1] == "\n":
        return cut
    start = cut.find("\n") + 1
    return cut[start:] or cut


class _Printed:
    """Text in the order it came. A carriage return alone begins a new line here, so that nothing is run together."""

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
