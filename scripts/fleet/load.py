"""The agents of some machines: `python -m scripts.fleet.load PLAN.json`, started by scripts/bench-fleet.

Each machine is a clone with a relay of its own, a real one. Its agents are threads of this process: an agent appends a
reservation to the journal of its clone, as a command does, asks the relay, works for a moment, and releases. What only
a command does is left out: to start Python, and to fold all lines into the index of the clone. On a real fleet each
machine does that with processors of its own; here fifty machines share two.

Every verdict is written down with the time when it came, on the clock that all processes of the box share.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time

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
PAUSE_AFTER_REFUSAL = 0.2  # seconds


class Machine:
    """A clone, as its agents use it."""

    def __init__(self, path: str) -> None:
        self.store = Store(place.find(path, {}))
        self.store.ensure_writer()
        assert self.store.writer
        self._journal = Journal(self.store.path, self.store.writer)
        self._one_at_a_time = threading.Lock()

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

        with self._one_at_a_time, SingleRecord(self._journal) as journal:
            return [event.id for event in journal.append(events, lambda: lines.salt(os.urandom(5)), is_synced=False)]


class Agent:
    """One agent: it reserves, works and releases until the time is over."""

    def __init__(self, machine: Machine, name: str, plan: dict[str, object], seed: int) -> None:
        self._machine, self._name, self._plan = machine, name, plan
        self._chance = random.Random(seed)
        self.verdicts: list[dict[str, object]] = []

    def run(self, until: float) -> None:
        pace = float(str(self._plan["pace"]))
        if pace:
            time.sleep(self._chance.random() * pace)
        turn = 0 if not self._plan["keeps"] else self._chance.randrange(10**9)
        stop = str(self._plan["stop"])
        while time.monotonic() < until and not os.path.exists(stop):
            turn += 1
            began = time.monotonic()
            self._reserve(self._scope(turn))
            if pace:
                time.sleep(max(began + pace * self._chance.uniform(0.5, 1.5) - time.monotonic(), 0))

    def _scope(self, turn: int) -> str:
        hot = int(str(self._plan["hot"]))
        if hot:
            return f"hot/{self._chance.randrange(hot)}"
        return f"kept/{self._name}/{turn}" if self._plan["keeps"] else f"work/{self._name}/{turn % 7}"

    def _reserve(self, scope: str) -> None:
        order, patience = str(self._plan["incarnation"]), float(str(self._plan["patience"]))
        row: dict[str, object] = {"agent": self._name, "scope": scope, "asked": time.monotonic()}
        [event] = self._machine.record([Reserved(self._name, scope, NO_BEAD, 120, order=order)])
        row["event"] = event
        try:
            answer = asking.ask(self._machine.store.path, {"ask": "settle", "events": [event]}, patience)
            verdict = answer["events"][event]
            row |= {"state": verdict["state"], "token": verdict.get("token"), "reason": verdict.get("reason")}
        except BbError as refusal:
            row["state"] = refusal.code
        row["answered"] = time.monotonic()
        if row["state"] == "admitted":
            time.sleep(float(str(self._plan["work"])))
        row["released"] = time.monotonic()  # what it holds, it holds until here
        if not self._plan["keeps"]:
            self._machine.record([Released(self._name, event)])
        self.verdicts.append(row)
        if row["state"] != "admitted":
            time.sleep(PAUSE_AFTER_REFUSAL * self._chance.random())


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    threading.stack_size(256 << 10)
    machines = [Machine(path) for path in plan["clones"]]
    agents = [
        Agent(machine, f"a{number}-{each}", plan, hash((plan["seed"], number, each)))
        for number, machine in zip(plan["numbers"], machines, strict=True)
        for each in range(plan["agents"])
    ]
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + plan["seconds"]
    threads = [threading.Thread(target=agent.run, args=(until,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(plan["out"], "w", encoding="utf-8") as file:
        for agent in agents:
            file.writelines(json.dumps(row) + "\n" for row in agent.verdicts)


if __name__ == "__main__":
    main()
