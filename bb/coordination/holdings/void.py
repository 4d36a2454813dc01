"""Which global reservations can never be admitted, because the order that was to decide about them is over."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.holdings import Reservation

BEGUN = "a fleet began before the reservation was published"
LOST = "the engine lost the rows with the reservation, and the fleet began again without it"
ENDED = "the fleet ended before the reservation was on its engine"


def reason(reservation: Reservation, admitted: Admitted, incarnation: str | None) -> str | None:
    """Why a live reservation is void for good; None if it is admitted, may still be, or is valid in its clone only.
    INCARNATION is that of the fleet's log; None if there is no fleet, and the order of publication decides."""
    if not reservation.is_global or reservation.id in admitted.grants:
        return None
    if reservation.order is None:
        return BEGUN if incarnation else None
    if reservation.order == incarnation:
        return None
    return LOST if incarnation else ENDED
