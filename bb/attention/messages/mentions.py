"""The names that a text mentions, for platforms that do not list mentions themselves.

A name in a quotation, a code block or a code span is not a mention. Every pattern here runs in linear time, because the
text is untrusted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

FENCE = r"^ {0,3}(```+(?=[^`]*$)|~~~+)"
SPAN = r"(`+)[^`\n]{0,2000}?\1"
NAME = r"(?<![\w@/.+-])@([A-Za-z0-9][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_-]{1,63}){0,3}(?:/[A-Za-z0-9_.-]{1,64})?)"
MOST = 32  # names in one message; a message with more counts as a call to everyone


def unquoted(text: str) -> str:
    """TEXT without quoted lines, blocks of code and code spans."""
    if ">" not in text and "`" not in text and "~~~" not in text:
        return text
    fences, spans = _pattern(FENCE), _pattern(SPAN)
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = fences.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if match:
            fence = match[1]
        elif not line.lstrip().startswith(">"):
            kept.append(spans.sub(" ", line))
    return "\n".join(kept)


def mentioned_names(text: str) -> tuple[str, ...]:
    """The names after an @ in TEXT, each once, in order; at most MOST + 1."""
    if "@" not in text:
        return ()
    names: dict[str, None] = {}
    for match in _pattern(NAME).finditer(unquoted(text)):
        names[match[1].rstrip(".-_")] = None
        if len(names) > MOST:
            break
    return tuple(names)


def _pattern(written: str) -> Pattern[str]:
    """The compiled pattern. `re` is imported late, because most texts need none and a fold must not load it."""
    import re  # noqa: PLC0415

    return re.compile(written)  # `re` caches it
