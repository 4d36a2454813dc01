"""The agents of some machines: `python -m scripts.fleet.load PLAN.json`, started by scripts/bench-fleet.

Each machine is a clone with a relay of its own, a real one. An agent appends a reservation to the journal of its clone,
as a command does, asks the relay over a connection of its own, works for a moment, and releases. What only a command
does is left out: to start Python, and to fold all lines into the index of the clone. On a real fleet each machine does
that with processors of its own; here fifty machines share two.

All agents are played by one thread: it does what is possible, and waits for whichever answer comes first. Hundreds of
threads in one process would wait for each other for seconds, and the fleet would seem slow. Lines that agents of one
machine record at the same moment reach the disk together, as those of commands do (`ledger/journal/group_sync.py`).

Every verdict is written down with the time when it came, on the clock that all processes of the box share.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import selectors
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from itertools import count
from typing import Any

from bb.coordination.facts import Released, Reserved
from bb.kernel import clock, ids
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.fleet import asking
from bb.ledger.git import place
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.records.batch import SingleRecord
from bb.ledger.records.drafts import draft_of
from bb.ledger.records.store import Store

NO_BEAD = "no-bead"
PAUSES = 0.5, 1.5  # between two requests of an agent, in paces
PAUSE_AFTER_REFUSAL = 0.2  # seconds


@dataclass
class Wait:
    """What an agent does next: nothing, until a time of the monotonic clock."""

    until: float


@dataclass
class Record:
    """What an agent does next: it records a fact, and goes on with the id of its line once that is on the disk."""

    fact: Reserved | Released


@dataclass
class Ask:
    """What an agent does next: it asks the relay what became of a line, and goes on with the verdict or refusal."""

    event: str
    patience: float


Steps = Generator[Wait | Record | Ask, Any, None]


class Machine:
    """A clone, as its agents use it."""

    def __init__(self, path: str) -> None:
        self.store = Store(place.find(path, {}))
        self.store.ensure_writer()
        assert self.store.writer
        self._journal = Journal(self.store.path, self.store.writer)

    def record(self, facts: list[Reserved | Released]) -> list[str]:
        """Append facts to the journal, and return their ids once they are on the disk."""
        now = clock.text(time.time_ns() // 1_000_000)

        def events(last: lines.Link) -> list[Event]:
            return [
                Event(
                    id=ids.event_id(self._journal.writer, last.n + n),
                    lamport=last.lamport + n,
                    ts=now,
                    kind=draft.kind,
                    by=draft.by,
                    data=draft.data,
                    group_id=self.store.clone.group_id,
                    scope_key=draft.scope_key,
                    key=None,
                )
                for n, draft in enumerate((draft_of(fact, fact.agent) for fact in facts), 1)
            ]

        with SingleRecord(self._journal, lambda: True) as journal:
            return [event.id for event in journal.append(events, lambda: lines.salt(os.urandom(5)), is_synced=False)]


class Agent:
    """One agent: it reserves, works and releases until the time is over."""

    def __init__(self, machine: Machine, name: str, plan: dict[str, Any], seed: int) -> None:
        self.machine, self._name, self._plan = machine, name, plan
        self._chance = random.Random(seed)
        self.verdicts: list[dict[str, object]] = []

    def steps(self, until: float) -> Steps:
        """What it does, until a time of the monotonic clock, or until the file that stops all agents is there."""
        pace, stop = self._plan["pace"], self._plan["stop"]
        if pace:
            yield Wait(time.monotonic() + self._rest_of_pause(pace))
        turn = 0 if not self._plan["keeps"] else self._chance.randrange(10**9)
        while time.monotonic() < until and not os.path.exists(stop):
            turn += 1
            began = time.monotonic()
            yield from self._reserve(self._scope(turn))
            if pace:
                yield Wait(began + pace * self._chance.uniform(*PAUSES))

    def _rest_of_pause(self, pace: float) -> float:
        """The seconds until the first request. The load begins within a pause, which is rather a long one than a short
        one. So the agents ask at the same rate all the time. Otherwise 75 of them would ask in some second, and 30 in
        the next one, where 50 are meant."""
        least, most = PAUSES
        pause: float = (least**2 + (most**2 - least**2) * self._chance.random()) ** 0.5
        return pace * pause * self._chance.random()

    def _scope(self, turn: int) -> str:
        if hot := self._plan["hot"]:
            return f"hot/{self._chance.randrange(hot)}"
        return f"kept/{self._name}/{turn}" if self._plan["keeps"] else f"work/{self._name}/{turn % 7}"

    def _reserve(self, scope: str) -> Steps:
        order = self._plan["incarnation"]
        row: dict[str, object] = {"agent": self._name, "scope": scope, "asked": time.monotonic()}
        row["event"] = event = yield Record(Reserved(self._name, scope, NO_BEAD, 120, order=order))
        verdict = yield Ask(event, self._plan["patience"])
        if isinstance(verdict, BbError):
            row["state"] = verdict.code
        else:
            row |= {"state": verdict["state"], "token": verdict.get("token"), "reason": verdict.get("reason")}
        row["answered"] = time.monotonic()
        if row["state"] == "admitted" and self._plan["work"]:
            yield Wait(time.monotonic() + self._plan["work"])
        row["released"] = time.monotonic()  # what it holds, it holds until here
        if not self._plan["keeps"]:
            yield Record(Released(self._name, event))
        self.verdicts.append(row)
        if row["state"] != "admitted":
            yield Wait(time.monotonic() + PAUSE_AFTER_REFUSAL * self._chance.random())


class Play:
    """Plays all AGENTS until a time of the monotonic clock."""

    def __init__(self, agents: list[Agent], until: float) -> None:
        self._number = count()  # so that the heap never compares steps
        self._waiting: list[tuple[float, int, Agent, Steps]] = []
        self._to_record: dict[Machine, list[tuple[Agent, Steps, Reserved | Released]]] = {}
        self._asked: dict[asking.Connected, tuple[Agent, Steps]] = {}
        self._answers = selectors.DefaultSelector()
        for agent in agents:
            self._go_on(agent, agent.steps(until), None)

    def run(self) -> None:
        while self._waiting or self._to_record or self._asked:
            self._record()
            self._hear()
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, agent, steps = heapq.heappop(self._waiting)
                self._go_on(agent, steps, None)

    def _go_on(self, agent: Agent, steps: Steps, found: object) -> None:
        """Let an agent go on with what it has FOUND, and note what it does next."""
        try:
            step = steps.send(found)
        except StopIteration:
            return
        if isinstance(step, Wait):
            heapq.heappush(self._waiting, (step.until, next(self._number), agent, steps))
        elif isinstance(step, Record):
            self._to_record.setdefault(agent.machine, []).append((agent, steps, step.fact))
        else:
            self._ask(agent, steps, step)

    def _record(self) -> None:
        to_record, self._to_record = self._to_record, {}
        for machine, each in to_record.items():
            recorded = machine.record([fact for _, _, fact in each])
            for (agent, steps, _), event in zip(each, recorded, strict=True):
                self._go_on(agent, steps, event)

    def _ask(self, agent: Agent, steps: Steps, question: Ask) -> None:
        try:
            connection = asking.connect(agent.machine.store.path)
            connection.send({"ask": "settle", "events": [question.event], "patience": question.patience})
        except BbError as refusal:
            self._go_on(agent, steps, refusal)
            return
        self._asked[connection] = agent, steps
        self._answers.register(connection, selectors.EVENT_READ, (question.event, connection))

    def _hear(self) -> None:
        """Wait for answers, but not if something else can be done before. A relay answers every question, if need be
        with a refusal when the patience ends, or it ends itself."""
        soonest = self._waiting[0][0] - time.monotonic() if self._waiting else None
        may_wait = not self._to_record and (self._asked or self._waiting)
        for key, _ in self._answers.select(soonest if may_wait else 0):
            event, connection = key.data
            agent, steps = self._asked.pop(connection)
            self._answers.unregister(connection)
            with connection:
                try:
                    found: object = connection.answer(0)["events"][event]
                except BbError as refusal:
                    found = refusal
            self._go_on(agent, steps, found)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    machines = [Machine(path) for path in plan["clones"]]
    agents = [
        Agent(machine, f"a{number}-{each}", plan, hash((plan["seed"], number, each)))
        for number, machine in zip(plan["numbers"], machines, strict=True)
        for each in range(plan["agents"])
    ]
    print("ready", flush=True)
    sys.stdin.readline()
    Play(agents, time.monotonic() + plan["seconds"]).run()
    with open(plan["out"], "w", encoding="utf-8") as file:
        for agent in agents:
            file.writelines(json.dumps(row) + "\n" for row in agent.verdicts)


if __name__ == "__main__":
    main()
