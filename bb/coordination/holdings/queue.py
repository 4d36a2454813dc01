"""Standing in line for a scope: first come, first served, and never in a circle.

Who waits is served before whoever comes later and wants an overlapping scope. An agent waits for those who hold what it
wants, and for those ahead of it in line. If that leads back to itself, nobody in the circle can ever go on, so the last
one to close it is refused.
"""

from __future__ import annotations

from bb.coordination.holdings import scopes
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bb.coordination.holdings.reservations import Overlap
    from bb.coordination.holdings.scopes import Scope


class ReservationAwaited(Conflict):
    """Another agent has been waiting for that scope for longer."""

    code = "RESERVATION_AWAITED"
    hint = "stand in line behind it with --wait SECONDS"


class WaitDeadlock(Conflict):
    """Those you would wait for are waiting for you."""

    code = "WAIT_DEADLOCK"
    hint = "give back what one of them waits for, or hand your work over"


class Waiter(Record):
    """Somebody in line; the lower the NUMBER, the further ahead."""

    number: int
    agent: str
    scopes: tuple[Scope, ...]
    shared: bool = False
    takeover: bool = False
    allow_overlap: bool = False


def ahead(me: Waiter, line: Iterable[Waiter], *, ignore_case: bool) -> list[Waiter]:
    """Who in LINE is to be served before ME."""
    return [
        waiter
        for waiter in line
        if waiter.agent != me.agent
        and waiter.number < me.number
        and not (me.shared and waiter.shared)
        and any(_meet(me, one, other, ignore_case) for one in me.scopes for other in waiter.scopes)
    ]


def _meet(me: Waiter, one: Scope, other: Scope, ignore_case: bool) -> bool:
    """Whether OTHER stands in my way when I want ONE."""
    kind = scopes.compare(one, other, ignore_case=ignore_case)
    return kind == scopes.EXACT or (kind == scopes.PARTIAL and not me.allow_overlap)


def is_stuck(waiter: Waiter, met: Iterable[Overlap], ignore_case: bool) -> bool:
    """Whether WAITER, who may not take over, waits for what only somebody who may can free, given what was MET."""
    return any(
        _meet(waiter, one, meeting.held.scope, ignore_case)
        for meeting in met
        if not meeting.held.is_protected and meeting.held.reservation.agent != waiter.agent
        for one in waiter.scopes
    )


def holders(me: Waiter, met: Iterable[Overlap]) -> list[str]:
    """Whose reservations are in my way, given all I have MET."""
    return [
        meeting.held.reservation.agent
        for meeting in met
        if meeting.held.reservation.agent != me.agent
        and not (me.shared and meeting.held.reservation.shared)
        and not (me.allow_overlap and meeting.kind == scopes.PARTIAL)
        and not (me.takeover and not meeting.held.is_protected)
    ]


def circle(start: str, waits_for: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The shortest way from START back to START along who WAITS_FOR whom; None when there is none."""
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
