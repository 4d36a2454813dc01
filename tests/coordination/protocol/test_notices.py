"""INCURSION and RESUME as entries of their own, found by bead, by who did it and by whom it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Incurred, Resolved, Resumed
from bb.coordination.protocol import notices
from bb.coordination.protocol.notices import Resolution
from bb.kernel.total_order import sortable
from tests.examples import examples

WRITER = "a" * 12
AT = [7, WRITER, 3]
NAME = f"{WRITER}.3"
HELD = f"{WRITER}.1"
MOMENT = "2026-01-05T12:00:00.000Z"
INCURRED = Incurred("ada", "bo1", HELD, "partial", "src/a", "src", "active", "bb-1", "refused", "wait")
RESUMED = Resumed("ada-two", "ada", "ada", "uncommitted_scope", "1 file", "bb-2", ("bb-2", "bb-3"))
EACH = pytest.mark.parametrize("fact", [INCURRED, RESUMED], ids=["incursion", "resume"])


def kept(fact: Any, at: list[Any] | None = None) -> Any:
    return json.loads(json.dumps(notices.step(None, fact, at or AT, MOMENT)))


def words(fact: Any) -> dict[str, str]:
    return dict(notices.terms(NAME, kept(fact)))


@EACH
def test_a_notice_is_an_entry_of_its_own(fact: Any):
    assert notices.keys(fact, AT) == [NAME]
    assert type(fact) in notices.FACTS


@pytest.mark.parametrize(("fact", "kind"), [(INCURRED, "INCURSION"), (RESUMED, "RESUME")])
def test_a_notice_keeps_when_it_was_written_its_type_and_all_that_it_says(fact: Any, kind: str):
    *place, (ts, event_type, said) = kept(fact)["said"]
    assert (place, ts, event_type) == (AT, MOMENT, kind)
    assert said == json.loads(json.dumps(fact.as_dict()))


def test_an_incursion_is_found_among_all_by_its_type_and_by_its_bead():
    place = sortable(AT)
    assert words(INCURRED) == dict.fromkeys(["protocol", "INCURSION", "bead bb-1", INCURRED.incident], place)


def test_where_two_may_be_in_each_others_way_still_is_found_by_itself():
    beside = INCURRED.replace(outcome="overlapping")
    known = notices.overlap_term(beside.reservation, beside.incoming, beside.scope)
    assert words(beside).keys() == {"protocol", "INCURSION", "bead bb-1", beside.incident, known, "unsettled"}


def test_3_4_a_resume_is_found_among_all_by_its_type_and_by_each_of_its_beads():
    assert words(RESUMED) == dict.fromkeys(["protocol", "RESUME", "bead bb-2", "bead bb-3"], sortable(AT))


# -- once for each incident


@pytest.mark.parametrize(
    "change", [{"scope": "src/b"}, {"held": "x"}, {"liveness": "stale"}, {"bead": "bb-9"}, {"hint": "x"}]
)
def test_the_same_two_meeting_again_with_the_same_outcome_is_the_same_incident(change: dict[str, str]):
    assert INCURRED.replace(**change).incident == INCURRED.incident


@pytest.mark.parametrize(
    "change",
    [
        {"reservation": f"{WRITER}.2"},
        {"incoming": "cyd"},
        {"kind": "exact"},
        {"outcome": "overlapping"},
        {"outcome": "taken_over"},
    ],
)
def test_another_reservation_agent_class_or_outcome_is_another_incident(change: dict[str, str]):
    assert INCURRED.replace(**change).incident != INCURRED.incident


def test_to_work_in_another_part_of_a_reservation_is_another_incident():
    beside = INCURRED.replace(outcome="overlapping")
    assert beside.replace(scope="src/b").incident != beside.incident == beside.replace(kind="exact").incident


TOUCHED = INCURRED.replace(outcome="touched", paths=("src/a",), count=1, found_by="hook", mark="m")


def test_what_was_touched_is_the_same_incident_for_the_same_commit_or_else_the_same_mark():
    assert TOUCHED.replace(scope="x", paths=("x",), found_by="ci", kind="exact").incident == TOUCHED.incident
    assert TOUCHED.replace(mark="n").incident != TOUCHED.incident
    commit = TOUCHED.replace(commit="c" * 40)
    assert commit.replace(mark="n").incident == commit.incident != TOUCHED.incident


# -- what becomes of an incursion


def settled(*said: tuple[str, str, int], fact: Incurred = TOUCHED) -> Any:
    """What became of FACT, after (by whom, as what, at which Lamport time) was said, in that order of arrival."""
    state = kept(fact)
    for who, how, lamport in said:
        state = notices.step(state, Resolved(who, NAME, how, "so"), [lamport, WRITER, lamport], MOMENT)
    return notices.resolution(fact, [json.loads(json.dumps(state))])


@pytest.mark.parametrize("who", ["bo1", "user"])
@pytest.mark.parametrize("how", ["accepted", "reverted", "transferred"])
def test_the_owner_and_the_person_settle_an_incursion_as_they_like(who: str, how: str):
    assert settled((who, how, 8)) == Resolution(how, who, MOMENT, "so")


def test_who_came_in_may_only_say_that_it_is_reverted():
    assert settled(("ada", "accepted", 8), ("ada", "transferred", 9)) is None
    assert settled(("ada", "accepted", 8), ("ada", "reverted", 9)) == Resolution("reverted", "ada", MOMENT, "so")


@pytest.mark.parametrize("how", ["accepted", "reverted", "transferred"])
def test_nobody_else_settles_an_incursion(how: str):
    assert settled(("cyd", how, 8)) is None


def test_the_first_who_may_say_so_counts_in_whatever_order_it_comes():
    early, late = ("ada", "reverted", 8), ("bo1", "accepted", 9)
    for said in ([early, late], [late, early]):
        assert settled(*said).state == "reverted"
    assert settled(("cyd", "accepted", 7), late).by == "bo1"


@pytest.mark.parametrize("outcome", ["refused", "taken_over"])
def test_what_never_was_open_is_not_settled(outcome: str):
    assert settled(("bo1", "accepted", 8), fact=INCURRED.replace(outcome=outcome)) is None


def test_what_is_said_of_either_of_two_entries_is_said_of_both():
    one, other = kept(TOUCHED), kept(TOUCHED, [7, "b" * 12, 3])
    other = notices.step(other, Resolved("bo1", "b" * 12 + ".3", "accepted"), [9, WRITER, 9], MOMENT)
    assert notices.resolution(TOUCHED, [one, other]) == Resolution("accepted", "bo1", MOMENT, None)


def test_what_is_unsettled_is_found_by_that_until_somebody_settles_it_who_may():
    assert "unsettled" in words(TOUCHED)
    for who, is_settled in (("cyd", False), ("bo1", True)):
        state = notices.step(kept(TOUCHED), Resolved(who, NAME, "accepted"), [9, WRITER, 9], MOMENT)
        assert ("unsettled" not in dict(notices.terms(NAME, state))) is is_settled


def test_what_becomes_of_an_incursion_that_is_not_known_yet_is_kept_until_it_is():
    resolved = Resolved("bo1", NAME, "accepted")
    assert notices.keys(resolved, [9, WRITER, 9]) == [NAME]
    early = notices.step(None, resolved, [9, WRITER, 9], MOMENT)
    assert not notices.is_known(early)
    assert notices.terms(NAME, early) == []
    late = notices.step(early, TOUCHED, AT, MOMENT)
    assert notices.resolution(notices.notice(late), [late]) == Resolution("accepted", "bo1", MOMENT, None)  # type: ignore[arg-type]


# -- any order

resolutions = st.tuples(
    st.builds(
        Resolved,
        st.sampled_from(["ada", "bo1", "cyd", "user"]),
        st.just(NAME),
        st.sampled_from(["accepted", "reverted", "transferred"]),
        st.sampled_from([None, "so", "no"]),
    ),
    st.tuples(st.integers(1, 9), st.sampled_from([WRITER, "b" * 12]), st.integers(1, 9)).map(list),
)


@examples(80)
@given(
    st.lists(resolutions, max_size=6, unique_by=lambda said: tuple(said[1])),
    st.sampled_from(["touched", "overlapping", "refused"]),
    st.randoms(use_true_random=False),
)
def test_an_incursion_and_all_that_is_said_of_it_make_the_same_in_any_order(said: list[Any], outcome: str, random: Any):
    fact = TOUCHED.replace(outcome=outcome)
    history = [(fact, AT), *said]
    shuffled = [*history, *random.sample(history, len(history) // 2)]
    random.shuffle(shuffled)
    states = []
    for order in (history, shuffled):
        state: Any = None
        for each, at in order:
            state = json.loads(json.dumps(notices.step(state, each, at, MOMENT)))
        states.append(state)
    assert states[0] == states[1], "a fact that is heard twice counts once"
    assert notices.terms(NAME, states[0]) == notices.terms(NAME, states[1])
    assert notices.resolution(fact, states[:1]) == notices.resolution(fact, states[1:])


@examples(30)
@given(st.permutations([(INCURRED, [7, WRITER, 3]), (RESUMED, [8, WRITER, 3]), (INCURRED, [7, "b" * 12, 3])]))
def test_what_stands_first_in_the_total_order_is_what_was_said_in_whatever_order_it_came(history: list[Any]):
    state = None
    for fact, at in history:
        state = notices.step(state, fact, at, MOMENT)
    assert state == notices.step(None, INCURRED, AT, MOMENT)


@EACH
def test_a_notice_that_is_heard_twice_is_one(fact: Any):
    once = kept(fact)
    before = json.dumps(once)
    assert notices.step(once, fact, AT, MOMENT) == once
    assert json.dumps(once) == before
