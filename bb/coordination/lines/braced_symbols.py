"""The symbols of languages with braces: the C family, JavaScript and TypeScript, Go, Rust, Java and others like them.

The lines outside brackets are divided into statements. A statement ends where its brackets are closed, at a semicolon,
or before a line that is not indented further and does not go on. The first words of a statement say what it declares
(`declarations.py`). The statements in a class, a namespace or an `impl` are its members.
"""

from __future__ import annotations

from bb.coordination.lines import brackets, declarations
from bb.coordination.lines.symbol import Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GOES_ON = (
    b"{",
    b")",
    b"]",
    b"}",
    b".",
    b"|",
    b"&",
    b"?",
    b":",
    b"=",
    b"where",
    b"+",
    b"throws",
    b"extends",
    b"implements",
)
NO_CODE = (b"//", b"/*", b"* ", b"*/")
LABELS = (b"public:", b"private:", b"protected:", b"signals:", b"default:")
MOST_HEAD = 12  # lines that are read to see what a statement declares
DEEPEST = 8


def symbols(lines: Sequence[bytes], language: str) -> Iterator[Symbol]:
    depth, where = brackets.depths(b"\n".join(lines), language)
    file = _File(lines, depth, where, language)
    yield from file.members(0, len(lines), 0, "", "", 0)


class _File:
    def __init__(self, lines: Sequence[bytes], depth: list[int], where: list[int], language: str) -> None:
        self.lines, self.depth, self.where, self.language = lines, depth, where, language

    def members(self, at: int, end: int, level: int, prefix: str, parent: str, nested: int) -> Iterator[Symbol]:
        """The symbols in lines that begin LEVEL deep in brackets, from AT up to END."""
        lead = -1  # the first line of what stands before a declaration: decorators, `template <…>`
        while at < end:
            text = self.lines[at].strip()
            if not text or self.depth[at] != level or self.where[at] or self._is_no_code(text):
                at += 1
                continue
            stop = self._end(at, end, level)
            head = self._head(at, stop)
            if declarations.is_lead(head, self.language):
                lead = at if lead < 0 else lead
                at = stop
                continue
            first, lead = (lead if lead >= 0 else at), -1
            found = declarations.declared(head, self.language, parent)
            if found:
                name = prefix + found.name
                if found.kind:
                    yield Symbol(name, found.kind, first, stop)
                inner = self._inside(at, stop, level)
                if found.has_members and inner < stop and nested < DEEPEST:
                    above = name + "." if found.name else prefix
                    owner = found.name.rpartition(".")[2]
                    yield from self.members(inner, stop, level + 1, above, owner, nested + 1)
            at = stop

    def _is_no_code(self, text: bytes) -> bool:
        """Whether a line is no start of a statement. `#name` is a private member in JavaScript."""
        is_directive = text[:1] == b"#" and self.language not in declarations.SCRIPTS
        return text[:1] in b"})]" or is_directive or text.startswith(NO_CODE) or text in LABELS

    def _inside(self, at: int, stop: int, level: int) -> int:
        """The first line within the braces of a statement."""
        at += 1
        while at < stop and self.depth[at] != level + 1:
            at += 1
        return at

    def _head(self, at: int, stop: int) -> bytes:
        """The start of a statement in one line, without comments."""
        rows = [self.lines[row].partition(b"//")[0].strip() for row in range(at, min(stop, at + MOST_HEAD))]
        return b" ".join(rows)

    def _end(self, at: int, end: int, level: int) -> int:
        """The line after the statement that begins at AT."""
        indent = self._indent(at)
        while True:
            at += 1
            while at < end and (self.depth[at] > level or self.where[at]):
                at += 1
            if at >= end:
                return end
            last = self.lines[at - 1].partition(b"//")[0].rstrip()
            if last.endswith(b";"):
                return at
            following = self._next(at, end)
            if following >= end:
                return at
            text = self.lines[following].strip()
            if last.endswith(b"}") and not text.startswith((b".", b")", b"]", b",", b"=")):
                return at
            is_deeper = following == at and self._indent(following) > indent
            goes_on = text.startswith(GOES_ON if following == at else b"{")
            if not (is_deeper or goes_on):
                return at
            at = following

    def _next(self, at: int, end: int) -> int:
        while at < end and not self.lines[at].strip():
            at += 1
        return at

    def _indent(self, at: int) -> int:
        return len(self.lines[at]) - len(self.lines[at].lstrip())
