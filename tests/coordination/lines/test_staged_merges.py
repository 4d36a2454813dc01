"""What is staged of a file when lines of it are committed beside the index."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import line_diff
from bb.coordination.lines.staged import merged
from tests.coordination.lines.lines_support import lines, words
from tests.examples import examples

CASES: list[tuple[str, str, str, str | None]] = [
    # the base, what is staged of it, what is committed of it, and what is staged then
    ("a b c", "a b c", "a B c", "a B c"),  # nothing is staged
    ("a b c", "a B c", "a b c", "a B c"),  # nothing is committed
    ("a b c", "A b c", "a b C", "A b C"),
    ("a b c", "a B c", "a B c", "a B c"),  # both the same
    ("a b c", "a X c", "a Y c", None),
    ("a b c", "a c", "a Y c", None),
    ("a b c", "a c", "a c", "a c"),
    ("a b c", "A b c", "a B c", "A B c"),  # beside each other
    ("a b", "a b x", "a b y", "a b y x"),  # in one place: the committed lines come first
    ("a b", "a b x", "a b x", "a b x"),
    ("", "x", "y", "y x"),
    ("a b c d", "a c d", "a X d", None),  # the places overlap in part
    ("a b c d", "", "a b c D", None),
    ("a b c d", "a X d", "a b Y d", None),
]


@pytest.mark.parametrize(("base", "staged", "committed", "found"), CASES)
def test_staged_changes_stay_on_what_was_committed_unless_they_change_the_same_lines(
    base: str, staged: str, committed: str, found: str | None
):
    made = merged(lines(base), lines(staged), lines(committed))

    assert (None if made is None else words(made)) == found


TEXTS = st.lists(st.sampled_from("abcde"), max_size=10).map(" ".join)
BASE = [f"line {n}\n".encode() for n in range(12)]
# Changes that do not touch: each replaces one block of the base, and a line stays between two blocks.
BLOCKS = [slice(0, 2), slice(3, 5), slice(6, 8), slice(9, 11)]


def changed(blocks: dict[int, list[bytes]]) -> list[bytes]:
    made = list(BASE)
    for number in sorted(blocks, reverse=True):
        made[BLOCKS[number]] = blocks[number]
    return made


NEW = st.lists(st.integers(0, 99).map(lambda n: f"new {n}\n".encode()), max_size=3)


@given(st.dictionaries(st.integers(0, 3), st.tuples(st.booleans(), NEW)))
@examples(200)
def test_changes_that_do_not_touch_are_both_there_whichever_is_staged(blocks: dict[int, tuple[bool, list[bytes]]]):
    one = changed({number: new for number, (is_first, new) in blocks.items() if is_first})
    other = changed({number: new for number, (is_first, new) in blocks.items() if not is_first})
    both = changed({number: new for number, (_, new) in blocks.items()})

    assert merged(BASE, one, other) == both
    assert merged(BASE, other, one) == both


@given(TEXTS, TEXTS, TEXTS)
@examples(300)
def test_what_contradicts_does_so_whichever_is_staged(base: str, staged: str, committed: str):
    one, other = (lines(text) for text in (staged, committed))

    assert (merged(lines(base), one, other) is None) == (merged(lines(base), other, one) is None)


@given(TEXTS, TEXTS)
@examples(100)
def test_what_is_staged_stays_if_nothing_else_was_committed_and_the_other_way_round(base: str, text: str):
    assert merged(lines(base), lines(text), lines(base)) == lines(text)
    assert merged(lines(base), lines(base), lines(text)) == lines(text)
    assert merged(lines(base), lines(text), lines(text)) == lines(text)


@given(TEXTS, TEXTS, TEXTS)
@examples(300)
def test_no_line_is_staged_that_neither_of_the_versions_has(base: str, staged: str, committed: str):
    made = merged(lines(base), lines(staged), lines(committed))
    if made is None:
        return

    assert set(made) <= {*lines(base), *lines(staged), *lines(committed)}
    added = [sum(stop - start for _, _, start, stop in line_diff.changes(lines(base), lines(one))) for one in (staged, committed)]
    assert len(made) <= len(lines(base)) + sum(added)


def test_every_pair_of_small_changes_is_merged_or_refused_as_its_places_say():
    base = lines("a b c")
    versions = [lines(text) for text in ("a b c", "X b c", "a X c", "a b X", "b c", "a c", "a b", "N a b c", "a b c N")]
    for one, other in itertools.product(versions, versions):
        first, second = line_diff.changes(base, one), line_diff.changes(base, other)
        overlap = first and second and one != other and max(first[0][0], second[0][0]) < min(first[0][1], second[0][1])
        assert (merged(base, one, other) is None) == bool(overlap), (words(one), words(other))
