"""What a tool's replacements of text change, line by line.

The tool says which text it puts in the place of which. A comparison of the two contents cannot always tell: if a
function is added beside another one that begins with the same lines, either of these lines may be the new ones.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.lines.line_diff import Change


class Splice(Record):
    """The bytes from START to END of a content are replaced by TEXT."""

    start: int
    end: int
    text: bytes

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


Splices = tuple[Splice, ...]  # in order, and none overlaps another


def spliced(content: bytes, splices: Splices) -> bytes:
    """CONTENT with all SPLICES."""
    pieces = []
    at = 0
    for one in splices:
        pieces += [content[at : one.start], one.text]
        at = one.end
    return b"".join([*pieces, content[at:]])


def changes(before: bytes, splices: Splices, after: bytes) -> list[Change]:
    """The places where SPLICES have changed the lines of BEFORE to those of AFTER."""
    found: list[Change] = []
    line = at = shift = 0  # the line at the byte AT of BEFORE, and by how many lines AFTER is longer until there
    moved = 0  # by how many bytes
    for first, end, growth in _regions(before, splices):
        line += before.count(b"\n", at, first)
        old = line_diff.split(before[first:end])
        new = line_diff.split(after[first + moved : end + moved + growth])
        there = line + shift
        found += [(line + a, line + b, there + c, there + d) for a, b, c, d in line_diff.changes(old, new)]
        line, at = line + len(old), end
        shift, moved = shift + len(new) - len(old), moved + growth
    return found


def _regions(content: bytes, splices: Splices) -> Iterator[tuple[int, int, int]]:
    """The whole lines that SPLICES touch: their first byte, the byte after them, and by how much they grow."""
    current: tuple[int, int, int] | None = None
    for one in splices:
        first = content.rfind(b"\n", 0, one.start) + 1
        is_at_end_of_line = one.text.endswith(b"\n") if one.text else one.start == first
        if is_at_end_of_line and (one.end == first or content[one.end - 1 : one.end] == b"\n"):
            end = one.end
        else:
            end = content.find(b"\n", one.end) + 1 or len(content)
        if current and first < current[1]:
            current = (current[0], max(current[1], end), current[2] + one.growth)
            continue
        if current:
            yield current
        current = (first, end, one.growth)
    if current:
        yield current


def of_lines(lines: Sequence[bytes], first: int, end: int, new: Sequence[bytes]) -> Splice:
    """The splice that puts NEW lines in the place of LINES[FIRST:END]. All are without the line feeds between them."""
    start = sum(map(len, lines[:first])) + first
    stop = start + sum(map(len, lines[first:end])) + end - first
    text = b"".join(line + b"\n" for line in new)
    if end < len(lines):
        return Splice(start, stop, text)
    # The last line has no line feed behind it: either the new last line has none, or the line before it loses its own.
    return Splice(start, stop - 1, text[:-1]) if new else Splice(max(start - 1, 0), stop - 1, b"")
