"""May an agent make this edit, if others have uncommitted lines in the file?

An edit is refused where it would change lines that another agent has changed and not committed, put something between
them, or take such a change back. A change of the whole file (more than a third of its lines, or lines of two others) is
refused as long as others have uncommitted lines anywhere in it: it needs the file for itself.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines import weave as weaves
from bb.coordination.lines.edits import edited
from bb.coordination.lines.placing import beside_others
from bb.coordination.lines.weave import ADDED, DELETED
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bb.coordination.lines.line_diff import Change
    from bb.coordination.lines.weave import Owners, Weave

CHANGED, SPLIT, TAKEN_BACK, WHOLE, STALE = "changed", "split", "taken back", "whole", "stale"
SMALL = 10  # lines; a change of fewer lines is never one of the whole file
PART = 3  # one of PART lines


class Harm(Record):
    """What an edit would do to the uncommitted lines of the OWNERS: from line FIRST to END of the file now, from 0."""

    kind: str
    owners: Owners
    first: int
    end: int


def of_edit(
    weave: Weave, base: Callable[[], Sequence[bytes]], now: Sequence[bytes], after: Sequence[bytes], agent: str
) -> Harm | None:
    """The harm that AGENT's edit from NOW to AFTER does to the lines of others; None if it does none.

    BASE reads the lines of the base, which are rarely needed.
    """
    foreign = others(weaves.owners(weave), agent)
    if not foreign:
        return None
    places = beside_others(line_diff.changes(now, after), weave, now, after, agent)
    found = list(_touched(weave, places, after, now, agent))
    owners = weaves.together(*(harm.owners for harm in found))
    if _is_whole(places, now, after) or len(owners) > 1:
        return Harm(WHOLE, owners or foreign, 0, len(now))
    if found:
        return found[0]
    if not any(_deleted(weave, owner) for owner in foreign):
        return None
    lost = _taken_back(weave, edited(weave, base(), now, after, agent), foreign)
    return Harm(TAKEN_BACK, lost, places[0][0], places[-1][1]) if lost else None


def others(owners: Iterable[str], agent: str) -> Owners:
    """The other agents among OWNERS. A change that no agent is known to have made keeps nobody from an edit."""
    return tuple(sorted(owner for owner in owners if owner != agent and not weaves.is_unattributed(owner)))


def _touched(
    weave: Weave, places: Sequence[Change], after: Sequence[bytes], now: Sequence[bytes], agent: str
) -> Iterable[Harm]:
    owners = weaves.OwnersByLine(weave)
    moved = line_diff.moved(places, now, after)
    for first, end, _, _ in places:
        found = {line: others(owners[line], agent) for line in range(first, end) if line not in moved}
        if lines := [line for line, theirs in found.items() if theirs]:
            yield Harm(CHANGED, weaves.together(*(found[line] for line in lines)), lines[0], lines[-1] + 1)
        elif first == end and 0 < first < len(now):
            before, behind = others(owners[first - 1], agent), others(owners[first], agent)
            if before and before == behind:
                yield Harm(SPLIT, before, first - 1, first + 1)


def _is_whole(places: Sequence[Change], now: Sequence[bytes], after: Sequence[bytes]) -> bool:
    removed = sum(end - first for first, end, _, _ in places)
    return removed > SMALL and removed * PART > len(now) and bool(after)


def _taken_back(before: Weave, after: Weave, foreign: Owners) -> Owners:
    """The owners of whose deletions some are gone."""
    return tuple(owner for owner in foreign if _deleted(after, owner) < _deleted(before, owner))


def _deleted(weave: Weave, owner: str) -> int:
    return sum(run.count for run in weave if run.kind == DELETED and owner in run.owners)


def undone(
    steps: Sequence[tuple[str, Sequence[bytes], Sequence[bytes]]], after: Sequence[bytes], agent: str
) -> Harm | None:
    """Whether an edit that writes the whole file takes back the latest change of another agent, committed or not.

    Then the agent has probably written a copy that it read before. STEPS are the changes since the agent last looked at
    the file, oldest first: who made each (empty if unknown), and the lines before and after it.
    """
    theirs = [number for number, (who, _, _) in enumerate(steps) if who not in (agent, "")]
    if not theirs:
        return None
    start = theirs[-1]
    who, before, now = steps[start]
    weave = edited(weaves.unchanged(len(before)), before, before, now, who)
    present = now
    for later, _, following in steps[start + 1 :]:
        weave, present = edited(weave, before, present, following, later), following
    kept = edited(weave, before, present, after, agent)
    if _count(kept, who) or not _count(weave, who):
        return None
    return Harm(STALE, (who,), *_extent(weave, who)) if present != after else None


def _extent(weave: Weave, owner: str) -> tuple[int, int]:
    """The first line of the OWNER's changes, and the end of the last."""
    places: list[int] = []
    line = 0
    for run in weave:
        end = line if run.kind == DELETED else line + run.count
        if run.owners == (owner,):
            places += [line, end]
        line = end
    return places[0], places[-1]


def _count(weave: Weave, owner: str) -> int:
    return sum(run.count for run in weave if run.owners == (owner,) and run.kind in (ADDED, DELETED))
