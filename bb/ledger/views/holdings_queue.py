"""The line for reservations in this clone: who waits, in which order, and for whom.

Two kinds of waiters stand in one line: processes that wait (`--wait`), and places in the ledger (`--queue`), which need
no process. Only places that this clone recorded count here.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.holdings import places
from bb.coordination.holdings import queue as queues
from bb.kernel import clock, ids
from bb.kernel.record import Record
from bb.ledger.local import queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.places import Place
    from bb.coordination.holdings.queue import Waiter
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings

WAIT, QUEUE = "wait", "queue"  # a process that waits, or a place in the ledger


class InLine(Record):
    """One waiter in the line, as of one moment."""

    waiter: Waiter
    place: Place | None  # None for a process that waits
    skipped: str | None  # why it is skipped for now; None if it is not

    @property
    def how(self) -> str:
        return QUEUE if self.place else WAIT

    def as_json(self) -> dict[str, Any]:
        """The waiter as every face shows it."""
        place = self.place
        return {
            "agent_id": self.waiter.agent,
            "scopes": [scope.text for scope in self.waiter.scopes],
            "how": self.how,
            "place_id": place.id if place else None,
            "since": clock.text(place.made_at) if place else None,
            "deadline": clock.text(place.until) if place else None,
            "skipped": self.skipped,
        }


def is_empty(index: Index, store: str) -> bool:
    """Whether no agent waits in this clone. This costs next to nothing."""
    return not index.count(places.NAME, places.LIVE) and not queue.waiting(store)


def own_places(index: Index, agent: str | None = None) -> list[Place]:
    """The places that this clone recorded and that have not ended, first come first. AGENT selects one agent's."""
    term = f"{places.LIVE} of {agent}" if agent else places.LIVE
    rows = [row for row in index.entries_by_term(places.NAME, term) if _is_own(index, row[0])]
    own = [place for name, state in rows if (place := places.place(name, state))]
    return sorted(own, key=lambda place: (place.number, place.made_at))


def _is_own(index: Index, place: str) -> bool:
    """Whether this clone recorded the place with that id."""
    return ids.split_event_id(place)[0] == index.own_writer


def in_order(index: Index, held: Holdings, store: str, *, acting: str | None = None) -> list[InLine]:
    """Everybody in the line, first come first. A place whose time is over is left out. ACTING is the agent that acts
    right now, so it is not silent."""
    line = [InLine(waiter, None, None) for waiter in queue.waiting(store)]
    if index.count(places.NAME, places.LIVE):
        live = [place for place in own_places(index) if place.until > held.now]
        line += [InLine(place.waiter(), place, _why_skipped(held, place.agent, acting)) for place in live]
    return sorted(line, key=lambda one: one.waiter.number)


def _why_skipped(held: Holdings, agent: str, acting: str | None) -> str | None:
    """Why the places of AGENT are skipped for now, as one word; None if they are not."""
    if held.is_paused(agent):
        return "paused"
    if agent == acting:
        return None
    state = held.liveness_of(agent)
    return None if state == liveness.ACTIVE else state


def standing(index: Index, held: Holdings, store: str, agent: str) -> dict[str, Any]:
    """What the line means for AGENT.

    `in_line`: its own places and processes that wait, each with its position for its scopes (1 is next) and the agents
    that hold them. `waiting_for_me`: each waiter that wants a part of what AGENT holds, with the held scopes.
    """
    if is_empty(index, store):
        return {"in_line": [], "waiting_for_me": []}
    line = in_order(index, held, store)
    return {
        "in_line": [row(one, line, held) for one in line if one.waiter.agent == agent],
        "waiting_for_me": waiting_for(agent, line, held),
    }


def row(one: InLine, line: Sequence[InLine], held: Holdings) -> dict[str, Any]:
    """A waiter with its position in LINE, and the agents that hold what it wants."""
    before = ahead(one.waiter, line, ignore_case=held.ignore_case)
    holders = queues.holders(one.waiter, held.overlaps(one.waiter.scopes))
    return one.as_json() | {"position": len(before) + 1, "holders": sorted(set(holders))}


def ahead(me: Waiter, line: Sequence[InLine], *, ignore_case: bool) -> list[Waiter]:
    """The waiters in LINE that are served before ME, without those that are skipped for now."""
    return queues.ahead(me, [one.waiter for one in line if one.skipped is None], ignore_case=ignore_case)


def waiting_for(agent: str, line: Sequence[InLine], held: Holdings) -> list[dict[str, Any]]:
    """The other agents in LINE that want a part of what AGENT holds."""
    own = [one for one in held.reservations_of_agent(agent) if held.counts(one.reservation)] if line else []
    rows = []
    for one in line:
        if one.waiter.agent == agent:
            continue
        theirs = [
            mine.scope.text
            for mine in own
            if not (mine.reservation.coexists and one.waiter.coexists)
            and any(held.meet(wanted, mine.scope) for wanted in one.waiter.scopes)
        ]
        if theirs:
            rows.append(one.as_json() | {"held": theirs})
    return rows


def ended_since(index: Index, agent: str, since: int) -> list[Place]:
    """The places of AGENT in this clone that ended at or after the time SINCE, latest first."""
    found = []
    for _, name, state in index.newest_first(places.NAME, f"of {agent}"):
        place = places.place(name, state) if _is_own(index, name) else None
        if place and place.made_at < since - clock.HOUR * 24:
            break  # no place lasts longer than a day
        if place and place.ended_at is not None and place.ended_at >= since:
            found.append(place)
    return found
