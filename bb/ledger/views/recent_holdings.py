"""The reservations of lately, current and ended ones, for a picture. Of a long history, only the end is read."""

from __future__ import annotations

from itertools import islice

from bb.coordination.holdings import holdings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.holdings.holdings import Reservation
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings


def recent(index: Index, held: Holdings, most: int, first: Sequence[str]) -> Iterator[Reservation]:
    """At most MOST current reservations, those of the agents FIRST and then the latest, and for each way to end the
    latest MOST. A transferred one is listed once for each holder."""
    current, _ = held.latest(most, first)
    names = [one.reservation.id for one in current]
    for name, state in index.states_of(holdings.NAME, names).items():
        yield from holdings.tenures(name, state)
    for how in sorted(holdings.ENDED):
        for _, name, state in islice(index.newest_first(holdings.NAME, how), most):
            yield from holdings.tenures(name, state)
