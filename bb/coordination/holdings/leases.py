"""Leases: the period for which a reservation was held, judged from the ledger alone, and the leases that cover a path.

The ledger has no heartbeats, and its times come from several machines. So a reservation counts as held until it expired
according to the holder's last known act, plus two minutes.
"""

from __future__ import annotations

from collections.abc import Iterable

from bb.coordination.holdings import holdings, scopes
from bb.coordination.holdings.holdings import Reservation
from bb.coordination.holdings.scopes import Scope
from bb.kernel import clock
from bb.kernel.record import Record

MARGIN = 2 * clock.MINUTE  # tolerated difference between the clocks of two machines


class Lease(Record):
    """A reservation and the period for which it was held."""

    reservation: Reservation
    scope: Scope
    until: int
    is_live: bool
    token: int | None = None  # the token of an admitted global reservation; a later grant has a higher token

    def held_in(self, second: int) -> bool:
        """Whether it was held at any time in a second. A commit is dated to the second in which it was made."""
        return self.reservation.made_at < second + clock.SECOND and second <= self.until


def lease(reservation: Reservation, scope: Scope, seen_at: int, now: int, token: int | None = None) -> Lease:
    """The lease of RESERVATION if its holder was last seen at SEEN_AT. A release or transfer counts as a heartbeat."""
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
    """The time of each agent's last reservation or renewal. They count as heartbeats that every clone can see."""
    acts: dict[str, int] = {}
    for held in reservations:
        acts[held.agent] = max(acts.get(held.agent, 0), held.made_at, held.renewed_at)
    return acts


class LeaseIndex:
    """Leases indexed by the lead of their scope: if a scope covers a path, the path's lead begins with the scope's."""

    def __init__(self, leases: Iterable[Lease], *, ignore_case: bool) -> None:
        self._ignore_case = ignore_case
        self._by_lead: dict[str, list[Lease]] = {}
        self._known: dict[str, list[Lease]] = {}
        for lease in leases:
            self._by_lead.setdefault(scopes.lead(lease.scope), []).append(lease)

    def covering(self, path: str) -> list[Lease]:
        """The leases that cover PATH, including ended leases."""
        if path not in self._known:
            file = scopes.existing(path)
            lead = scopes.lead(file)
            self._known[path] = [
                lease
                for end in range(1, len(lead) + 1)
                for lease in self._by_lead.get(lead[:end], ())
                if scopes.covers(lease.scope, file, ignore_case=self._ignore_case)
            ]
        return self._known[path]
