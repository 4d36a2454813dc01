"""Agents as every face shows them.

A ledger may know ten thousand agents, and nobody reads ten thousand rows. So an answer lists the agents that were seen
last, and says how many it left out. They are found without reading the others: the agents of this clone by their
presence files, and all agents by the search terms of the roster, which are ordered by time.
"""

from __future__ import annotations

from bb.coordination.agents import liveness, pauses, roster
from bb.kernel.record import Record
from bb.ledger.local import presence
from bb.ledger.published import heard_elsewhere
from bb.ops.desk import signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk

MOST = 50  # agents of an answer, unless all are asked for
PAGE = 200  # agents that are looked at together, if the first ones are not those asked for


class Agents(Record):
    """Rows of agents, and the number of agents that were left out; None if they were not counted."""

    rows: list[dict[str, Any]]
    left_out: int | None

    @property
    def live(self) -> list[str]:
        """The names of those that are not evicted."""
        return [str(row["agent_id"]) for row in self.rows if row["liveness"] != liveness.EVICTED]


def rows_of(desk: Desk, index: Index, agents: Iterable[Agent]) -> list[dict[str, Any]]:
    """AGENTS as every face shows them, with their pauses from the ledger, and silent only where reservations are judged
    so."""
    store, now, threshold = desk.place.store, desk.now(), desk.stale_after_in(index)
    paused, hearing = dict(index.states(pauses.NAME)), heard_elsewhere.in_fleet(store)
    rows = []
    for agent in agents:
        pause, found = pauses.pause(paused, agent.agent_id), presence.read(store, agent.agent_id, now)
        seen = signs_of_life.presence_of(agent, found, now).replace(paused=pause and pause.as_json())
        judged = signs_of_life.as_heard(seen, hearing, now) if signs_of_life.is_elsewhere(found) else seen
        emails = {"emails": list(agent.emails)} if agent.emails else {}
        rows.append(seen.shown(now, threshold) | {"liveness": judged.liveness(now, threshold)} | emails)
    return rows


def every(desk: Desk, index: Index) -> Agents:
    """All agents in service, by id."""
    return Agents(rows_of(desk, index, roster.in_service(index.states(roster.NAME))), 0)


def latest(desk: Desk, index: Index, *, role: str | None = None, state: str | None = None) -> Agents:
    """The agents in service that are not evicted or were seen last, at most MOST, by id; only those with this ROLE and
    liveness STATE."""
    found: list[dict[str, Any]] = []
    for names in _candidates(desk, index, role, state):
        agents = roster.in_service(index.states_of(roster.NAME, names).items())
        rows = rows_of(desk, index, [agent for agent in agents if role in (None, agent.role)])
        found += [row for row in rows if state in (None, row["liveness"])]
        if len(found) > MOST:
            break
    kept = sorted(found, key=lambda row: (row["liveness"] != liveness.EVICTED, row["last_seen_at"]), reverse=True)[
        :MOST
    ]
    left_out: int | None = 0
    if state is None:
        left_out = index.count(roster.NAME, _term(role)) - len(kept)
    elif len(found) > MOST:
        left_out = None  # the others were not looked at
    return Agents(sorted(kept, key=lambda row: str(row["agent_id"])), left_out)


class Live(Record):
    """The agents that are not evicted, found without reading anything of the others."""

    elsewhere: dict[str, int]  # agents of other clones that are not evicted, and when they were seen, latest first
    possibly: list[str]  # others, which may be evicted, too

    @property
    def names(self) -> list[str]:
        return [*self.possibly, *self.elsewhere]


def live(desk: Desk, index: Index) -> Live:
    """All agents that are active or stale, with others. An agent that is not among them is evicted."""
    now, gone_after = desk.now(), 2 * desk.stale_after_in(index)
    elsewhere = presence.seen_elsewhere(desk.place.store, now, gone_after)
    if elsewhere:
        for _, name in index.newest_keys(roster.NAME, roster.GONE):
            elsewhere.pop(name, None)
    heard = index.newest_keys(roster.NAME, roster.HEARD, since=roster.moment(now - gone_after))
    names = [*_paused(index), *presence.seen_here(desk.place.store, now, gone_after), *(name for _, name in heard)]
    return Live(elsewhere, [name for name in dict.fromkeys(names) if name not in elsewhere])


def _candidates(desk: Desk, index: Index, role: str | None, state: str | None) -> Iterator[Sequence[str]]:
    """Agents in pages, roughly in the order in which they were last seen. The first page has the latest MOST, and one
    more, which shows that there are more."""
    store, now = desk.place.store, desk.now()
    here = presence.latest_agents(store, now, MOST)
    until = roster.moment(now + liveness.CREDIBLE)
    heard = index.newest_keys(roster.NAME, _term(role), MOST + 1, before=until)
    first = list(dict.fromkeys([*_paused(index), *here, *(name for _, name in heard)]))
    yield first
    if state is None:
        return
    if state == liveness.EVICTED or pauses.EVERYBODY in _paused(index):
        yield from _pages([name for _, name in index.newest_keys(roster.NAME, _term(role))], first)
    else:
        found, active_since = live(desk, index), now - desk.stale_after_in(index)
        is_active = state == liveness.ACTIVE
        elsewhere = [name for name, at in found.elsewhere.items() if is_active is (at > active_since)]
        yield from _pages([*found.possibly, *elsewhere], first)


def _pages(names: Sequence[str], without: Sequence[str]) -> Iterator[list[str]]:
    known = set(without)
    rest = [name for name in names if name not in known]
    yield from (rest[start : start + PAGE] for start in range(0, len(rest), PAGE))


def _paused(index: Index) -> list[str]:
    """The agents that the person has paused by name, and EVERYBODY if all are. They count as active."""
    states = dict(index.states(pauses.NAME))
    return [
        name
        for name in states
        if (pause := pauses.pause(states, name)) and pause.is_everybodys is (name == pauses.EVERYBODY)
    ]


def _term(role: str | None) -> str:
    return roster.HEARD if role is None else roster.role_term(role)
