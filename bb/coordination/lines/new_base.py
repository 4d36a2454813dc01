"""The weave of a file whose base has changed because of a commit, a rebase or a reset. The file itself is as before.

If the new base is what a commit of some owners makes, the weave says so exactly. Otherwise the new base is compared
with the file: what differs is a change. Each changed line keeps its owner by its place. A line that was no change
before and is one now has no known owner: for example, `git reset` took back the commit that contained it.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines import weave as weaves
from bb.coordination.lines.placing import placed
from bb.coordination.lines.weave import ADDED, DELETED, KEPT, NOBODY, Owners, Run, Weave, owners_of_lines, woven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.lines.line_diff import Change

MOST_OWNERS = 4  # with more of them, only the commits of one owner are tried


def rebased(
    weave: Weave, base: Sequence[bytes], now: Sequence[bytes], new_base: Sequence[bytes], nobody: str = NOBODY
) -> Weave:
    """The weave of NOW on NEW_BASE, if WEAVE is the one on BASE. NOBODY marks changes without a known owner."""
    for wanted in _groups(weave):
        if weaves.content(weave, base, now, wanted) == new_base:
            return weaves.committed(weave, wanted)
    return _compared(weave, base, now, new_base, nobody)


def _groups(weave: Weave) -> Iterator[frozenset[str]]:
    """The owners that may have committed together, the smallest groups first."""
    owners = sorted(weaves.owners(weave))
    yield from (frozenset({owner}) for owner in owners)
    if len(owners) <= MOST_OWNERS:
        for chosen in sorted(range(1 << len(owners)), key=int.bit_count):  # each bit stands for an owner
            if chosen.bit_count() > 1:
                yield frozenset(owner for place, owner in enumerate(owners) if chosen >> place & 1)


def _compared(
    weave: Weave, base: Sequence[bytes], now: Sequence[bytes], new_base: Sequence[bytes], nobody: str
) -> Weave:
    added_by = owners_of_lines(weave)
    deleted_by = _deletions(weave, base, new_base)

    def unowned(change: Change) -> int:
        first, end, start, stop = change
        lines = deleted_by[first:end] if start == stop else added_by[start:stop] if first == end else ()
        return sum(not owners for owners in lines)

    runs: list[Run] = []
    at = 0
    for first, end, start, stop in placed(line_diff.changes(new_base, now), new_base, now, unowned):
        runs.append(Run(KEPT, first - at))
        runs += [Run(DELETED, 1, deleted_by[line] or (nobody,)) for line in range(first, end)]
        runs += [Run(ADDED, 1, added_by[line] or (nobody,)) for line in range(start, stop)]
        at = end
    return woven([*runs, Run(KEPT, len(new_base) - at)])


def _deletions(weave: Weave, base: Sequence[bytes], new_base: Sequence[bytes]) -> list[Owners]:
    """Who deleted each line of the new base; none for a line that was not deleted, or that the base does not have."""
    deleted: list[Owners] = []
    for run in weave:
        if run.kind != ADDED:
            deleted += [run.owners] * run.count
    found: list[Owners] = []
    at = 0
    for first, end, start, stop in line_diff.changes(base, new_base):
        found += deleted[at:first]
        found += [()] * (stop - start)
        at = end
    return found + deleted[at:]
