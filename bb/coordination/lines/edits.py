"""What an edit does to a weave.

- A kept line that is deleted becomes a deletion of the agent. Lines that are added belong to the agent.
- If the edit puts lines in the place of uncommitted lines of another agent, they are entangled: both agents own them.
- An uncommitted line that only moved keeps its owner.
- Lines that are put back as the base has them are no change any more.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines.placing import beside_others
from bb.coordination.lines.weave import (
    ADDED,
    DELETED,
    KEPT,
    Owners,
    OwnersByLine,
    Run,
    Weave,
    hunks,
    together,
    unchanged,
    woven,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bb.coordination.lines.line_diff import Change


def edited(
    weave: Weave,
    base: Sequence[bytes],
    now: Sequence[bytes],
    after: Sequence[bytes],
    agent: str,
    places: Sequence[Change] | None = None,
) -> Weave:
    """The weave after AGENT changed the file from NOW to AFTER. PLACES are where, if that is known exactly."""
    if after == base:
        return unchanged(len(base))
    if places is None:
        places = beside_others(line_diff.changes(now, after), weave, now, after, agent)
    moves = _Moves(weave, now, after, places, agent)
    cursor = _Cursor(weave)
    runs: list[Run] = []
    for place in places:
        for first, end, start, stop in _line_by_line(place) if moves.touches(place) else (place,):
            runs += cursor.until(first, agent)
            removed = list(cursor.up_to(end))
            runs += _deletions(removed, agent)
            runs += _additions(moves.replaced(first, end), after[start:stop], moves)
    runs += cursor.rest()
    return restored(woven(runs), base, after)


def _line_by_line(place: Change) -> Iterator[Change]:
    """If as many lines come as go, each line replaces the one in its place."""
    first, end, start, stop = place
    if end - first != stop - start:
        yield place
        return
    for line in range(end - first):
        yield first + line, first + line + 1, start + line, start + line + 1


class _Cursor:
    """Takes a weave apart at lines of the present content."""

    def __init__(self, weave: Weave) -> None:
        self._runs = list(reversed(weave))
        self._now = 0

    def until(self, line: int, agent: str) -> Iterator[Run]:
        """The runs before LINE, and AGENT's deletions in front of it.

        Deletions of others are left. In most cases they have changed the line that comes next, and what is put before
        the new line was meant to be before the old one.
        """
        yield from self.up_to(line)
        while self._runs and self._runs[-1].kind == DELETED and self._runs[-1].owners == (agent,):
            yield self._runs.pop()

    def up_to(self, line: int) -> Iterator[Run]:
        """The runs before LINE. The deletions in front of it are left."""
        while self._runs and self._now < line:
            run = self._runs.pop()
            count = run.count if run.kind == DELETED else min(run.count, line - self._now)
            if count < run.count:
                self._runs.append(run.replace(count=run.count - count))
            self._now += 0 if run.kind == DELETED else count
            yield run.replace(count=count)

    def rest(self) -> list[Run]:
        return self._runs[::-1]


def _deletions(removed: Iterable[Run], agent: str) -> Iterator[Run]:
    """What is left of REMOVED runs: the lines that the base has, now deleted. Lines that were only added are gone."""
    for run in removed:
        if run.kind == KEPT:
            yield Run(DELETED, run.count, (agent,))
        elif run.kind == DELETED:
            yield run


def _additions(owners: Owners, added: Iterable[bytes], moves: _Moves) -> Iterator[Run]:
    """The runs of the ADDED lines. They belong to OWNERS, but for those that have only moved."""
    for line in added:
        yield Run(ADDED, 1, moves.taken(line) or owners)


class _Moves:
    """Uncommitted lines of others that one edit removes: some it adds again elsewhere, the others it replaces."""

    def __init__(
        self, weave: Weave, now: Sequence[bytes], after: Sequence[bytes], places: Sequence[Change], agent: str
    ) -> None:
        self._agent = agent
        self._waiting: dict[bytes, list[Owners]] = {}
        self._foreign: set[Change] = set()
        self._replaced: dict[int, Owners] = {}
        if all(run.owners in ((), (agent,)) for run in weave):
            return
        owners, moved = OwnersByLine(weave), line_diff.moved(places, now, after)
        for place in places:
            for line in range(place[0], place[1]):
                if owners[line] in ((), (agent,)):
                    continue
                self._foreign.add(place)
                if line in moved:
                    self._waiting.setdefault(now[line], []).append(owners[line])
                else:
                    self._replaced[line] = owners[line]

    def touches(self, place: Change) -> bool:
        """Whether PLACE removes such a line."""
        return place in self._foreign

    def replaced(self, first: int, end: int) -> Owners:
        """The owners of what the edit puts in the place of the lines from FIRST to END."""
        return together({self._agent}, *(self._replaced.get(line, ()) for line in range(first, end)))

    def taken(self, line: bytes) -> Owners | None:
        """The owners of a LINE that has moved here; None if it is new."""
        waiting = self._waiting.get(line)
        return waiting.pop(0) if waiting else None


def restored(weave: Weave, base: Sequence[bytes], now: Sequence[bytes]) -> Weave:
    """The weave where lines that were deleted and added again, in one hunk, are kept lines again."""
    runs: list[Run] = []
    last = 0  # the line of the base behind the runs so far
    for hunk in hunks(weave):
        runs.append(Run(KEPT, hunk.base[0] - last))
        runs += _without_equal_lines(hunk.runs, base[slice(*hunk.base)], now[slice(*hunk.now)])
        last = hunk.base[1]
    return woven([*runs, Run(KEPT, len(base) - last)])


def _without_equal_lines(runs: Weave, old: Sequence[bytes], new: Sequence[bytes]) -> Iterable[Run]:
    if not old or not new:
        return runs
    places = line_diff.changes(old, new)
    if places == [(0, len(old), 0, len(new))]:
        return runs
    lines = [run.replace(count=1) for run in runs for _ in range(run.count)]
    deleted = [place for place, run in enumerate(lines) if run.kind == DELETED]
    added = [place for place, run in enumerate(lines) if run.kind == ADDED]
    left: list[Run] = []
    a = 0
    for first, end, start, stop in [*places, (len(old), len(old), len(new), len(new))]:
        left.append(Run(KEPT, first - a))
        left += [lines[place] for place in sorted(deleted[first:end] + added[start:stop])]
        a = end
    return left
