"""What happens, as it happens, in sentences: what is recorded, and what time does while nothing is recorded."""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.kernel import clock
from bb.ledger.records import walk
from bb.ops.overview import overview, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.coordination.holdings.reservations import Held
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk

    ByItself = tuple[str, str, str, str | None]  # what kind of change, whose, in words, and the bead it is about

RECORDED, LIVENESS, LAPSED = "recorded", "liveness", "lapsed"
EVERYTHING = 1_000_000_000
MOST_WAITING = 1000  # events that do not count yet, and are told if they come to


class Happenings:
    """What happens in one ledger from now on; what happened before, as far as SINCE, is asked for once."""

    def __init__(self, desk: Desk, agent: str | None = None, bead: str | None = None) -> None:
        desk.store.must_exist()
        self._desk, self._agent, self._bead = desk, agent, bead
        self._follower = walk.Follower(desk.store, walk.Filter(kinds=sentences.KINDS))
        index = desk.store.caught_up()
        self._alive, self._held = self._liveness(index), self._holdings(index)
        self._known: set[str] = set()  # events that were told as having happened before
        self._untold: list[Event] = []

    def before(self, since: int) -> list[dict[str, Any]]:
        """What has happened from that moment until now, oldest first."""
        wanted = walk.Filter(kinds=sentences.KINDS, since=clock.text(since))
        told = sentences.latest(self._desk.store, wanted, self._agent, self._bead, EVERYTHING)
        self._known = {each["event_id"] for each in told}
        return [{"kind": RECORDED, **each} for each in told]

    def new(self) -> list[dict[str, Any]]:
        """What has happened since this was asked last, oldest first. If that cannot be read now, none is lost."""
        self._untold += self._follower.new()
        index = self._desk.store.caught_up()  # only now, so that it knows of whatever the events refer to
        alive, held = self._liveness(index), self._holdings(index)
        teller = sentences.Teller(self._desk.store)
        recorded = list(self._recorded(teller))
        by_time = [*_changed(self._alive, alive, {each["by"] for each in recorded}), *_lapsed(self._held, held)]
        self._alive, self._held = alive, held
        self._untold = list(filter(teller.waits, self._untold))[-MOST_WAITING:]
        self._known.clear()
        now = clock.text(self._desk.now())
        said = [_by_itself(now, *each) for each in by_time]
        return [*recorded, *(each for each in said if sentences.is_about(each, self._agent, self._bead))]

    def _recorded(self, teller: sentences.Teller) -> Iterator[dict[str, Any]]:
        for event in self._untold:
            told = teller.told(event)
            if told and event.id not in self._known and sentences.is_about(told, self._agent, self._bead):
                yield {"kind": RECORDED, **told}

    def _liveness(self, index: Index) -> dict[str, str]:
        return {each["agent_id"]: each["liveness"] for each in overview.shown_agents(self._desk, index)}

    def _holdings(self, index: Index) -> dict[str, Held]:
        live = self._desk.holdings(index, self._desk.now()).everything()
        return {each.reservation.id: each for each in live}


def _changed(before: Mapping[str, str], alive: Mapping[str, str], acting: set[str]) -> Iterator[ByItself]:
    """Whose liveness is another now. That those who are ACTING are active goes without saying."""
    for agent, state in alive.items():
        if state != before.get(agent, state) and not (state == liveness.ACTIVE and agent in acting):
            yield LIVENESS, agent, f"is {state} now" + (" again" if state == liveness.ACTIVE else ""), None


def _lapsed(before: Mapping[str, Held], held: Mapping[str, Held]) -> Iterator[ByItself]:
    """Whose reservations are over now."""
    for name, each in held.items():
        if each.is_over and name in before and not before[name].is_over:
            made = each.reservation
            yield LAPSED, made.agent, f"holds {made.scope} no longer: its time is over", made.bead


def _by_itself(at: str, kind: str, agent: str, text: str, bead: str | None) -> dict[str, Any]:
    return {"kind": kind, "at": at, "by": agent, "text": text, "bead_id": bead, "about": [agent], "event_id": None}
