"""How long a reservation was held, seen from afar; and which of them a path lay in.

Where only the ledger is at hand nobody's heartbeats can be seen, and time stamps of different machines are compared.
So a reservation counts as held until its time was over, by the last sign of life that is known, and two minutes longer.
"""

from __future__ import annotations

from bb.coordination.holdings import holdings, scopes
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.scopes import Scope

MARGIN = 2 * clock.MINUTE  # what the clocks of two machines may differ by


class Lease(Record):
    """A reservation and how long it was held."""

    reservation: Reservation
    scope: Scope
    until: int
    is_live: bool
    token: int | None = None  # of a grant that every clone knows of; a later grant has a higher one

    def held_at(self, moment: int) -> bool:
        return self.reservation.made_at <= moment <= self.until


def lease(reservation: Reservation, scope: Scope, seen_at: int, now: int, token: int | None = None) -> Lease:
    """How long RESERVATION was held, its holder having been SEEN last then. To give it back or pass it on is a sign of
    life, too."""
    ended_at = reservation.ended_at
    if ended_at is not None and reservation.state == holdings.TAKEN_OVER:
        return Lease(reservation, scope, ended_at, False, token)
    is_by_word = reservation.state in (holdings.RELEASED, holdings.TRANSFERRED)
    seen_at = max(seen_at, ended_at or 0) if is_by_word else seen_at
    lapsed_at = reservation.expiry(seen_at, now) + (0 if reservation.is_freeze else MARGIN)
    if ended_at is not None:
        return Lease(reservation, scope, min(ended_at, lapsed_at), False, token)
    return Lease(reservation, scope, lapsed_at, lapsed_at > now, token)


def last_acts(reservations: Iterable[Reservation]) -> dict[str, int]:
    """When each agent last reserved or renewed anything, which are signs of life that everybody can see."""
    acts: dict[str, int] = {}
    for each in reservations:
        acts[each.agent] = max(acts.get(each.agent, 0), each.made_at, each.renewed_at)
    return acts


class Near:
    """Leases by the lead of their scope: a path can only lie in one whose lead its own begins with."""

    def __init__(self, leases: Iterable[Lease], *, ignore_case: bool) -> None:
        self._ignore_case = ignore_case
        self._by_lead: dict[str, list[Lease]] = {}
        self._known: dict[str, list[Lease]] = {}
        for each in leases:
            self._by_lead.setdefault(scopes.lead(each.scope), []).append(each)

    def covering(self, path: str) -> list[Lease]:
        """The leases, ended ones too, that PATH lies in."""
        if path not in self._known:
            lies = scopes.existing(path)
            lead = scopes.lead(lies)
            self._known[path] = [
                each
                for end in range(1, len(lead) + 1)
                for each in self._by_lead.get(lead[:end], ())
                if scopes.covers(each.scope, lies, ignore_case=self._ignore_case)
            ]
        return self._known[path]
