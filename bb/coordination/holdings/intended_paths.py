"""The path that a user means, where the text differs from it in characters that are hard to see or easily confused:
blanks at the ends of names, invisible characters, backslashes. Such a text is refused, and the path is named
(docs/decisions/0036).
"""

from __future__ import annotations

from bb.coordination.holdings.scopes import LONGEST, POSIX, excerpt, is_plain, slashed
from bb.kernel.errors import Usage
from bb.kernel.escaping import quoted

# Characters that look like a blank, and characters that are invisible. Joiners are not listed, because some scripts
# need them; nor are direction marks, because they have a visible effect.
BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
INVISIBLE = "\u00ad\u200b\u2060\ufeff"
BY_WORD = (("[\\]", "\0"), ("[ ]", "\1"))  # a class of one character is that literal character

AmbiguousScope = Usage.declare(
    "AMBIGUOUS_SCOPE",
    "That scope probably does not name the intended file",
    hint="write the path with / between names, without blanks at the ends of names",
)


def refuse_ambiguous(written: str, platform: str = POSIX, *, is_path: bool = False) -> None:
    """Refuse WRITTEN if it differs from the intended path in characters that are hard to see."""
    plain = intended_path(written, platform, is_path=is_path)
    if plain is None:
        return
    label = f"'{written}'" if written.isascii() and written.isprintable() and len(written) <= 200 else excerpt(written)
    message = f"{label} does not name {excerpt(plain)}, which is probably intended"
    hint = f"write {quoted(plain)}"
    if is_path:
        hint += "; a file whose name really has these characters must exist before you ask about it"
    elif written.isascii():
        hint += f"; if the name really has these characters, {quoted('/'.join(map(_by_word, written.split('/'))))}"
    raise AmbiguousScope(message, hint=hint, scope=written[:LONGEST], intended=plain[:LONGEST])


def intended_path(written: str, platform: str = POSIX, *, is_path: bool = False) -> str | None:
    """The path that the user probably intends by WRITTEN, such as `src\\lib` or ` src/lib`; None if it is WRITTEN.

    A class of one character, such as `[ ]`, is intended. With IS_PATH there are no classes.
    """
    if is_plain(written):
        return None
    text, classes = written, () if is_path else BY_WORD
    for by_word, mark in classes:
        text = text.replace(by_word, mark)
    before, text = slashed(text, platform), text.replace("\\", "/")
    plain = "/".join(map(_plain, text.split("/")))
    if plain == before or not plain.strip():
        return None  # blanks only: not a path
    for by_word, mark in classes:
        plain = plain.replace(mark, by_word)
    return plain


def _plain(name: str) -> str:
    """NAME without invisible characters and blanks at its ends, and with ordinary blanks inside."""
    if not name.isascii():
        name = "".join(" " if character in BLANKS else character for character in name if character not in INVISIBLE)
    return name.strip(" ")


def _by_word(name: str) -> str:
    """NAME with its unusual characters written as classes, to show that they are intended."""
    inner = name.strip(" ")
    start, end = name[: len(name) - len(name.lstrip(" "))], name[len(name.rstrip(" ")) :] if inner else ""
    return start.replace(" ", "[ ]") + inner.replace("[\\]", "\\").replace("\\", "[\\]") + end.replace(" ", "[ ]")
