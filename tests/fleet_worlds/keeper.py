"""The person who runs the engine: hears that it is not trusted, and begins its log again (`bb fleet begin --again`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from bb.kernel.errors import BbError
from tests.fleet_worlds.archive import Archive
from tests.fleet_worlds.engine import Engine, Line, Log
from tests.fleet_worlds.machine import Machine
from tests.fleet_worlds.model import Model
from tests.fleet_worlds.world import MINUTE, Steps, World

LEAP = 1_000_000  # as in `bb/ledger/fleet/incarnations.py`


@dataclass
class Keeper:
    """ENGINES has every engine that runs, the right one first. LINES are the connections of the machines."""

    world: World
    model: Model
    archive: Archive
    engines: list[Engine]
    lines: dict[str, Line] = field(default_factory=dict)
    takes_lines_twice: bool = False  # the engine of a broken world
    leap: int = LEAP
    closes_the_log_before: bool = True
    repairs: int = 0
    is_busy: bool = False

    @property
    def engine(self) -> Engine:
        return self.engines[0]

    @property
    def log(self) -> Log:
        """The log that the charter names, on the right engine."""
        assert self.archive.charter is not None
        return self.engine.logs[self.archive.charter[0]]

    def begin(self, first: int) -> None:
        """A new log on the right engine, and the push of its terms."""
        incarnation = f"{self.world.random.getrandbits(64):016x}"
        log = Log(incarnation, first, self.archive.heads, self.takes_lines_twice)
        self.engine.logs[incarnation] = log
        self.archive.switch(log)
        self.model.begun(log)

    def alarm(self, machine: Machine) -> None:
        """A machine says that it does not trust the engine. If it only has to fetch, there is nothing to repair."""
        charter = self.archive.charter
        if self.is_busy or charter is None or machine.disk.incarnation != charter[0]:
            return
        if machine.stopped == "APPEND_FORKED":
            return
        self.is_busy = True
        self.world.start(self._repair(machine.disk.place))

    def _repair(self, seen: int) -> Steps:
        yield self.world.about(30 * MINUTE)
        for other in self.engines[1:]:
            other.crash()
        del self.engines[1:]
        for line in self.lines.values():
            line.engine = self.engine
        while not self.engine.is_up:
            yield MINUTE
        places = [seen, self.archive.place, self.log.place, *self._beaten()]
        self._publish_what_continues()
        if self.closes_the_log_before:
            self.log.is_closed = True
        self.begin(max(places) + self.leap)
        self.repairs += 1
        self.is_busy = False

    def _beaten(self) -> list[int]:
        return [one.place for one in self.engine.alive()]

    def move(self) -> None:
        """Begin a new log on purpose: close the one so far, publish the rest of it, and go on after it."""
        if self.is_busy or not self.engine.is_up or len(self.engines) > 1:
            return
        self.log.is_closed = True
        self._publish_what_continues()
        if self.archive.place != self.log.place:  # the archive is ahead or elsewhere: that is for a repair
            return
        self.begin(self.archive.place + 1)

    def _publish_what_continues(self) -> None:
        while rows := self.archive.continuing(self.log.read(self.archive.place)):
            try:
                self.archive.push(self.archive.tip, self.log.incarnation, rows)
            except BbError:
                return
