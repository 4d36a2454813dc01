"""Every reservation that was ever held, with the period for which it was held: what CI judges by."""

from __future__ import annotations

from bb.coordination.holdings import leases
from bb.ledger.views.holdings import scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.leases import Lease
    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.views.holdings import Holdings


def past_leases(held: Holdings) -> list[Lease]:
    """All past and present leases. A global reservation that was not admitted was never held, and one that was taken
    over was held until then. If it is unknown whether it was admitted, it keeps other agents out."""
    ever = [one for one in held.all_ever() if not one.is_global or held.token(one) or _may_have_been_held(held, one)]
    acts = leases.last_acts(ever)
    grants = held.settled.grants if any(one.is_global for one in ever) else {}
    made = {grants[one.id].token: one.made_at for one in ever if one.id in grants}

    def taken_at(one: Reservation) -> int | None:
        """The time of the global reservation that took ONE over. A grant that its holder ended has ended in its state
        too."""
        grant = grants.get(one.id)
        return made.get(grant.ended) if grant and grant.ended is not None else None

    def lease(one: Reservation, scope: Scope) -> Lease:
        if one.ended_at is None and held.is_forgotten(one):  # it was taken over, nobody knows when
            last = max(one.made_at, one.renewed_at)
            return leases.lease(one, scope, last, held.now).replace(is_live=False, is_forgotten=True)
        seen_at = max(held.seen_at(one.agent), acts[one.agent])
        found = leases.lease(one, scope, seen_at, held.now, held.token(one), taken_at=taken_at(one))
        return found.replace(is_forgotten=True) if held.is_forgotten(one) else found

    return [lease(one, scope) for one in ever if (scope := scope_of(one))]


def _may_have_been_held(held: Holdings, one: Reservation) -> bool:
    """Whether it is unknown if a global reservation was admitted."""
    return held.is_unknown(one) or held.is_forgotten(one)


def excuses_nothing(held: Holdings, one: Reservation) -> bool:
    """Whether a reservation may not excuse its agent: it is unknown whether it was admitted, or another agent has the
    name."""
    return _may_have_been_held(held, one) or held.is_of_rival(one)
