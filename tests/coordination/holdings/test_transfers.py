"""Passing a reservation on: by its holder or the person, as it is, to one agent."""

from __future__ import annotations

import pytest

from bb.coordination.facts import Released, Transferred
from bb.coordination.holdings import transfers
from bb.coordination.holdings.held import Held
from bb.coordination.holdings.reservations import ReservationNotFound
from bb.coordination.holdings.scopes import Scope
from bb.coordination.holdings.transfers import GlobalTransfer, ManyHolders, TransferForbidden
from tests.coordination.holdings.test_freezing import frozen
from tests.coordination.holdings.test_reservations import ADA, BO, CY, held, meetings

SRC = Scope("src")
USER = "user"


def given(who: str, *there: Held, whose: str | None = None) -> Held:
    return transfers.transferable(who, SRC, meetings([SRC], there), whose)


@pytest.mark.parametrize("who", [ADA, USER])
def test_the_holder_and_the_person_may_pass_it_on(who: str):
    mine = held(ADA)
    assert given(who, mine) == mine
    assert transfers.transfer(who, mine, BO, meetings([SRC], [mine])) == [Transferred(who, mine.reservation.id, BO)]


def test_nobody_else_may():
    with pytest.raises(TransferForbidden.error) as refusal:
        given(BO, held(ADA))
    assert refusal.value.exit_status == 5
    assert refusal.value.details["agent_id"] == ADA


@pytest.mark.parametrize("there", [[], [held(ADA, "src/lib")], [held(ADA, ttl=5, silent=60)], [frozen("src")]])
@pytest.mark.parametrize("who", [ADA, USER])
def test_only_what_is_held_on_exactly_that_scope_can_be_passed_on(who: str, there: list[Held]):
    with pytest.raises(ReservationNotFound.error):
        given(who, *there)


def test_of_several_who_share_it_the_person_says_whose():
    both = held(ADA, shared=True), held(CY, shared=True, n=2)
    with pytest.raises(ManyHolders.error) as refusal:
        given(USER, *both)
    assert refusal.value.details["holders"] == [ADA, CY]
    assert given(USER, *both, whose=CY) == both[1]
    assert given(ADA, *both) == both[0]
    with pytest.raises(ReservationNotFound.error):
        given(ADA, *both, whose=CY)


def test_what_is_held_in_every_clone_is_not_passed_on():
    mine = held(ADA)
    with pytest.raises(GlobalTransfer.error) as refusal:
        given(USER, mine.replace(reservation=mine.reservation.replace(base="f" * 40)))
    assert "--global" in (refusal.value.hint or "")
    with pytest.raises(GlobalTransfer.error) as refusal:
        given(USER, mine.replace(reservation=mine.reservation.replace(order="f" * 16)))
    assert "--global" not in (refusal.value.hint or "")


def test_who_holds_it_already_needs_nothing():
    assert transfers.transfer(USER, held(ADA), ADA, []) == []


def test_who_shares_it_already_keeps_its_own():
    mine, theirs = held(ADA, shared=True), held(BO, shared=True, n=2)
    met = meetings([SRC], [mine, theirs])
    assert transfers.transfer(ADA, mine, BO, met) == [Released(ADA, mine.reservation.id)]
