"""What a commit takes from a file: the wanted owners' lines, the mode if they changed it, and nothing else."""

from __future__ import annotations

import pytest

from bb.coordination.lines import own_part, weave
from bb.coordination.lines.file_state import ABSENT, Version
from bb.coordination.lines.own_part import Part, SharedHunk
from bb.coordination.lines.weave import ADDED, DELETED, Run
from tests.coordination.lines.lines_support import HARBOR, IGUANA, OTTER, PLAIN_FILE, PROGRAM, A, B, edits, lines, state

MINE, THEIRS = frozenset({OTTER}), frozenset({HARBOR})


def part_of(wanted: frozenset[str], base: str, *steps: tuple[str, str]) -> Part | None:
    woven, now = edits(base, *steps)
    return own_part.part(state(woven), wanted, lines(base), now)


def test_a_commit_has_the_lines_of_its_owner_and_the_base_elsewhere():
    steps = [(OTTER, "x Y z"), (HARBOR, "x Y z more")]

    assert part_of(MINE, "x y z", *steps) == Part(PLAIN_FILE, lines("x Y z"))
    assert part_of(THEIRS, "x y z", *steps) == Part(PLAIN_FILE, lines("x y z more"))
    assert part_of(MINE | THEIRS, "x y z", *steps) == Part(PLAIN_FILE, lines("x Y z more"))


def test_a_file_in_which_the_owner_has_changed_nothing_is_not_in_the_commit():
    assert part_of(MINE, "x y", (HARBOR, "x Y")) is None


def test_an_entangled_line_is_in_no_commit_of_one_of_its_owners():
    assert part_of(MINE, "x y", (OTTER, "x mine"), (HARBOR, "x ours")) == Part(PLAIN_FILE, lines("x")), (
        "the deletion of y is otter's alone, the new line both's"
    )
    assert part_of(THEIRS, "x y", (OTTER, "x mine"), (HARBOR, "x ours")) is None


def test_an_entangled_hunk_is_named_with_its_lines_and_the_others():
    woven, _ = edits("x y z", (OTTER, "x mine z"), (HARBOR, "x ours z"))

    (found,) = own_part.shared_hunks(state(woven), MINE)

    assert found == SharedHunk((OTTER, HARBOR), (HARBOR,), 1, 2)
    assert own_part.shared_hunks(state(woven), MINE | THEIRS) == []
    assert own_part.shared_hunks(state(woven), frozenset({IGUANA})) == []


def test_neighbouring_lines_of_two_agents_are_no_entangled_hunk():
    woven, _ = edits("x y", (OTTER, "x y mine"), (HARBOR, "x y mine theirs"))

    assert own_part.shared_hunks(state(woven), MINE) == []


def test_lines_changed_together_with_a_companion_are_taken_with_it_and_others_are_not():
    woven, _ = edits("x y", (OTTER, "x mine"), (HARBOR, "x ours"))
    third, _ = edits("x y", (OTTER, "x mine"), (HARBOR, "x ours"), (IGUANA, "x all"))

    assert weave.owners(own_part.taken_together(woven, frozenset({OTTER}), THEIRS)) == {OTTER}
    assert own_part.taken_together(woven, frozenset({OTTER}), frozenset({IGUANA})) == woven
    assert own_part.taken_together(third, frozenset({OTTER}), THEIRS) == third, "the third owner has not agreed"


def test_a_companion_s_own_lines_stay_its_own():
    woven, _ = edits("x y z", (OTTER, "x mine z"), (HARBOR, "x ours z theirs"))

    taken = own_part.taken_together(woven, frozenset({OTTER}), THEIRS)

    assert Run(ADDED, 1, (HARBOR,)) in taken


@pytest.mark.parametrize(
    ("base", "now", "owner", "mode"),
    [
        (PLAIN_FILE, PROGRAM, OTTER, PROGRAM),  # who changed the mode commits it
        (PLAIN_FILE, PROGRAM, HARBOR, PLAIN_FILE),  # a mode that another has changed stays as it was
        ("", PLAIN_FILE, OTTER, PLAIN_FILE),
        ("", PROGRAM, HARBOR, PROGRAM),  # lines need a file, whoever made it
    ],
)
def test_the_mode_goes_with_whoever_changed_it(base: str, now: str, owner: str, mode: str):
    woven, after = edits("x y" if base else "", (OTTER, "x Y"))
    one = state(woven, mode_owner=owner).replace(base=Version(A, base) if base else ABSENT, now=Version(B, now))

    found = own_part.part(one, MINE, lines("x y") if base else [], after)

    assert found is not None
    assert found.mode == mode


def test_a_change_of_the_mode_alone_is_a_part():
    one = state(weave.unchanged(2), now=A, mode_owner=OTTER).replace(now=Version(A, PROGRAM))

    assert own_part.part(one, MINE, lines("x y"), lines("x y")) == Part(PROGRAM, lines("x y"))
    assert own_part.part(one, THEIRS, lines("x y"), lines("x y")) is None


def test_a_deleted_file_is_removed_by_whoever_deleted_it():
    woven, _ = edits("x y", (OTTER, ""))
    one = state(woven, now="", mode_owner=OTTER)

    assert own_part.part(one, MINE, lines("x y"), []) == Part("", [])
    assert own_part.part(one, THEIRS, lines("x y"), []) is None


def test_lines_deleted_before_another_agent_deleted_the_file_are_committed_as_deleted_lines():
    woven, _ = edits("x y z", (OTTER, "x z"), (HARBOR, ""))
    one = state(woven, now="", mode_owner=HARBOR)

    assert own_part.part(one, MINE, lines("x y z"), []) == Part(PLAIN_FILE, lines("x z"))


def test_a_binary_file_is_taken_whole_by_its_only_owner_and_by_nobody_else():
    woven = (Run(DELETED, 1, (OTTER,)), Run(ADDED, 1, (OTTER,)))
    shared = (Run(DELETED, 1, (OTTER, HARBOR)), Run(ADDED, 1, (OTTER, HARBOR)))

    assert own_part.part(state(woven, is_whole=True), MINE, [], []) == Part(PLAIN_FILE, None)
    assert own_part.part(state(woven, is_whole=True), THEIRS, [], []) is None
    assert own_part.part(state(shared, is_whole=True), MINE, [], []) is None
    assert own_part.part(state(shared, is_whole=True), MINE | THEIRS, [], []) == Part(PLAIN_FILE, None)


def test_the_mode_of_a_binary_file_that_another_agent_has_changed_is_not_taken_alone():
    woven = (Run(DELETED, 1, (HARBOR,)), Run(ADDED, 1, (HARBOR,)))
    one = state(woven, is_whole=True, mode_owner=OTTER).replace(now=Version(B, PROGRAM))

    assert own_part.part(one, MINE, [], []) is None


def test_counts_are_those_of_the_wanted_owners_alone_or_of_everybody():
    woven, _ = edits("x y z", (OTTER, "x Y z"), (HARBOR, "Y z more more2"))

    assert own_part.counts(woven) == (3, 2)
    assert own_part.counts(woven, MINE) == (1, 1)
    assert own_part.counts(woven, THEIRS) == (2, 1)
    assert own_part.counts(woven, frozenset()) == (0, 0)
