"""Granting places in the line, first come first served.

A command that frees a scope grants the places that waited for it, in the same record. A place is granted if nobody is
ahead of it in the line and a request for its scopes would succeed after the facts that the command records. A
reservation that has expired is not in the way of a place: it is taken over. One whose holder is silent is in the way,
unless the place takes over.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Reserved, TakenOver, Transferred
from bb.coordination.holdings import queue, reservations, scopes
from bb.kernel.errors import BbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from bb.coordination.holdings.held import Overlap
    from bb.coordination.holdings.places import Place
    from bb.coordination.holdings.queue import Waiter

ENDS = (Released, Expired, TakenOver)


def grants(
    places: Sequence[Place],
    line: Sequence[Waiter],
    decided: Sequence[Any],
    met_of: Callable[[Place], list[Overlap]],
    is_recorded: Callable[[str], bool],
    *,
    ignore_case: bool,
) -> list[tuple[Place, list[Any]]]:
    """The PLACES that are granted after the facts DECIDED, each with the facts of its reservation.

    PLACES are in order. LINE is everybody who waits and is not skipped. MET_OF finds the overlaps of a place with the
    reservations before DECIDED.
    """
    after, waiting, granted = list(decided), list(line), []
    for place in places:
        me = place.waiter()
        before = queue.ahead(me, waiting, ignore_case=ignore_case)
        if (before and not place.takeover) or _is_taken(place, after, ignore_case):
            continue
        met = _after(after, met_of(place), place.agent)
        if _not_stuck(before, met, ignore_case):
            continue
        facts = _reserved(place, met, is_recorded)
        if facts is not None:
            facts = _not_twice(place, facts, after)
            granted.append((place, facts))
            after += facts
            waiting = [waiter for waiter in waiting if waiter != me]
    return granted


def is_settled(place: Place, decided: Sequence[Any], met_of: Callable[[Place], list[Overlap]]) -> bool:
    """Whether the agent of PLACE has all its scopes by the facts DECIDED: it reserved them or got them by transfer."""
    own = {
        scopes.shown(fact.scope, fact.region)
        for fact in decided
        if isinstance(fact, Reserved) and fact.agent == place.agent
    }
    if place.agent in (given := _given(decided)).values():
        own |= {m.held.reservation.scope for m in met_of(place) if given.get(m.held.reservation.id) == place.agent}
    return own.issuperset(place.names)


def _given(decided: Iterable[Any]) -> Mapping[str, str]:
    """The new holders of transferred reservations."""
    return {fact.reservation: fact.to for fact in decided if isinstance(fact, Transferred)}


def _after(decided: Sequence[Any], met: Sequence[Overlap], agent: str) -> list[Overlap]:
    """The overlaps MET that remain after DECIDED. What is transferred to AGENT is AGENT's."""
    ended, given = {fact.reservation for fact in decided if isinstance(fact, ENDS)}, _given(decided)
    left = [overlap for overlap in met if overlap.held.reservation.id not in ended]
    return [_held_by(agent, one) if given.get(one.held.reservation.id) == agent else one for one in left]


def _held_by(agent: str, overlap: Overlap) -> Overlap:
    held = overlap.held
    return overlap.replace(held=held.replace(reservation=held.reservation.replace(agent=agent)))


def _not_stuck(before: Iterable[Waiter], met: Sequence[Overlap], ignore_case: bool) -> list[Waiter]:
    """The waiters BEFORE a place that takes over, without those that wait for a reservation which they do not take
    over."""
    return [waiter for waiter in before if waiter.takeover or not queue.is_stuck(waiter, met, ignore_case)]


def _is_taken(place: Place, decided: Iterable[Any], ignore_case: bool) -> bool:
    """Whether another agent reserves a part of PLACE by the facts DECIDED."""
    for fact in decided:
        if (
            not isinstance(fact, Reserved)
            or fact.agent == place.agent
            or ((fact.shared or fact.is_open) and place.coexists)
        ):
            continue
        taken = scopes.stored(fact.scope)
        if taken is None:
            return True
        taken = scopes.in_region(taken.replace(is_file=fact.is_file), fact.region)
        if any(
            scopes.compare_by_name(taken, wanted, ignore_case=ignore_case) != scopes.DISJOINT for wanted in place.scopes
        ):
            return True
    return False


def _not_twice(place: Place, facts: Iterable[Any], decided: Iterable[Any]) -> list[Any]:
    """FACTS without reservations of scopes that the agent of PLACE already reserves by the facts DECIDED."""
    own = {
        scopes.shown(fact.scope, fact.region)
        for fact in decided
        if isinstance(fact, Reserved) and fact.agent == place.agent
    }
    return [fact for fact in facts if not (isinstance(fact, Reserved) and scopes.shown(fact.scope, fact.region) in own)]


def _reserved(place: Place, met: Sequence[Overlap], is_recorded: Callable[[str], bool]) -> list[Any] | None:
    """The facts of the reservation that PLACE waits for; None if something is in the way."""
    others = [one.held for one in met if one.held.reservation.agent != place.agent]
    open_to_all = [
        held for held in others if not held.is_protected and not (held.reservation.coexists and place.coexists)
    ]
    has_expired = bool(open_to_all) and all(held.is_over for held in open_to_all)
    wanted = place.wanted()
    try:
        return reservations.reserve(wanted.replace(takeover=place.takeover or has_expired), met, is_recorded)
    except BbError:
        return None
