"""Differences of two versions as text, in the unified format that `git apply` reads."""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines.weave import DELETED, KEPT
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.lines.line_diff import Change
    from bb.coordination.lines.weave import Owners, Weave

CONTEXT = 3
NO_END = b"\\ No newline at end of file\n"


def hunks(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[bytes]:
    """The hunks that turn BEFORE into AFTER, line by line."""
    for group in _groups(line_diff.changes(before, after)):
        start, end = max(group[0][0] - CONTEXT, 0), min(group[-1][1] + CONTEXT, len(before))
        first = group[0][2] - (group[0][0] - start)
        count = end - start + sum((stop - begin) - (old_end - old) for old, old_end, begin, stop in group)
        yield b"@@ -%s +%s @@\n" % (_range(start, end - start), _range(first, count))
        at = start
        for old, old_end, begin, stop in group:
            yield from _marked(b" ", before[at:old])
            yield from _marked(b"-", before[old:old_end])
            yield from _marked(b"+", after[begin:stop])
            at = old_end
        yield from _marked(b" ", before[at:end])


def _groups(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose contexts meet are one hunk."""
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, count: int) -> bytes:
    return b"%d,%d" % (start + 1 if count else start, count)


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n" + NO_END


class OwnedLines(Record):
    """Changed lines of the same owners that stand together: what they deleted and added, and the first line of each
    kind, from 0, in the base and in the file now."""

    owners: Owners
    base: int
    now: int
    deleted: list[bytes]
    added: list[bytes]


def by_owner(weave: Weave, base: Sequence[bytes], now: Sequence[bytes]) -> Iterator[OwnedLines]:
    """The changes in WEAVE in the order of the file, neighbours of the same owners together."""
    before = after = 0
    current: OwnedLines | None = None
    for run in weave:
        if current and run.owners != current.owners:
            yield current
            current = None
        if run.kind == KEPT:
            before, after = before + run.count, after + run.count
            continue
        current = current or OwnedLines(run.owners, before, after, [], [])
        if run.kind == DELETED:
            current.deleted.extend(base[before : before + run.count])
            before += run.count
        else:
            current.added.extend(now[after : after + run.count])
            after += run.count
    if current:
        yield current
