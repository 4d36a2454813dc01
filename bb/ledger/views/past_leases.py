"""Every reservation that was ever held, with the period for which it was held: what CI judges by."""

from __future__ import annotations

from bb.coordination.holdings import leases
from bb.ledger.views.holdings import scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.leases import Lease
    from bb.ledger.views.holdings import Holdings


def past_leases(held: Holdings) -> list[Lease]:
    """All past and present leases. A global reservation that was not admitted was never held, and one that was taken
    over was held until then. If it is unknown whether it was admitted, it keeps other agents out."""
    ever = [one for one in held.all_ever() if not one.is_global or held.token(one) or held.is_unknown(one)]
    acts = leases.last_acts(ever)
    grants = held.settled.grants if any(one.is_global for one in ever) else {}
    made = {grants[one.id].token: one.made_at for one in ever if one.id in grants}

    def taken_at(one: Reservation) -> int | None:
        """The time of the global reservation that took ONE over. A grant that its holder ended has ended in its state
        too."""
        grant = grants.get(one.id)
        return made.get(grant.ended) if grant and grant.ended is not None else None

    return [
        leases.lease(
            *(one, scope, max(held.seen_at(one.agent), acts[one.agent]), held.now, held.token(one)),
            taken_at=taken_at(one),
        )
        for one in ever
        if (scope := scope_of(one))
    ]


def excuses_nothing(held: Holdings, one: Reservation) -> bool:
    """Whether a reservation may not excuse its agent: it is unknown whether it was admitted, or another agent has the
    name."""
    return held.is_unknown(one) or held.is_of_rival(one)
