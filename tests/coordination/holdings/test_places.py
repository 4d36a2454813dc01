"""A place in line is a fold: its agent or the person ends it, the first end counts, and no order of arrival matters."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from bb.coordination.facts import PLACE_ENDS, LeftLine
from bb.coordination.holdings import places
from bb.coordination.holdings.places import Place
from bb.coordination.holdings.reservations import Wanted
from bb.coordination.holdings.scopes import Scope
from bb.kernel import clock
from bb.ops.desk import signs_of_life

A, B = "a" * 12, "b" * 12
NAME = f"{A}.1"
NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z
UNTIL = NOON + clock.HOUR
WANTED = Wanted("ada", (Scope("src"), Scope("a.py", is_file=True)), "bb-1", 60, takeover=True)
MADE = (places.queued(WANTED, UNTIL, 3), [1, A, 1])


def left(by: str, how: str, lamport: int) -> tuple[Any, list[Any]]:
    return LeftLine(by, NAME, how), [lamport, B, lamport]


def fold(*history: tuple[Any, list[Any]]) -> Any:
    """The state after a history; between any two facts it goes through JSON, as it does when it is kept."""
    state = None
    for fact, at in history:
        state = json.loads(json.dumps(places.step(state, fact, at, clock.text(NOON + at[0]))))
    return state


def told(*history: tuple[Any, list[Any]]) -> Place:
    found = places.place(NAME, fold(*history))
    assert found is not None
    return found


def words(*history: tuple[Any, list[Any]]) -> set[str]:
    return {term for term, _ in places.terms(NAME, fold(*history))}


def test_a_place_keeps_the_whole_request():
    place = told(MADE)

    assert place.wanted() == WANTED
    assert (place.until, place.number, place.state, place.ended_at) == (UNTIL, 3, "waiting", None)
    assert place.waiter().scopes == WANTED.scopes


def test_a_place_is_found_by_its_agent_and_as_live_until_it_ends():
    assert words(MADE) == {"of ada", "live", "live of ada"}
    assert words(MADE, left("ada", "granted", 2)) == {"of ada"}


def test_the_cheap_question_of_every_act_asks_for_live_places():
    assert signs_of_life.LINE == (places.NAME, places.LIVE)


@pytest.mark.parametrize("how", PLACE_ENDS)
@pytest.mark.parametrize("by", ["ada", "user"])
def test_its_agent_and_the_person_end_it(by: str, how: str):
    place = told(MADE, left(by, how, 2))
    assert (place.state, place.ended_at) == (how, NOON + 2)


def test_nobody_else_ends_it():
    assert told(MADE, left("bo1", "cancelled", 2)).state == "waiting"
    assert words(MADE, left("bo1", "cancelled", 2)) == words(MADE)


def test_the_first_end_counts_in_whatever_order_the_lines_arrive():
    history = [MADE, left("bo1", "retired", 2), left("ada", "cancelled", 3), left("ada", "granted", 4)]
    for order in itertools.permutations(history):
        assert told(*order) == told(*history)
    assert told(*history).state == "cancelled"


def test_an_end_without_its_beginning_is_nothing_yet():
    assert places.place(NAME, fold(left("ada", "granted", 2))) is None
    assert words(left("ada", "granted", 2)) == set()


def test_a_place_for_a_scope_that_this_version_does_not_understand_is_none():
    fact, at = MADE
    assert places.place(NAME, fold((fact.replace(scopes=["src", "[z-a]/\\"]), at))) is None
