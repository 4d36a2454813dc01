"""News of a ledger as sentences: recorded events, and changes that only time causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bb.coordination.agents import liveness
from bb.coordination.holdings.held import Held
from bb.kernel import clock
from bb.kernel.event import Event
from bb.ledger.index.index import Index
from bb.ledger.records import event_filters
from bb.ops.desk import agent_rows
from bb.ops.desk.agent_rows import Agents
from bb.ops.desk.desk import Desk
from bb.ops.overview import overview, sentences

ByItself = tuple[str, str, str, str | None]  # a change caused by time: its kind, its agent, the text, the bead
RECORDED, LIVENESS, LAPSED = "recorded", "liveness", "lapsed"
EVERYTHING = 1_000_000_000
MOST_WAITING = 1000  # most remembered events that do not count yet; they are reported when they come to count


class News:
    """The news of one ledger from now on. `before` returns earlier news and is called at most once."""

    def __init__(self, desk: Desk, agent: str | None = None, bead: str | None = None) -> None:
        desk.store.require_ledger()
        self._desk, self._agent, self._bead = desk, agent, bead
        self._follower = event_filters.Follower(desk.store, event_filters.Filter(kinds=sentences.KINDS))
        index = desk.store.caught_up()
        agents = overview.shown_agents(desk, index)
        self._alive, self._held = _liveness(agents), self._holdings(index, agents, {})
        self._known: set[str] = set()  # ids of events that `before` has returned
        self._unreported: list[Event] = []

    def before(self, since: int) -> list[dict[str, Any]]:
        """The news from SINCE until now, oldest first."""
        event_filter = event_filters.Filter(kinds=sentences.KINDS, since=clock.text(since))
        rows = sentences.latest(self._desk.store, event_filter, self._agent, self._bead, EVERYTHING)
        self._known = {row["event_id"] for row in rows}
        return [{"kind": RECORDED, **row} for row in rows]

    def new(self) -> list[dict[str, Any]]:
        """The news since the last call, oldest first. If reading fails, the next call returns it."""
        self._unreported += self._follower.new()
        index = self._desk.store.caught_up()  # after the events, so that it knows all that they refer to
        agents = overview.shown_agents(self._desk, index)
        alive, held = _liveness(agents), self._holdings(index, agents, self._held)
        teller = sentences.SentenceWriter(self._desk.store)
        recorded = list(self._recorded(teller))
        by_time = [*_changed(self._alive, alive, {row["by"] for row in recorded}), *_lapsed(self._held, held)]
        self._alive, self._held = alive, held
        self._unreported = list(filter(teller.is_omitted, self._unreported))[-MOST_WAITING:]
        self._known.clear()
        now = clock.text(self._desk.now())
        rows = [_by_itself(now, *change) for change in by_time]
        return [*recorded, *(row for row in rows if sentences.is_about(row, self._agent, self._bead))]

    def _recorded(self, teller: sentences.SentenceWriter) -> Iterator[dict[str, Any]]:
        for event in self._unreported:
            row = teller.row(event)
            if row and event.id not in self._known and sentences.is_about(row, self._agent, self._bead):
                yield {"kind": RECORDED, **row}

    def _holdings(self, index: Index, agents: Agents, before: Mapping[str, Held]) -> dict[str, Held]:
        """The reservations that `bb status` shows, and those of BEFORE that may have expired since."""
        held = self._desk.holdings(index, self._desk.now())
        shown, _ = held.latest(agent_rows.MOST, agents.live)
        found = {one.reservation.id: one for one in shown}
        rest = (held.live(name) for name, one in before.items() if name not in found and not one.is_over)
        return found | {one.reservation.id: one for one in rest if one}


def _liveness(agents: Agents) -> dict[str, str]:
    return {agent["agent_id"]: agent["liveness"] for agent in agents.rows}


def _changed(before: Mapping[str, str], alive: Mapping[str, str], acting: set[str]) -> Iterator[ByItself]:
    """Agents whose liveness has changed. That ACTING agents are active again is not reported."""
    for agent, state in alive.items():
        if state != before.get(agent, state) and not (state == liveness.ACTIVE and agent in acting):
            yield LIVENESS, agent, f"is {state} now" + (" again" if state == liveness.ACTIVE else ""), None


def _lapsed(before: Mapping[str, Held], held: Mapping[str, Held]) -> Iterator[ByItself]:
    """Reservations that have expired."""
    for name, one in held.items():
        if one.is_over and name in before and not before[name].is_over:
            reservation = one.reservation
            yield (
                *(LAPSED, reservation.agent),
                *(f"no longer holds {reservation.scope}: the reservation expired", reservation.bead),
            )


def _by_itself(at: str, kind: str, agent: str, text: str, bead: str | None) -> dict[str, Any]:
    return {"kind": kind, "at": at, "by": agent, "text": text, "bead_id": bead, "about": [agent], "event_id": None}
