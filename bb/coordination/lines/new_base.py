"""The weave of a file whose base has changed because of a commit, a rebase or a reset. The file itself is as before.

Lines that the file shares with the new base are kept lines. Every other line keeps its owner by its place. A line that
was no change before and is one now has no known owner: for example, `git reset` took back the commit that contained it.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines.weave import ADDED, DELETED, KEPT, NOBODY, Owners, Run, Weave, owners_of_lines, woven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Stretch = tuple[int, int, int]  # lines that two versions share: where they begin in each, and how many


def rebased(
    weave: Weave, base: Sequence[bytes], now: Sequence[bytes], new_base: Sequence[bytes], nobody: str = NOBODY
) -> Weave:
    """The weave of NOW on NEW_BASE, if WEAVE is the one on BASE. NOBODY marks changes without a known owner."""
    unmoved = list(_equal(base, new_base))
    added_by = owners_of_lines(weave)
    deleted_by = dict(_deletions(weave, unmoved))
    runs: list[Run] = []
    a = b = 0
    for there, here, count in [*_shared(_kept(weave), unmoved), (len(new_base), len(now), 0)]:
        old, new = new_base[a:there], now[b:here]
        for first, end, start, stop, kept in _steps(old, new):
            runs += [Run(DELETED, 1, deleted_by.get(line, (nobody,))) for line in range(a + first, a + end)]
            runs += [Run(ADDED, 1, added_by[line] or (nobody,)) for line in range(b + start, b + stop)]
            runs.append(Run(KEPT, kept))
        runs.append(Run(KEPT, count))
        a, b = there + count, here + count
    return woven(runs)


def _steps(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int, int]]:
    """The changes from OLD to NEW, each with the number of equal lines behind it. The first one may be empty."""
    places = [(0, 0, 0, 0), *line_diff.changes(old, new)]
    for place, following in zip(places, [*places[1:], (len(old),) * 4], strict=True):
        yield (*place, following[0] - place[1])


def _equal(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[Stretch]:
    a = c = 0
    for first, end, _, stop in line_diff.changes(before, after):
        yield a, c, first - a
        a, c = end, stop
    yield a, c, len(before) - a


def _kept(weave: Weave) -> Iterator[Stretch]:
    """The kept lines: where they are in the base and in the file."""
    base = now = 0
    for run in weave:
        if run.kind == KEPT:
            yield base, now, run.count
        base += run.count if run.kind != ADDED else 0
        now += run.count if run.kind != DELETED else 0


def _shared(kept: Iterable[Stretch], unmoved: Sequence[Stretch]) -> Iterator[Stretch]:
    """The lines of the base that the new base and the file still have: where they are in both."""
    at = 0
    for base, now, count in kept:
        while at < len(unmoved) and unmoved[at][0] + unmoved[at][2] <= base:
            at += 1
        for first, there, length in unmoved[at:]:
            if first >= base + count:
                break
            begin, end = max(first, base), min(first + length, base + count)
            if begin < end:
                yield there + begin - first, now + begin - base, end - begin


def _deletions(weave: Weave, unmoved: Sequence[Stretch]) -> Iterator[tuple[int, Owners]]:
    """Who deleted which line of the new base."""
    places: dict[int, int] = {}
    for first, there, length in unmoved:
        places.update(zip(range(first, first + length), range(there, there + length), strict=True))
    base = 0
    for run in weave:
        if run.kind == DELETED:
            for line in range(base, base + run.count):
                if line in places:
                    yield places[line], run.owners
        base += run.count if run.kind != ADDED else 0
