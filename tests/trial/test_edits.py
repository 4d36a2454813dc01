"""Edits by anchor: made where the anchor is, once and as whole lines, or not at all."""

from __future__ import annotations

import pytest

from scripts.trial import recorded as tasks
from scripts.trial.edits import AFTER, BEFORE, REPLACE, AnchorNotFoundError, Edit, Lines

CONTENT = "first\n  first\nlast\n"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (BEFORE, "new\nfirst\n  first\nlast\n"),
        (AFTER, "first\nnew\n  first\nlast\n"),
        (REPLACE, "new\n  first\nlast\n"),
    ],
)
def test_an_anchor_is_whole_lines(where: str, expected: str) -> None:
    edit = Edit("a", where, "first\n", "new\n")

    assert edit.applied(CONTENT) == expected
    assert CONTENT.replace("first\n", edit.new, 1) == expected, "the host's tool makes the same of old and new"
    assert edit.is_in(expected)
    assert not edit.is_in(CONTENT)


@pytest.mark.parametrize("anchor", ["none\n", "irst\n", "twice\n"])
def test_an_edit_whose_anchor_is_not_there_once_is_not_made(anchor: str) -> None:
    with pytest.raises(AnchorNotFoundError):
        Edit("a", AFTER, anchor, "new\n").applied(CONTENT + "twice\ntwice\n")


def test_an_edit_knows_the_lines_that_it_writes_and_removes() -> None:
    edit = Edit("a", REPLACE, "def old():\n    pass\n", "def new():\n    pass\n")

    assert (edit.written, edit.removed) == (Lines(["def new():"]), Lines(["def old():"]))


@pytest.mark.parametrize("name", tasks.names())
def test_recorded_tasks_are_for_eight_agents_that_all_meet_in_the_same_files(name: str) -> None:
    recorded = tasks.load(name)

    assert len({task.agent for task in recorded.tasks}) == 8
    assert all(len(task.units) == 3 for task in recorded.tasks)
    common = set.intersection(*({edit.file for edit in task.edits} for task in recorded.tasks))
    assert len(common) >= 5
    texts = [(edit.file, edit.text) for edit in recorded.edits]
    assert len(set(texts)) == len(texts), "an agent finds its own text in a file, and no other one's"
