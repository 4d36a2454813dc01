"""Filters a picture by agent, bead, and typed words.

This module searches the texts of agents as plain strings and then wraps them as `Foreign` for drawing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.coordination.agents import liveness
from bb.kernel.foreign import Foreign
from bb.kernel.record import Record
from bb.ops.overview.screen_view import Picture

Thing = dict[str, Any]

ORDER = (liveness.ACTIVE, liveness.STALE, liveness.EVICTED)
AGENTS = ("agent_id", "from_agent", "to_agent", "owner_agent", "by")
# Members that a typed filter ignores: times, ids that no screen shows, and next steps, which only name commands.
UNSEEN = frozenset(["id", "event_id", "message_id", "reservation_id", "next_step", "answer", "at", "since"])


class Filter(Record):
    """Admits items about an agent and a bead, if given, that contain all words."""

    agent: str | None = None
    bead: str | None = None
    words: tuple[str, ...] = ()

    def admits(self, thing: Thing) -> bool:
        if self.agent is not None and not (
            any(thing.get(name) == self.agent for name in AGENTS) or self.agent in thing.get("about", ())
        ):
            return False
        if self.bead is not None and thing.get("bead_id") != self.bead:
            return False
        if not self.words:
            return True
        text = "\n".join(_texts(thing)).casefold()
        return all(word in text for word in self.words)


def of(agent: str | None, bead: str | None, typed: str) -> Filter:
    """A filter for TYPED text: an item must contain all of its words, in any case."""
    return Filter(agent, bead, tuple(typed.casefold().split()))


class Shown(Record):
    """The filtered picture. Each agent carries its reservations as `holds`."""

    problems: list[Foreign]
    agents: list[Foreign]
    held: list[Foreign]
    unacked: list[Foreign]
    incursions: list[Foreign]
    waiting: list[Foreign]
    told: list[Foreign]
    left_out: Foreign = Foreign({})  # how many agents and reservations the picture does not have


def applied(picture: Picture, wanted: Filter) -> Shown:
    """The items of PICTURE that WANTED admits."""
    status = picture.status

    def some(things: list[Thing]) -> list[Foreign]:
        return list(map(Foreign, filter(wanted.admits, things)))

    return Shown(
        some(picture.problems),
        list(map(Foreign, _agents(status["agents"], status["reservations"], wanted))),
        some(status["reservations"]),
        some(status["unacked"]),
        some(status["incursions"]),
        some(status["waiting"]),
        some(picture.recent),
        Foreign(status.get("left_out", {})),
    )


def _agents(agents: list[Thing], reservations: list[Thing], wanted: Filter) -> Iterator[Thing]:
    """Admitted agents with all their reservations, and other agents with their admitted reservations. They are sorted
    by liveness; at equal liveness, agents with reservations come first."""
    busy = {reservation["agent_id"] for reservation in reservations}
    for agent in sorted(agents, key=lambda agent: (ORDER.index(agent["liveness"]), agent["agent_id"] not in busy)):
        holds = [reservation for reservation in reservations if reservation["agent_id"] == agent["agent_id"]]
        if wanted.admits(agent):
            yield {**agent, "holds": holds}
        elif about := list(filter(wanted.admits, holds)):
            yield {**agent, "holds": about}


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """All searchable texts of an item."""
    if isinstance(value, str):
        if name not in UNSEEN and not name.endswith("_at"):
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)
