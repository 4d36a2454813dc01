"""Which reservations are void when a fleet begins, begins again, or ends."""

from __future__ import annotations

import pytest

from bb.coordination.holdings import void
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.holdings import Reservation

OLD, NEW = "00000000000000aa", "00000000000000bb"
ADMITTED = Admitted({"w.1": Grant("amber-otter", "src", False, False, 7)})


def reservation(name: str = "w.2", *, base: str | None = None, order: str | None = None) -> Reservation:
    until = ("active", None, None, "", None)
    made = Reservation(name, "amber-otter", "src", "bb-1", 120, False, False, 0, 0, *until)
    return made.replace(base=base, order=order)


@pytest.mark.parametrize(
    ("made", "incarnation", "why"),
    [
        ({"base": "c0ffee"}, None, None),
        ({"base": "c0ffee"}, NEW, void.BEGUN),
        ({"order": OLD}, OLD, None),
        ({"order": OLD}, NEW, void.LOST),
        ({"order": OLD}, None, void.ENDED),
        ({}, NEW, None),
        ({}, None, None),
    ],
)
def test_a_reservation_is_void_if_the_order_that_was_to_decide_is_over(
    made: dict[str, str], incarnation: str | None, why: str | None
):
    assert void.reason(reservation(**made), ADMITTED, incarnation) == why


@pytest.mark.parametrize("incarnation", [None, NEW])
@pytest.mark.parametrize("made", [{"base": "c0ffee"}, {"order": OLD}])
def test_what_was_admitted_stays_admitted(made: dict[str, str], incarnation: str | None):
    assert void.reason(reservation("w.1", **made), ADMITTED, incarnation) is None
