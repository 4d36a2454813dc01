"""What a terminal has shown: the last bytes of it, and how they read as text.

The bytes are kept as they came, so a sequence that arrives in two halves is whole again here. They are read by the
table below (after ECMA-48, section 5, and the parsers of real terminals), which is told of one character at a time
except where a run of them means the same:

    ground ──ESC──> escape ──[──> csi ──final──> ground        a control character inside a sequence is obeyed there
                       ├──]──> osc ──BEL, ST──> ground         CAN and SUB break a sequence off, ESC begins a new one
                       ├──P X ^ _──> string ──ST──> ground
                       └──space to /──> charset ──final──> ground

8-bit controls count when they are encoded, as in any terminal that speaks UTF-8; a stray byte is shown as U+FFFD.
Every step is bounded (a row is at most WIDEST cells, a screen a few rows), so reading takes time in proportion.
"""

from __future__ import annotations

import re
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Sink(Protocol):
        """What becomes of the characters that are no part of a sequence, and of the sequences."""

        def text(self, run: str) -> None: ...

        def control(self, character: str) -> None: ...

        def csi(self, final: str, arguments: str) -> None: ...


# A megabyte holds a hundred full redraws of a large screen, and twenty actors together stay below the memory that one
# of them may use in CCCC. Who needs more asks for it, up to LARGEST.
LIMIT, LARGEST = 1 << 20, 10 << 20
MOST_CHARS = 200_000  # IPC §8.10
HEIGHT = 50  # rows that can still be written to, when nobody says how high the screen is
WIDEST = 1000  # cells in a row, beyond any screen: a longer line goes on in the next row
HIGHEST = 500  # rows of a screen
PARTIAL = 4096  # bytes to look for the end of a line in that is there in part
READ_FOR_EACH, READ_ALWAYS = 16, 1 << 16  # bytes that are read for each character asked for; sequences are most of them
CONTINUATIONS, LONGEST = bytes(range(0x80, 0xC0)), 3  # what a character goes on with, and for how long
ARGUMENTS = 64  # characters; a longer list of arguments is none

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# Nearly all there is: a run of text, a sequence that is whole and has nothing odd in it, the end of a line. The table
# reads the rest.
PLAIN = re.compile("([^\x00-\x1f\x7f-\x9f]+)|\x1b\\[([0-?]{0,64})([@-~])|\r?(\n)")
STRING_ENDS = {"string": re.compile("[\x18\x1a\x1b\x9c]"), "osc": re.compile("[\x07\x18\x1a\x1b\x9c]")}
AFTER_ESCAPE = {"[": "csi", "]": "osc", **dict.fromkeys("PX^_", "string")}
AS_C1 = {"\x9b": "csi", "\x9d": "osc", **dict.fromkeys("\x90\x98\x9e\x9f", "string")}
OBEYED = {"\x0b": "\n", "\x0c": "\n", "\x84": "\n", "\x85": "\n", "\x8d": "\x8d", **{each: each for each in "\n\r\b\t"}}
AFTER_ESCAPE_OBEYED = {"D": "\n", "E": "\n", "M": "\x8d", "c": "c", "7": "7", "8": "8"}
ALTERNATE = frozenset(["?47", "?1047", "?1049"])  # the screen that full-screen programs switch to


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
    sink = _Screen(height)
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


class Parser:
    """Tells text from control sequences; goes on where it was with the next piece."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._state = "ground"
        self._arguments = ""

    def feed(self, text: str) -> None:
        """Read one more piece."""
        at, end, sink = 0, len(text), self._sink
        while at < end:
            if self._state == "ground":
                if found := PLAIN.match(text, at):
                    run, arguments, final, line_feed = found.groups()
                    if run:
                        sink.text(run)
                    elif final:
                        sink.csi(final, arguments)
                    else:
                        sink.control(line_feed)
                    at = found.end()
                else:
                    self._control(text[at])
                    at += 1
            elif self._state in STRING_ENDS:
                at = self._string(text, at)
            else:
                at += self._sequence(text[at])

    def _string(self, text: str, at: int) -> int:
        """What is in a title or an image is not for the screen."""
        found = STRING_ENDS[self._state].search(text, at)
        if not found:
            return len(text)
        self._state = "escape" if found.group() == "\x1b" else "ground"
        return found.end()

    def _control(self, character: str) -> None:
        if character in OBEYED:
            self._sink.control(OBEYED[character])
        if character == "\x1b":
            self._state = "escape"
        elif character in AS_C1:
            self._begin(AS_C1[character])
        elif character in "\x18\x1a" or character >= "\x80":
            self._state = "ground"

    def _begin(self, state: str) -> None:
        self._state, self._arguments = state, ""

    def _sequence(self, character: str) -> int:
        """Take one character of a sequence; 0 if it does not belong to one and is to be read again."""
        if CONTROL.match(character):
            self._control(character)
        elif character > "~":
            self._state = "ground"
            return 0
        elif self._state == "csi":
            self._in_csi(character)
        elif " " <= character <= "/":
            self._state = "charset"
        else:
            is_charset, self._state = self._state == "charset", "ground"
            self._after_escape("" if is_charset else character)
        return 1

    def _in_csi(self, character: str) -> None:
        if character >= "@":
            self._state = "ground"
            if len(self._arguments) <= ARGUMENTS:
                self._sink.csi(character, self._arguments)
        elif len(self._arguments) <= ARGUMENTS:
            self._arguments += character

    def _after_escape(self, character: str) -> None:
        if character in AFTER_ESCAPE:
            self._begin(AFTER_ESCAPE[character])
        elif character in AFTER_ESCAPE_OBEYED:
            self._sink.control(AFTER_ESCAPE_OBEYED[character])


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


class _Row(list[str]):
    """The cells of a row."""

    goes_on = False  # in the next row, if it is still full


class _Screen:
    """The rows that can still be written to, and above them the lines that have scrolled away.

    The screen is wider than any: a line is as long as it was written. A line feed goes to the first column, as the line
    discipline makes of one. What moves the cursor or erases is obeyed, colours and scroll regions are not.
    """

    def __init__(self, height: int) -> None:
        self._height = min(max(height, 1), HIGHEST)
        self._gone = _Lines()
        self._rows = [_Row()]
        self._row = self._column = 0
        self._saved = (0, 0)

    def text(self, run: str) -> None:
        at = 0
        while at < len(run):
            if self._column >= WIDEST:
                self._rows[self._row].goes_on = True
                self._feed()
            piece = run[at : at + WIDEST - self._column]
            self._put(piece)
            self._column += len(piece)
            at += len(piece)

    def control(self, character: str) -> None:
        CONTROLS[character](self)

    def csi(self, final: str, arguments: str) -> None:
        if arguments[:1] in PRIVATE:
            if final in "hl" and arguments in ALTERNATE:
                self._turn_page()
        elif final in SEQUENCES:
            SEQUENCES[final](self, [_number(each) for each in arguments.split(";", 2)[:2]])

    def written(self) -> str:
        for row in self._rows:
            self._gone.add(row)
        return self._gone.written()

    def _put(self, piece: str) -> None:
        cells, column = self._rows[self._row], self._column
        if column > len(cells):
            cells.extend(" " * (column - len(cells)))
        cells[column : column + len(piece)] = piece

    # -- where the cursor goes

    def _feed(self) -> None:
        self._column = 0
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append(_Row())
        if len(self._rows) > self._height:
            self._gone.add(self._rows.pop(0))
            self._row -= 1

    def _return(self) -> None:
        self._column = 0

    def _tab(self) -> None:
        self._to_column(self._column // 8 * 8 + 8)

    def _to_column(self, column: int) -> None:
        self._column = min(max(column, 0), WIDEST)

    def _to_row(self, row: int) -> None:
        self._row = min(max(row, 0), self._height - 1)
        self._rows.extend(_Row() for _ in range(self._row + 1 - len(self._rows)))

    def _back(self) -> None:
        self._to_column(self._column - 1)

    def _up(self) -> None:
        self._to_row(self._row - 1)

    def _move(self, rows: int, columns: int) -> None:
        self._to_row(self._row + rows)
        self._to_column(self._column + columns)

    def _go(self, row: int, column: int) -> None:
        self._to_row(row)
        self._to_column(column)

    def _save(self) -> None:
        self._saved = (self._row, self._column)

    def _restore(self) -> None:
        self._go(*self._saved)

    def _turn_page(self) -> None:
        while self._rows and not self._rows[-1]:
            self._rows.pop()
        for row in self._rows:
            self._gone.add(row)
        self._rows = [_Row()]
        self._row = self._column = 0

    # -- what is erased

    def _erase_line(self, how: int) -> None:
        cells = self._rows[self._row]
        if how == 0:
            del cells[self._column :]
        elif how == 1:
            cells[: self._column + 1] = " " * min(self._column + 1, len(cells))
        elif how == 2:
            cells.clear()

    def _erase_screen(self, how: int) -> None:
        if how in (0, 1):
            self._erase_line(how)
        if how in (0, 2):
            del self._rows[self._row + 1 :]
        if how in (1, 2):
            self._rows[: self._row] = [_Row() for _ in range(self._row)]
        if how == 2:
            self._rows[self._row].clear()

    def _erase(self, count: int) -> None:
        cells = self._rows[self._row]
        end = min(self._column + count, len(cells))
        cells[self._column : end] = " " * (end - self._column)

    def _delete(self, count: int) -> None:
        del self._rows[self._row][self._column : self._column + count]

    def _insert(self, count: int) -> None:
        cells = self._rows[self._row]
        if self._column < len(cells):
            cells[self._column : self._column] = " " * count
            del cells[WIDEST:]


def _number(argument: str) -> int | None:
    """An argument that was given."""
    return min(int(argument[:9]), WIDEST) if argument.isdecimal() and argument.isascii() else None


def _count(arguments: list[int | None]) -> int:
    """How often, or how far; once, unless it is said."""
    return arguments[0] or 1


def _index(arguments: list[int | None], at: int = 0) -> int:
    """Which row or column; they are counted from 1."""
    return ((arguments[at] if at < len(arguments) else None) or 1) - 1


PRIVATE = frozenset("<=>?")
CONTROLS: dict[str, Callable[[_Screen], None]] = {
    "\n": _Screen._feed,
    "\r": _Screen._return,
    "\b": _Screen._back,
    "\t": _Screen._tab,
    "\x8d": _Screen._up,
    "c": _Screen._turn_page,
    "7": _Screen._save,
    "8": _Screen._restore,
}
SEQUENCES: dict[str, Callable[[_Screen, list[int | None]], None]] = {
    "A": lambda screen, given: screen._move(-_count(given), 0),
    "B": lambda screen, given: screen._move(_count(given), 0),
    "C": lambda screen, given: screen._move(0, _count(given)),
    "D": lambda screen, given: screen._move(0, -_count(given)),
    "E": lambda screen, given: screen._go(screen._row + _count(given), 0),
    "F": lambda screen, given: screen._go(screen._row - _count(given), 0),
    "G": lambda screen, given: screen._to_column(_index(given)),
    "`": lambda screen, given: screen._to_column(_index(given)),
    "d": lambda screen, given: screen._to_row(_index(given)),
    "H": lambda screen, given: screen._go(_index(given), _index(given, 1)),
    "f": lambda screen, given: screen._go(_index(given), _index(given, 1)),
    "J": lambda screen, given: screen._erase_screen(given[0] or 0),
    "K": lambda screen, given: screen._erase_line(given[0] or 0),
    "X": lambda screen, given: screen._erase(_count(given)),
    "P": lambda screen, given: screen._delete(_count(given)),
    "@": lambda screen, given: screen._insert(_count(given)),
    "s": lambda screen, _: screen._save(),
    "u": lambda screen, _: screen._restore(),
}

# What turns before a word while somebody waits. Numbers beside it are seconds or tokens and turn with it. The plain
# ones also begin the items of a list, so there nothing but the sign itself may differ.
TURNING = frozenset([*map(chr, range(0x2801, 0x2900)), *"◐◓◑◒◴◷◶◵◜◠◝◞◡◟✢✳✶✻✽"])
TURNING_PLAINLY = frozenset("|/-\\·")
DIGITS = re.compile("[0-9]+")


class _Lines:
    """The lines to be kept, the oldest given up when there are more than anybody may ask for."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._begun: list[str] = []
        self._chars = 0
        self._is_blank_due = False

    def add(self, row: _Row) -> None:
        self._begun.append("".join(row))
        if row.goes_on and len(row) == WIDEST:
            return
        line = "".join(self._begun).rstrip()
        self._begun.clear()
        if not line:
            self._is_blank_due = bool(self._lines)
            return
        if self._is_blank_due:
            self._append("")
        elif self._lines and _is_next_frame(self._lines[-1], line):
            self._chars -= len(self._lines.pop()) + 1
        self._append(line)
        self._is_blank_due = False

    def written(self) -> str:
        return "\n".join(self._lines)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._chars += len(line) + 1
        while self._chars - len(self._lines[0]) > MOST_CHARS + 1:
            self._chars -= len(self._lines.popleft()) + 1


def _is_next_frame(one: str, other: str) -> bool:
    """Whether two lines are two moments of the same waiting."""
    (sign, rest), (next_sign, next_rest) = _taken_apart(one), _taken_apart(other)
    if sign in TURNING_PLAINLY or next_sign in TURNING_PLAINLY:
        return sign != next_sign and bool(rest) and rest == next_rest and "" not in (sign, next_sign)
    return sign != "" and next_sign != "" and DIGITS.sub("0", rest) == DIGITS.sub("0", next_rest)


def _taken_apart(line: str) -> tuple[str, str]:
    """The sign that turns, if there is one at the beginning or at the end, and the rest."""
    text = line.lstrip()
    if text[0] in TURNING or text[0] in TURNING_PLAINLY:
        return text[0], text[1:]
    return (text[-1], text[:-1]) if text[-1] in TURNING else ("", text)
