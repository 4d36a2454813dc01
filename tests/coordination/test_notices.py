"""INCURSION and RESUME as entries of their own, found by bead, by who did it and by whom it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bb.coordination import notices
from bb.coordination.facts import Incurred, Resumed
from bb.kernel.order import sortable

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
    beside = INCURRED.but(outcome="overlapping")
    assert words(beside).keys() == {"protocol", "INCURSION", "bead bb-1", beside.incident, "overlapping"}


def test_3_4_a_resume_is_found_among_all_by_its_type_and_by_each_of_its_beads():
    assert words(RESUMED) == dict.fromkeys(["protocol", "RESUME", "bead bb-2", "bead bb-3"], sortable(AT))


# -- once for each incident


@pytest.mark.parametrize(
    "change", [{"scope": "src/b"}, {"held": "x"}, {"liveness": "stale"}, {"bead": "bb-9"}, {"hint": "x"}]
)
def test_the_same_two_meeting_again_with_the_same_outcome_is_the_same_incident(change: dict[str, str]):
    assert INCURRED.but(**change).incident == INCURRED.incident


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
    assert INCURRED.but(**change).incident != INCURRED.incident


def test_to_work_in_another_part_of_a_reservation_is_another_incident():
    beside = INCURRED.but(outcome="overlapping")
    assert beside.but(scope="src/b").incident != beside.incident == beside.but(kind="exact").incident


# -- any order


@settings(max_examples=30)
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
