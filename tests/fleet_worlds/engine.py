"""The engine of a simulated fleet: one log for each incarnation, and connections on which anything can be lost.

The engine itself keeps its word: rows have places without gaps, a line is taken once, and what was acknowledged is on
its disk. What breaks that word is a *rewind*: a backup is restored, a standby that lacked the last rows becomes the
primary, or a copy goes on beside the original. The model knows (`model.py`); the machines have to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.carrier.door import Head, Machine, Row
from tests.fleet_worlds.world import MINUTE, SECOND, TIME_OVER, Signal, Steps, Wait, World

PATIENCE = 2 * SECOND  # until a relay gives a silent connection up
REPO = "world"


class Log:
    """One log. TAKES_TWICE is an engine that does not look whether it has a line already, which only a test wants."""

    def __init__(self, incarnation: str, first: int, heads: dict[str, int], takes_twice: bool = False) -> None:
        self.incarnation, self.first, self.is_closed = incarnation, first, False
        self.rows: list[Row] = []
        self.begun = dict(heads)
        self.takes_twice = takes_twice
        self._lines: dict[str, list[tuple[bytes, int]]] = {}
        self.digest = door.first_digest(REPO, incarnation)

    @property
    def place(self) -> int:
        return self.first + len(self.rows) - 1

    def head(self, now: float) -> Head:
        return Head(self.incarnation, self.place, self.digest, self.first, int(now), self.is_closed)

    def append(self, writer: str, first: int, lines: Sequence[bytes], now: float) -> int:
        """As the door says; without a network in between."""
        if self.is_closed:
            raise door.FleetEnded()
        begun, had = self.begun.get(writer, 0), self._lines.setdefault(writer, [])
        head = begun + len(had)
        if first > head + 1:
            raise door.Gap(next=head + 1)
        known = 0 if self.takes_twice else head + 1 - first
        for n, line in enumerate(lines[:known], first):
            if n > begun and had[n - begun - 1][0] != line:
                raise door.Forked()
        new = lines[known:]
        if not new:
            return had[first + len(lines) - 2 - begun][1] if first + len(lines) - 1 > begun else self.first - 1
        octets, place = b"".join(line + b"\n" for line in new), self.place + 1
        self.digest = door.next_digest(self.digest, place, writer, first + known, octets)
        self.rows.append(Row(place, writer, first + known, octets, self.digest, int(now)))
        had += [(line, place) for line in new]
        return place

    def read(self, since: int, most: int = door.MOST_READ) -> list[Row]:
        start = max(since + 1 - self.first, 0)
        return self.rows[start : start + most]

    def upto(self, place: int) -> Log:
        """The log as it was at a PLACE, with the same incarnation: what a backup has."""
        old = Log(self.incarnation, self.first, self.begun, self.takes_twice)
        old.rows = self.rows[: max(place - self.first + 1, 0)]
        for row in old.rows:
            old._lines.setdefault(row.writer, []).extend((line, row.place) for line in row.octets.split(b"\n")[:-1])
        old.digest = old.rows[-1].digest if old.rows else door.first_digest(REPO, self.incarnation)
        return old


@dataclass
class Engine:
    """A server with its logs. MACHINES has the last beat of each machine: what it said, and when."""

    world: World
    name: str
    logs: dict[str, Log] = field(default_factory=dict)
    is_up: bool = True
    boots: int = 0  # a connection belongs to one of them
    clock: float = 0.0  # how far its clock is from true time
    machines: dict[str, tuple[Machine, float]] = field(default_factory=dict)
    on_append: Callable[[Engine, Log, Row], None] = lambda engine, log, row: None
    listeners: dict[str, Callable[[Engine], None]] = field(default_factory=dict)  # the relays that are told of rows
    leader: str = ""  # the machine whose connection has the lock of the one that archives

    @property
    def now(self) -> float:
        return self.world.now + self.clock

    def log(self, incarnation: str) -> Log:
        if incarnation not in self.logs:
            raise door.AnotherEngine()
        return self.logs[incarnation]

    def append(self, incarnation: str, writer: str, first: int, lines: Sequence[bytes]) -> int:
        log = self.log(incarnation)
        before = log.place
        place = log.append(writer, first, lines, self.now)
        if log.place > before:
            self.on_append(self, log, log.rows[-1])
            for told in self.listeners.values():
                told(self)
        return place

    def for_archive(self, machine: str, incarnation: str, since: int) -> tuple[int, list[Row]]:
        """The last place, and the rows after SINCE if the machine's connection has the lock for archiving."""
        log = self.log(incarnation)
        if self.leader not in self.listeners:  # its connection was lost
            self.leader = machine
        return log.place, log.read(since) if self.leader == machine else []

    def beat(self, machine: Machine) -> None:
        self.machines[machine.name] = machine, self.now

    def alive(self) -> list[Machine]:
        """The last beats, with their age by this engine's clock."""
        return [said.replace(age=(self.now - at) / SECOND) for said, at in self.machines.values()]

    def crash(self) -> None:
        """End at once. What was acknowledged stays; the beats, which are not logged, are lost."""
        self.is_up = False
        self.boots += 1
        self.machines.clear()
        self.listeners.clear()
        self.leader = ""

    def restart(self) -> None:
        self.is_up = True

    def rewind(self, incarnation: str, place: int) -> None:
        """Come back with the rows up to PLACE only."""
        self.crash()
        self.logs[incarnation] = self.logs[incarnation].upto(place)
        self.restart()

    def fork(self, name: str, places: dict[str, int]) -> Engine:
        """A second engine that has the rows up to some PLACES, and goes on by itself."""
        other = Engine(self.world, name, clock=self.clock, on_append=self.on_append)
        other.logs = {one: log.upto(places.get(one, log.place)) for one, log in self.logs.items()}
        return other


@dataclass
class Line:
    """The network between one machine and the engine that its address leads to. OUT and BACK say which way something
    passes; LOST is the share that is lost on the way, AGAIN the share of appends that come a second time, later."""

    world: World
    engine: Engine
    out: bool = True
    back: bool = True
    delay: float = 15.0
    lost: float = 0.0
    again: float = 0.0

    def call(
        self, ask: Callable[[Engine], Any], session: tuple[Engine, int] | None, *, is_append: bool = False
    ) -> Steps:
        """What ASK returns for the engine, a moment later; or what it raises. SESSION is the connection, as the engine
        and which of its boots; without one, the call goes to the engine to which the address leads now. An append may
        be stuck in the engine, and happen when its connection is long gone."""
        world, answer = self.world, Signal()
        engine, boot = session or (self.engine, None)
        if boot is not None and boot != engine.boots:
            yield world.about(self.delay)
            raise door.EngineUnreachable()
        if self.out and not world.chance(self.lost):
            world.after(world.about(self.delay), self._arrive, engine, ask, boot, answer)
            if is_append and world.chance(self.again):
                world.after(world.about(5 * MINUTE), self._arrive, engine, ask, None, Signal())
        found = yield Wait(answer, PATIENCE)
        if found is TIME_OVER:
            raise door.AppendUnknown() if session else door.EngineUnreachable()
        value, error = found
        if error is not None:
            raise error
        return value

    def _arrive(self, engine: Engine, ask: Callable[[Engine], Any], boot: int | None, answer: Signal) -> None:
        """The request is there. It may come when its connection is long gone; then nobody hears the answer."""
        if not engine.is_up or (boot is not None and boot != engine.boots):
            return
        try:
            found = ask(engine), None
        except BbError as error:
            found = None, error
        if self.back and not self.world.chance(self.lost):
            self.world.after(self.world.about(self.delay), self._answer, engine, engine.boots, answer, found)

    def _answer(self, engine: Engine, boots: int, answer: Signal, found: Any) -> None:
        if engine.is_up and engine.boots == boots and self.back:
            answer.fire(found)
