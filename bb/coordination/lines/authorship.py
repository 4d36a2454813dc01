"""Who made a change that a look at a file finds, and the weave after it.

An edit is bracketed: bb knows when it began and when it ended. A change that is found while the edit of exactly one
agent is going on is that agent's. If the edits of several agents are going on, and bb knows what their tools do, it is
the change of those whose tools have made it, one after the other. Every other change is unattributed.

An edit may never end, because the person has not permitted it. So before its end, a change is the agent's only if it is
what its tool makes of the file, as far as that is known. A shell command may change any file, and what it changes is
its agent's only when it has ended, or when the agent itself looks. Some commands are known to rewrite files (a
formatter); they count like an edit of every file. All others give way to an agent that edits the file itself.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines import weave as weaves
from bb.coordination.lines.edits import edited
from bb.coordination.lines.new_base import rebased
from bb.coordination.lines.weave import ADDED, DELETED, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bb.coordination.lines.file_state import FileState, Version
    from bb.coordination.lines.weave import Weave

    Lines = Callable[[Version], list[bytes]]
    Result = Callable[[bytes], bytes | None]  # what a tool makes of a content; None if it would fail

MOST_TRIES = 500  # results of tools that are computed to explain one change
WHOLE_LIMIT = 8000  # bytes at the start of a file in which git looks for a NUL, to tell whether it is binary


class Going:
    """The edits and commands that are going on, as far as they may change one file."""

    def __init__(self, editors: Iterable[str], rewriting: Iterable[str], others: Iterable[str]) -> None:
        self.editors = frozenset(editors)
        self._strong = frozenset(editors) | frozenset(rewriting)
        self._weak = frozenset(others)

    def author(self) -> str | None:
        """The only agent that can have made a change; None if there are several or none."""
        candidates = self._strong or self._weak
        return next(iter(candidates)) if len(candidates) == 1 else None

    def author_besides(self, agent: str) -> str | None:
        """The only agent other than AGENT that can have made a change."""
        candidates = (self._strong or self._weak) - {agent}
        return next(iter(candidates)) if len(candidates) == 1 else None


def in_turn(before: bytes, after: bytes, tools: Mapping[str, Result], needed: str = "") -> tuple[str, ...]:
    """The agents whose TOOLS, one after the other, have made AFTER of BEFORE; nobody if that is not clear.

    As few agents as possible have done it. If different ones can have, it was the agent NEEDED, whose tool has ended.
    """
    reached: list[tuple[tuple[str, ...], bytes]] = [((), before)]
    tries = 0
    for _ in tools:
        following: dict[tuple[frozenset[str], bytes], tuple[str, ...]] = {}
        for agents, content in reached:
            for agent, result in tools.items():
                tries += agent not in agents
                made = result(content) if agent not in agents and tries <= MOST_TRIES else None
                if made is not None and made != content:
                    following.setdefault((frozenset((*agents, agent)), made), (*agents, agent))
        reached = [(agents, made) for (_, made), agents in following.items()]
        found = [agents for agents, made in reached if made == after]
        found = [agents for agents in found if needed in agents] or found
        if found:
            return found[0] if len(found) == 1 else ()
    return ()


def is_binary(octets: bytes) -> bool:
    """git's own rule."""
    return b"\0" in octets[:WHOLE_LIMIT]


def after_look(
    before: FileState,
    base: Version,
    now: Version,
    lines: Lines,
    author: str,
    nobody: str,
    earlier: Iterable[FileState] = (),
) -> Weave:
    """The weave after a look that found the versions BASE and NOW. A change of the content is AUTHOR's.

    A content that the file had before, such as after `git stash pop`, has the owners that it had then: EARLIER are the
    states before, latest first. NOBODY marks a change without a known owner.
    """
    if base.blob == now.blob:
        return weaves.unchanged(len(lines(base)))
    known = before
    if now.blob != before.now.blob:
        known = next((state for state in earlier if state.now == now and state.weave), before)
    weave = known.weave
    if base.blob != known.base.blob:
        weave = rebased(weave, lines(known.base), lines(known.now), lines(base), nobody)
    if now.blob != known.now.blob:
        weave = edited(weave, lines(base), lines(known.now), lines(now), author)
    return weave


def as_whole(before: FileState, base: Version, now: Version, author: str, nobody: str) -> Weave:
    """The weave of a file that is one unit from now on: everybody who changed it changed all of it. NOBODY marks a
    change without a known owner."""
    if base.blob == now.blob:
        return weaves.unchanged(1 if base.blob else 0)
    owners = weaves.together((before.owners or {nobody}) if now == before.now else before.owners | {author})
    return weaves.woven([Run(DELETED, 1 if base.blob else 0, owners), Run(ADDED, 1 if now.blob else 0, owners)])


def carried_over(weave: Weave, now: Sequence[bytes], donor: Weave, donor_now: Sequence[bytes]) -> Weave:
    """The weave of a file that was moved here: uncommitted lines keep the owners that they had in the DONOR's weave.

    WEAVE is that of the new place, where every line is an addition of the agent that moved the file.
    """
    foreign: list[weaves.Owners] = [()] * len(now)
    donor_owners = weaves.owners_of_lines(donor)
    here = there = 0
    for first, end, start, stop in [*line_diff.changes(donor_now, now), (len(donor_now), 0, len(now), 0)]:
        foreign[there:start] = donor_owners[here:first]
        here, there = end, stop
    runs: list[Run] = []
    line = 0
    for run in weave:
        if run.kind != ADDED:
            runs.append(run)
            line += run.count if run.kind != DELETED else 0
            continue
        runs += [run.replace(count=1, owners=owners or run.owners) for owners in foreign[line : line + run.count]]
        line += run.count
    return weaves.woven(runs)
