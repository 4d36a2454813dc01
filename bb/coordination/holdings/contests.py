"""Contests: two agents reserved overlapping scopes in two clones before either clone knew of the other.

An admitted global reservation wins. Otherwise the one published first wins, because other agents have known of it for
longer. If both were published together, or both are unpublished, the order in the ledger decides. Every clone comes to
the same result.
"""

from __future__ import annotations

from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.holdings import Reservation

UNPUBLISHED = 1 << 62


def were_made_apart(one: Reservation, other: Reservation) -> bool:
    """Whether different writers made the two reservations. Different writers share no lock."""
    return ids.split_event_id(one.id)[0] != ids.split_event_id(other.id)[0]


def wins_over(one: Reservation, other: Reservation, settled: Admitted) -> bool:
    """Whether ONE wins over OTHER."""
    return _rank(one, settled) < _rank(other, settled)


def _rank(reservation: Reservation, settled: Admitted) -> tuple[bool, int, str]:
    grant = settled.grants.get(reservation.id)
    is_admitted = grant is not None and grant.ended is None
    return not is_admitted, settled.generations.get(reservation.id, UNPUBLISHED), reservation.place
