"""What goes wrong in a world, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fleet_worlds.world import DAY, HOUR, MINUTE, SECOND, Steps

if TYPE_CHECKING:
    from tests.fleet_worlds.fleet import Fleet
    from tests.fleet_worlds.machine import Machine


@dataclass
class Failures:
    """Lets each KIND happen so many times a day on average, and counts them. ACCIDENTS are those with the history."""

    fleet: Fleet
    rates: dict[str, float]
    counts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    def begin(self) -> None:
        for name, rate in self.rates.items():
            if rate:
                self.fleet.world.start(self._again_and_again(name, DAY / rate, getattr(self, f"_{name}")))

    def _again_and_again(self, name: str, mean: float, fail: Callable[[], Steps]) -> Steps:
        while True:
            yield self.fleet.world.about(mean)
            if self.is_over:
                return
            self.counts[name] += 1
            yield from fail()

    def _some(self) -> list[Machine]:
        """One machine, or half of them."""
        machines, random = list(self.fleet.machines.values()), self.fleet.world.random
        return random.sample(machines, 1 if random.random() < 0.6 else (len(machines) + 1) // 2)

    def _one(self) -> Machine:
        return self.fleet.world.random.choice(list(self.fleet.machines.values()))

    # -- the network

    def _cut(self) -> Steps:
        """Some machines reach the engine no more: in both directions, or in one."""
        world, lines = self.fleet.world, [machine.line for machine in self._some()]
        out, back = world.random.choice([(False, False), (True, False), (False, True)])
        for line in lines:
            line.out, line.back = out, back
        yield world.about(25 * MINUTE)
        for line in lines:
            line.out = line.back = True

    def _bad_network(self) -> Steps:
        """Slow, lossy, and requests come twice."""
        world, lines = self.fleet.world, [machine.line for machine in self._some()]
        for line in lines:
            line.delay, line.lost, line.again = 400.0, 0.1, 0.1
        yield world.about(30 * MINUTE)
        for line in lines:
            line.delay, line.lost, line.again = 15.0, 0.0, 0.0

    def _no_git(self) -> Steps:
        world, machines = self.fleet.world, self._some()
        for machine in machines:
            machine.can_fetch = False
        yield world.about(HOUR)
        for machine in machines:
            machine.can_fetch = True

    # -- machines

    def _kill(self) -> Steps:
        machine = self._one()
        if machine.is_up:
            machine.kill()
            yield self.fleet.world.about(5 * MINUTE)
            machine.boot()

    def _kill_relay(self) -> Steps:
        machine = self._one()
        if machine.is_up:
            machine.kill_relay()
            yield self.fleet.world.about(10 * SECOND)
            if machine.is_up:
                machine.start_relay()

    def _slow_disk(self) -> Steps:
        machine = self._one()
        machine.write_time = 4 * SECOND
        yield self.fleet.world.about(30 * MINUTE)
        machine.write_time = 3.0

    def _clock(self) -> Steps:
        """A clock is set: it is wrong by up to an hour now."""
        self._one().skew = self.fleet.world.random.uniform(-HOUR, HOUR)
        yield 0

    def _clone(self) -> Steps:
        """A machine is copied while it runs. Two machines have one writer then."""
        self.fleet.clone(self._one())
        yield 0

    # -- the engine

    def _crash(self) -> Steps:
        engine = self.fleet.keeper.engine
        if engine.is_up:
            engine.crash()
            yield self.fleet.world.about(MINUTE)
            engine.restart()

    def _move(self) -> Steps:
        self.fleet.keeper.move()
        yield 0

    def _backup(self) -> Steps:
        """A backup from some time before is restored."""
        yield from self._rewind(self.fleet.world.random.randrange(1, 300))

    def _failover(self) -> Steps:
        """A standby that had not received the last rows becomes the primary."""
        yield from self._rewind(self.fleet.world.random.choice([0, 1, 1, 2, 3, 5, 8, 20]))

    def _rewind(self, rows: int) -> Steps:
        keeper, world = self.fleet.keeper, self.fleet.world
        engine, log = keeper.engine, keeper.log
        engine.crash()
        yield world.about(30 * SECOND)
        self.fleet.model.accidents += 1
        engine.rewind(log.incarnation, max(log.place - rows, log.first - 1))
        self.fleet.model.rewound(engine.logs[log.incarnation], log)

    def _second_engine(self) -> Steps:
        """A copy of the engine answers some of the machines, beside the engine itself."""
        keeper, world = self.fleet.keeper, self.fleet.world
        if len(keeper.engines) > 1 or not keeper.engine.is_up:
            return
        log = keeper.log
        other = keeper.engine.fork("second", {log.incarnation: log.place - world.random.choice([0, 0, 1, 3, 30])})
        self.fleet.model.accidents += 1
        for copied in other.logs.values():
            self.fleet.model.rewound(copied, keeper.engine.logs[copied.incarnation])
        keeper.engines.append(other)
        for machine in world.random.sample(list(self.fleet.machines.values()), len(self.fleet.machines) // 2):
            machine.line.engine = other
        if world.chance(0.5):
            keeper.engine.crash()
            keeper.engine.restart()
        yield world.about(HOUR)
        if len(keeper.engines) > 1:
            other.crash()
            keeper.engines.remove(other)
            for line in keeper.lines.values():
                line.engine = keeper.engine
