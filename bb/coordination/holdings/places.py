"""Places in the line for reservations, as a fold. A place needs no living process: it is a fact in the ledger.

A place's id is the id of the event that made it. It ends when its agent or the person says so: the first end counts. A
command that grants a place, or drops it because its time is over, records that in the name of the place's agent. Only
the clone that recorded a place grants it, so no two clones grant the same place.

A place is skipped, and keeps nobody else waiting, while its agent is paused or sends no signs of life.
"""

from __future__ import annotations

from bb.coordination.facts import PLACE_ENDS, LeftLine, Queued
from bb.coordination.holdings import scopes
from bb.coordination.holdings.queue import Waiter
from bb.coordination.holdings.reservations import Wanted
from bb.kernel import clock, ids
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, event, sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.facts import QueueFact
    from bb.coordination.holdings.scopes import Scope
    from bb.kernel.total_order import Place as OrderPlace
    from bb.kernel.total_order import State

NAME = "place"
FACTS = (Queued, LeftLine)
LIVE = "live"  # the search term of the places that have not ended

WAITING = "waiting"
GRANTED, CANCELLED, TIME_OVER, RETIRED, REPLACED = PLACE_ENDS


class Place(Record):
    """One agent's place in the line. UNTIL and the other times are in milliseconds."""

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    bead: str
    ttl: int
    until: int
    number: int
    shared: bool
    takeover: bool
    allow_overlap: bool
    made_at: int
    state: str
    ended_at: int | None = None
    is_open: bool = False

    @property
    def coexists(self) -> bool:
        """Whether what it waits for may be held beside others that may be, too."""
        return self.shared or self.is_open

    @property
    def names(self) -> list[str]:
        """Its scopes as text."""
        return [scope.text for scope in self.scopes]

    def waiter(self) -> Waiter:
        """The place as one of the agents that wait."""
        flags = (self.shared, self.takeover, self.allow_overlap, self.is_open)
        return Waiter(self.number, self.agent, self.scopes, *flags)

    def wanted(self) -> Wanted:
        """The request for a reservation that is granted when the way is free."""
        flags = (self.shared, self.takeover, self.allow_overlap)
        return Wanted(self.agent, self.scopes, self.bead, self.ttl, *flags, is_open=self.is_open)


def queued(wanted: Wanted, until: int, number: int) -> Queued:
    """The fact that WANTED has a place in the line."""
    files = [scope.where for scope in wanted.scopes if scope.is_file] or None
    has_regions = any(scope.region is not None for scope in wanted.scopes)
    return Queued(
        *(wanted.agent, [scope.where for scope in wanted.scopes], wanted.bead, wanted.ttl, clock.text(until), number),
        *(files, wanted.shared, wanted.takeover, wanted.allow_overlap),
        [scope.region or "" for scope in wanted.scopes] if has_regions else None,
        wanted.is_open,
    )


def keys(fact: QueueFact, at: OrderPlace) -> list[str]:
    """The place that FACT is about."""
    return [event(at) if isinstance(fact, Queued) else fact.place]


def step(state: State | None, fact: QueueFact, at: OrderPlace, ts: str) -> State:
    """STATE after one more fact. All ends are kept, because their validity depends on the agent of the place."""
    after = dict(state or {})
    match fact:
        case Queued():
            earliest(after, "made", at, [ts, *fact.as_dict().values()])
        case LeftLine(agent, _, how):
            earliest(after, f"{how} {agent}", at, ts)
    return after


def place(name: str, state: State | None) -> Place | None:
    """The place that STATE describes; None if its first event is not here, or this version understands no scope."""
    if state is None or "made" not in state:
        return None
    _, _, _, (ts, agent, texts, bead, ttl, until, number, *more) = state["made"]
    files, shared, takeover, allow_overlap, regions, is_open = more
    regions = regions if regions and len(regions) == len(texts) else [""] * len(texts)
    found = [scopes.stored(text) for text in texts]
    wanted = tuple(
        scopes.in_region(scope.replace(is_file=scope.text in (files or ())), region or None)
        for scope, region in zip(found, regions, strict=True)
        if scope
    )
    if len(wanted) < len(texts):
        return None
    end = _end(state, agent)
    return Place(
        *(name, agent, wanted, bead, ttl, clock.parse_or(until, 0), number, shared, takeover, allow_overlap),
        *(clock.parse_or(ts, 0), end[1] if end else WAITING, clock.parse_or(end[2], 0) if end else None),
        is_open,
    )


def _end(state: State, agent: str) -> tuple[list[Any], str, str] | None:
    """The first valid end: its place in the order, how it ended, and when."""
    ends = []
    for register, (*at, ts) in state.items():
        how, _, by = register.partition(" ")
        if how in PLACE_ENDS and by in (agent, ids.PERSON):
            ends.append((at, how, ts))
    return min(ends) if ends else None


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """The search terms of the place: (term, place within the term)."""
    if "made" not in state:
        return []
    *at, (_, agent, *_) = state["made"]
    where = sortable(at)
    always = [(f"of {agent}", where)]
    if _end(state, agent):
        return always
    return [*always, (LIVE, where), (f"{LIVE} of {agent}", where)]
