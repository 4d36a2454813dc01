"""Colours and line breaks for the terminal. Output to a pipe is plain text, without breaks or cuts.

A screen writes each item as one line with marks for a narrow terminal, and `laid_out` breaks the lines by them.
Unmarked text is broken only at spaces, so a copied word stays complete. `whole` text is never broken, `flowing` text
may also be broken within a word, and `brief` text is cut at the end of the line.

A `str` is text of bb; text of other authors is `Foreign`. `whole` shows that as a name, `flowing` and `brief` as a
quotation, and `block` on marked lines. If a quotation or a block continues on another line, that line is marked too. So
no line begins with words that could be mistaken for bb's own.
"""

from __future__ import annotations

import os
import sys
import time

from bb.kernel import clock, escaping, foreign, plurals
from bb.kernel.escaping import LONGEST_NAME, harmless
from bb.kernel.foreign import Foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    # its title, its lines, the command that shows all of them, and how many the answer left out
    Section = tuple[str, list[str], str, int]

NARROWEST = 40
INDENT = 4  # extra indentation of continuation lines
LEAST = 24  # columns that a text needs on a line to be readable
COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
OF_STATE = {
    **dict.fromkeys(("active", "acked", "released", "completed", "accepted"), "green"),
    **dict.fromkeys(("stale", "read", "needs_input", "taken_over", "deciding", "paused"), "yellow"),
    **dict.fromkeys(("frozen",), "cyan"),
    **dict.fromkeys(("evicted", "expired", "open", "damaged", "retired"), "red"),
    **dict.fromkeys(("unread",), "bold"),
}
ESCAPE, PLAIN = "\x1b", "\x1b[0m"

# Escaped text contains no control characters, so they can serve as marks. A mark applies to the word that contains it.
KEPT_SPACE, FLOWING, BRIEF, HANGING, THEIRS = "\x00", "\x01", "\x02", "\x03", "\x04"
UNMARKED: dict[int, str | None] = {ord(KEPT_SPACE): " ", **dict.fromkeys(map(ord, (FLOWING, BRIEF, HANGING, THEIRS)))}
LONGEST_WHOLE = 1000  # characters of a name


def is_coloured() -> bool:
    """Whether output goes to a terminal with colours, and the user has not disabled them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int | None:
    """The columns of the terminal; None in a pipe."""
    columns, _ = size()
    return max(columns, NARROWEST) if columns else None


def height() -> int | None:
    """The lines of the terminal; None in a pipe."""
    return size()[1] or None


def size() -> tuple[int, int]:
    """Columns and lines of the terminal, 0 if unknown. The variables COLUMNS and LINES take precedence."""
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return 0, 0
    return _setting("COLUMNS") or columns, _setting("LINES") or lines


def _setting(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 0


def coloured(text: str, colour: str) -> str:
    return f"{ESCAPE}[{COLOURS[colour]}m{text}{PLAIN}" if is_coloured() else text


def state(word: Foreign | str, pad: int = 0) -> str:
    """The name of a state in its colour."""
    plain = harmless(word) if isinstance(word, str) else str(word)
    return (coloured(plain, OF_STATE[plain]) if plain in OF_STATE else plain) + " " * (pad - display_width(plain))


def heading(text: str) -> str:
    return coloured(text, "bold")


def whole(text: Foreign | str) -> str:
    """TEXT that is never broken, so that it can be copied: a command, a name or a scope."""
    plain = harmless(text) if isinstance(text, str) else _named(text)
    return plain if width() is None else plain.replace(" ", KEPT_SPACE)


def _named(value: Foreign) -> str:
    return foreign.name(value, LONGEST_WHOLE) if value.is_text else str(value)


def brief(text: Foreign | str) -> str:
    """TEXT cut to the rest of a line; text of other authors in quotation marks."""
    plain = harmless(text) if isinstance(text, str) else _said(text)
    return plain if width() is None or not plain else BRIEF + plain.replace(" ", KEPT_SPACE)


def _said(value: Foreign) -> str:
    return foreign.quotation(value) if value.is_text else str(value)


def flowing(text: Foreign | str) -> str:
    """All of TEXT, on as many lines as needed; text of other authors in quotation marks."""
    if isinstance(text, str):
        return _loose(harmless(text), FLOWING)
    return _loose(_said(text), FLOWING + THEIRS)


def expression(text: Foreign | str) -> str:
    """An agent's S-expression, on as many lines as needed."""
    return _loose(foreign.expression(text), FLOWING + THEIRS)


def block(text: Foreign | str, indent: str = "") -> list[str]:
    """All of a text of another author, on indented and marked lines of its own."""
    lines = foreign.block(text, "")
    return [indent + hanging(escaping.SET_OFF + _loose(line, FLOWING + THEIRS)) for line in lines]


def _loose(plain: str, mark: str) -> str:
    """PLAIN with a MARK in every word, which allows a break within the word."""
    return plain if width() is None else " ".join(word and mark + word for word in plain.split(" "))


def hanging(text: str) -> str:
    """Marked TEXT whose continuation lines are aligned with its first line."""
    return text if width() is None else HANGING + text


def column(text: str, pad: int) -> str:
    """TEXT padded to PAD columns, on a terminal to at most a third of its width."""
    columns = width()
    return text + " " * (min(pad, columns // 3 if columns else pad) - display_width(text))


def inset(far: int) -> int:
    """An indentation of FAR columns; INDENT if that is more than a quarter of the terminal."""
    columns = width()
    return far if columns is None or far <= columns // 4 else INDENT


def wrap_lines(lines: Iterable[str]) -> Iterator[str]:
    """LINES broken to fit the terminal; unbroken in a pipe."""
    columns = width()
    for line in lines:
        if columns is None or display_width(line) <= columns:
            yield line.translate(UNMARKED)
        else:
            yield from _broken(line, columns)


def lines_taken(lines: Iterable[str]) -> int:
    """The number of terminal lines that LINES occupy."""
    columns = width()
    return sum(-(-display_width(line) // columns) if line and columns else 1 for line in wrap_lines(lines))


def display_width(text: str) -> int:
    """The columns that TEXT occupies: two for a wide letter, none for colours, marks and combining letters."""
    plain = "".join(
        piece if number == 0 else piece.partition("m")[2]
        for number, piece in enumerate(text.translate(UNMARKED).split(ESCAPE))
    )
    return len(plain) if plain.isascii() else sum(map(_columns_of, plain))


def _columns_of(character: str) -> int:
    import unicodedata  # noqa: PLC0415  (most text is ASCII)

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return int(character == "\ufe0f")  # this selector turns a narrow sign into a wide emoji
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _broken(line: str, columns: int) -> list[str]:
    """LINE as several lines of at most COLUMNS, unless a single word is longer."""
    import re  # noqa: PLC0415  (only a terminal needs it)

    hang = _hang(line)
    done, current, is_open = [], "", False
    for match in re.finditer("( *)([^ ]+)", line):
        gap, word = match[1], match[2].translate(UNMARKED)
        turns = THEIRS not in match[2] and word.count(QUOTED) % 2 == 1  # a name of several words begins or ends here
        is_theirs = THEIRS in match[2] or is_open or turns
        is_open ^= turns
        begins = " " * hang + (escaping.SET_OFF if is_theirs else "")  # the start of a continuation line
        is_brief = BRIEF in match[2]
        size = display_width(word)
        is_split = FLOWING in match[2] and size > columns - len(begins)
        least = min(size, LEAST) if is_brief or is_split else size  # columns that it needs at the end of a line
        # If a line has room for both, a cut text leaves room for the words after it.
        after = display_width(line[match.end() :]) if is_brief else 0
        after = after if least + after <= columns - hang else 0
        if current and display_width(current + gap) + least + after > columns:
            done.append(current)
            current, gap = "", begins
        current += gap if current or is_theirs else gap[: max(columns - least, 0)]
        while is_split and display_width(current + word) > columns:
            start, word = split_at_width(word, columns - display_width(current))
            done.append(current + start)
            current = begins
        current += cut(word, columns - display_width(current) - after) if is_brief else word
    return [*done, current]


def _hang(line: str) -> int:
    """The indentation of the continuation lines of LINE."""
    before, mark, _ = line.partition(HANGING)
    return inset(display_width(before)) if mark else len(line) - len(line.lstrip(" ")) + INDENT


def cut(text: str, room: int) -> str:
    """TEXT cut to ROOM columns, with its quotation marks closed. It is cut at a word, because half a word could be
    mistaken for another one, unless that would remove more than half of the text."""
    if display_width(text) <= room:
        return text
    before, mark, quoted = text.partition(QUOTED)
    quoted, closing, after = quoted.rpartition(QUOTED)
    if closing and (inside := room - display_width(before) - display_width(after) - 2) > 1:
        return f"{before}{mark}{cut(quoted, inside)}{closing}{after}"
    start, rest = split_at_width(text, room - 1)
    words, space, _ = start.rpartition(" ")
    if space and not rest.startswith(" ") and len(words) > len(start) // 2:
        start = words
    return start.rstrip() + "…" + (PLAIN if ESCAPE in rest else "")


QUOTED = '"'
ESCAPES = {"x": 4, "u": 6, "U": 10}  # the length of an escape sequence that `harmless` writes


def split_at_width(text: str, room: int) -> tuple[str, str]:
    """The part of TEXT that fits into ROOM columns, and the rest. An escape sequence is not split."""
    at = _within(text, room)
    start = text.rfind("\\", max(at - 9, 0), at)
    if start > 0 and at < start + ESCAPES.get(text[start + 1 : start + 2], 0) <= len(text):
        at = start
    return text[:at], text[at:]


def _within(text: str, room: int) -> int:
    """The number of characters of TEXT that fit into ROOM columns."""
    if text.isascii() and ESCAPE not in text:
        return min(max(room, 0), len(text))
    at = used = 0
    while at < len(text):
        if text[at] == ESCAPE:
            at = text.index("m", at) + 1
            continue
        used += display_width(text[at])
        if used > room:
            break
        at += 1
    return at


def section(title: str, rows: list[str], more: str, otherwise: str = "nothing", left_out: int = 0) -> Section:
    """A titled part of a screen; MORE is the command that shows all of its rows, and the LEFT_OUT ones."""
    return title, [f"  {row}" for row in (rows or [coloured(otherwise, "dim")])], more, left_out


def on_one_screen(head: list[str], sections: list[Section]) -> list[str]:
    """HEAD and SECTIONS, shortened to the height of the terminal."""
    gap, kept = [""], [len(rows) for _, rows, *_ in sections]
    if most := height():
        room = most - 1 - lines_taken(head) - 2 * len(sections)  # the prompt takes a line, too
        if room < len(sections):
            gap, room = [], room + len(sections)
        kept = _shared_out([(rows, bool(left_out)) for _, rows, _, left_out in sections], room)
    lines = head
    for (title, rows, more, left_out), count in zip(sections, kept, strict=True):
        others = len(rows) - count + left_out
        last = [f"  … {others:,} more: {whole(more)}"] if others else []
        lines = [*lines, *gap, heading(title), *rows[:count], *last]
    return lines


def _shared_out(sections: list[tuple[list[str], bool]], room: int) -> list[int]:
    """The number of rows of each section that fit into ROOM lines. Sections get one more row each in turn. Each section
    comes with whether the answer left out some of its rows: its last line says so."""
    heights = [([lines_taken([row]) for row in rows], is_partial) for rows, is_partial in sections]
    kept = [0] * len(sections)
    room -= len(sections)  # one line each for the number of omitted rows; the last row takes that line's place
    grew = True
    while grew:
        grew = False
        for number, (tall, is_partial) in enumerate(heights):
            count = kept[number]
            takes_its_place = count == len(tall) - 1 and not is_partial
            if count < len(tall) and (needed := tall[count] - takes_its_place) <= room:
                kept[number], room, grew = count + 1, room - needed, True
    return kept


def doubt(each: Foreign) -> str:
    """A note after the person's name on data without the person's signature."""
    return " (unverified)" if each.get("signature") else ""


def widest(texts: Iterable[object]) -> int:
    """The columns of the widest of TEXTS."""
    return max((display_width(str(text)) for text in texts), default=0)


def minute(at: Foreign) -> str:
    """A time, to the minute."""
    return str(at[:16]).replace("T", " ")


def age(at: Foreign, now: int) -> str:
    """The time that has passed since AT, in readable units."""
    return span((now - clock.parse_or(str(at), now)) // clock.SECOND)


def counted(count: int, what: str) -> str:
    """COUNT and the noun WHAT, in the plural if needed."""
    return plurals.counted(count, what)


def now() -> int:
    """The time of this screen: BB_NOW, else the clock."""
    moment = time.time_ns() // 1_000_000
    return clock.parse_or(os.environ.get("BB_NOW", ""), moment)


def ago(at: Foreign) -> str:
    """A time in the past, relative to this screen: 3m ago. A time that cannot be read is shown as it is."""
    moment, present = clock.parse_or(str(at), 0), now()
    if not moment:
        return str(at)
    return f"in {span((moment - present) // clock.SECOND)}" if moment > present else f"{age(at, present)} ago"


def left(until: Foreign) -> str:
    """The time that is left UNTIL then: 2h left; or how long it is over."""
    seconds = (clock.parse_or(str(until), 0) - now()) // clock.SECOND
    return f"{span(seconds)} left" if seconds >= 0 else f"over for {span(-seconds)}"


def span(seconds: int) -> str:
    """A length of time in readable units: 45s, 12m, 3h 5m, 2d 4h."""
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600}h"


def plain(data: Foreign) -> list[str]:
    """The screen for an answer without a screen of its own. A long text is shown below its name."""
    if not data.is_mapping:
        return [str(item) for item in data] if data.is_list else [str(data)]
    rows = [(str(name), value) for name, value in data.items()]
    width = max((len(name) for name, _ in rows), default=0)
    lines = []
    for name, value in rows:
        is_long = value.is_text and len(value) > LONGEST_NAME
        lines += [name, *foreign.block(value, "  | ")] if is_long else [f"{name:<{width}}  {value}"]
    return lines


def fleet_age(found: Foreign) -> list[str]:
    """The sentence about an answer that may be out of date, because the engine of the fleet has not answered lately."""
    if not found.get("fleet"):
        return []
    from bb.cli.screens import fleet_age as ages  # noqa: PLC0415  (needed only in a fleet)

    return ages.sentences(found)
