"""Where a change stands, if equal lines leave a choice: where it meets the fewest lines of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import line_diff, placing, weave
from bb.coordination.lines.edits import edited
from tests.coordination.lines.lines_support import HARBOR, OTTER, lines
from tests.examples import examples


@pytest.mark.parametrize(
    "after",
    [
        "top blank def mine doc end blank def theirs doc end rest",  # before the other's
        "top blank def theirs doc end blank def mine doc end rest",  # behind it
    ],
)
def test_a_block_beside_one_that_begins_and_ends_alike_is_the_whole_block(after: str):
    base, theirs, now = lines("top rest"), lines("top blank def theirs doc end rest"), lines(after)
    woven = edited(weave.unchanged(2), base, base, theirs, HARBOR)

    woven = edited(woven, base, theirs, now, OTTER)

    assert weave.content(woven, base, now, frozenset({OTTER})) == lines("top blank def mine doc end rest")
    assert weave.content(woven, base, now, frozenset({HARBOR})) == theirs


def test_a_block_that_is_removed_beside_one_that_begins_alike_is_the_own_one():
    base, both = lines("top rest"), lines("top blank mine blank theirs rest")
    mine = lines("top blank mine rest")
    woven = edited(weave.unchanged(2), base, base, mine, OTTER)
    woven = edited(woven, base, mine, both, HARBOR)

    woven = edited(woven, base, both, lines("top blank theirs rest"), OTTER)

    assert weave.owners(woven) == {HARBOR}


def test_what_is_put_before_a_line_that_another_has_changed_stands_before_its_old_form():
    base = lines("top old rest")
    theirs, now = lines("top new rest"), lines("top mine new rest")
    woven = edited(weave.unchanged(3), base, base, theirs, HARBOR)

    woven = edited(woven, base, theirs, now, OTTER)

    assert weave.content(woven, base, now, frozenset({OTTER})) == lines("top mine old rest")


@examples(300)
@given(before=st.lists(st.sampled_from("abx"), max_size=12), after=st.lists(st.sampled_from("abx"), max_size=12))
def test_wherever_changes_are_moved_to_they_make_the_same_content(before: list[str], after: list[str]):
    old, new = lines(" ".join(before)), lines(" ".join(after))
    places = line_diff.changes(old, new)

    moved = placing.placed(places, old, new, lambda change: change[0] % 3 + 1)

    made, at = [], 0
    for first, end, start, stop in moved:
        assert at <= first
        made += old[at:first] + new[start:stop]
        at = end
    assert made + old[at:] == new
