"""How deep in brackets each line of a program begins, with strings and comments left out.

Each line is reduced to the few characters that matter, by functions that run at the speed of C. Few different lines
remain, so what one of them does is computed once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CODE, COMMENT, BACKTICK, LONG_STRING, TRIPLE = 0, 1, 2, 3, 4  # where a line begins
LINE, OPEN, CLOSE, THREE = b"\x01", b"\x02", b"\x03", b"\x04"  # // /* */ and three quotes
KEPT = b"{}()[]\"'`\n" + LINE + OPEN + CLOSE + THREE
DROPPED = bytes(byte for byte in range(256) if byte not in KEPT)
LITERALS = (b"'{'", b"'}'", b"'('", b"')'", b"'['", b"']'", b"'\"'", b"'`'")
WITH_BACKTICKS = frozenset(["javascript", "typescript", "tsx", "go"])
WITHOUT_QUOTES = frozenset(["rust"])  # a single quote begins a lifetime
WITH_LONG_STRINGS = frozenset(["rust", "php"])
ENDS = {COMMENT: CLOSE, BACKTICK: b"`", LONG_STRING: b'"', TRIPLE: THREE}
STARTS = {OPEN[0]: COMMENT, b"`"[0]: BACKTICK, THREE[0]: TRIPLE}


def depths(content: bytes, language: str) -> tuple[list[int], list[int]]:
    """For each line of CONTENT, how deep in brackets it begins, and whether in CODE or in what else."""
    reduced = _reduced(content, language)
    is_long = language in WITH_LONG_STRINGS
    known: dict[tuple[int, bytes], tuple[int, int]] = {}
    deep: list[int] = []
    where: list[int] = []
    depth, state = 0, CODE
    for line in reduced:
        deep.append(depth)
        where.append(state)
        if line:
            step = known.get((state, line))
            if step is None:
                step = known[state, line] = _step(line, state, is_long)
            state = step[0]
            depth = max(depth + step[1], 0)
    return deep, where


def _reduced(content: bytes, language: str) -> Sequence[bytes]:
    text = content.replace(b"\\\\", b"").replace(b'\\"', b"").replace(b"\\'", b"").replace(b"\\`", b"")
    for literal in LITERALS:
        text = text.replace(literal, b"")
    text = text.replace(b"//", LINE).replace(b"/*", OPEN).replace(b"*/", CLOSE).replace(b'"""', THREE)
    dropped = DROPPED
    if language not in WITH_BACKTICKS:
        dropped += b"`"
    if language in WITHOUT_QUOTES:
        dropped += b"'"
    return text.translate(None, dropped).split(b"\n")


def _step(line: bytes, state: int, is_long: bool) -> tuple[int, int]:
    """Where the line after LINE begins, and by how much deeper."""
    depth, at = 0, 0
    while at < len(line):
        if state != CODE:
            end = line.find(ENDS[state], at)
            if end < 0:
                return state, depth
            state, at = CODE, end + 1
            continue
        byte = line[at]
        at += 1
        if byte in b"{([":
            depth += 1
        elif byte in b"})]":
            depth -= 1
        elif byte == LINE[0]:
            break
        elif byte in STARTS:
            state = STARTS[byte]
        elif byte != CLOSE[0]:
            state, at = _after_quote(line, at, is_long)
    return state, depth


def _after_quote(line: bytes, at: int, is_long: bool) -> tuple[int, int]:
    """Where the string ends whose quote is before AT. Without its partner in the line, the quote is an apostrophe."""
    quote = line[at - 1 : at]
    end = line.find(quote, at)
    if end >= 0:
        return CODE, end + 1
    return (LONG_STRING if is_long and quote == b'"' else CODE), at
