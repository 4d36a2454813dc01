"""Which dialects are spoken: one of a name counts, until it is replaced or removed; of two, neither."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl import dialects
from bb.cbcl.facts import Installed, Removed
from tests.cbcl.trees import STEADY

WRITERS = ("aaaabbbbcccc", "ddddeeeeffff")
Fact = Installed | Removed
State = dict[str, Any]


def installed(hashed: str, replaces: str = "", by: str = "ada") -> Installed:
    return Installed(by, "work", f"(define work {hashed})", hashed, "lab", "valid", "file x", "", replaces)


def removed(hashed: str) -> Removed:
    return Removed("ada", "work", hashed)


def folded(said: list[tuple[list[Any], Fact]]) -> State | None:
    """The state after these facts, each at its place, in the order in which they arrive."""
    state: State | None = None
    for at, fact in said:
        assert dialects.keys(fact, at) == ["work"]
        state = dialects.step(state, fact, at, f"2026-01-05T12:00:{at[0]:02}.000Z")
    return state


def live(*facts: Fact) -> list[str]:
    """The hashes of the definitions that are installed after these facts, in order."""
    said = [([place, WRITERS[0], place], fact) for place, fact in enumerate(facts, 1)]
    return [each.hash for each in dialects.live("work", folded(said))]


@pytest.mark.parametrize(
    ("facts", "hashes"),
    [
        ([], ""),
        ([installed("a")], "a"),
        ([installed("a"), installed("a")], "a"),
        ([installed("a"), installed("b")], "ab"),
        ([installed("a"), installed("b", replaces="a")], "b"),
        ([installed("a"), installed("b", replaces="x")], "ab"),
        ([installed("a"), installed("b", replaces="a"), installed("c", replaces="a")], "bc"),
        ([installed("a"), installed("b"), installed("c", replaces="a b")], "c"),
        ([installed("a"), installed("b"), installed("b", replaces="a b")], "b"),
        ([installed("a"), installed("b", replaces="a"), installed("a", replaces="b")], "a"),
        ([installed("a"), removed("a")], ""),
        ([installed("a"), removed("b")], "a"),
        ([removed("a"), installed("a")], "a"),
        ([installed("a"), installed("b"), removed("a")], "b"),
        ([installed("a"), removed("a"), installed("b")], "b"),
        ([installed("a"), installed("b", replaces="a"), removed("a")], "b"),
    ],
)
def test_what_is_installed_stays_until_it_is_replaced_or_removed_by_its_hash(facts: list[Fact], hashes: str):
    assert live(*facts) == list(hashes)


def test_what_is_kept_says_who_brought_it_and_by_which_line():
    state = folded([([5, WRITERS[1], 1], installed("b")), ([3, WRITERS[0], 2], installed("a", by="bo"))])
    first, other = dialects.live("work", state)

    assert (first.name, first.hash, first.event, first.by) == ("work", "a", f"{WRITERS[0]}.2", "bo")
    assert first.ts == "2026-01-05T12:00:03.000Z"
    assert (first.author, first.signature, first.source) == ("lab", "valid", "file x")
    assert (other.hash, other.event) == ("b", f"{WRITERS[1]}.1")


def test_the_history_has_everything_that_was_done_oldest_first():
    state = folded(
        [([2, WRITERS[0], 2], removed("a")), ([1, WRITERS[0], 1], installed("a")), ([3, WRITERS[0], 3], installed("b"))]
    )
    told = dialects.history("work", state)

    assert [(each["action"], each["hash"]) for each in told] == [
        ("installed", "a"),
        ("removed", "a"),
        ("installed", "b"),
    ]
    assert [each.get("source") for each in told] == ["file x", None, "file x"]
    assert dialects.history("work", None) == []


HASHES = st.sampled_from("abc")
FACTS = st.builds(installed, HASHES, HASHES | st.just("")) | st.builds(removed, HASHES)


@STEADY
@given(st.lists(st.tuples(st.sampled_from(WRITERS), FACTS), max_size=8), st.randoms(use_true_random=False))
def test_facts_may_arrive_in_any_order_and_twice(said: list[tuple[str, Fact]], chance: random.Random):
    placed = [([place // 2, writer, place], fact) for place, (writer, fact) in enumerate(said)]
    shuffled = chance.sample(placed + placed, 2 * len(placed))

    assert folded(shuffled) == folded(sorted(placed, key=lambda each: each[0]))
