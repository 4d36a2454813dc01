"""Text made harmless for a terminal.

Names, roles and messages come from other people's agents. A control character in them could clear the screen,
forge a line or open a link; a bidirectional override could make a path read as another. Both are shown escaped.
"""

from __future__ import annotations

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
JOINERS = frozenset("\u3000\u200c\u200d")  # in ordinary Japanese, Persian and emoji; they move nothing
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"
LINE_ENDS = frozenset("\u2028\u2029")


def harmless(text: str) -> str:
    """TEXT on one line, with everything escaped that a terminal would obey instead of show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_plain(character) else _escaped(character) for character in text)


def _is_plain(character: str) -> bool:
    return (character.isprintable() or character in JOINERS) and character not in BIDI and character not in LINE_ENDS


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quoted(text: str) -> str:
    """TEXT as one word of a shell's command line, for commands that are shown to be copied."""
    is_plain = text and text.isascii() and not text.strip(WORD)
    return text if is_plain else "'" + text.replace("'", "'\\''") + "'"


def has_control(text: str) -> bool:
    """Whether TEXT holds what `harmless` would escape."""
    return harmless(text) != text
