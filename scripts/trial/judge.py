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


def judge(place: str, first: str, last: str, tasks: Sequence[Task]) -> Verdict:
    """Compare the history from FIRST to LAST with what TASKS say."""
    lost = damaged = stray = 0
    edits = [edit for task in tasks for edit in task.edits]
    touched = set(git(place, "diff", "--name-only", "--no-renames", first, last).splitlines())
    for file in sorted(touched | {edit.file for edit in edits}):
        new = written(edits, file)
        expected = after(lines(content(place, first, file)), new, removed(edits, file))
        found = lines(content(place, last, file))
        missing = expected - found
        of_tasks = (missing & new).total()
        lost += of_tasks
        damaged += missing.total() - of_tasks
        stray += (found - expected).total()
    commits = git(place, "rev-list", "--parents", f"{first}..{last}").splitlines()
    foreign = sum(foreign_lines(place, line.split(), tasks) for line in commits)
    return Verdict(lost, damaged, stray, foreign, len(commits))


def after(start: Lines, new: Lines, gone: Lines) -> Lines:
    """START with the NEW lines and without those that are GONE."""
    return start + new - gone


def foreign_lines(place: str, commit_and_parents: list[str], tasks: Sequence[Task]) -> int:
    """How many lines the commit adds or removes that its author's task does not add or remove."""
    commit, *parents = commit_and_parents
    author = git(place, "show", "--no-patch", "--format=%an", commit).strip()
    own = [edit for task in tasks if task.agent == author for edit in task.edits]
    found = 0
    changed = (git(place, "diff", "--name-only", "--no-renames", each, commit).splitlines() for each in parents)
    for file in sorted(set().union(*changed)):
        before = before_commit(place, parents, file)
        now = lines(content(place, commit, file))
        found += (now - before - written(own, file)).total()
        found += (before - now - removed(own, file)).total()
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
