"""Standing in line for a scope: first come, first served, and never in a circle.

Who waits is served before whoever comes later and wants an overlapping scope. An agent waits for those who hold what it
wants, and for those ahead of it in line. If that leads back to itself, nobody in the circle can ever go on, so the last
one to close it is refused.
"""

from __future__ import annotations

from bb.coordination import scopes
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bb.coordination.scopes import Scope


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


def ahead(
    agent: str,
    wanted: Iterable[Scope],
    line: Iterable[Waiter],
    number: int | None,
    *,
    ignore_case: bool,
) -> list[Waiter]:
    """Who in LINE is to be served before AGENT, which stands at NUMBER (or has just come), gets what is WANTED."""
    wanted = list(wanted)
    return [
        waiter
        for waiter in line
        if waiter.agent != agent
        and (number is None or waiter.number < number)
        and any(meet(one, other, ignore_case=ignore_case) for one in wanted for other in waiter.scopes)
    ]


def meet(one: Scope, other: Scope, *, ignore_case: bool) -> bool:
    """Whether two scopes have a path in common."""
    return scopes.compare(one, other, ignore_case=ignore_case) != scopes.DISJOINT


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
