"""Leases: the period for which a reservation was held, judged from the ledger alone, and the leases that cover a path.

A lease does not hold as long as a lease of another clone holds that takes precedence over it (`held.loses_to`).

The ledger has no heartbeats, and its times come from several machines. So a reservation counts as held until it expired
according to the holder's last known act, plus two minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from bb.coordination.holdings import holdings, scopes
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.held import loses_to, may_contest
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
    is_forgotten: bool = False  # it may have been admitted, and had a token, so long ago that nobody knows any more

    def held_in(self, second: int) -> bool:
        """Whether it was held at any time in a second. A commit is dated to the second in which it was made."""
        return self.reservation.made_at < second + clock.SECOND and second <= self.until


def lease(
    reservation: Reservation,
    scope: Scope,
    seen_at: int,
    now: int,
    token: int | None = None,
    taken_at: int | None = None,
) -> Lease:
    """The lease of RESERVATION if its holder was last seen at SEEN_AT. A release or transfer counts as a heartbeat.
    TAKEN_AT is the time at which an admitted global reservation took it over."""
    if taken_at is not None:
        until = taken_at if reservation.ended_at is None else min(taken_at, reservation.ended_at)
        return Lease(reservation, scope, until, False, token)
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
        self._leads: list[str] | None = None
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

    def rivals(self, lease: Lease) -> list[Lease]:
        """The leases of other clones that share a path with LEASE, and of which only one can hold at a time. What ended
        before the other was made, in the order of the ledger, is no rival."""
        return [
            other
            for other in self._near(lease)
            if may_contest(lease.reservation, other.reservation)
            and _were_together(lease.reservation, other.reservation)
            and scopes.compare_by_name(lease.scope, other.scope, ignore_case=True) != scopes.DISJOINT
        ]

    def _near(self, lease: Lease) -> list[Lease]:
        """The leases whose lead begins with the lead of LEASE, or the other way round."""
        if self._leads is None:
            self._leads = sorted(self._by_lead)
        lead = scopes.lead(lease.scope)
        leads = [lead[:end] for end in range(1, len(lead))]
        for place in range(bisect_left(self._leads, lead), len(self._leads)):
            if not self._leads[place].startswith(lead):
                break
            leads.append(self._leads[place])
        return [other for each in leads for other in self._by_lead.get(each, ())]


def _were_together(one: Reservation, other: Reservation) -> bool:
    return (one.ended_place is None or one.ended_place > other.place) and (
        other.ended_place is None or other.ended_place > one.place
    )


class Contests:
    """Which leases hold. SETTLED is the order of publication; empty if unknown. OVERLAPS are known to both agents: a
    reservation, the agent that reserved a part of it with --allow-overlap, and that agent's scope."""

    def __init__(self, leases: LeaseIndex, settled: Admitted, overlaps: frozenset[tuple[str, str, str]]) -> None:
        self._leases = leases
        self._settled = settled
        self._overlaps = overlaps
        self._winners: dict[tuple[str, str], list[Lease]] = {}

    @property
    def floor(self) -> int:
        """The place before which ended grants are forgotten."""
        return self._settled.floor

    def holds_in(self, lease: Lease, second: int) -> bool:
        """Whether LEASE was held in a second, and no other lease took precedence over it."""
        return lease.held_in(second) and not any(other.held_in(second) for other in self._winners_over(lease))

    def holds_now(self, lease: Lease) -> bool:
        """Whether LEASE is held, and no other lease takes precedence over it."""
        return lease.is_live and not any(other.is_live for other in self._winners_over(lease))

    def is_undecided(self, lease: Lease) -> bool:
        """Whether the order of publication is needed to know which of two rivals holds, and is unknown for one of them.
        A snapshot of a published ledger has no order of reservations that had ended before."""
        mine = lease.reservation
        return any(
            not self._know_each_other(mine, other.reservation)
            and not self._settled.generations.keys() >= {mine.id, other.reservation.id}
            for other in self._leases.rivals(lease)
        )

    def _winners_over(self, lease: Lease) -> list[Lease]:
        key = lease.reservation.id, lease.reservation.agent
        if key not in self._winners:
            self._winners[key] = [
                other
                for other in self._leases.rivals(lease)
                if loses_to(lease.reservation, other.reservation, self._settled, self._know_each_other)
            ]
        return self._winners[key]

    def _know_each_other(self, one: Reservation, other: Reservation) -> bool:
        pairs = ((one, other), (other, one))
        return any((theirs.id, mine.agent, mine.scope) in self._overlaps for mine, theirs in pairs)
