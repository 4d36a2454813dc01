"""A reservation is a fold: it ends when its holder says so, when it is taken over, or in time by itself."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Expired, Released, Renewed, Reserved, TakenOver, Transferred
from bb.coordination.holdings import holdings, scopes
from bb.coordination.holdings.holdings import Reservation
from bb.kernel import clock
from bb.kernel.total_order import sortable
from tests.examples import examples

A, B = "a" * 12, "b" * 12
NAME = f"{A}.1"
MINUTE, HOUR = clock.MINUTE, clock.HOUR
NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z

Said = tuple[Any, tuple[int, str, int], str]  # a fact, its place in the total order, and when it was written


def said(fact: Any, lamport: int, writer: str = B, minute: int | None = None) -> Said:
    return fact, (lamport, writer, lamport), clock.text(NOON + (lamport if minute is None else minute) * MINUTE)


def fold(history: list[Said]) -> Any:
    """The state after a history; between any two facts it goes through JSON, as it does when it is kept."""
    state = None
    for fact, place, ts in history:
        state = json.loads(json.dumps(holdings.step(state, fact, list(place), ts)))
    return state


def told(*history: Said) -> Reservation:
    found = holdings.reservation(NAME, fold(list(history)))
    assert found is not None
    return found


def words(*history: Said) -> set[str]:
    """What it is found by."""
    return {term for term, _ in holdings.terms(NAME, fold(list(history)))}


MADE = said(Reserved("ada", "src", "bb-1", 120), 1, A, minute=0)
TAKEN = TakenOver("bo1", NAME, "ada", "stale", "taken_over")
GIVEN = Transferred("ada", NAME, "bo1")


# -- one fact after another


def test_what_was_reserved_is_held():
    assert told(MADE) == Reservation(
        id=NAME,
        agent="ada",
        scope="src",
        bead="bb-1",
        ttl=120,
        shared=False,
        is_file=False,
        made_at=NOON,
        renewed_at=NOON,
        state="active",
        ended_at=None,
        ended_by=None,
        place=sortable([1, A, 1]),
        ended_place=None,
    )


@pytest.mark.parametrize("flag", ["shared", "is_file"])
def test_what_was_reserved_keeps_its_flags(flag: str):
    fact, place, ts = MADE
    assert getattr(told((fact.replace(**{flag: True}), place, ts)), flag) is True


@pytest.mark.parametrize(
    ("end", "state", "by"),
    [
        (Released("ada", NAME), "released", "ada"),
        (Released("user", NAME), "released", "user"),
        (Expired("bo1", NAME), "expired", "bo1"),
        (TAKEN, "taken_over", "bo1"),
        (TAKEN.replace(archived="expired"), "expired", "bo1"),
    ],
)
def test_a_reservation_ends_in_the_state_that_was_recorded(end: Any, state: str, by: str):
    found = told(MADE, said(end, 7))
    assert (found.state, found.ended_by, found.ended_at) == (state, by, NOON + 7 * MINUTE)


def test_a_release_by_somebody_else_ends_nothing():
    assert told(MADE, said(Released("bo1", NAME), 7)) == told(MADE)


def test_of_several_ends_the_first_in_the_total_order_counts():
    first, second, third = said(Released("ada", NAME), 5), said(TAKEN, 6), said(Expired("cyd", NAME), 7)
    for history in ([first, second, third], [third, second, first], [second, third, first]):
        assert told(MADE, *history).state == "released"
    assert told(MADE, third, second).state == "taken_over"


def test_an_end_is_first_by_its_place_and_not_by_its_clock():
    early, late = said(Released("ada", NAME), 5, minute=50), said(TAKEN, 6, minute=2)
    assert told(MADE, late, early).state == "released"


def test_a_release_by_somebody_else_does_not_hide_a_later_one_by_the_holder():
    assert told(MADE, said(Released("bo1", NAME), 5), said(Released("ada", NAME), 6)).state == "released"


def test_a_renewal_after_the_end_brings_nothing_back():
    assert told(MADE, said(Released("ada", NAME), 5), said(Renewed("ada", NAME, 60), 6)).state == "released"


def test_a_renewal_by_the_holder_counts_from_then_and_may_change_the_time():
    found = told(MADE, said(Renewed("ada", NAME, 30), 9))
    assert (found.made_at, found.renewed_at, found.ttl) == (NOON, NOON + 9 * MINUTE, 30)


def test_a_renewal_by_somebody_else_changes_nothing():
    assert told(MADE, said(Renewed("bo1", NAME, 30), 9)) == told(MADE)


def test_a_person_may_renew_what_an_agent_holds_and_the_last_of_them_counts():
    own, persons = said(Renewed("ada", NAME, 60), 8), said(Renewed("user", NAME, 30), 9)
    assert told(MADE, persons).ttl == told(MADE, own, persons).ttl == told(MADE, persons, own).ttl == 30
    assert told(MADE, persons, said(Renewed("ada", NAME, 60), 10)).ttl == 60


def test_the_renewal_that_stands_last_counts_whichever_came_first():
    one, other = said(Renewed("ada", NAME, 30), 5), said(Renewed("ada", NAME, 60), 8)
    assert told(MADE, one, other) == told(MADE, other, one)
    assert told(MADE, other, one).ttl == 60


def test_a_renewal_by_a_clock_that_is_behind_does_not_shorten_what_was_reserved():
    assert told(MADE, said(Renewed("ada", NAME, 120), 9, minute=-600)).renewed_at == NOON


@pytest.mark.parametrize("fact", [Renewed("ada", NAME, 9), Released("ada", NAME), Expired("ada", NAME), TAKEN])
def test_a_reservation_whose_making_is_not_known_here_yet_is_none_and_is_not_found(fact: Any):
    assert holdings.reservation(NAME, fold([said(fact, 5)])) is None
    assert words(said(fact, 5)) == set()


def test_nothing_is_held_before_anything_was_said():
    assert holdings.reservation(NAME, None) is None


def test_a_moment_that_is_none_counts_as_long_ago():
    fact, place, _ = MADE
    assert told((fact, place, "yesterday")).made_at == 0


def test_every_fact_is_about_the_reservation_that_it_names():
    assert holdings.keys(MADE[0], [1, A, 1]) == [NAME]
    for fact in (Renewed("ada", NAME, 9), Released("ada", NAME), Expired("ada", NAME), TAKEN, GIVEN):
        assert holdings.keys(fact, [5, B, 5]) == [NAME]
        assert type(fact) in holdings.FACTS


# -- when it ends by itself


def test_a_reservation_ends_its_time_after_the_last_sign_of_life():
    made = told(MADE)
    assert made.expiry(0, NOON) == NOON + 120 * MINUTE
    for minute in (1, 60, 1000):
        seen_at = NOON + minute * MINUTE
        assert made.expiry(seen_at, seen_at + 5 * MINUTE) == seen_at + 120 * MINUTE


def test_an_agent_that_was_last_seen_before_it_reserved_has_its_whole_time():
    assert told(MADE).expiry(NOON - 10 * HOUR, NOON + MINUTE) == NOON + 120 * MINUTE


def test_a_renewal_counts_as_a_sign_of_life():
    made = told(MADE, said(Renewed("ada", NAME, 30), 90))
    assert made.expiry(NOON, NOON + 100 * MINUTE) == NOON + 120 * MINUTE


@pytest.mark.parametrize("hours", [22, 23, 24, 48])
def test_however_alive_its_holder_nothing_is_held_for_more_than_a_day_without_a_word(hours: int):
    seen_at = NOON + hours * HOUR
    assert told(MADE).expiry(seen_at, seen_at) == NOON + 24 * HOUR


def test_the_day_is_the_bound_only_from_the_moment_that_the_time_would_go_beyond_it():
    last = NOON + 22 * HOUR
    assert told(MADE).expiry(last - 1, last) == NOON + 24 * HOUR - 1
    assert told(MADE).expiry(last + 1, last + 1) == NOON + 24 * HOUR


def test_a_word_begins_a_new_day():
    made = told(MADE, said(Renewed("ada", NAME, 120), 2, minute=20 * 60))
    seen_at = NOON + 43 * HOUR
    assert made.expiry(seen_at, seen_at) == NOON + 44 * HOUR


def test_no_recorded_time_to_live_outlasts_the_day():
    fact, place, ts = MADE
    assert told((fact.replace(ttl=2**31 - 1), place, ts)).expiry(NOON, NOON) == NOON + 24 * HOUR


def test_a_sign_of_life_by_a_clock_ahead_of_ours_counts_as_just_now():
    assert told(MADE).expiry(NOON + 10 * HOUR, NOON + HOUR) == NOON + 3 * HOUR


def test_a_reservation_by_a_clock_ahead_of_ours_counts_as_made_just_now():
    assert told(MADE).expiry(0, NOON - 10 * HOUR) == NOON - 8 * HOUR


@examples(60)
@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 3000), st.integers(5, 1440))
def test_a_later_sign_of_life_never_ends_a_reservation_sooner(one: int, other: int, now: int, ttl: int):
    fact, place, ts = MADE
    made = told((fact.replace(ttl=ttl), place, ts))
    earlier, later = (NOON + minute * MINUTE for minute in sorted([one, other]))
    ends = [made.expiry(seen_at, NOON + now * MINUTE) for seen_at in (earlier, later)]
    assert ends == sorted(ends)
    assert NOON < ends[0] <= ends[1] <= NOON + 24 * HOUR


# -- what it is found by

EVER = {"of ada", "bead bb-1"}


def test_what_is_held_is_found_by_holder_bead_and_place():
    assert words(MADE) == EVER | {"live", "live of ada", "at"}


def test_a_file_is_found_as_one():
    fact, place, ts = MADE
    assert words((fact.replace(is_file=True), place, ts)) == EVER | {"live", "live of ada", "file"}


def test_its_place_is_the_scopes_lead():
    assert ("at", scopes.lead(scopes.Scope("src"))) in holdings.terms(NAME, fold([MADE]))


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (Released("ada", NAME), "released"),
        (Released("user", NAME), "released"),
        (Expired("bo1", NAME), "expired"),
        (TAKEN, "taken_over"),
    ],
)
def test_what_has_ended_is_found_in_history_only_and_by_how_it_ended(end: Any, how: str):
    lost = set() if end.agent == "ada" else {"lost ada"}
    assert words(MADE, said(end, 7)) == EVER | {how} | lost


@pytest.mark.parametrize("fact", [Released("bo1", NAME), Renewed("ada", NAME, 9)])
def test_what_ends_nothing_leaves_it_found(fact: Any):
    assert words(MADE, said(fact, 7)) == words(MADE)


@pytest.mark.parametrize("text", ["", "/src", "src/", "../x", "src//a", "a\x00b", "\ud800", "x" * 5000])
def test_a_scope_that_says_nothing_stands_in_nobodys_way(text: str):
    assert words(said(Reserved("ada", text, "bb-1", 120), 1, A)) == EVER


# -- passed on


def holder(*history: Said) -> tuple[str, str]:
    """Who has it, and what it is worth."""
    found = told(*history)
    return found.agent, found.state


@pytest.mark.parametrize("by", ["ada", "user"])
def test_what_its_holder_or_the_person_passes_on_is_held_as_it_was_from_then_on(by: str):
    before, after = holdings.tenures(NAME, fold([MADE, said(Transferred(by, NAME, "bo1"), 7)]))

    assert (before.agent, before.state, before.ended_by, before.ended_at) == ("ada", "transferred", by, after.made_at)
    assert (after.agent, after.state, after.given_by) == ("bo1", "active", by)
    assert (after.scope, after.bead, after.ttl, after.id) == ("src", "bb-1", 120, NAME)
    assert after.made_at == after.renewed_at == NOON + 7 * MINUTE


@pytest.mark.parametrize("by", ["bo1", "cyd"])
def test_what_anybody_else_says_of_whose_it_is_counts_for_nothing(by: str):
    assert told(MADE, said(Transferred(by, NAME, "bo1"), 7)) == told(MADE)


def test_its_former_holder_neither_ends_nor_renews_nor_passes_on_what_it_has_passed_on():
    given = [MADE, said(GIVEN, 7)]
    for fact in (Released("ada", NAME), Renewed("ada", NAME, 9), Transferred("ada", NAME, "cyd")):
        assert told(*given, said(fact, 8)) == told(*given)
    assert holder(*given, said(Released("bo1", NAME), 8)) == ("bo1", "released")
    assert holder(*given, said(Transferred("bo1", NAME, "cyd"), 8)) == ("cyd", "active")


def test_what_came_back_is_its_first_holders_to_end_again():
    stale = said(Released("ada", NAME), 8)  # by a clone that did not know yet
    history = [MADE, said(GIVEN, 7), stale, said(Transferred("bo1", NAME, "ada"), 9)]
    assert holder(*history) == ("ada", "active")
    assert holder(*history, said(Released("ada", NAME), 10)) == ("ada", "released")


def test_what_had_ended_is_passed_on_no_more():
    assert holder(MADE, said(Released("ada", NAME), 6), said(GIVEN, 7)) == ("ada", "released")


def test_a_time_that_was_changed_is_passed_on_too_and_counts_from_then():
    found = told(MADE, said(Renewed("ada", NAME, 30), 5), said(GIVEN, 7))
    assert (found.ttl, found.renewed_at) == (30, NOON + 7 * MINUTE)


@pytest.mark.parametrize("deciding", [{"base": "f" * 40}, {"order": "f" * 16}])
def test_what_is_held_in_every_clone_is_not_passed_on_and_its_holder_and_the_person_end_it(deciding: dict[str, str]):
    fact, place, ts = MADE
    everywhere = (fact.replace(**deciding), place, ts)
    assert told(everywhere).is_global
    assert holder(everywhere, said(GIVEN, 7)) == ("ada", "active")
    assert holder(everywhere, said(TakenOver("bo1", NAME, "ada", "stale", "expired"), 7)) == ("ada", "active")
    assert holder(everywhere, said(Released("ada", NAME), 7)) == ("ada", "released")
    assert holder(everywhere, said(Expired("user", NAME), 7)) == ("ada", "expired")


def test_what_is_frozen_is_not_passed_on():
    fact, place, ts = MADE
    frozen = fact.replace(agent="user")
    assert holder((frozen, place, ts), said(Transferred("user", NAME, "bo1"), 7)) == ("user", "active")


def test_it_is_found_by_each_who_ever_held_it_and_as_live_by_the_last():
    assert words(MADE, said(GIVEN, 7)) == EVER | {"of bo1", "live", "live of bo1", "at"}


# -- frozen

FROZEN = said(Reserved("user", "src", "freeze", holdings.FOREVER, why="release"), 1, A, minute=0)


def test_a_freeze_lasts_until_it_is_lifted_whoever_is_at_work():
    found = told(FROZEN)
    assert found.is_freeze
    assert found.has_no_end
    assert found.expiry(0, NOON) == found.expiry(NOON, NOON + 400 * clock.DAY) > NOON + 1000 * clock.DAY
    assert holder(FROZEN, said(Released("user", NAME), 7)) == ("user", "released")


def test_a_freeze_for_a_while_ends_then_and_does_not_slide():
    fact, place, ts = FROZEN
    found = told((fact.replace(ttl=3000), place, ts))
    assert not found.has_no_end
    assert found.expiry(NOON + 40 * HOUR, NOON + 40 * HOUR) == NOON + 50 * HOUR


@pytest.mark.parametrize("by", ["ada", "bo1"])
@pytest.mark.parametrize(
    "make",
    [
        lambda by: Released(by, NAME),
        lambda by: Expired(by, NAME),
        lambda by: TakenOver(by, NAME, "user", "evicted", "expired"),
        lambda by: Renewed(by, NAME, 5),
        lambda by: Transferred(by, NAME, by),
    ],
)
def test_nothing_that_an_agent_says_changes_a_freeze(make: Any, by: str):
    assert told(FROZEN, said(make(by), 7)) == told(FROZEN)
    assert words(FROZEN, said(make(by), 7)) == words(FROZEN) == {"of user", "live", "live of user", "at"}


# -- any order

agents = st.sampled_from(["ada", "bo1", "user"])
facts = st.one_of(
    st.builds(Renewed, agents, st.just(NAME), st.integers(5, 9)),
    st.builds(Released, agents, st.just(NAME)),
    st.builds(Expired, agents, st.just(NAME)),
    st.builds(
        TakenOver, agents, st.just(NAME), st.just("ada"), st.just("stale"), st.sampled_from(["expired", "taken_over"])
    ),
)
later = st.tuples(
    facts,
    st.tuples(st.integers(1, 4), st.sampled_from([A, B]), st.integers(2, 9)),
    st.sampled_from([*(clock.text(NOON + minute * MINUTE) for minute in range(-3, 4)), "yesterday"]),
)
histories = st.tuples(st.sampled_from([[], [MADE]]), st.lists(later, max_size=7, unique_by=lambda said: said[1])).map(
    lambda parts: parts[0] + parts[1]
)


@examples(80)
@given(histories, st.randoms(use_true_random=False))
def test_the_same_facts_in_any_order_make_the_same_reservation(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(history)
    assert fold(history + shuffled) == fold(history), "a fact that is heard twice counts once"


passing = st.one_of(facts, st.builds(Transferred, agents, st.just(NAME), st.sampled_from(["ada", "bo1", "cyd"])))
passed = st.tuples(
    st.sampled_from([[], [MADE], [FROZEN]]),
    st.lists(st.tuples(passing, later.map(lambda said: said[1]), st.just(clock.text(NOON))), unique_by=lambda s: s[1]),
).map(lambda parts: parts[0] + parts[1])


@examples(120)
@given(passed, st.randoms(use_true_random=False))
def test_who_holds_what_was_passed_on_depends_on_the_order_of_the_ledger_alone(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert fold(history + shuffled) == fold(shuffled) == fold(history)


@examples(120)
@given(passed)
def test_each_holder_has_it_from_whom_the_one_before_or_the_person_gave_it_to(history: list[Said]):
    tenures = list(holdings.tenures(NAME, fold(history)))
    for one, other in itertools.pairwise(tenures):
        assert one.state == "transferred"
        assert other.given_by in (one.agent, "user")
        assert one.ended_place == other.place
    assert [each.state for each in tenures[:-1]].count("transferred") == len(tenures[:-1])
    assert not tenures or tenures[-1].state != "transferred"


@examples(80)
@given(histories)
def test_what_is_found_as_live_is_what_has_not_ended(history: list[Said]):
    state = fold(history)
    found = holdings.reservation(NAME, state)
    is_live = "live" in {term for term, _ in holdings.terms(NAME, state or {})}
    assert is_live is (found is not None and found.state == "active")
    ends = [fact for fact, _, _ in history if isinstance(fact, Expired | TakenOver)]
    ends += [fact for fact, _, _ in history if isinstance(fact, Released) and fact.agent in ("ada", "user")]
    assert found is None or (found.state == "active") is not bool(ends)


@examples(40)
@given(histories, facts)
def test_a_step_leaves_the_state_before_it_as_it_was(history: list[Said], fact: Any):
    before = fold(history)
    kept = json.dumps(before)
    holdings.step(before, fact, [99, B, 99], clock.text(NOON))
    assert json.dumps(before) == kept
