"""A machine of a simulated fleet: its relay, and what the commands of its agents ask of it.

The relay does what `bb/ledger/fleet/relay.py` does, step by step; each step takes time and may be the last. What there
is to decide is decided by bb: `OrderedAdmission` folds the rows, `sound_rows` and `row_facts` read them, and the lines
are ledger lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.ordered_admission import OrderedAdmission, Refusal
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.carrier.door import Row
from tests.fleet_worlds.disk import Disk
from tests.fleet_worlds.archive import Archive
from tests.fleet_worlds.engine import REPO, Engine, Line, Log
from tests.fleet_worlds.model import Model, meets
from tests.fleet_worlds.world import MINUTE, SECOND, TIME_OVER, Process, Signal, Steps, Wait, World

ADMITTED, REFUSED, VOID = "admitted", "refused", "void"
UNREACHABLE, PENDING, STOPPED = "unreachable", "pending", "stopped"
STALE = 15 * MINUTE
AT_ONCE = 2 * SECOND  # the longest that an agent waits for an engine that is away
POLL = 2 * SECOND
DISTRUST = tuple(one.error for one in (door.AnotherEngine, door.EngineRewound, door.FleetEnded, door.Forked))


@dataclass(frozen=True)
class Rules:
    """What a relay does. A test that wants to see a world break takes one rule away."""

    compares: bool = True  # the digest at its place with the engine's, at each connect, and that of each row
    sees: bool = True  # what a holder recorded before it is taken over
    asks_fresh: bool = True  # before it takes over
    forgets_other_incarnations: bool = True  # reservations made for them are void
    sends_again: bool = True  # what a new log lacks
    gives_up_unknown: bool = False  # takes a lost answer for a refusal, and says so to nobody
    reader: type[OrderedAdmission] = OrderedAdmission
    fetch: float = 60 * SECOND  # between two looks at the git remote while the engine is not trusted
    fetch_in_peace: float = 10 * MINUTE
    beat: float = 10 * SECOND
    archive: float = 20 * SECOND


@dataclass
class Ask:
    """A question of an agent: what becomes of one of our lines."""

    event: str
    answer: Signal = field(default_factory=Signal)


@dataclass
class Machine:
    world: World
    model: Model
    name: str
    line: Line
    archive: Archive
    disk: Disk
    rules: Rules
    alarm: Callable[[Machine], None] = lambda machine: None  # tells the person that the engine is not trusted
    skew: float = 0.0  # of its clock, in milliseconds
    drift: float = 0.0
    write_time: float = 3.0  # milliseconds for one write to its disk
    can_fetch: bool = True
    agents: dict[str, Any] = field(default_factory=dict)
    is_up: bool = False
    stopped: str = ""  # why there are no verdicts
    session: tuple[Engine, int] | None = None
    open: dict[str, Grant] = field(default_factory=dict)  # the grants that have not ended, as far as we have read
    verdicts: dict[str, Grant | Refusal] = field(default_factory=dict)  # of our own reservations
    wanted: dict[str, tuple[str, tuple[str, bool], bool]] = field(default_factory=dict)  # ours without a verdict
    tried: int = 0  # the number of our last line that we may have sent
    next: int = 0  # the number of our last line that need not be sent again
    _asks: list[Ask] = field(default_factory=list)
    _news: Signal = field(default_factory=Signal)
    _is_woken: bool = False
    _processes: list[Process] = field(default_factory=list)
    _fold: OrderedAdmission | None = None
    _last_fetch: float = 0.0

    @property
    def now(self) -> float:
        """What this machine's clock says."""
        return self.world.now * (1 + self.drift) + self.skew

    @property
    def admitted(self) -> Admitted:
        """What this machine has computed."""
        assert self._fold is not None
        return self._fold.admitted

    # -- life and death

    def boot(self) -> None:
        """Start with what the disk has."""
        self.is_up, self.stopped, self.session, self._asks, self._is_woken = True, "", None, [], False
        self.verdicts, self._news, self._last_fetch = {}, Signal(), self.world.now
        if self.disk.incarnation:
            self._read_saved()
        else:
            self._adopt()
        self._processes = [self.world.start(steps()) for steps in (self._relay, self._beats, self._archives)]
        for agent in self.agents.values():
            agent.boot()

    def kill(self) -> None:
        """kill -9, for the relay and for every command that runs."""
        self.is_up = False
        self._hang_up()
        for process in self._processes:
            process.kill()
        for agent in self.agents.values():
            agent.kill()

    def kill_relay(self) -> None:
        """kill -9 for the relay alone. It is started again at once, and answers nobody who had asked it."""
        for process in self._processes:
            process.kill()
        self._hang_up()
        self._asks, self._news, self._is_woken = [], Signal(), False
        self._read_saved()
        self._processes = [self.world.start(steps()) for steps in (self._relay, self._beats, self._archives)]

    def _read_saved(self) -> None:
        disk = self.disk
        known = self.model.results(disk.known, disk.digest, disk.start)
        self._fold = self.rules.reader(known, disk.incarnation)
        self.open = {name: grant for name, grant in known.grants.items() if grant.ended is None}
        self.tried = self.next = disk.placed

    # -- what an agent's command asks

    def record(self, by: str, *facts: Any) -> Steps:
        """Write the lines of FACTS; returns their ids once they are on the disk."""
        yield self.world.about(self.write_time)
        names = [self.disk.write(by, fact, self.now) for fact in facts]
        self.wake()
        return names

    def in_way(self, agent: str, where: tuple[str, bool], shared: bool) -> tuple[list[str], bool]:
        """The open grants of other agents that meet a scope, and whether a reservation of this machine that has no
        verdict yet does."""
        names = [
            name
            for name, grant in self.open.items()
            if grant.agent != agent and not (grant.shared and shared) and meets((grant.scope, grant.is_file), where)
        ]
        waits = any(
            other != agent and not (is_shared and shared) and meets(there, where)
            for other, there, is_shared in self.wanted.values()
        )
        return names, waits

    def silence(self, agent: str) -> float:
        """For how long an agent has given no sign of life, in milliseconds, as far as this machine knows."""
        if agent in self.agents:
            return self.agents[agent].silence
        for agents, age, at in self.disk.heard.values():
            if agent in agents:
                return agents[agent] * SECOND + age + self.now - at
        return 0.0

    def settle(self, event: str, patience: float) -> Steps:
        """What became of our reservation EVENT: a state, and the grant if it is admitted."""
        if self.stopped:
            return STOPPED, None
        ask, n = Ask(event), ids.split_event_id(event)[1]
        if event not in self.verdicts:
            self._asks.append(ask)
            self.wake()
            found = yield Wait(ask.answer, min(AT_ONCE, patience))
            if found is TIME_OVER and self.tried >= n:
                found = yield Wait(ask.answer, patience)
            if found is TIME_OVER:
                if ask in self._asks:
                    self._asks.remove(ask)
                return (PENDING if self.tried >= n else UNREACHABLE), None
            if found is not None:
                return found, None
        verdict = self.verdicts[event]
        if isinstance(verdict, Grant):
            return (ADMITTED, verdict) if event in self.open else (REFUSED, None)
        return (VOID if verdict.reason == "other_incarnation" else REFUSED), None

    def fresh(self) -> Steps:
        """Read up to the engine's last row of now, and hear who is alive. Whether that was possible."""
        if self.session is None or self.stopped:
            return False
        try:
            incarnation = self.disk.incarnation
            place, alive = yield from self._call(lambda engine: (engine.log(incarnation).place, engine.alive()))
        except BbError:
            return False
        self._heard(alive)
        deadline = self.world.now + AT_ONCE
        while self.disk.place < place and self.world.now < deadline:
            self.wake()
            yield 100
        return self.disk.place >= place and self.disk.incarnation == incarnation

    def wake(self) -> None:
        self._is_woken = False
        news, self._news = self._news, Signal()
        news.fire()

    # -- the relay

    def _call(self, ask: Callable[[Engine], Any]) -> Steps:
        return (yield from self.line.call(ask, self.session))

    def _relay(self) -> Steps:
        while True:
            try:
                if self.stopped != door.Forked.code:
                    yield from self._connect()
                    yield from self._work()
            except DISTRUST as error:
                self._stop(error.code)
            except BbError:
                pass  # it is away, or an answer was lost: the next connection tells
            self._hang_up()
            yield self.rules.fetch if self.stopped else SECOND
            if self.world.now - self._last_fetch >= (self.rules.fetch if self.stopped else self.rules.fetch_in_peace):
                self._fetch()

    def _hang_up(self) -> None:
        if self.session:
            self.session[0].listeners.pop(self.name, None)
        self.session = None

    def _connect(self) -> Steps:
        """Connect, and compare the log with what we have read of it."""
        disk = self.disk
        incarnation, place, digest = disk.incarnation, disk.place, disk.digest
        engine = self.line.engine

        def look(engine: Engine) -> tuple[int, Log, list[Row]]:
            log = engine.log(incarnation)
            return engine.boots, log, log.read(place - 1, 1) if place >= log.first else []

        boots, log, rows = yield from self.line.call(look, None)
        if self.rules.compares:
            if log.place < place:
                raise door.EngineRewound()
            if rows and rows[0].digest != digest:
                raise door.AnotherEngine()
        self.session, self.stopped = (engine, boots), ""
        engine.listeners[self.name] = self.told_of_rows
        self.model.trust(self.name, log)

    def told_of_rows(self, engine: Engine) -> None:
        """The engine notifies, if the connection is still there."""
        if not self._is_woken and self.session == (engine, engine.boots) and self.line.back:
            self._is_woken = True
            self.world.after(self.world.about(60), self.wake)

    def _work(self) -> Steps:
        """Send what waits and read what comes, until the connection is lost."""
        while True:
            news = self._news
            if self.next < len(self.disk.own):
                yield from self._send()
            place, incarnation = self.disk.place, self.disk.incarnation
            rows = yield from self._call(lambda engine: engine.log(incarnation).read(place))
            if rows:
                yield from self._take(rows)
            elif self.next >= len(self.disk.own):
                yield Wait(news, self.world.about(15 * POLL))
            if self.world.now - self._last_fetch >= self.rules.fetch_in_peace and self._fetch():
                raise door.EngineUnreachable()  # connect to the new log

    def _send(self) -> Steps:
        disk, first = self.disk, self.next + 1
        waiting, incarnation = disk.unsent(self.next), disk.incarnation
        self.tried = max(self.tried, first + len(waiting) - 1)
        try:
            yield from self._call(lambda engine: engine.append(incarnation, disk.writer, first, waiting))
        except door.Gap.error as gap:
            self.next = gap.details["next"] - 1
            return
        self.model.acknowledge(disk.writer, first, waiting)
        self.next = max(self.next, first + len(waiting) - 1)

    def _take(self, rows: list[Row]) -> Steps:
        """Fold rows, save the results, and answer those who wait for them."""
        disk, fold = self.disk, self._fold
        assert fold is not None
        place, digest, placed, links = disk.place, disk.digest, disk.placed, {}
        changed: dict[str, Grant] = {}
        for row in rows:
            if self.rules.compares:
                follows = door.next_digest(digest, place + 1, row.writer, row.first, row.octets)
                if (row.place, row.digest) != (place + 1, follows):
                    raise door.AnotherEngine()
            said = self.model.read(row, {**disk.links, **links} if row.writer in links else disk.links)
            changes = fold.row(row.place, said.facts, said.recorders)
            self.model.folded(digest, row, changes)
            place, digest = row.place, row.digest
            if said.link is not None:
                links[row.writer] = said.link
            changed.update(changes.grants)
            if row.writer == disk.writer:
                placed = max(placed, row.last)
                self._note_verdicts(said.facts, changes)
        yield self.world.about(self.write_time)
        disk.place, disk.digest, disk.placed = place, digest, placed
        disk.links.update(links)
        self.next, self.tried = max(self.next, placed), max(self.tried, placed)
        for name, grant in changed.items():
            if grant.ended is None:
                self.open[name] = grant
            elif self.open.pop(name, None) and grant.agent in self.agents:
                self.agents[grant.agent].lost(name)
        self._answer_those_who_can_be()

    def _note_verdicts(self, facts: Any, changes: Any) -> None:
        for name, _ in facts:
            verdict = changes.verdict(name)
            if verdict is not None:
                self.verdicts[name] = verdict
                self.wanted.pop(name, None)

    def _answer_those_who_can_be(self) -> None:
        for ask in [ask for ask in self._asks if ask.event in self.verdicts]:
            self._asks.remove(ask)
            ask.answer.fire()

    def _stop(self, why: str) -> None:
        """The engine is not the one that we have read: no verdicts until it is."""
        self.stopped = why
        self.model.doubt(self.name)
        asks, self._asks = self._asks, []
        for ask in asks:
            ask.answer.fire(STOPPED)
        self.alarm(self)

    # -- the git remote

    def _fetch(self) -> bool:
        """Look whether the charter has the terms of another log, and go on with that."""
        if not self.can_fetch:
            return False
        self._last_fetch = self.world.now
        charter = self.archive.charter
        if charter is None or charter[0] == self.disk.incarnation or self.stopped == door.Forked.code:
            return False
        self._adopt()
        return True

    def _adopt(self) -> None:
        """Begin to read the log that the charter names, with the results of the archive."""
        assert self.archive.charter is not None
        disk, begun = self.disk, self.archive.begun
        disk.incarnation, first = self.archive.charter
        disk.known, disk.base = begun.known, begun.heads.get(disk.writer, 0)
        disk.place, disk.digest = first - 1, door.first_digest(REPO, disk.incarnation)
        disk.start, disk.placed, disk.links = disk.digest, disk.base, dict(begun.links)
        if not self.rules.sends_again:
            disk.placed = len(disk.own)
        self.stopped, self.verdicts, self.wanted = "", {}, {}
        self._read_saved()
        asks, self._asks = self._asks, []
        for ask in asks:
            ask.answer.fire(VOID)
        for agent in self.agents.values():
            agent.moved()

    def _archives(self) -> Steps:
        """If this connection is the one that archives, publish what others have not."""
        while True:
            yield self.world.about(self.rules.archive)
            if self.session is None or self.stopped or not self.can_fetch:
                continue
            tip, place, incarnation = self.archive.tip, self.archive.place, self.disk.incarnation
            try:
                head, rows = yield from self._call(lambda engine: engine.for_archive(self.name, incarnation, place))
                if self.archive.place > head:
                    self._stop(door.EngineRewound.code)
                if not rows or self.archive.tip != tip or self.archive.charter[0] != incarnation:
                    continue
                if rows[0].place > place + 1 or len(self.archive.continuing(rows)) < len(rows):
                    self._stop(door.AnotherEngine.code)
            except BbError:
                continue
            if not self.stopped:
                yield self.world.about(SECOND)
                self.archive.push(tip, incarnation, rows)

    # -- signs of life

    def _beats(self) -> Steps:
        while True:
            yield self.rules.beat
            if self.session is not None:
                try:
                    yield from self._beat()
                except BbError:
                    continue

    def _beat(self) -> Steps:
        agents = {name: int(agent.silence / SECOND) for name, agent in self.agents.items()}
        said = door.Machine(self.name, self.disk.writer, self.disk.place, agents)

        def beat(engine: Engine) -> Any:
            engine.beat(said)
            for agent, silence in agents.items():
                sign = self.world.now - silence * SECOND
                self.model.signs[agent] = max(self.model.signs.get(agent, 0.0), sign)
            return engine.alive()

        self._heard((yield from self._call(beat)))

    def _heard(self, alive: list[door.Machine]) -> None:
        for one in alive:
            if one.name != self.name:
                self.disk.heard[one.name] = one.agents, one.age * SECOND, self.now
