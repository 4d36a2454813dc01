"""The judge of the trial finds what is planted by hand: a lost line, a foreign one, damage, a stray one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scripts.trial.edits import AFTER, REPLACE, Edit
from scripts.trial.git import environment, git
from scripts.trial.judge import judge
from scripts.trial.recorded import Task, Unit

if TYPE_CHECKING:
    from pathlib import Path

START = "one\ntwo\nthree\n"
ADA = Task("ada", (Unit("Add", (Edit("a.txt", AFTER, "one\n", "ada's\n\n"),)),))
BO = Task("bo", (Unit("Rename", (Edit("a.txt", REPLACE, "three\n", "bo's three\n"),)),))
FULL = "one\nada's\n\ntwo\nbo's three\n"


@pytest.fixture
def place(tmp_path: Path) -> str:
    git(str(tmp_path), "init", "--quiet", "--initial-branch=main")
    commit(str(tmp_path), "trial", START)
    return str(tmp_path)


def commit(place: str, author: str, content: str) -> str:
    with open(f"{place}/a.txt", "w", encoding="utf-8") as file:
        file.write(content)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "A change", env=environment(author))
    return head(place)


def head(place: str) -> str:
    return git(place, "rev-parse", "HEAD").strip()


def test_two_agents_that_commit_their_own_lines_lose_nothing_and_take_nothing(place: str) -> None:
    first = head(place)
    commit(place, "ada", "one\nada's\n\ntwo\nthree\n")
    last = commit(place, "bo", FULL)

    verdict = judge(place, first, last, [ADA, BO])

    assert (verdict.lost, verdict.damaged, verdict.stray, verdict.foreign, verdict.commits) == (0, 0, 0, 0, 2)


def test_the_order_of_lines_is_not_compared(place: str) -> None:
    first = head(place)
    commit(place, "ada", "\none\ntwo\nada's\nthree\n")

    assert judge(place, first, commit(place, "bo", "bo's three\n\ntwo\none\nada's\n"), [ADA, BO]).lost == 0


def test_a_line_that_a_stale_rewrite_removes_is_lost_and_the_removal_is_foreign(place: str) -> None:
    first = head(place)
    commit(place, "ada", "one\nada's\n\ntwo\nthree\n")
    last = commit(place, "bo", "one\ntwo\nbo's three\n")

    verdict = judge(place, first, last, [ADA, BO])

    assert (verdict.lost, verdict.damaged, verdict.stray, verdict.foreign) == (2, 0, 0, 2)


def test_one_of_two_equal_lines_that_is_gone_is_lost(place: str) -> None:
    twice = Task("ada", (Unit("Add", (Edit("a.txt", AFTER, "one\n", "same\nsame\n"),)),))
    first = head(place)

    assert judge(place, first, commit(place, "ada", "one\nsame\ntwo\nthree\n"), [twice]).lost == 1


def test_lines_of_another_in_a_commit_are_foreign(place: str) -> None:
    first = head(place)
    last = commit(place, "ada", FULL)  # with all that bo did: a line added, and one removed

    verdict = judge(place, first, last, [ADA, BO])

    assert (verdict.lost, verdict.foreign) == (0, 2)


def test_a_line_of_the_first_commit_that_no_task_removed_is_damage(place: str) -> None:
    first = head(place)
    last = commit(place, "ada", "one\nada's\n\nthree\n")

    verdict = judge(place, first, last, [ADA])

    assert (verdict.lost, verdict.damaged, verdict.foreign) == (0, 1, 1)


def test_a_renamed_line_that_comes_back_is_stray(place: str) -> None:
    first = head(place)
    last = commit(place, "bo", "one\ntwo\nthree\nbo's three\n")

    verdict = judge(place, first, last, [BO])

    assert (verdict.lost, verdict.stray, verdict.foreign) == (0, 1, 0)


def test_a_file_that_nobody_should_touch_counts_too(place: str) -> None:
    first = head(place)
    with open(f"{place}/b.txt", "w", encoding="utf-8") as file:
        file.write("left behind\n")
    last = commit(place, "ada", "one\nada's\n\ntwo\nthree\n")

    verdict = judge(place, first, last, [ADA])

    assert (verdict.stray, verdict.foreign) == (1, 1)


def merged(place: str, content: str) -> str:
    """A merge by ada of bo's branch, resolved to CONTENT."""
    git(place, "branch", "bo")
    commit(place, "ada", "one\nada's\n\ntwo\nthree\n")
    ours = head(place)
    git(place, "checkout", "--quiet", "bo")
    commit(place, "bo", "one\ntwo\nbo's three\n")
    theirs = head(place)
    git(place, "checkout", "--quiet", "main")
    with open(f"{place}/a.txt", "w", encoding="utf-8") as file:
        file.write(content)
    git(place, "add", "--all")
    tree = git(place, "write-tree").strip()
    merge = git(place, "commit-tree", tree, "-p", ours, "-p", theirs, "-m", "Merge", env=environment("ada"))
    return merge.strip()


def test_what_a_merge_brings_from_both_sides_is_not_foreign(place: str) -> None:
    first = head(place)

    verdict = judge(place, first, merged(place, FULL), [ADA, BO])

    assert (verdict.lost, verdict.foreign, verdict.commits) == (0, 0, 3)


def test_a_merge_that_drops_the_other_side_is_found(place: str) -> None:
    first = head(place)

    verdict = judge(place, first, merged(place, "one\nada's\n\ntwo\nthree\n"), [ADA, BO])

    assert (verdict.lost, verdict.stray, verdict.foreign) == (1, 1, 2)
