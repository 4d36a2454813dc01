"""The weave of a file with uncommitted changes: its base and its present content in one sequence of runs, with owners.

A run is a number of lines that were kept, deleted or added since the base, which is the file as HEAD has it. The kept
and added lines, in order, are the file now; the kept and deleted lines are its base. So the commit of one agent is the
base with that agent's runs only, and the runs of others stay changes on the new base. No patch has to be applied.

A run carries no text. The owners of a change are the agents that made it. If no agent is known to have made it, the
change is *unattributed*, and a mark stands in the place of its owner: NOBODY, and the number of the observation that
found it. If an agent rewrote an uncommitted line of another, both are owners. Such a run is *entangled*: they commit it
together. Decision 53 says why.
"""

from __future__ import annotations

from bisect import bisect_right

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

KEPT, DELETED, ADDED = "=", "-", "+"
NOBODY = "?"  # begins the mark of an unattributed change; no agent's name can begin with it
Owners = tuple[str, ...]  # sorted; empty for lines that were kept


class Run(Record):
    """COUNT lines of one kind that follow each other and have the same owners."""

    kind: str
    count: int
    owners: Owners = ()


Weave = tuple[Run, ...]


class Hunk(Record):
    """Changes without a kept line between them. BASE and NOW: its first line there, from 0, and the line after it."""

    runs: Weave
    base: tuple[int, int]
    now: tuple[int, int]

    @property
    def owners(self) -> frozenset[str]:
        return frozenset(owner for run in self.runs for owner in run.owners)

    def is_whole_for(self, wanted: frozenset[str]) -> bool:
        """Whether a commit of the WANTED owners takes all of their part: no run is theirs and another's at once."""
        return not any(wanted.intersection(run.owners) and not wanted.issuperset(run.owners) for run in self.runs)


def woven(runs: Iterable[Run]) -> Weave:
    """RUNS without empty ones, and with neighbours of the same kind and owners joined."""
    joined: list[Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and last.kind == run.kind and last.owners == run.owners:
            joined[-1] = Run(run.kind, last.count + run.count, run.owners)
        elif run.count:
            joined.append(run)
    return tuple(joined)


def unchanged(count: int) -> Weave:
    """The weave of a file of COUNT lines that is as its base has it."""
    return woven([Run(KEPT, count)])


def length_of_base(weave: Weave) -> int:
    return sum(run.count for run in weave if run.kind != ADDED)


def length_of_now(weave: Weave) -> int:
    return sum(run.count for run in weave if run.kind != DELETED)


def changed(weave: Weave) -> bool:
    return any(run.kind != KEPT for run in weave)


def owners(weave: Weave) -> frozenset[str]:
    """Everybody who changed something."""
    return frozenset(owner for run in weave for owner in run.owners)


def hunks(weave: Weave) -> Iterator[Hunk]:
    base = now = 0
    runs: list[Run] = []
    for run in (*weave, Run(KEPT, 0)):
        if run.kind != KEPT:
            runs.append(run)
            continue
        if runs:
            removed, added = length_of_base(tuple(runs)), length_of_now(tuple(runs))
            yield Hunk(tuple(runs), (base, base + removed), (now, now + added))
            base, now, runs = base + removed, now + added, []
        base, now = base + run.count, now + run.count


def owners_of_lines(weave: Weave) -> list[Owners]:
    """The owners of each line of the file now; none for a line that the base has."""
    return [run.owners for run in weave if run.kind != DELETED for _ in range(run.count)]


class OwnersByLine:
    """The owners of single lines of the file now, without a list of all lines."""

    def __init__(self, weave: Weave) -> None:
        self._ends: list[int] = []
        self._owners: list[Owners] = []
        line = 0
        for run in weave:
            if run.kind != DELETED:
                line += run.count
                self._ends.append(line)
                self._owners.append(run.owners)

    def __getitem__(self, line: int) -> Owners:
        return self._owners[bisect_right(self._ends, line)]


def content(weave: Weave, base: Sequence[bytes], now: Sequence[bytes], wanted: frozenset[str]) -> list[bytes]:
    """The lines of BASE with the changes of the WANTED owners, and no others.

    A last line without a line feed gets one if a line follows it here.
    """
    lines: list[bytes] = []
    before = after = 0
    for run in weave:
        is_made = wanted.issuperset(run.owners)
        if run.kind == ADDED:
            lines += now[after : after + run.count] if is_made else ()
        elif run.kind == KEPT or not is_made:
            lines += base[before : before + run.count]
        before += run.count if run.kind != ADDED else 0
        after += run.count if run.kind != DELETED else 0
    return with_ends(lines)


def with_ends(lines: list[bytes]) -> list[bytes]:
    """LINES as one content: each but the last has a line feed at its end."""
    for at in [at for at, line in enumerate(lines[:-1]) if not line.endswith(b"\n")]:
        lines[at] += b"\n"
    return lines


def committed(weave: Weave, wanted: frozenset[str]) -> Weave:
    """The weave on what the WANTED owners committed: their added lines are kept lines, their deletions are gone."""
    left: list[Run] = []
    for run in weave:
        if run.kind == KEPT or not wanted.issuperset(run.owners):
            left.append(run)
        elif run.kind == ADDED:
            left.append(Run(KEPT, run.count))
    return woven(left)


def unattributed(observation: int) -> str:
    """The mark of a change that the observation with this number found, and that no agent is known to have made."""
    return f"{NOBODY}{observation}"


def is_unattributed(owner: str) -> bool:
    return owner.startswith(NOBODY)


def claimed(weave: Weave, agent: str, since: int = -1) -> Weave:
    """The weave if AGENT says that it made the unattributed changes that were found after the observation SINCE."""
    return woven(
        run.replace(owners=together(agent if is_after(owner, since) else owner for owner in run.owners))
        for run in weave
    )


def is_after(owner: str, since: int) -> bool:
    """Whether OWNER stands for a change that was found after the observation SINCE, and that nobody is known to have
    made."""
    return is_unattributed(owner) and int(owner[len(NOBODY) :] or 0) > since


def handed_over(weave: Weave, owner: str, agent: str) -> Weave:
    """The weave if AGENT takes over all changes of OWNER."""
    return woven(run.replace(owners=together(agent if one == owner else one for one in run.owners)) for run in weave)


def together(*several: Iterable[str]) -> Owners:
    """SEVERAL groups of owners as one."""
    return tuple(sorted({owner for some in several for owner in some}))
