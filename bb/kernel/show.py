"""Text made harmless for whoever reads it: a person at a terminal, an agent in its prompt, a log.

Names, roles and messages come from other people's agents. A control character in them could clear the screen,
forge a line or open a link; a bidirectional override could make a path read as another; letters that nobody sees can
carry words that only a model reads. All of these are shown escaped. That alone does not tell where somebody's words
end and ours go on, so there are four forms, and each way out of bb uses one of them:

- `name`: an id, a category, a path, inside a sentence of ours. One word stands as it is, else in quotation marks.
- `quotation`: somebody's own words inside a sentence of ours, in quotation marks that they cannot close.
- `block`: somebody's own words on lines of their own. Each line is marked.
- `fenced`: a block for an agent, between two lines that nobody could know when the words were written.

`sentence` is for what bb itself has put together of these, and for nothing else. `bb.kernel.outside` is the type of
what has to go through here.
"""

from __future__ import annotations

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
JOINERS = frozenset("\u3000\u200c\u200d")  # in ordinary Japanese, Persian and emoji; they move nothing
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"
LINE_ENDS = frozenset("\u2028\u2029")
# Letters, marks and signs that Python calls printable, and that show nothing.
UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE0E)))  # the last two of these make an emoji of a sign, or none
)
VARIATIONS = ("\U000e0100", "\U000e01ef")
MARKS = dict.fromkeys(map(ord, '"“”„‟«»＂〝〞〟'), "'")  # what could be taken for the end of a quotation
LONGEST_NAME = 200  # characters
LONGEST_QUOTATION = 500
LONGEST_SENTENCE = 2000
SET_OFF = "| "


def harmless(text: str) -> str:
    """TEXT on one line, with everything escaped that a terminal would obey instead of show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if is_shown(character) else _escaped(character) for character in text)


def is_shown(character: str) -> bool:
    """Whether CHARACTER is there to be seen, and neither moves nor hides anything."""
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
    if 0xDC80 <= code <= 0xDCFF:  # an octet of a file name that is no UTF-8, as Python has it from the system
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def stripped(line: str) -> str:
    """LINE without what `harmless` would escape, where an escape would be in the way. A tab stays."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(character for character in line if character == "\t" or is_shown(character))


def clipped(text: str, longest: int) -> str:
    """TEXT harmless, in so many characters at most. An escape is never cut in half."""
    shown = harmless(text[: longest + 1])
    if len(shown) <= longest:
        return shown
    kept, room = [], longest - 1
    for character in text:
        one = harmless(character)
        if len(one) > room:
            break
        kept.append(one)
        room -= len(one)
    return "".join(kept) + "…"


def name(text: str, longest: int = LONGEST_NAME) -> str:
    """TEXT as a name in a sentence of ours: as it is where it is one word, else in quotation marks."""
    if text and text.isascii() and len(text) <= longest and not text.strip(WORD):
        return text
    is_word = not any(each.isspace() or ord(each) in MARKS for each in text)
    return clipped(text, longest) if is_word else quotation(text, longest)


def quotation(text: str, longest: int = LONGEST_QUOTATION) -> str:
    """TEXT in quotation marks that it cannot close, on one line, in LONGEST characters at most between them. Many
    spaces are one: they could push what follows to where a line of ours would begin."""
    folded = " ".join(word for word in text[: 4 * longest].split(" ") if word).translate(MARKS)
    whole = folded if len(text) <= 4 * longest or len(folded) > longest else f"{folded}…"
    return f'"{clipped(whole, longest)}"'


def block(text: str, mark: str = SET_OFF) -> list[str]:
    """TEXT on lines of its own. Each begins with a MARK, so none can be taken for one of ours; empty ones are left out.

    What is a line end to any reader begins a new line here, so that no line is longer than it looks.
    """
    return [mark + harmless(line.expandtabs(4)) for line in text.splitlines() if line.strip()]


def fenced(text: str, boundary: str, what: str = "MESSAGE") -> list[str]:
    """TEXT for an agent: each line marked, between two lines that bear a BOUNDARY."""
    return [f"BEGIN OF {what} {boundary}", *block(text), f"END OF {what} {boundary}"]


def boundary(seed: str) -> str:
    """A mark that nobody can write into a message beforehand; the SEED is random."""
    from bb.kernel.digest import digest  # noqa: PLC0415  (only prompts need it)

    return digest(seed.encode())[:12]


def sentence(text: str) -> str:
    """TEXT, which bb has put together itself of names, quotations and words of its own, on one line."""
    return clipped(text, LONGEST_SENTENCE)


class Exact(str):
    """A line that goes into a file or a pipe as it is, for what is signed would not fit any other."""

    __slots__ = ()


def on_screen(line: str) -> str:
    """LINE as it may be written to a terminal, whoever made it: of control sequences, only colours pass.

    This is the last look at what was made harmless long before. What it changes was forgotten there."""
    if (line.isascii() and line.isprintable()) or type(line) is Exact:
        return line
    first, *rest = line.split("\x1b")
    return "".join([_with_tabs(first), *map(_coloured, rest)])


def _coloured(piece: str) -> str:
    """What follows an ESC."""
    numbers, is_colour, text = piece[1:].partition("m")
    if piece[:1] == "[" and is_colour and not numbers.strip("0123456789;"):
        return f"\x1b[{numbers}m{_with_tabs(text)}"
    return f"\\x1b{_with_tabs(piece)}"


def _with_tabs(text: str) -> str:
    return "\t".join(map(harmless, text.split("\t")))


def quoted(text: str) -> str:
    """TEXT as one word of a shell's command line, for commands that are shown to be copied."""
    is_plain = text and text.isascii() and not text.strip(WORD)
    return text if is_plain else "'" + text.replace("'", "'\\''") + "'"


def has_control(text: str) -> bool:
    """Whether TEXT holds what `harmless` would escape."""
    return harmless(text) != text
