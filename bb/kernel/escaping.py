"""Makes foreign text harmless for its reader: a person at a terminal, an agent's prompt, a log.

Names, roles and messages come from other users' agents. A control character in them could clear the screen, forge a
line or open a link. A bidirectional override could make a path look like another one. Invisible characters can carry
words that only a model reads. All of these are escaped. Escaping does not show where foreign words end and bb's words
continue, so there are four forms, and every output of bb uses one of them:

- `name`: an id, a category or a path, inside a sentence of bb. One word is unchanged; other texts are quoted.
- `quotation`: foreign words inside a sentence of bb, in quotation marks that they cannot close.
- `block`: foreign words on separate lines. Each line is marked.
- `fenced`: a block for an agent, between two lines that the author of the words could not predict.

`sentence` is only for texts that bb itself composes of these. `bb.kernel.foreign` is the type of foreign values.
"""

from __future__ import annotations

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
JOINERS = frozenset("\u3000\u200c\u200d")  # used in ordinary Japanese, Persian and emoji; harmless
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"
LINE_ENDS = frozenset("\u2028\u2029")
# Characters that are printable according to Python, but invisible.
UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE0E)))  # U+FE0E and U+FE0F are allowed: they select text or emoji style
)
VARIATIONS = ("\U000e0100", "\U000e01ef")
MARKS = dict.fromkeys(map(ord, '"“”„‟«»＂〝〞〟'), "'")  # could be mistaken for the end of a quotation
LONGEST_NAME = 200  # characters
LONGEST_QUOTATION = 500
LONGEST_SENTENCE = 2000
SET_OFF = "| "


def harmless(text: str) -> str:
    """TEXT on one line, with control characters and invisible characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if is_shown(character) else _escaped(character) for character in text)


def is_shown(character: str) -> bool:
    """Whether CHARACTER is visible and has no effect on other characters."""
    if character.isascii():
        return character.isprintable()
    return (
        (character.isprintable() or character in JOINERS)
        and character not in BIDI
        and character not in LINE_ENDS
        and character not in UNSEEN
        and not VARIATIONS[0] <= character <= VARIATIONS[1]
    )


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # an octet of a file name that is not UTF-8 (surrogateescape)
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def stripped(line: str) -> str:
    """LINE without the characters that `harmless` would escape. A tab stays."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(character for character in line if character == "\t" or is_shown(character))


def clipped(text: str, longest: int) -> str:
    """TEXT made harmless, with at most LONGEST characters. Escapes are not split."""
    escaped = harmless(text[: longest + 1])
    if len(escaped) <= longest:
        return escaped
    kept, room = [], longest - 1
    for character in text:
        one = harmless(character)
        if len(one) > room:
            break
        kept.append(one)
        room -= len(one)
    return "".join(kept) + "…"


def name(text: str, longest: int = LONGEST_NAME) -> str:
    """TEXT as a name in a sentence of bb: unchanged if it is one word, otherwise in quotation marks."""
    if text and text.isascii() and len(text) <= longest and not text.strip(WORD):
        return text
    is_word = not any(character.isspace() or ord(character) in MARKS for character in text)
    return clipped(text, longest) if is_word else quotation(text, longest)


def quotation(text: str, longest: int = LONGEST_QUOTATION) -> str:
    """TEXT on one line, with at most LONGEST characters, in quotation marks that it cannot close. Repeated spaces
    become one, because they could move the following text to the start of a wrapped line."""
    folded = " ".join(word for word in text[: 4 * longest].split(" ") if word).translate(MARKS)
    whole = folded if len(text) <= 4 * longest or len(folded) > longest else f"{folded}…"
    return f'"{clipped(whole, longest)}"'


def block(text: str, mark: str = SET_OFF) -> list[str]:
    """TEXT as separate lines. Each begins with MARK, so that it cannot be mistaken for a line of bb. Empty lines are
    omitted. All characters that some reader treats as a line ending start a new line."""
    return [mark + harmless(line.expandtabs(4)) for line in text.splitlines() if line.strip()]


def fenced(text: str, boundary: str, what: str = "MESSAGE") -> list[str]:
    """TEXT for an agent: each line marked, between two lines with a BOUNDARY."""
    return [f"BEGIN OF {what} {boundary}", *block(text), f"END OF {what} {boundary}"]


def boundary(seed: str) -> str:
    """A mark that the author of a message cannot predict. SEED is random."""
    from bb.kernel.digest import digest  # noqa: PLC0415  (only prompts need it)

    return digest(seed.encode())[:12]


def sentence(text: str) -> str:
    """TEXT on one line. bb itself has composed it of names, quotations and its own words."""
    return clipped(text, LONGEST_SENTENCE)


class Exact(str):
    """A line that is written to a file or pipe unchanged, because a signature covers it."""

    __slots__ = ()


def on_screen(line: str) -> str:
    """LINE for a terminal. Colours are the only control sequences that pass.

    This is a last check. Text should have been made harmless earlier."""
    if (line.isascii() and line.isprintable()) or type(line) is Exact:
        return line
    first, *rest = line.split("\x1b")
    return "".join([_with_tabs(first), *map(_coloured, rest)])


def _coloured(piece: str) -> str:
    """The text PIECE after an ESC."""
    numbers, is_colour, text = piece[1:].partition("m")
    if piece[:1] == "[" and is_colour and not numbers.strip("0123456789;"):
        return f"\x1b[{numbers}m{_with_tabs(text)}"
    return f"\\x1b{_with_tabs(piece)}"


def _with_tabs(text: str) -> str:
    return "\t".join(map(harmless, text.split("\t")))


def quoted(text: str) -> str:
    """TEXT as one word of a shell command, for commands that the reader copies."""
    is_plain = text and text.isascii() and not text.strip(WORD)
    return text if is_plain else "'" + text.replace("'", "'\\''") + "'"


def has_control(text: str) -> bool:
    """Whether TEXT has a character that `harmless` would escape."""
    return harmless(text) != text
