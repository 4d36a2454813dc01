"""The queue of agents that wait for a scope: first come, first served, without deadlock.

A waiting agent goes before agents that ask later for an overlapping scope. An agent waits for the holders of the scope
and for the agents ahead of it in the queue. A request that would close a cycle of waiting agents is refused.
"""

from __future__ import annotations

from bb.coordination.holdings import scopes
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bb.coordination.holdings.held import Overlap
    from bb.coordination.holdings.scopes import Scope

ReservationAwaited = Conflict.declare(
    "RESERVATION_AWAITED",
    "Another agent is waiting for that scope and comes first",
    hint="get in line behind it: `bb reserve SCOPE --queue`",
)

WaitDeadlock = Conflict.declare(
    "WAIT_DEADLOCK",
    "Waiting would cause a deadlock: those agents are waiting for you",
    hint="release the scope that one of them waits for, or hand over your work",
)


class Waiter(Record):
    """One waiting agent. Lower NUMBERs are served first."""

    number: int
    agent: str
    scopes: tuple[Scope, ...]
    shared: bool = False
    takeover: bool = False
    allow_overlap: bool = False
    is_open: bool = False

    @property
    def coexists(self) -> bool:
        """Whether what it waits for may be held beside others that may be, too."""
        return self.shared or self.is_open


def ahead(me: Waiter, line: Iterable[Waiter], *, ignore_case: bool) -> list[Waiter]:
    """The waiters in LINE that are served before ME."""
    return [
        waiter
        for waiter in line
        if waiter.agent != me.agent
        and waiter.number < me.number
        and not (me.coexists and waiter.coexists)
        and any(_meet(me, one, other, ignore_case) for one in me.scopes for other in waiter.scopes)
    ]


def _meet(me: Waiter, one: Scope, other: Scope, ignore_case: bool) -> bool:
    """Whether the scope OTHER conflicts with ONE, which I want."""
    kind = scopes.compare_by_name(one, other, ignore_case=ignore_case)
    return kind == scopes.EXACT or (kind == scopes.PARTIAL and not me.allow_overlap)


def is_stuck(waiter: Waiter, met: Iterable[Overlap], ignore_case: bool) -> bool:
    """Whether WAITER, which does not take over, waits for a reservation in MET that can only be taken over."""
    return any(
        _meet(waiter, one, meeting.held.scope, ignore_case)
        for meeting in met
        if not meeting.held.is_protected and meeting.held.reservation.agent != waiter.agent
        for one in waiter.scopes
    )


def holders(me: Waiter, met: Iterable[Overlap]) -> list[str]:
    """The holders of the reservations in MET that conflict with ME."""
    return [
        meeting.held.reservation.agent
        for meeting in met
        if meeting.held.reservation.agent != me.agent
        and not (me.coexists and meeting.held.reservation.coexists)
        and not (me.allow_overlap and meeting.kind == scopes.PARTIAL)
        and not (me.takeover and not meeting.held.is_protected)
    ]


def circle(start: str, waits_for: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The shortest cycle through START in the graph WAITS_FOR, or None."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for following in sorted(waits_for.get(way[-1], ())):
            if following == start:
                return [*way, start]
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return None
