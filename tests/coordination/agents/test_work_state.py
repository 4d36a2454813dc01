"""The state of a session is the first in the list that holds."""

from __future__ import annotations

import pytest

from bb.coordination.agents import work_state

STATUSES = [None, "", "open", "in_progress", "hooked", "blocked", "closed", "tombstone", "done", "deferred", "CLOSED"]
ALIVE = [None, "active", "stale", "evicted"]
BOTH = [False, True]


def state(status: str | None = "open", alive: str | None = None, owed: bool = False, held: bool = False) -> str:
    return work_state.state(status, alive, is_owed=owed, is_held=held)


def every(statuses: list[str | None] | list[str]) -> list[tuple[str | None, str | None, bool, bool]]:
    """Every situation of a bead with one of these statuses."""
    return [(status, alive, owed, held) for status in statuses for alive in ALIVE for owed in BOTH for held in BOTH]


def test_the_states_are_these_in_this_order():
    assert work_state.STATES == ("completed", "needs_input", "evicted", "stale", "active", "deciding")


@pytest.mark.parametrize("status", ["closed", "tombstone", "done"])
def test_what_is_closed_is_completed_whatever_else_is_true_of_it(status: str):
    assert {state(*situation) for situation in every([status])} == {"completed"}


def test_nothing_that_is_not_closed_is_completed():
    assert "completed" not in {
        state(*each) for each in every(STATUSES) if each[0] not in ("closed", "tombstone", "done")
    }


def test_what_is_blocked_needs_input_even_when_its_owner_has_gone():
    assert {state(*situation) for situation in every(["blocked"])} == {"needs_input"}


@pytest.mark.parametrize("status", [None, "", "open", "in_progress", "hooked", "deferred"])
def test_what_somebody_owes_an_answer_to_needs_input_even_when_its_owner_has_gone(status: str | None):
    assert {state(*situation) for situation in every([status]) if situation[2]} == {"needs_input"}


@pytest.mark.parametrize(("alive", "expected"), [("active", "active"), ("stale", "stale"), ("evicted", "evicted")])
@pytest.mark.parametrize("status", ["in_progress", "hooked"])
def test_what_is_being_worked_on_is_as_alive_as_its_owner(status: str, alive: str, expected: str):
    assert state(status, alive) == state(status, alive, held=True) == expected


@pytest.mark.parametrize(("alive", "expected"), [("active", "active"), ("stale", "stale"), ("evicted", "evicted")])
@pytest.mark.parametrize("status", [None, "", "open", "deferred"])
def test_what_is_held_is_as_alive_as_its_holder_whatever_the_tracker_says(
    status: str | None, alive: str, expected: str
):
    assert state(status, alive, held=True) == expected


@pytest.mark.parametrize("status", ["in_progress", "hooked"])
def test_what_is_being_worked_on_by_nobody_known_is_active(status: str):
    assert state(status, None) == "active"


@pytest.mark.parametrize("alive", ALIVE)
@pytest.mark.parametrize("status", [None, "", "open", "deferred"])
def test_what_nobody_works_on_or_holds_is_deciding(status: str | None, alive: str | None):
    assert state(status, alive) == "deciding"
