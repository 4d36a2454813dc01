"""Emulates a terminal's screen: its rows, and the lines that have scrolled off above them.

Rows and screens have a maximum size, so parsing takes time in proportion to the input.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

MOST_CHARS = 200_000  # IPC §8.10
HEIGHT = 50  # rows of a screen of unknown height
WIDEST = 1000  # cells in a row, more than any screen has; a longer line continues in the next row
HIGHEST = 500  # rows of a screen
ALTERNATE = frozenset(["?47", "?1047", "?1049"])  # modes that select the alternate screen


class _Row(list[str]):
    """The cells of a row."""

    goes_on = False  # whether the line continues in the next row, if this row is still full


class Screen:
    """The rows of the screen, and the lines that have scrolled off.

    The screen is wider than real ones, so lines are not wrapped. A line feed also moves to the first column, because
    the line discipline adds a carriage return. Cursor movement and erasing are supported; colours and scroll regions
    are not.
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
            SEQUENCES[final](self, [_number(argument) for argument in arguments.split(";", 2)[:2]])

    def written(self) -> str:
        for row in self._rows:
            self._gone.add(row)
        return self._gone.written()

    def _put(self, piece: str) -> None:
        cells, column = self._rows[self._row], self._column
        if column > len(cells):
            cells.extend(" " * (column - len(cells)))
        cells[column : column + len(piece)] = piece

    # -- cursor movement

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

    # -- erasing

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
    """An argument as a number; None if it is missing or invalid."""
    return min(int(argument[:9]), WIDEST) if argument.isdecimal() and argument.isascii() else None


def _count(arguments: list[int | None]) -> int:
    """The first argument as a count; 1 by default."""
    return arguments[0] or 1


def _index(arguments: list[int | None], at: int = 0) -> int:
    """An argument as a row or column index; arguments count from 1."""
    return ((arguments[at] if at < len(arguments) else None) or 1) - 1


PRIVATE = frozenset("<=>?")
CONTROLS: dict[str, Callable[[Screen], None]] = {
    "\n": Screen._feed,
    "\r": Screen._return,
    "\b": Screen._back,
    "\t": Screen._tab,
    "\x8d": Screen._up,
    "c": Screen._turn_page,
    "7": Screen._save,
    "8": Screen._restore,
}
SEQUENCES: dict[str, Callable[[Screen, list[int | None]], None]] = {
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

# Characters of spinners. Numbers in the same line are seconds or tokens and change with the spinner. The plain
# characters may also start the items of a list, so two such lines are frames only if nothing else differs.
TURNING = frozenset([*map(chr, range(0x2801, 0x2900)), *"◐◓◑◒◴◷◶◵◜◠◝◞◡◟✢✳✶✻✽"])
TURNING_PLAINLY = frozenset("|/-\\·")
DIGITS = re.compile("[0-9]+")


class _Lines:
    """The kept lines. The oldest are dropped beyond the largest size that a client may request."""

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
    """Whether two lines are successive frames of one spinner."""
    (sign, rest), (next_sign, next_rest) = _taken_apart(one), _taken_apart(other)
    if sign in TURNING_PLAINLY or next_sign in TURNING_PLAINLY:
        return sign != next_sign and bool(rest) and rest == next_rest and "" not in (sign, next_sign)
    return sign != "" and next_sign != "" and DIGITS.sub("0", rest) == DIGITS.sub("0", next_rest)


def _taken_apart(line: str) -> tuple[str, str]:
    """A line's spinner character, at its start or end, and the rest."""
    text = line.lstrip()
    if text[0] in TURNING or text[0] in TURNING_PLAINLY:
        return text[0], text[1:]
    return (text[-1], text[:-1]) if text[-1] in TURNING else ("", text)
