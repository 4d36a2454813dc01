"""The symbols of languages that show their structure by indentation: Python, and by the same rule Ruby and shell.

A symbol begins at a line with its keyword. It ends before the next line of code that is not indented further. A line
that begins with a closing bracket continues what is above it. Lines within a string of three quotes are no code.
"""

from __future__ import annotations

from bb.coordination.lines.symbols import CLASS, FUNCTION, VALUE, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Opened = tuple[int, str, str, int]  # indentation, dotted name, kind, first line

CLOSING = b")]}"
LAST_LINES = {"ruby": (b"end",), "shell": (b"}", b")")}  # a line that ends a symbol and belongs to it
STARTS = {
    "python": (b"def ", b"class ", b"async def ", b"async\tdef "),
    "ruby": (b"def ", b"class ", b"module "),
}
NAME_ENDS = b" \t(:[=<;{"


def symbols(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    """The symbols in LINES, each when it ends."""
    open_symbols: list[Opened] = []
    starts = STARTS.get(language, ())
    last_lines = LAST_LINES.get(language, ())
    last = -1  # the last line of code
    decorated = -1  # the line of the first decorator above
    quote = b""
    for at, line in enumerate(lines):
        text = line.lstrip()
        if quote:
            if quote in line:
                quote = b""
            last = at
            continue
        if not text or (text[0] == 35 and not open_symbols):  # `#`
            continue
        indent = len(line) - len(text)
        if text[0] == 35:
            last = at if indent > open_symbols[-1][0] else last
            continue
        if b'"""' in line or b"'''" in line:
            quote = _left_open(line)
        if open_symbols and indent <= open_symbols[-1][0]:
            if text[0] in CLOSING and language == "python":
                last = at
                continue
            is_last_line = text.rstrip() in last_lines and indent == open_symbols[-1][0]
            while open_symbols and indent <= open_symbols[-1][0]:
                yield _ended(open_symbols.pop(), last + 1 if not is_last_line else at + 1)
                is_last_line = False
        last = at
        if text[0] == 64 and language == "python":  # `@`
            decorated = at if decorated < 0 else decorated
            continue
        if text.startswith(starts) if starts else _is_shell_function(text):
            kind, name = _declared(text, language)
            above = f"{open_symbols[-1][1]}." if open_symbols else ""
            if name:
                open_symbols.append((indent, above + name, kind, decorated if decorated >= 0 else at))
        elif indent == 0 and language == "python" and (name := _assigned(text)):
            open_symbols.append((0, name, VALUE, at))
        elif decorated >= 0 and (indent > 0 or text[0] in CLOSING) and not _is_code(text):
            continue  # a decorator of several lines
        decorated = -1
    while open_symbols:
        yield _ended(open_symbols.pop(), last + 1)


def _ended(opened: Opened, end: int) -> Symbol:
    _, name, kind, first = opened
    return Symbol(name, kind, first, max(end, first + 1))


def _left_open(line: bytes) -> bytes:
    """The three quotes that LINE opens and does not close."""
    at = 0
    while at < len(line):
        byte = line[at : at + 1]
        if byte == b"#":
            break
        if byte not in (b'"', b"'"):
            at += 1
            continue
        quote = byte * 3 if line[at : at + 3] == byte * 3 else byte
        at = _closed(line, at + len(quote), quote)
        if at < 0:
            return quote if len(quote) == 3 else b""
    return b""


def _closed(line: bytes, at: int, quote: bytes) -> int:
    """The place after the QUOTE that closes a string; -1 if LINE does not close it."""
    while True:
        end = line.find(quote, at)
        if end < 0:
            return -1
        if line[end - 1 : end] != b"\\" or end == at:
            return end + len(quote)
        at = end + 1


def _declared(text: bytes, language: str) -> tuple[str, str]:
    """The kind and name of a declaration; the name is empty if it has none."""
    words = text.split(None, 2)
    if language == "shell":
        return FUNCTION, _name(words[1] if words[0] == b"function" and len(words) > 1 else words[0])
    if words[0] == b"async":
        words = [b"def", text.partition(b"def")[2].strip()]
    if len(words) < 2:
        return FUNCTION, ""
    name = _name(words[1])
    if language == "ruby":
        name = name.removeprefix("self.").replace("::", ".")
    return (FUNCTION if words[0] == b"def" else CLASS), name


def _name(text: bytes) -> str:
    for at, byte in enumerate(text):
        if byte in NAME_ENDS and text[at : at + 2] != b"::" and text[at - 1 : at + 1] != b"::":
            text = text[:at]
            break
    return text.decode("utf-8", "replace").strip()


def _is_shell_function(text: bytes) -> bool:
    head = text.split(b"{")[0].rstrip()
    return text.startswith(b"function ") or (head.endswith(b"()") and b" " not in head[:-2].rstrip())


def _assigned(text: bytes) -> str:
    """The name that a line assigns to: `NAME = …` or `NAME: type = …`."""
    left, equals, right = text.partition(b"=")
    name = left.partition(b":")[0].strip()
    if not equals or right.startswith(b"=") or not name or (left[-1:] in b"!<>+-*/%&|^@" and left[-1:]):
        return ""
    word = name.decode("utf-8", "replace")
    return word if word.isidentifier() else ""


def _is_code(text: bytes) -> bool:
    return text.startswith((b"import ", b"from ", b"if ", b"return", b"pass"))
