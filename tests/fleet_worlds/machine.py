"""A machine of a simulated fleet: its relay, and what the commands of its agents ask of it.

The relay does what `bb/ledger/fleet/relay.py` does, step by step; each step takes time and may be the last. What there
is to decide is decided by bb's own code: `Outbox` sends and answers, `RowFold` reads and folds, `Verdicts` tells what
became of a line. The lines are ledger lines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bb.coordination.agents.hearing import Hearing
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.carrier.door import Row
from bb.ledger.fleet.freshness import Freshness
from bb.ledger.fleet.outbox import Ask, Batch, Outbox
from bb.ledger.fleet.row_fold import Base, FoldedRow, RowFold
from bb.ledger.fleet.verdicts import Verdicts
from bb.ledger.journal import kinds
from bb.ledger.journal.line import DATA, START, Link
from tests.fleet_worlds.archive import Archive
from tests.fleet_worlds.disk import Disk, copied
from tests.fleet_worlds.engine import REPO, Engine, Line, Log
from tests.fleet_worlds.model import Model, meets
from tests.fleet_worlds.world import MINUTE, SECOND, TIME_OVER, Process, Signal, Steps, Wait, World

ADMITTED, REFUSED, VOID, SENT = "admitted", "refused", "void", "sent"
PENDING, RELAY_GONE = "GRANT_PENDING", "RELAY_GONE"
STALE = 15 * MINUTE
NEVER = float("-inf")
POLL = 2 * SECOND
GAP = door.BEAT_IS_VALID / door.BEAT  # beats that may be missed
DISTRUST = tuple(one.error for one in (door.AnotherEngine, door.EngineRewound, door.FleetEnded, door.Forked))


@dataclass(frozen=True)
class Rules:
    """What a relay does. A test that wants to see a world break takes one rule away."""

    compares: bool = True  # the digest at its place with the engine's, at each connect, and that of each row
    asks_fresh: bool = True  # before it takes over
    waits_after_gap: bool = True  # counts nobody as silent for the time in which it could not hear
    sends_again: bool = True  # what a new log lacks
    knows_its_lines: bool = True  # compares what comes under its own id with what it has recorded
    reader: type[OrderedAdmission] = OrderedAdmission
    fetch: float = 60 * SECOND  # between two looks at the git remote while the engine is not trusted
    fetch_in_peace: float = 10 * MINUTE
    beat: float = 10 * SECOND
    archive: float = 20 * SECOND


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
    outbox: Outbox = field(init=False)
    verdicts: Verdicts = field(init=False)
    fold: RowFold = field(init=False)
    session: tuple[Engine, int] | None = None
    open: dict[str, Grant] = field(default_factory=dict)  # the grants that have not ended, as far as we have read
    wanted: dict[str, tuple[str, tuple[str, bool], bool]] = field(default_factory=dict)  # ours without a verdict
    _news: Signal = field(default_factory=Signal)
    _is_woken: bool = False
    _processes: list[Process] = field(default_factory=list)
    _last_fetch: float = 0.0
    freshness: Freshness = field(default_factory=Freshness)

    @property
    def now(self) -> float:
        """What this machine's clock says."""
        return self.world.now * (1 + self.drift) + self.skew

    @property
    def stopped(self) -> str:
        """Why there are no verdicts."""
        return self.outbox.stop.code if self.outbox.stop else ""

    @property
    def admitted(self) -> Admitted:
        """What this machine has computed."""
        return self.fold.results()[0]

    # -- life and death

    def boot(self) -> None:
        """Start with what the disk has."""
        self.is_up = True
        if not self.disk.incarnation:
            self._adopt()
        self.start_relay()
        for agent in self.agents.values():
            agent.boot()

    def start_relay(self) -> None:
        self._hang_up()
        self._news, self._is_woken, self._last_fetch = Signal(), False, self.world.now
        self.freshness = Freshness()
        self._read_saved()
        steps = (self._relay, self._beats, self._archives, self._deadlines)
        self._processes = [self.world.start(each()) for each in steps]

    def kill_relay(self) -> None:
        """kill -9 for the relay alone. Nobody who had asked it gets an answer."""
        self._hang_up()
        for process in self._processes:
            process.kill()

    def kill(self) -> None:
        """kill -9, for the relay and for every command that runs."""
        self.is_up = False
        self.kill_relay()
        for agent in self.agents.values():
            agent.kill()

    def _read_saved(self) -> None:
        disk = self.disk
        known = disk.results()
        links = dict(disk.links)
        self.fold = RowFold(
            Base(disk.incarnation, disk.place, disk.digest, known), lambda writer: links.get(writer, START)
        )
        self.fold._every = self.rules.reader(known, disk.incarnation)
        self.open = {name: grant for name, grant in known.grants.items() if grant.ended is None}
        self.verdicts = Verdicts(disk.incarnation, self._results, self._fact_on)
        self.outbox = Outbox(lambda event: self.verdicts.of(event, self.disk.place, self.fold.grant(event)))
        self.outbox.begin({disk.writer: disk.placed}, {disk.writer: len(disk.own)}, disk.place)

    def _results(self) -> Admitted:
        return self.admitted

    def _fact_on(self, event: str) -> object:
        return kinds.fact_on(self.disk.own[ids.split_event_id(event)[1] - 1])

    # -- what an agent's command asks

    def record(self, by: str, *facts: Any) -> Steps:
        """Write the lines of FACTS; returns their ids once they are on the disk."""
        yield self.world.about(self.write_time)
        names = [self.disk.write(by, fact, self.now) for fact in facts]
        self.outbox.has_recorded(self.disk.writer, len(self.disk.own))
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
            return float(self.agents[agent].silence)
        heard = [one for one in self.disk.heard.values() if agent in one[0]]
        last = max((at - age - agents[agent] * SECOND for agents, age, at in heard), default=NEVER)
        if self.rules.waits_after_gap:
            last = self.disk.hearing.seen_at(last, self.now)  # type: ignore[arg-type, assignment]
        return self.now - last

    def settle(self, event: str, patience: float) -> Steps:
        """What became of our reservation EVENT: a state or the code of a refusal, and the token."""
        told = yield from self._ask({"ask": "settle", "events": [event], "patience": patience / SECOND})
        if told is TIME_OVER:
            return RELAY_GONE, 0
        if not told["ok"]:
            return told["error"]["code"], 0
        verdict = told["result"]["events"][event]
        return verdict["state"], verdict.get("token", 0)

    def _ask(self, request: dict[str, Any]) -> Steps:
        """The relay's answer; none if it was killed meanwhile."""
        told = Signal()
        self.outbox.add(Ask(request, told.fire, self.world.now / SECOND))
        self.wake()
        self._answer()
        return (yield Wait(told, (request["patience"] + 5) * SECOND))

    def _answer(self) -> None:
        """Give the answers that can be given."""
        for ask, answer in self.outbox.due(self.world.now / SECOND):
            self.world.after(0, ask.answer, answer)

    def _deadlines(self) -> Steps:
        """Give the answers that must be given. Asks are few, so a look each half second is enough."""
        while True:
            yield SECOND / 2 if self.outbox.asks else POLL
            if self.outbox.asks:
                self._answer()

    def fresh(self) -> Steps:
        """Read up to the engine's last row of now, and hear who is alive. Whether that was possible."""
        patience = 5.0 + 3 * self.write_time / SECOND
        told = yield from self._ask({"ask": "fresh", "patience": patience, "signs": True})
        return told is not TIME_OVER and told["ok"]

    def wake(self) -> None:
        self._is_woken = False
        news, self._news = self._news, Signal()
        news.fire()

    # -- the relay

    def _call(self, ask: Callable[[Engine], Any], *, is_append: bool = False) -> Steps:
        return (yield from self.line.call(ask, self.session, is_append=is_append))

    def _relay(self) -> Steps:
        while True:
            try:
                if self.stopped != door.Forked.code:
                    yield from self._connect()
                    yield from self._work()
            except DISTRUST as error:
                self._stop(error)
            except BbError as error:
                self.outbox.lost_connection(error)  # it is away, or an answer was lost: the next connection tells
            self._hang_up()
            self._answer()
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

        asked_at = self.world.now
        boots, log, rows = yield from self.line.call(look, None)
        last = log.place
        if self.rules.compares:
            if log.place < max(place, self.outbox.acknowledged_place) or self.outbox.forgotten:
                raise door.EngineRewound()
            if rows and rows[0].digest != digest:
                raise door.AnotherEngine()
        self.session = engine, boots
        yield from self._hear()
        self.freshness.ended_at(last, asked_at / SECOND, int(asked_at))
        self.outbox.stop, self.outbox.is_connected = None, True
        engine.listeners[self.name] = self.told_of_rows
        self.model.trust(self.name, log, place)

    def told_of_rows(self, engine: Engine) -> None:
        """The engine notifies, if the connection is still there."""
        if not self._is_woken and self.session == (engine, engine.boots) and self.line.back:
            self._is_woken = True
            self.world.after(self.world.about(60), self.wake)

    def _work(self) -> Steps:
        """Send what waits and read what comes, until the connection is lost."""
        outbox = self.outbox
        while True:
            news, asked_at = self._news, self.world.now / SECOND
            if batch := outbox.batch():
                yield from self._send(batch)
            if rows := (yield from self._read()):
                yield from self._take(rows)
            else:
                self.freshness.ended_at(self.disk.place, asked_at, int(asked_at * SECOND))
                self._is_current()
                outbox.has_read_everything(asked_at)
                if outbox.waits_for_signs:
                    yield from self._hear()
                self._answer()
                if outbox.batch() is None and not outbox.waits_for_signs:
                    yield Wait(news, self.world.about(15 * POLL))
            if self.world.now - self._last_fetch >= self.rules.fetch_in_peace and self._fetch():
                raise door.EngineUnreachable()  # connect to the new log

    def _read(self) -> Steps:
        place, incarnation = self.disk.place, self.disk.incarnation
        return (yield from self._call(lambda engine: engine.log(incarnation).read(place)))

    def _send(self, batch: Batch) -> Steps:
        lines, incarnation = self.disk.own[batch.first - 1 : batch.last], self.disk.incarnation
        self.outbox.sends(batch)
        asked_at = self.world.now
        try:
            place = yield from self._call(
                lambda engine: engine.append(incarnation, batch.writer, batch.first, lines), is_append=True
            )
        except door.Gap.error as gap:
            self.outbox.expects(batch.writer, gap.details["next"])
            return
        self.model.acknowledge(batch.writer, batch.first, lines)
        self.outbox.was_acknowledged(batch, place)
        self.freshness.ended_at(place, asked_at / SECOND, int(asked_at))

    def _is_current(self) -> None:
        """The results were everything that the engine had, some moment ago."""
        self.freshness.has_read(self.disk.place)
        self.outbox.was_current(self.freshness.moment)

    def _take(self, rows: list[Row]) -> Steps:
        """Fold rows, save the results, and answer those who wait for them."""
        disk, fold, placed = self.disk, self.fold, {}
        for row in rows:
            if row.writer == disk.writer and self.rules.knows_its_lines and not self._is_ours(row):
                raise door.Forked()
            before = fold.digest
            folded = fold.take(row) if self.rules.compares else self._taken_on_trust(row)
            self.model.folded(before, row, folded.changes)
            for name, grant in folded.changes.grants.items():
                if grant.ended is None:
                    self.open[name] = grant
            self.verdicts.note(row.place, folded.changes, self.fold.grant)
            if row.writer == disk.writer and not folded.flaw:
                placed[row.writer] = row.last
        yield self.world.about(self.write_time)
        disk.place, disk.digest, disk.placed = fold.place, fold.digest, placed.get(disk.writer, disk.placed)
        disk.links.update(fold.moved)
        for name, grant in fold.changed.grants.items():
            if grant.ended is not None and self.open.pop(name, None) and grant.agent in self.agents:
                self.agents[grant.agent].lost(name)
        for name in [name for name in self.wanted if ids.split_event_id(name)[1] <= disk.placed]:
            del self.wanted[name]
        disk.save(fold.changed)
        fold.saved(disk.saved, Admitted())
        self.outbox.has_folded(disk.place, placed)
        self._is_current()
        self.outbox.has_imported(disk.place)
        if self.outbox.forgotten and self.rules.compares:
            raise door.EngineRewound()
        self._answer()

    def _is_ours(self, row: Row) -> bool:
        """Whether we have recorded the lines of a row of our writer. If not, another machine writes under our id."""
        return self.disk.own[row.first - 1 : row.last] == row.octets.split(b"\n")[:-1]

    def _has_recorded(self, last: Link) -> bool:
        """Whether the line with this link, and so every line before it, is ours."""
        own = self.disk.own[last.n - 1 : last.n]
        return bool(own) and digest(own[0].partition(DATA)[0]) == last.head_digest

    def _taken_on_trust(self, row: Row) -> FoldedRow:
        """What a reader makes of a row that does not look whether it continues the log."""
        self.fold.place, digest = row.place - 1, row.digest
        self.fold.digest = digest
        said = self.model.read(row, self.disk.links)
        changes = self.fold._every.row(row.place, said.facts, said.recorders)
        self.fold.changed.add(changes)
        self.fold.place = row.place
        return FoldedRow(row, "", changes)

    def _stop(self, why: BbError) -> None:
        """The engine is not the one that we have read: no verdicts until it is."""
        self.outbox.stop = why
        self.outbox.is_connected = False
        self.model.doubt(self.name)
        self._answer()
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
        disk.hearing = Hearing(gap=int(GAP * self.rules.beat))
        disk.saved, disk.seen = copied(begun.known), {}
        disk.place, disk.digest = first - 1, door.first_digest(REPO, disk.incarnation)
        disk.placed, disk.links = begun.heads.get(disk.writer, 0), dict(begun.links)
        if not self.rules.sends_again:
            disk.placed = len(disk.own)
        self.wanted = {}
        asks = self.outbox.asks if hasattr(self, "outbox") else []
        self._read_saved()
        self.outbox.asks = asks
        published = begun.links.get(disk.writer)
        if published and self.rules.knows_its_lines and not self._has_recorded(published):
            self._stop(door.Forked())
        for agent in self.agents.values():
            agent.moved()

    def _archives(self) -> Steps:
        """If this connection is the one that archives, publish what others have not."""
        while True:
            yield self.world.about(self.rules.archive)
            if self.session is None or self.stopped or not self.can_fetch:
                continue
            tip, place, incarnation = self.archive.tip, self.archive.place, self.disk.incarnation
            with contextlib.suppress(BbError):
                yield from self._archive(tip, place, incarnation)

    def _archive(self, tip: int, place: int, incarnation: str) -> Steps:
        head, rows = yield from self._call(lambda engine: engine.for_archive(self.name, incarnation, place))
        charter = self.archive.charter
        if charter is None or charter[0] != incarnation:
            return
        if place > head:
            self._stop(door.EngineRewound())
        if not rows or self.archive.tip != tip or self.stopped:
            return
        if rows[0].place > place + 1 or len(self.archive.continuing(rows)) < len(rows):
            self._stop(door.AnotherEngine())
            return
        yield self.world.about(SECOND)
        self.archive.push(tip, incarnation, rows)

    # -- signs of life

    def _beats(self) -> Steps:
        while True:
            yield self.rules.beat
            if self.session is not None:
                try:
                    yield from self._hear()
                except BbError:
                    continue

    def _hear(self) -> Steps:
        """Say who is alive here, and note who is elsewhere. Asks that wait for that have it then."""
        agents = {name: int(agent.silence / SECOND) for name, agent in self.agents.items()}
        said = door.Machine(self.name, self.disk.writer, self.disk.place, agents)
        sent, asked_at = self.world.now, self.now

        def beat(engine: Engine) -> Any:
            engine.beat(said)
            for agent, silence in agents.items():
                self.model.sign_of_life(engine.name, agent, sent - silence * SECOND)
            return engine.alive(), engine.now

        alive, engines_time = yield from self._call(beat)
        for one in alive:
            if one.name != self.name:
                self.disk.heard[one.name] = one.agents, one.age * SECOND, self.now
        self.disk.hearing = self.disk.hearing.again(int(asked_at), int(engines_time))
        self.outbox.has_heard_signs()
