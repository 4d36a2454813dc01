"""May an edit be made: what it would do to the uncommitted lines of other agents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import harm, weave
from bb.coordination.lines.edits import edited
from bb.coordination.lines.harm import CHANGED, SPLIT, STALE, TAKEN_BACK, WHOLE, Harm
from tests.coordination.lines.lines_support import HARBOR, IGUANA, OTTER, edits, lines, words
from tests.examples import examples

TWENTY = " ".join(f"l{n}" for n in range(20))


def harm_of(base: str, after: str, *steps: tuple[str, str]) -> Harm | None:
    """The harm of OTTER's edit to AFTER, in a file that was edited in STEPS."""
    woven, now = edits(base, *steps)
    return harm.of_edit(woven, lambda: lines(base), now, lines(after), OTTER)


HARMS: list[tuple[str, str, str, tuple[str, int, int] | None]] = [
    # the base, what harbor made of it, what otter makes of that, and the harm
    ("a b c d", "a B c d", "a X c d", (CHANGED, 1, 2)),
    ("a b c d", "a B c d", "a c d", (CHANGED, 1, 2)),
    ("a b c d", "a B C d", "a X C d", (CHANGED, 1, 2)),
    ("a b c d", "a B C d", "a X Y d", (CHANGED, 1, 3)),
    ("a b c d", "a B c d", "a B X d", None),
    ("a b c d", "a B c d", "A B c d", None),
    ("a b c d", "a B c d", "a new B c d", None),  # right before it
    ("a b c d", "a B c d", "a B new c d", None),  # right behind it
    ("a b c d", "a B C d", "a B new C d", (SPLIT, 1, 3)),
    ("a b c d", "a n1 n2 b c d", "a n1 new n2 b c d", (SPLIT, 1, 3)),
    ("a b c d", "a n1 n2 b c d", "a new n1 n2 b c d", None),
    ("a b c d", "a c d", "a b c d", (TAKEN_BACK, 1, 1)),  # b comes back, which harbor has deleted
    ("a b c d", "a c d", "a x c d", None),
    ("a b c d", "a b c d", "x b c d", None),  # harbor has changed nothing
]


@pytest.mark.parametrize(("base", "theirs", "mine", "found"), HARMS)
def test_an_edit_harms_where_it_changes_splits_or_takes_back_lines_of_another_agent(
    base: str, theirs: str, mine: str, found: tuple[str, int, int] | None
):
    expected = Harm(found[0], (HARBOR,), *found[1:]) if found else None

    assert harm_of(base, mine, (HARBOR, theirs)) == expected


def test_one_s_own_lines_are_free():
    assert harm_of("a b c", "a X c", (OTTER, "a B c")) is None


def test_unattributed_lines_refuse_nothing():
    nobody = weave.unattributed(3)
    for after in ("a X c", "a c", "", "entirely other lines", "a b c"):
        assert harm_of("a b c", after, (nobody, "a B c")) is None, after


def test_lines_that_are_another_s_and_nobody_s_at_once_are_the_other_s():
    found = harm_of("a b c", "a X c", (HARBOR, "a B c"), (weave.unattributed(3), "a B2 c"))

    assert found == Harm(CHANGED, (HARBOR,), 1, 2)


def test_an_entangled_line_refuses_neither_of_its_owners_but_for_the_other():
    found = harm_of("a b c", "a X c", (HARBOR, "a B c"), (OTTER, "a B2 c"))

    assert found == Harm(CHANGED, (HARBOR,), 1, 2)


def test_lines_of_two_others_ask_for_the_whole_file():
    found = harm_of("a b c d e", "a X c Y e", (HARBOR, "a B c d e"), (IGUANA, "a B c D e"))

    assert found == Harm(WHOLE, (HARBOR, IGUANA), 0, 5)


def test_a_line_of_another_agent_that_only_moves_is_not_changed():
    assert harm_of("a b c d", "a c B d", (HARBOR, "a B c d")) is None
    assert harm_of("a b c d", "a c X d", (HARBOR, "a B c d")) == Harm(CHANGED, (HARBOR,), 1, 2)


def test_a_blank_line_does_not_count_as_moved():
    base = [b"a\n", b"b\n", b"c\n"]
    theirs = [b"a\n", b"\n", b"b\n", b"c\n"]
    woven = edited(weave.unchanged(3), base, base, theirs, HARBOR)

    assert harm.of_edit(woven, lambda: base, theirs, [b"a\n", b"b\n", b"\n", b"c\n"], OTTER) is not None


def rewritten(count: int) -> str:
    """TWENTY and harbor's line, with the first COUNT lines rewritten."""
    return " ".join([*(f"new{n}" for n in range(count)), *TWENTY.split()[count:], "theirs"])


@pytest.mark.parametrize(("count", "is_whole"), [(1, False), (7, False), (10, False), (11, True), (20, True)])
def test_a_change_of_more_than_a_third_and_ten_lines_asks_for_the_whole_file(count: int, is_whole: bool):
    """Issue 24: a structural change of the whole file, more than a third of its lines, asks for `exclusive`."""
    found = harm_of(TWENTY, rewritten(count), (HARBOR, f"{TWENTY} theirs"))

    assert found == (Harm(WHOLE, (HARBOR,), 0, 21) if is_whole else None)


def test_exactly_a_third_of_the_lines_is_no_change_of_the_whole_file():
    base = " ".join(f"l{n}" for n in range(35))
    after = " ".join([*(f"new{n}" for n in range(12)), *base.split()[12:], "theirs"])

    assert harm_of(base, after, (HARBOR, f"{base} theirs")) is None, "12 of 36"


def test_adding_many_lines_is_no_change_of_the_whole_file():
    after = " ".join([*(f"more{n}" for n in range(100)), TWENTY, "theirs"])

    assert harm_of(TWENTY, after, (HARBOR, f"{TWENTY} theirs")) is None


def test_a_whole_rewrite_is_free_if_nobody_else_has_uncommitted_lines():
    assert harm_of(TWENTY, "entirely new", (OTTER, f"{TWENTY} mine")) is None


def test_emptying_a_file_changes_the_lines_of_others_in_it():
    assert harm_of("a b c", "", (HARBOR, "a B c")) == Harm(CHANGED, (HARBOR,), 1, 2)


TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join)


@given(TEXTS, TEXTS, TEXTS)
@examples(300)
def test_an_edit_without_harm_leaves_every_line_of_others_to_them(base: str, theirs: str, mine: str):
    woven, now = edits(base, (HARBOR, theirs))
    if harm.of_edit(woven, lambda: lines(base), now, lines(mine), OTTER) is not None:
        return

    after = edited(woven, lines(base), now, lines(mine), OTTER)

    assert not any({OTTER, HARBOR} <= set(run.owners) for run in after), "no line is changed by both"
    if mine != base:
        gone = sum(run.count for run in woven if run.kind == "-") - sum(
            run.count for run in after if run.kind == "-" and HARBOR in run.owners
        )
        assert gone <= 0, "no deletion of harbor's has gone"


@given(TEXTS, TEXTS, TEXTS)
@examples(200)
def test_an_edit_that_is_alone_in_the_file_does_no_harm(base: str, first: str, second: str):
    assert harm_of(base, second, (OTTER, first)) is None


# -- a copy that was read too early


Step = tuple[str, str, str]


def undone(after: str, *steps: Step) -> Harm | None:
    """Each step: who made it, the file before and after it. OTTER now writes the whole file as AFTER."""
    return harm.undone([(who, lines(old), lines(new)) for who, old, new in steps], lines(after), OTTER)


def test_writing_the_file_without_the_latest_change_of_another_is_stale():
    assert undone("a b mine", (HARBOR, "a b", "a B")) == Harm(STALE, (HARBOR,), 1, 2)


def test_writing_the_file_with_the_latest_change_of_another_is_not():
    assert undone("a B mine", (HARBOR, "a b", "a B")) is None


def test_a_part_of_the_change_is_enough_to_see_that_it_was_read():
    assert undone("a B c", (HARBOR, "a b c", "a B C")) is None


def test_without_a_change_of_another_nothing_is_stale():
    assert undone("a") is None
    assert undone("a", (OTTER, "a", "b")) is None
    assert undone("a", ("", "a", "b")) is None, "nobody known made it"


def test_only_the_latest_change_of_others_counts():
    """Who has seen the latest change has read the file since the earlier ones."""
    steps: list[Step] = [(HARBOR, "a b c", "A b c"), (IGUANA, "A b c", "A b C")]

    assert undone("a b C", *steps) is None
    assert undone("A b c", *steps) == Harm(STALE, (IGUANA,), 2, 3)


def test_a_later_change_by_nobody_known_does_not_hide_it():
    steps: list[Step] = [(HARBOR, "a b c", "A b c"), ("", "A b c", "A b C")]

    assert undone("a b C", *steps) == Harm(STALE, (HARBOR,), 0, 1)


def test_a_change_that_somebody_took_back_since_is_not_missed():
    steps: list[Step] = [(HARBOR, "a b", "a B"), ("", "a B", "a b")]

    assert undone("a b mine", *steps) is None


def test_the_file_as_it_is_now_is_never_stale():
    for now in ("", "a", "a B c", words(lines(TWENTY))):
        assert undone(now, (HARBOR, "a b", now)) is None
