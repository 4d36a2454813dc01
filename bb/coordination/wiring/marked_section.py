"""A section written by bb in a user's text file: insert, replace and remove it without changing any other character.

The section lies between two marker lines. It uses the file's line endings, and a file without a final line ending stays
so: removing the section restores the original text exactly. The section, and files written entirely by bb, end with a
seal: a digest of the text before it. The seal shows whether a user has changed the text since, whichever version of bb
wrote it.
"""

from __future__ import annotations

from bb.kernel.digest import digest

BEGIN, END = "<!-- bb:begin -->", "<!-- bb:end -->"
SEAL, CLOSE = "<!-- bb:seal ", " -->"
DIGITS = 16
BYTE_ORDER_MARK = "\ufeff"


class Unclear(ValueError):
    """The markers in a text are not one pair."""


def put(text: str | None, ours: str) -> str:
    """TEXT with the section OURS, instead of the old section or else at the end. None means that there is no file."""
    place = _find(text or "")
    line_end = _line_end(text or "", place[0] if place else 0)
    section = f"{BEGIN}\n{sealed(ours)}{END}".replace("\n", line_end)
    if text is None:
        return section + line_end
    if place:
        return text[: place[0]] + section + text[place[1] :]
    if not text:
        return section
    return text + line_end + section + line_end if text.endswith("\n") else text + line_end * 2 + section


def without(text: str) -> str:
    """TEXT without the section, and without the empty line that was inserted before it."""
    place = _find(text)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    line_end = _line_end(text, place[0])
    shorter = before.removesuffix(line_end)
    if shorter != before and (not after or shorter.endswith("\n")):
        before = shorter if after else shorter.removesuffix(line_end)
    return before + after.removeprefix(line_end)


def inside(text: str) -> str | None:
    """The text between the markers, with `\\n` line endings; None if there are no markers."""
    place = _find(text)
    if place is None:
        return None
    lines = text[place[0] : place[1]].replace("\r\n", "\n").split("\n")
    return "".join(f"{line}\n" for line in lines[1:-1])


def sealed(text: str) -> str:
    """TEXT with its seal as the last line."""
    return f"{text}{_seal(text)}\n"


def is_whole(text: str) -> bool:
    """Whether TEXT is unchanged since it was sealed. Other line endings, which git may introduce, are no change."""
    plain = text.replace("\r\n", "\n")
    start = plain.rfind(SEAL)
    return start >= 0 and plain[start:] == f"{_seal(plain[:start])}\n"


def _seal(text: str) -> str:
    return f"{SEAL}{digest(text.encode())[:DIGITS]}{CLOSE}"


def _line_end(text: str, start: int) -> str:
    """The first line ending in TEXT from START on."""
    first = text.find("\n", start)
    return "\r\n" if first > start and text[first - 1] == "\r" else "\n"


def _find(text: str) -> tuple[int, int] | None:
    """The start and end of the section. A marker must be alone on its line."""
    begins, ends = [], []
    at = 0
    for line in text.split("\n"):
        marker = line.strip().removeprefix(BYTE_ORDER_MARK)
        if marker == BEGIN:
            begins.append(at + line.index(BEGIN))
        elif marker == END:
            ends.append(at + line.index(END) + len(END))
        at += len(line) + 1
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise Unclear(f"it must have one line {BEGIN} and then one line {END}, but has {len(begins)} and {len(ends)}")
    return begins[0], ends[0]
