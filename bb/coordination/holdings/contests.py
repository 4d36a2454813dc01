"""Two agents reserved the same in two clones, neither knowing of the other: whose it is.

What was admitted globally stands before anything else. Then what was published first stands, because others have known
of it for longer; and only between two that came out together, or that are both unpublished, the place in the ledger's
order decides. Every clone comes to the same result.
"""

from __future__ import annotations

from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.holdings import Reservation

UNPUBLISHED = 1 << 62


def were_made_apart(one: Reservation, other: Reservation) -> bool:
    """Whether two reservations may have been made without knowing of each other: by writers that share no lock."""
    return ids.split_event_id(one.id)[0] != ids.split_event_id(other.id)[0]


def stands(one: Reservation, other: Reservation, settled: Admitted) -> bool:
    """Whether ONE stands before OTHER."""
    return _rank(one, settled) < _rank(other, settled)


def _rank(reservation: Reservation, settled: Admitted) -> tuple[bool, int, str]:
    grant = settled.grants.get(reservation.id)
    is_admitted = grant is not None and grant.ended is None
    return not is_admitted, settled.generations.get(reservation.id, UNPUBLISHED), reservation.place
