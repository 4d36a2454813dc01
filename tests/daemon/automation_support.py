"""A daemon's time that a test moves on, and a group whose actors run as the test says."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bb.daemon.actors.session import Session
from bb.daemon.automation.automation import Automation
from bb.daemon.clients.streams import Streams
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Timer
from bb.kernel import clock
from bb.ledger.local import machine_registry as knowns
from bb.ledger.records.newest_first import newest_first
from bb.ops.chat import chat, reactions, reading
from bb.ops.desk import directories, group_desk
from bb.ops.desk.desk import Desk
from bb.ops.groups import actors, group
from tests.support import NOON

SECOND = 1000


class Time:
    """The loop of a daemon, and its clock. Nothing happens but what a test waits for."""

    def __init__(self) -> None:
        self.ms = clock.parse(NOON)
        self._timers: list[tuple[float, int, Timer]] = []
        self._soon: list[Callable[[], None]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self.ms / 1000

    def later(self, seconds: float, do: Callable[[], None]) -> Timer:
        timer = Timer(self.now() + seconds, do)
        heapq.heappush(self._timers, (timer.at, next(self._count), timer))
        return timer

    def call_soon(self, do: Callable[[], None]) -> None:
        self._soon.append(do)

    def wait(self, seconds: float) -> None:
        """Let time pass, and happen what is due in it."""
        end = self.now() + seconds
        self._see_to_what_is_soon()
        while self._timers and self._timers[0][0] <= end:
            at, _, timer = heapq.heappop(self._timers)
            self.ms = max(self.ms, round(at * 1000))
            if timer.do:
                timer.do()
            self._see_to_what_is_soon()
        self.ms = round(end * 1000)

    def _see_to_what_is_soon(self) -> None:
        while self._soon:
            self._soon.pop(0)()


class Stage(Desk):
    """A daemon's desk, at the time of the test."""

    time: Time

    def now(self) -> int:
        return self.time.ms


class Player(Session):
    """An actor that runs, and does what a test says."""

    def __init__(self, group_id: str, actor_id: str, started_at: int) -> None:
        super().__init__(group_id, actor_id, started_at)
        self.is_at_work = False
        self.withdrawn: list[str] = []

    @property
    def has_task(self) -> bool:
        return self.is_at_work

    def withdraw(self, event: str) -> None:
        self.withdrawn.append(event)


class Troupe:
    """The actors that run."""

    def __init__(self) -> None:
        self.players: dict[str, Player] = {}
        self.glimpses: list[tuple[str, str]] = []

    def sessions(self) -> Iterator[Player]:
        yield from self.players.values()

    def glimpse(self, of: Any, actor_id: str, to: str) -> dict[str, str]:
        self.glimpses.append((actor_id, to))
        return {"terminal_tail": "$ make\nok"}


class World:
    """One group that is looked after."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.time = Time()
        self.folder = folder
        self.troupe = Troupe()
        self._open()
        made = directories.create(self.desk, knowns.home(self.desk.env), "Release", "", "user")
        self.id = made.id
        self.set(**settings)

    def _open(self) -> None:
        self.desk = Stage(str(self.folder), {"CCCC_HOME": str(self.folder / "home")}, is_served=True)
        self.desk.time = self.time
        self.log = Log(str(self.folder / "log"))
        time: Any = self.time
        self.streams = Streams(time)
        troupe: Any = self.troupe
        self.automation = Automation(time, self.desk, self.streams, troupe, self.log)

    def come_back(self) -> None:
        """The daemon ends, and another begins; who ran runs again."""
        self.desk.close()
        self.time._timers.clear()
        players = list(self.troupe.players)
        self.troupe = Troupe()
        self._open()
        for name in players:
            self.run(name)

    @property
    def group(self) -> group_desk.GroupDesk:
        return group_desk.open_group(self.desk, self.id)

    # -- what happens

    def run(self, name: str) -> Player:
        """Start an actor, who is added if need be."""
        if name not in self.group.roles():
            actors.add(self.desk, name, group_id=self.id, runner="headless")
        player = self.troupe.players[name] = Player(self.id, name, self.time.ms)
        self.automation.attend(self.group)
        return player

    def end(self, name: str) -> None:
        del self.troupe.players[name]
        self.pump()

    def send(self, text: str = "x", to: str | None = None, by: str = "user", **more: Any) -> str:
        event = chat.send(self.desk, text, to=[to] if to else None, by=by, group_id=self.id, **more)["event"]
        self.pump()
        return str(event["id"])

    def read(self, name: str, event_id: str) -> None:
        reading.mark_read(self.desk, event_id, actor_id=name, by=name, group_id=self.id)
        self.pump()

    def ack(self, name: str, event_id: str) -> None:
        reactions.ack(self.desk, event_id, actor_id=name, by=name, group_id=self.id)
        self.pump()

    def set(self, **patch: Any) -> None:
        if patch:
            group.update_settings(self.desk, group_id=self.id, patch=patch)
            self.pump()

    def become(self, state: str) -> None:
        group.set_state(self.desk, state, group_id=self.id)
        self.pump()

    def pump(self) -> None:
        self.streams.pump([self.id])

    def wait(self, seconds: float) -> None:
        self.time.wait(seconds)

    # -- what came of it

    def notices(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The notices that were recorded, with when: seconds after noon."""
        found = []
        for event in newest_first(self.group.store, lambda raw: b'"kind":"system.notify"' in raw):
            if event.by == "system" and kind in (None, event.data["kind"]):
                at = (clock.parse(event.ts) - clock.parse(NOON)) / 1000
                found.append({"id": event.id, "at": at, **event.data})
        return found[::-1]

    def told(self, kind: str | None = None) -> list[tuple[str, str, float]]:
        """Which notices, to whom, and when."""
        return [(each["kind"], each["target_actor_id"], each["at"]) for each in self.notices(kind)]


NEVER = dict.fromkeys(
    [
        *("nudge_after_seconds", "actor_idle_timeout_seconds", "keepalive_delay_seconds", "silence_timeout_seconds"),
        *("standup_interval_seconds", "help_nudge_interval_seconds"),
    ],
    0,
)
