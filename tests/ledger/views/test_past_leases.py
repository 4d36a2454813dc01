"""What CI takes for a lease when a fleet has forgotten whether a reservation was admitted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bb.coordination.holdings import holdings
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.holdings import Reservation
from bb.kernel import clock
from bb.ledger.views import past_leases
from bb.ledger.views.holdings import Holdings

NOON = clock.parse("2026-01-05T12:00:00Z")
HOUR = 60 * clock.MINUTE
HERE, ADA = "0123456789abcdef", "ada"
ONE = "a" * 12 + ".1"


class Ledger(Holdings):
    """Reservations EVER made, with the results SETTLED. Ada was last seen a day later."""

    def __init__(self, settled: Admitted, *ever: Reservation) -> None:
        super().__init__(None, "", NOON + 48 * HOUR, 15, ignore_case=False)  # type: ignore[arg-type]
        self._ever = list(ever)
        self._pins: Any = SimpleNamespace(in_force=settled, lacks_order=False)

    def all_ever(self) -> list[Reservation]:
        return self._ever

    def seen_at(self, agent: str) -> int:
        return NOON + 24 * HOUR

    def is_of_rival(self, reservation: Reservation) -> bool:  # type: ignore[override]
        return False


def reserved(**changes: Any) -> Reservation:
    made = Reservation(
        *(ONE, ADA, "src", "bb-1", 120, False, False, NOON, NOON), *(holdings.ACTIVE, None, None, "1", None)
    )
    return made.replace(order=HERE, **changes)


RELEASED = {"state": holdings.RELEASED, "ended_at": NOON + 5 * HOUR, "ended_by": ADA, "ended_place": "2"}


@pytest.mark.parametrize("generations", [{}, {ONE: 7}], ids=["as a snapshot knows it", "as a relay knows it"])
def test_what_was_released_long_ago_may_have_been_held_keeps_others_out_and_excuses_nothing(
    generations: dict[str, int],
):
    held = Ledger(Admitted({}, generations, {}, 100), reserved(**RELEASED))

    (lease,) = past_leases.past_leases(held)

    assert (lease.until, lease.is_live, lease.token, lease.is_forgotten) == (NOON + 5 * HOUR, False, None, True)
    assert past_leases.excuses_nothing(held, lease.reservation)


def test_what_was_taken_over_long_ago_is_held_no_longer():
    held = Ledger(Admitted({}, {ONE: 7}, {}, 100), reserved())

    (lease,) = past_leases.past_leases(held)

    assert (lease.is_live, lease.is_forgotten) == (False, True)
    assert NOON + 2 * HOUR <= lease.until < NOON + 3 * HOUR, "its holder renewed nothing"
    assert past_leases.excuses_nothing(held, lease.reservation)
    assert held.state_of(lease.reservation, is_over=False) == holdings.TAKEN_OVER


@pytest.mark.parametrize(
    ("settled", "one"),
    [
        (Admitted({}, {ONE: 100}, {}, 100), reserved(**RELEASED)),
        (Admitted({}, {ONE: 7}), reserved(**RELEASED)),
        (Admitted({}, {}, {}, 100), reserved()),
    ],
    ids=["refused, and not forgotten", "a fleet that forgets nothing yet", "not published yet"],
)
def test_what_was_not_admitted_was_never_held(settled: Admitted, one: Reservation):
    assert past_leases.past_leases(Ledger(settled, one)) == []


def test_what_is_granted_is_held_however_long_ago_that_was():
    held = Ledger(Admitted({ONE: Grant(ADA, "src", False, False, 7)}, {ONE: 7}, {}, 100), reserved())

    (lease,) = past_leases.past_leases(held)

    assert (lease.token, lease.is_forgotten) == (7, False)
    assert not past_leases.excuses_nothing(held, lease.reservation)
