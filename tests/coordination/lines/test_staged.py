"""What is staged of a file, when lines of it are committed beside the index."""

from __future__ import annotations

from bb.coordination.lines import staged
from tests.coordination.lines.test_weave import HARBOR, OTTER, File, lines, text


def after_commit(file: File, index: str, agent: str = OTTER) -> str:
    return text(staged.after_commit(file.weave, file.base, file.now, lines(index), frozenset({agent})))


def test_a_file_that_was_staged_whole_stays_staged_whole():
    file = File("x y").edit(HARBOR, "x b y").edit(OTTER, "x b a y")

    assert after_commit(file, "x b a y") == "x b a y"


def test_an_earlier_version_of_a_committed_line_is_left_out():
    file = File("x y").edit(HARBOR, "x b y").edit(OTTER, "x b a2 y")

    assert after_commit(file, "x b a1 y") == "x b a2 y"


def test_lines_of_others_that_are_not_staged_do_not_become_staged():
    file = File("x y z").edit(HARBOR, "x b1 y b2 z").edit(OTTER, "x b1 y b2 z a")

    assert after_commit(file, "x y b2 z") == "x y b2 z a"


def test_a_staged_deletion_and_a_committed_one_are_both_in_the_index():
    file = File("u v x y z").edit(HARBOR, "v x y z").edit(OTTER, "v x z")

    assert after_commit(file, "v x y z") == "v x z"
    assert after_commit(file, "u v x z w") == "u v x z w"


def test_a_line_that_is_only_staged_stays_staged():
    file = File("x y z").edit(HARBOR, "x b y z").edit(OTTER, "x b y z a")

    assert after_commit(file, "x y only z") == "x y only z a"
