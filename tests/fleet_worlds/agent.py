"""What an agent does: it reserves what it wants to change, works, renews, releases; it falls silent, and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bb.coordination.facts import Registered, Released, Renewed, Reserved
from bb.coordination.holdings.ordered_admission import take_over
from tests.fleet_worlds.machine import ADMITTED, PENDING, RELAY_GONE, STALE, Machine
from tests.fleet_worlds.model import Claim
from tests.fleet_worlds.world import HOUR, MINUTE, SECOND, Process, Steps

BEAD, TTL = "bb-1", 120
TRIES = 3  # how often an agent asks again what became of its reservation

Where = tuple[str, bool]


@dataclass
class Habits:
    """How agents are: how long they pause and work, how often a reservation is shared, how often an agent falls silent
    while it holds something, and how many of them leave their reservation behind."""

    pause: float = 90 * MINUTE
    work: float = 40 * MINUTE
    shared: float = 0.1
    silent: float = 0.06
    forgets: float = 0.03
    patience: float = 30 * SECOND
    scopes: Sequence[Where] = ()
    hours: tuple[int, int] = (0, 24)  # of the day, in which they work


@dataclass
class Agent:
    name: str
    machine: Machine
    habits: Habits
    is_registered: bool = False
    holds: dict[str, Where] = field(default_factory=dict)  # what it believes
    asleep_since: float | None = None
    _process: Process | None = None

    @property
    def silence(self) -> float:
        """Since when it gave no sign of life, in milliseconds. One that is awake gives one each minute."""
        return 0.0 if self.asleep_since is None else self.machine.world.now - self.asleep_since

    # -- what happens to it

    def boot(self) -> None:
        self.asleep_since = None
        self._process = self.machine.world.start(self._life())

    def kill(self) -> None:
        if self._process:
            self._process.kill()
        if self.asleep_since is None:
            self.asleep_since = self.machine.world.now

    def lost(self, event: str) -> None:
        """Its machine has read that a reservation of it has ended."""
        self.holds.pop(event, None)
        self.machine.model.over(event)

    def moved(self) -> None:
        """Its machine reads another log now. What it holds by the archive goes on; the rest is void."""
        for event in [event for event in self.holds if event not in self.machine.open]:
            self.lost(event)

    # -- what it does

    def _life(self) -> Steps:
        machine, world, habits = self.machine, self.machine.world, self.habits
        if not self.is_registered:
            self.is_registered = True
            yield from machine.record(self.name, Registered(self.name, "coder", self.name))
        yield world.about(SECOND)
        yield from self._look_around()
        while True:
            yield world.about(habits.pause)
            yield from self._until_its_hours()
            where = world.random.choice(habits.scopes)
            event = yield from self._reserve(where, world.chance(habits.shared))
            if event:
                yield from self._work(event)

    def _until_its_hours(self) -> Steps:
        world, (begin, end) = self.machine.world, self.habits.hours
        hour = world.now / HOUR % 24
        if not begin <= hour < end:
            yield ((begin - hour) % 24) * HOUR + world.about(20 * MINUTE)

    def _look_around(self) -> Steps:
        """What it does first: `bb sync`, and look what it holds. It gives that back or goes on with it."""
        machine = self.machine
        is_fresh = yield from machine.fresh()
        for event in list(self.holds):
            if event not in machine.open:
                self.lost(event)
        for event, grant in [(event, grant) for event, grant in machine.open.items() if grant.agent == self.name]:
            if is_fresh and machine.session and event not in machine.model.claims and event in machine.open:
                self._believe(event, (grant.scope, grant.is_file), grant.shared, grant.token)
            if machine.world.chance(0.5):
                yield from self._give_back(event)
            else:
                yield from self._work(event)

    def _reserve(self, where: Where, shared: bool) -> Steps:
        """The id of the reservation, once the agent was told that it holds it."""
        machine = self.machine
        in_way, waits = machine.in_way(self.name, where, shared)
        if machine.stopped or waits or not all(machine.silence(machine.open[name].agent) >= STALE for name in in_way):
            return None
        if in_way and machine.rules.asks_fresh:
            if not (yield from machine.fresh()):
                return None
            in_way, waits = machine.in_way(self.name, where, shared)
            if waits or not all(machine.silence(machine.open[name].agent) >= STALE for name in in_way):
                return None
        takes = " ".join(take_over(name, machine.disk.place) for name in in_way) or None
        engine = machine.session[0] if machine.session else machine.line.engine
        machine.model.takes_over(self.name, {machine.open[name].agent for name in in_way}, engine.name)
        wanted = Reserved(self.name, where[0], BEAD, TTL, shared, where[1], takes=takes, order=machine.disk.incarnation)
        (event,) = yield from machine.record(self.name, wanted)
        machine.wanted[event] = self.name, where, shared
        return (yield from self._settled(event, where, shared))

    def _settled(self, event: str, where: Where, shared: bool) -> Steps:
        machine, world = self.machine, self.machine.world
        for attempt in range(TRIES):
            if attempt and not (yield from machine.fresh()):  # `bb sync` settles it
                continue
            state, token = yield from machine.settle(event, self.habits.patience)
            if state == ADMITTED:
                self._believe(event, where, shared, token)
                return event
            if state not in (PENDING, RELAY_GONE):
                break
            if world.chance(0.1):
                return None  # it does something else, and forgets
            yield from self._sleep() if world.chance(0.3) else self._wait_a_moment()
        yield from self._give_back(event)
        return None

    def _wait_a_moment(self) -> Steps:
        yield self.machine.world.about(10 * SECOND)

    def _believe(self, event: str, where: Where, shared: bool, token: int) -> None:
        """It was told that it holds this."""
        machine = self.machine
        self.holds[event] = where
        history = machine.model.contacts[machine.name]
        claim = Claim(event, self.name, where, shared, token, machine.name, history, machine.world.now)
        machine.model.told(claim, machine.disk.place)

    def _work(self, event: str) -> Steps:
        """Work on it, renew it, and give it back; or fall silent, and come back later."""
        machine, world, habits = self.machine, self.machine.world, self.habits
        left = world.about(habits.work)
        while left > 0 and event in self.holds:
            step = min(left, 45 * MINUTE * world.random.random() + MINUTE)
            yield step
            left -= step
            if world.chance(habits.silent):
                yield from self._sleep()
            if event in self.holds and left > 0:
                yield from machine.record(self.name, Renewed(self.name, event, TTL))
        if event in self.holds and not world.chance(habits.forgets):
            yield from self._give_back(event)

    def _sleep(self) -> Steps:
        self.asleep_since = self.machine.world.now
        yield self.machine.world.about(60 * MINUTE)
        self.asleep_since = None

    def _give_back(self, event: str) -> Steps:
        """From the moment that it decides to, it does not hold it any more."""
        self.holds.pop(event, None)
        self.machine.model.over(event)
        self.machine.wanted.pop(event, None)
        yield from self.machine.record(self.name, Released(self.name, event))
