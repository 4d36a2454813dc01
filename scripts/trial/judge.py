"""What a trial lost, and what an agent committed that it had not written: counted from the tasks and git's history.

The order of lines is not compared, only how often each line occurs in each file. So the counts do not depend on which
agent came first, nor on how git aligns a diff.

- `lost`: lines that a task wrote and that the last commit does not have.
- `damaged`: lines of the first commit that no task removed and that the last commit does not have.
- `stray`: lines of the last commit that nobody should have left there, such as those that a rename had removed.
- `foreign`: lines that a commit adds or removes, and its author's task does not. A merge is compared with the lines
  of both its parents, so only what the merge itself did counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts.trial.edits import Lines, lines, removed, written
from scripts.trial.git import content, git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.trial.recorded import Task


@dataclass(frozen=True)
class Verdict:
    lost: int
    damaged: int
    stray: int
    foreign: int
    commits: int
    examples: tuple[str, ...] = ()  # the first lines of each kind, with their files


EXAMPLES = 6  # of each kind in each file


def judge(place: str, first: str, last: str, tasks: Sequence[Task]) -> Verdict:
    """Compare the history from FIRST to LAST with what TASKS say."""
    lost = damaged = stray = 0
    examples: list[str] = []
    edits = [edit for task in tasks for edit in task.edits]
    touched = set(git(place, "diff", "--name-only", "--no-renames", first, last).splitlines())
    for file in sorted(touched | {edit.file for edit in edits}):
        new = written(edits, file)
        expected = after(lines(content(place, first, file)), new, removed(edits, file))
        found = lines(content(place, last, file))
        missing = expected - found
        kinds = {"lost": missing & new, "damaged": missing - new, "stray": found - expected}
        lost += kinds["lost"].total()
        damaged += kinds["damaged"].total()
        stray += kinds["stray"].total()
        examples += [f"{kind}: {file}: {line!r}" for kind, these in kinds.items() for line in list(these)[:EXAMPLES]]
    commits = git(place, "rev-list", "--parents", "--reverse", f"{first}..{last}").splitlines()
    foreign = 0
    for line in commits:
        of_others = foreign_lines(place, line.split(), tasks)
        foreign += len(of_others)
        examples += [f"foreign: {line[:12]}: {each}" for each in of_others[:EXAMPLES]]
    return Verdict(lost, damaged, stray, foreign, len(commits), tuple(examples))


def after(start: Lines, new: Lines, gone: Lines) -> Lines:
    """START with the NEW lines and without those that are GONE."""
    return start + new - gone


def foreign_lines(place: str, commit_and_parents: list[str], tasks: Sequence[Task]) -> list[str]:
    """The lines that the commit adds or removes and its author's task does not."""
    commit, *parents = commit_and_parents
    author = git(place, "show", "--no-patch", "--format=%an", commit).strip()
    own = [edit for task in tasks if task.agent == author for edit in task.edits]
    found = []
    changed = (git(place, "diff", "--name-only", "--no-renames", each, commit).splitlines() for each in parents)
    for file in sorted(set().union(*changed)):
        before = before_commit(place, parents, file)
        now = lines(content(place, commit, file))
        found += [f"{file}: +{line!r}" for line in (now - before - written(own, file)).elements()]
        found += [f"{file}: -{line!r}" for line in (before - now - removed(own, file)).elements()]
    return found


def before_commit(place: str, parents: list[str], file: str) -> Lines:
    """The lines that a commit should have if it changes nothing by itself: those of its parents, merged."""
    ours = lines(content(place, parents[0], file))
    for parent in parents[1:]:
        base = lines(content(place, git(place, "merge-base", parents[0], parent).strip(), file))
        ours += lines(content(place, parent, file))
        ours.subtract(base)
        ours = +ours
    return ours
