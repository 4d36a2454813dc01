"""Standing in line: whoever came first is served first, and nobody waits in a circle."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.holdings import queue
from bb.coordination.holdings.queue import ReservationAwaited, WaitDeadlock, Waiter
from bb.coordination.holdings.scopes import Scope
from bb.kernel.errors import Refusal
from tests.examples import examples


def waiter(number: int, agent: str, *scopes: str, **flags: bool) -> Waiter:
    return Waiter(number, agent, tuple(map(Scope, scopes)), **flags)


LAST = 99
LINE = [waiter(1, "ada", "src"), waiter(2, "bo1", "docs"), waiter(3, "cyd", "src/a", "tests")]


def ahead(agent: str, wanted: str, number: int | None = None, *, ignore_case: bool = False) -> list[str]:
    """Who is served before the agent is, when it wants these scopes."""
    me = waiter(LAST if number is None else number, agent, *wanted.split())
    return [each.agent for each in queue.ahead(me, iter(LINE), ignore_case=ignore_case)]


# -- first come, first served


@pytest.mark.parametrize(
    ("wanted", "before"),
    [
        ("src", ["ada", "cyd"]),
        ("src/a/b", ["ada", "cyd"]),
        ("src/b", ["ada"]),
        ("docs", ["bo1"]),
        ("docs tests/x", ["bo1", "cyd"]),
        (".", ["ada", "bo1", "cyd"]),
        ("elsewhere", []),
    ],
)
def test_who_has_just_come_is_behind_everybody_who_wants_a_part_of_the_same(wanted: str, before: list[str]):
    assert ahead("dan", wanted) == before


@pytest.mark.parametrize(
    ("number", "before"), [(0, []), (1, []), (2, ["ada"]), (3, ["ada"]), (4, ["ada", "cyd"]), (None, ["ada", "cyd"])]
)
def test_who_stands_in_line_is_behind_those_with_a_lower_number_only(number: int | None, before: list[str]):
    assert ahead("dan", "src", number) == before


def test_nobody_waits_for_itself():
    assert ahead("ada", "src") == ["cyd"]
    assert ahead("cyd", "src/a", 3) == ["ada"]


def test_an_empty_line_lets_everybody_pass():
    assert queue.ahead(waiter(LAST, "dan", "src"), [], ignore_case=False) == []


@pytest.mark.parametrize(("ignore_case", "before"), [(True, ["ada", "cyd"]), (False, [])])
def test_case_counts_in_line_where_it_counts_in_paths(ignore_case: bool, before: list[str]):
    assert ahead("dan", "SRC", ignore_case=ignore_case) == before


def test_those_who_share_with_each_other_do_not_wait_for_each_other():
    line = [waiter(1, "ada", "src", shared=True)]
    assert queue.ahead(waiter(2, "bo1", "src", shared=True), line, ignore_case=False) == []
    assert queue.ahead(waiter(2, "bo1", "src"), line, ignore_case=False) == line


def test_who_allows_overlaps_waits_for_the_very_same_scope_only():
    line = [waiter(1, "ada", "src")]
    assert queue.ahead(waiter(2, "bo1", "src/a", allow_overlap=True), line, ignore_case=False) == []
    assert queue.ahead(waiter(2, "bo1", "src", allow_overlap=True), line, ignore_case=False) == line


# -- never in a circle


@pytest.mark.parametrize(
    ("waits_for", "way"),
    [
        ({}, None),
        ({"ada": []}, None),
        ({"ada": ["bo1"]}, None),
        ({"ada": ["bo1"], "bo1": ["cyd"]}, None),
        ({"ada": ["ada"]}, ["ada", "ada"]),
        ({"ada": ["bo1"], "bo1": ["ada"]}, ["ada", "bo1", "ada"]),
        ({"ada": ["bo1"], "bo1": ["cyd"], "cyd": ["ada"]}, ["ada", "bo1", "cyd", "ada"]),
        ({"ada": ["bo1", "cyd"], "bo1": ["dan"], "dan": ["ada"], "cyd": ["ada"]}, ["ada", "cyd", "ada"]),
        ({"ada": ["cyd", "bo1"], "bo1": ["ada"], "cyd": ["ada"]}, ["ada", "bo1", "ada"]),
    ],
)
def test_a_circle_is_the_shortest_way_back_to_where_it_starts(waits_for: dict[str, list[str]], way: list[str] | None):
    assert queue.circle("ada", waits_for) == way


def test_a_circle_of_others_that_one_waits_for_is_none_of_ones_own():
    assert queue.circle("ada", {"ada": ["bo1"], "bo1": ["cyd"], "cyd": ["bo1"]}) is None


def test_a_circle_of_a_thousand_is_found():
    names = [str(n) for n in range(1000)]
    waits_for = {one: [other] for one, other in pairwise([*names, "0"])}
    assert queue.circle("0", waits_for) == [*names, "0"]


def test_hundreds_who_all_wait_for_each_other_are_looked_at_once_each():
    names = [str(n) for n in range(1, 300)]
    waits_for = dict.fromkeys(["0", *names], names)
    assert queue.circle("0", waits_for) is None


crowd = st.sampled_from("abcdef")


@examples(60)
@given(st.dictionaries(crowd, st.lists(crowd, max_size=3)))
def test_a_circle_is_found_exactly_if_one_waits_for_oneself_in_the_end(waits_for: dict[str, list[str]]):
    reached, last = set(waits_for.get("a", [])), None
    while reached != last:
        last = set(reached)
        reached |= {each for name in last for each in waits_for.get(name, [])}
    way = queue.circle("a", waits_for)
    assert (way is not None) is ("a" in reached)
    if way:
        assert way[0] == way[-1] == "a"
        assert len(set(way[1:])) == len(way) - 1
        assert all(other in waits_for[one] for one, other in pairwise(way))


@pytest.mark.parametrize(
    ("refusal", "code"), [(ReservationAwaited, "RESERVATION_AWAITED"), (WaitDeadlock, "WAIT_DEADLOCK")]
)
def test_whoever_may_not_wait_is_told_what_to_do_instead(refusal: Refusal, code: str):
    assert (refusal().code, refusal().exit_status) == (code, 7)
    assert refusal().hint
