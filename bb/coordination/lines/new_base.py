"""The weave of a file whose base has changed because of a commit, a rebase or a reset. The file itself is as before.

If the new base is what a commit of some owners makes, the weave says so exactly. Otherwise the new base is compared
with the file: what differs is a change. Each changed line keeps its owner by its place. A line that was no change
before and is one now has no known owner: for example, `git reset` took back the commit that contained it.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines import weave as weaves
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
    runs: list[Run] = []
    at = 0
    places = line_diff.changes(new_base, now)
    for place, change in enumerate(places):
        following = places[place + 1][0] if place + 1 < len(places) else len(new_base)
        room = (change[0] - at, following - change[1])
        first, end, start, stop = _at_its_owners(change, room, new_base, now, added_by, deleted_by)
        runs.append(Run(KEPT, first - at))
        runs += [Run(DELETED, 1, deleted_by[line] or (nobody,)) for line in range(first, end)]
        runs += [Run(ADDED, 1, added_by[line] or (nobody,)) for line in range(start, stop)]
        at = end
    return woven([*runs, Run(KEPT, len(new_base) - at)])


def _at_its_owners(
    change: Change,
    room: tuple[int, int],
    new_base: Sequence[bytes],
    now: Sequence[bytes],
    added_by: Sequence[Owners],
    deleted_by: Sequence[Owners],
) -> Change:
    """CHANGE in the place where most of its lines have owners. ROOM is the number of equal lines before and behind it.

    Often lines can be said to stand one further up or down: if a function is added before another one, either the blank
    line before it or the one behind it is new.
    """
    first, end, start, stop = change
    if start == stop:
        by = _best_slide(new_base, first, end, room, deleted_by)
    elif first == end:
        by = _best_slide(now, start, stop, room, added_by)
    else:
        return change
    return first + by, end + by, start + by, stop + by


def _best_slide(lines: Sequence[bytes], start: int, stop: int, room: tuple[int, int], owners: Sequence[Owners]) -> int:
    """By how many lines the stretch from START to STOP is to be moved, so that most of its lines have owners."""
    count = sum(bool(one) for one in owners[start:stop])
    best, most = 0, count
    for step, most_steps in zip((-1, 1), room, strict=True):
        a, b, owned, by = start, stop, count, 0
        while owned < stop - start and abs(by) < most_steps:
            leaving, coming = (b - 1, a - 1) if step < 0 else (a, b)
            if lines[leaving] != lines[coming]:
                break
            owned += bool(owners[coming]) - bool(owners[leaving])
            a, b, by = a + step, b + step, by + step
            if owned > most:
                best, most = by, owned
    return best


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
