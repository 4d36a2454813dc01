"""The symbols of languages that show their structure by indentation: Python, and by the same rule Ruby and shell.

A symbol begins at a line with its keyword. It ends before the next line of code that is not indented further. A line
that begins with a closing bracket continues what is above it. Lines within a string of three quotes are no code.
"""

from __future__ import annotations

from bb.coordination.lines.symbol import CLASS, FUNCTION, VALUE, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Opened = tuple[int, str, str, int]  # indentation, dotted name, kind, first line

CLOSING, HASH, AT = b")]}", b"#"[0], b"@"[0]
LAST_LINES = {"ruby": (b"end",), "shell": (b"}", b")")}  # a line that ends a symbol and belongs to it
STARTS = {
    "python": (b"def ", b"class ", b"async def ", b"async\tdef "),
    "ruby": (b"def ", b"class ", b"module "),
}
NAME_ENDS = b" \t(:[=<;{"


def symbols(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    """The symbols in LINES, each when it ends."""
    reader = _Reader(language)
    quote = b""
    for at, line in enumerate(lines):
        if quote:
            quote = b"" if quote in line else quote
            reader.last = at
        elif text := line.lstrip():
            is_comment = text[0] == HASH
            if not is_comment and (b'"""' in line or b"'''" in line):
                quote = _left_open(line)
            yield from reader.comment(at, line, text) if is_comment else reader.code(at, line, text)
    yield from reader.rest()


class _Reader:
    """Reads a program line by line. LAST is the last line that belongs to an open symbol."""

    def __init__(self, language: str) -> None:
        self.last = -1
        self._language = language
        self._open: list[Opened] = []
        self._starts = STARTS.get(language, ())
        self._last_lines = LAST_LINES.get(language, ())
        self._decorated = -1  # the line of the first decorator above

    def comment(self, at: int, line: bytes, text: bytes) -> Iterable[Symbol]:
        if self._open and len(line) - len(text) > self._open[-1][0]:
            self.last = at
        return ()

    def code(self, at: int, line: bytes, text: bytes) -> Iterable[Symbol]:
        indent = len(line) - len(text)
        ended: Iterable[Symbol] = ()
        if self._open and indent <= self._open[-1][0]:
            if text[0] in CLOSING and self._language == "python":
                self.last = at
                return ()
            ended = self._end(at, indent, text)
        self.last = at
        if text[0] == AT and self._language == "python":
            self._decorated = at if self._decorated < 0 else self._decorated
        elif not self._begin(at, indent, text) and self._decorated >= 0 and (indent > 0 or text[0] in CLOSING):
            return ended  # a decorator of several lines
        else:
            self._decorated = -1
        return ended

    def rest(self) -> Iterator[Symbol]:
        while self._open:
            yield _ended(self._open.pop(), self.last + 1)

    def _end(self, at: int, indent: int, text: bytes) -> list[Symbol]:
        """The symbols that end before the line AT, or with it."""
        ended = []
        is_last_line = text.rstrip() in self._last_lines and indent == self._open[-1][0]
        while self._open and indent <= self._open[-1][0]:
            ended.append(_ended(self._open.pop(), at + 1 if is_last_line else self.last + 1))
            is_last_line = False
        return ended

    def _begin(self, at: int, indent: int, text: bytes) -> bool:
        """Begin the symbol that a line declares; return whether the line is one that could follow a decorator."""
        if text.startswith(self._starts) if self._starts else _is_shell_function(text):
            kind, name = _declared(text, self._language)
            above = f"{self._open[-1][1]}." if self._open else ""
            if name:
                self._open.append((indent, above + name, kind, self._decorated if self._decorated >= 0 else at))
            return True
        if indent == 0 and self._language == "python" and (name := _assigned(text)):
            self._open.append((0, name, VALUE, at))
            return True
        return _is_code(text)


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
