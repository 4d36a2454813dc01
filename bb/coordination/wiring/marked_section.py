"""A stretch of ours in a text that is somebody else's: put in, replaced, taken out; no other character is touched.

It lies between two marker lines. What is put in keeps the text's own line ends, and a text that ended without one
still does, so that taking it out gives back exactly what was there. Whole files of ours, and the stretch, end with a
seal: a digest of what comes before. By that one can tell whether somebody has changed it since, whichever version
wrote it.
"""

from __future__ import annotations

from bb.kernel.digest import digest

BEGIN, END = "<!-- bb:begin -->", "<!-- bb:end -->"
SEAL, CLOSE = "<!-- bb:seal ", " -->"
DIGITS = 16
BYTE_ORDER_MARK = "\ufeff"


class Unclear(ValueError):
    """The markers in a text do not belong together."""


def put(text: str | None, ours: str) -> str:
    """TEXT with OURS in it, in place of what was between the markers or else at the end; None is no text at all."""
    found = _find(text or "")
    line_end = _line_end(text or "", found[0] if found else 0)
    stretch = f"{BEGIN}\n{sealed(ours)}{END}".replace("\n", line_end)
    if text is None:
        return stretch + line_end
    if found:
        return text[: found[0]] + stretch + text[found[1] :]
    if not text:
        return stretch
    return text + line_end + stretch + line_end if text.endswith("\n") else text + line_end * 2 + stretch


def without(text: str) -> str:
    """TEXT without the stretch, and without the empty line that was put before it."""
    found = _find(text)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    line_end = _line_end(text, found[0])
    shorter = before.removesuffix(line_end)
    if shorter != before and (not after or shorter.endswith("\n")):
        before = shorter if after else shorter.removesuffix(line_end)
    return before + after.removeprefix(line_end)


def inside(text: str) -> str | None:
    """What lies between the markers, with plain line ends; None where there are none."""
    found = _find(text)
    if found is None:
        return None
    lines = text[found[0] : found[1]].replace("\r\n", "\n").split("\n")
    return "".join(f"{line}\n" for line in lines[1:-1])


def sealed(text: str) -> str:
    """TEXT with its seal as the last line."""
    return f"{text}{_seal(text)}\n"


def is_whole(text: str) -> bool:
    """Whether TEXT is as it was sealed; other line ends, which git gives a file now and then, are no change."""
    plain = text.replace("\r\n", "\n")
    start = plain.rfind(SEAL)
    return start >= 0 and plain[start:] == f"{_seal(plain[:start])}\n"


def _seal(text: str) -> str:
    return f"{SEAL}{digest(text.encode())[:DIGITS]}{CLOSE}"


def _line_end(text: str, start: int) -> str:
    """The line end that comes first in TEXT from START on."""
    first = text.find("\n", start)
    return "\r\n" if first > start and text[first - 1] == "\r" else "\n"


def _find(text: str) -> tuple[int, int] | None:
    """Where the stretch begins and ends; markers count where they stand alone on a line."""
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
        raise Unclear(f"it has {len(begins)} lines {BEGIN} and {len(ends)} lines {END}, not one pair")
    return begins[0], ends[0]
