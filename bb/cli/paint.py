"""Colour and width of the terminal, where there is one. In a pipe there is neither: plain text, nothing cut.

A screen writes each thing as one line, and marks in it what a terminal too narrow for it may do. `laid_out` then does
that. Text is broken at its spaces and nowhere else, so whatever is copied stays whole, unless it is marked: `whole`
text not even there, `flowing` text within a word too, and `brief` text is cut short instead.
"""

from __future__ import annotations

import os
import sys

from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NARROWEST = 40
INDENT = 4  # how much further in the later lines of a broken one stand
LEAST = 24  # columns: less of a text says nothing
COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
OF_STATE = {
    **dict.fromkeys(("active", "acked", "released", "completed", "accepted"), "green"),
    **dict.fromkeys(("stale", "read", "needs_input", "taken_over", "deciding", "paused"), "yellow"),
    **dict.fromkeys(("frozen",), "cyan"),
    **dict.fromkeys(("evicted", "expired", "open", "damaged", "retired"), "red"),
    **dict.fromkeys(("unread",), "bold"),
}
ESCAPE, PLAIN = "\x1b", "\x1b[0m"

# Harmless text holds no control characters, so these can be marks in it. One in a word is about that word.
KEPT_SPACE, FLOWING, BRIEF, HANGING = "\x00", "\x01", "\x02", "\x03"
UNMARKED = {ord(KEPT_SPACE): " ", ord(FLOWING): None, ord(BRIEF): None, ord(HANGING): None}


def is_coloured() -> bool:
    """Whether output goes to a terminal that shows colours, and nobody asked for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int | None:
    """How many columns there are; None where nobody looks at them."""
    columns, _ = size()
    return max(columns, NARROWEST) if columns else None


def height() -> int | None:
    """How many lines there are; None where nobody looks at them."""
    return size()[1] or None


def size() -> tuple[int, int]:
    """Columns and lines of the terminal, 0 where unknown. As everywhere, COLUMNS and LINES know better than it does."""
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return 0, 0
    return _setting("COLUMNS") or columns, _setting("LINES") or lines


def _setting(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 0


def painted(text: str, colour: str) -> str:
    return f"{ESCAPE}[{COLOURS[colour]}m{text}{PLAIN}" if is_coloured() else text


def state(word: str, pad: int = 0) -> str:
    """The name of a state in its colour."""
    plain = harmless(word)
    return (painted(plain, OF_STATE[word]) if word in OF_STATE else plain) + " " * (pad - len(plain))


def heading(text: str) -> str:
    return painted(text, "bold")


def whole(text: str) -> str:
    """TEXT harmless, to be copied and so never broken: a command, a scope."""
    plain = harmless(text)
    return plain if width() is None else plain.replace(" ", KEPT_SPACE)


def brief(text: str) -> str:
    """TEXT harmless, and cut to what is left of a line."""
    return whole(text) if width() is None or not text else BRIEF + whole(text)


def flowing(text: str) -> str:
    """TEXT harmless, all of it, on as many lines as it takes."""
    plain = harmless(text)
    return plain if width() is None else " ".join(word and FLOWING + word for word in plain.split(" "))


def hanging(text: str) -> str:
    """TEXT, which is marked already, with its later lines under its first one."""
    return text if width() is None else HANGING + text


def column(text: str, pad: int) -> str:
    """TEXT filled up to PAD columns; on a terminal to no more than a third of them all."""
    columns = width()
    return text + " " * (min(pad, columns // 3 if columns else pad) - occupied(text))


def inset(far: int) -> int:
    """FAR columns in; on a terminal of which that is more than a quarter, just a little."""
    columns = width()
    return far if columns is None or far <= columns // 4 else INDENT


def laid_out(lines: Iterable[str]) -> Iterator[str]:
    """LINES as they fit the terminal; as they are where there is none."""
    columns = width()
    for line in lines:
        if columns is None or occupied(line) <= columns:
            yield line.translate(UNMARKED)
        else:
            yield from _broken(line, columns)


def lines_taken(lines: Iterable[str]) -> int:
    """How many lines of the terminal LINES take."""
    columns = width()
    return sum(-(-occupied(line) // columns) if line and columns else 1 for line in laid_out(lines))


def occupied(text: str) -> int:
    """How many columns TEXT takes: wide letters two, colours, marks and combining letters none."""
    plain = "".join(
        piece if number == 0 else piece.partition("m")[2]
        for number, piece in enumerate(text.translate(UNMARKED).split(ESCAPE))
    )
    return len(plain) if plain.isascii() else sum(map(_columns_of, plain))


def _columns_of(character: str) -> int:
    import unicodedata  # noqa: PLC0415  (most text is ASCII)

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return int(character == "\ufe0f")  # which makes a narrow sign a wide emoji
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _broken(line: str, columns: int) -> list[str]:
    """LINE as several, each within so many COLUMNS unless a single word takes more."""
    import re  # noqa: PLC0415  (only a terminal needs it)

    hang = _hang(line)
    done, current = [], ""
    for found in re.finditer("( *)([^ ]+)", line):
        gap, word = found[1], found[2].translate(UNMARKED)
        is_brief = BRIEF in found[2]
        size = occupied(word)
        is_split = FLOWING in found[2] and size > columns - hang
        least = min(size, LEAST) if is_brief or is_split else size  # columns it wants to begin on a line
        # A text that is cut leaves room for what follows it, where a line has room for both.
        after = occupied(line[found.end() :]) if is_brief else 0
        after = after if least + after <= columns - hang else 0
        if current and occupied(current + gap) + least + after > columns:
            done.append(current)
            current, gap = "", " " * hang
        current += gap if current else gap[: max(columns - least, 0)]
        while is_split and occupied(current + word) > columns:
            start, word = parted(word, columns - occupied(current))
            done.append(current + start)
            current = " " * hang
        current += cut(word, columns - occupied(current) - after) if is_brief else word
    return [*done, current]


def _hang(line: str) -> int:
    """Where the later lines of LINE begin."""
    before, mark, _ = line.partition(HANGING)
    return inset(occupied(before)) if mark else len(line) - len(line.lstrip(" ")) + INDENT


def cut(text: str, room: int) -> str:
    """TEXT within ROOM columns. Half a word could be taken for another, so it goes unless it is most of all."""
    if occupied(text) <= room:
        return text
    start, rest = parted(text, room - 1)
    words, space, _ = start.rpartition(" ")
    if space and not rest.startswith(" ") and len(words) > len(start) // 2:
        start = words
    return start.rstrip() + "…" + (PLAIN if ESCAPE in rest else "")


def parted(text: str, room: int) -> tuple[str, str]:
    """As much of TEXT as ROOM columns take, and the rest of it."""
    if text.isascii() and ESCAPE not in text:
        return text[:room], text[room:]
    at = used = 0
    while at < len(text):
        if text[at] == ESCAPE:
            at = text.index("m", at) + 1
            continue
        used += occupied(text[at])
        if used > room:
            break
        at += 1
    return text[:at], text[at:]


def counted(count: int, what: str) -> str:
    """So many of WHAT."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def span(seconds: int) -> str:
    """A length of time, as people say it: 45s, 12m, 3h 5m, 2d 4h."""
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600}h"
