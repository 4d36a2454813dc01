"""Two clones of a hub with a fleet, whose relays run in threads of the test and whose engine is in memory."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bb.coordination.facts import Released, Renewed, Reserved
from bb.kernel import clock
from bb.kernel.errors import Refusal
from bb.ledger.fleet.relay import Relay
from bb.ledger.git import place
from bb.ledger.git.place import Place
from bb.ledger.local import fleet_files
from bb.ledger.published import fleet_results, pins
from bb.ledger.published.fleet_terms import FleetTerms
from bb.ledger.records.store import Store
from bb.ledger.travel import switching
from bb.ledger.travel.remote import Moved
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from tests.ledger.fleet.memory_carrier import MemoryEngine
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub
from tests.support import NOON
from tests.waiting import until

FIRST = "00000000000000aa"
SECOND = "00000000000000bb"
NOW = clock.parse(NOON)


class Machine:
    """One clone, and its relay."""

    def __init__(self, clone: Clone, engine: Any, agent: str) -> None:
        self.clone, self.engine, self.agent = clone, engine, agent
        self.place: Place = place.find(str(clone.path), {})
        self.log: list[str] = []
        self.heard: dict[str, int] = {}
        self.hears: Callable[[Mapping[str, int]], None] = self.heard.update
        self.relay: Relay | None = None
        self.thread: threading.Thread | None = None
        folder = Path(self.place.store) / fleet_files.FOLDER
        folder.mkdir(exist_ok=True)
        (folder / fleet_files.ENGINE).write_text("{}")

    @property
    def path(self) -> str:
        return self.place.store

    def open_carrier(self) -> Any:
        known = pins.read(self.path)
        terms = known.terms
        assert terms
        assert known.home
        tip = known.remote(known.home).tip
        assert tip
        return self.engine.carrier(tip.charter.repo, terms.incarnation)

    def start(self) -> None:
        self.relay = Relay(self.place, {"BB_NOW": NOON}, self.open_carrier, self.log.append, self.hears)
        self.thread = threading.Thread(target=self.relay.run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        if self.relay and self.thread:
            self.relay.stop()
            self.thread.join(30)
            assert not self.thread.is_alive()
        self.relay = self.thread = None

    def begin_to_ask(self, kind: str, patience: float = 60.0, **about: Any) -> Waiting:
        waiting = Waiting()
        assert self.relay
        self.relay.ask({"ask": kind, "patience": patience, **about}, waiting.answer)
        return waiting

    def ask(self, kind: str, patience: float = 60.0, **about: Any) -> dict[str, Any]:
        """The answer of the relay."""
        return self.begin_to_ask(kind, patience, **about).get()

    def result(self, kind: str, patience: float = 60.0, **about: Any) -> dict[str, Any]:
        """The result of a request that is not refused."""
        answer = self.ask(kind, patience, **about)
        assert answer["ok"], (answer, self.log)
        found: dict[str, Any] = answer["result"]
        return found

    def code(self, kind: str, patience: float = 60.0, **about: Any) -> str:
        """The code of a refusal; empty if there is none."""
        answer = self.ask(kind, patience, **about)
        return "" if answer["ok"] else str(answer["error"]["code"])

    def record(self, *facts: Any, by: str | None = None) -> list[str]:
        """Record facts, as a command does. Returns their ids."""
        store = Store(self.place)
        try:
            return [event.id for event in store.record(lambda _: list(facts), by=by or self.agent, now=NOW)]
        finally:
            store.close()

    def reserved(self, scope: str, order: str | None = FIRST, takes: str | None = None) -> str:
        """Record a global reservation. Returns its id."""
        fact = Reserved(self.agent, scope, "bb-1", 120, False, False, order=order, takes=takes)
        return self.record(fact)[0]

    def reserve(self, scope: str, **about: Any) -> dict[str, Any]:
        """Reserve in every clone; the verdict."""
        event = self.reserved(scope, **about)
        verdict: dict[str, Any] = self.result("settle", events=[event])["events"][event]
        return {"id": event, **verdict}

    def release(self, event: str) -> str:
        return self.record(Released(self.agent, event))[0]

    def renew(self, event: str) -> str:
        return self.record(Renewed(self.agent, event, 60))[0]

    def lines(self) -> dict[str, bytes]:
        """The lines of every writer, as they are in the journals."""
        store = Store(self.place)
        try:
            return {journal.writer: b"\n".join(journal.lines_from(1)) for journal in store.journals()}
        finally:
            store.close()

    def results(self) -> fleet_results.FleetResults:
        """What is saved. While a relay begins anew, there is nothing for a moment."""
        return until(lambda: fleet_results.read(self.path), "the results")

    def grants(self) -> dict[str, Any]:
        return self.results().admitted.as_json()

    @property
    def writer(self) -> str:
        store = Store(self.place)
        try:
            return str(store.writer)
        finally:
            store.close()


class Waiting:
    """An answer that has not come yet."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.at = 0.0

    def answer(self, found: dict[str, Any]) -> None:
        self.at = time.monotonic()
        self.found.append(found)

    def get(self) -> dict[str, Any]:
        until(lambda: self.found, "the relay's answer")
        assert len(self.found) == 1
        return self.found[0]


def terms_of(incarnation: str, first: int) -> FleetTerms:
    return FleetTerms("postgres", incarnation, first, by="user", reason="", ts=NOON)


def switch(clone: Clone, engine: Any, incarnation: str = FIRST, first: int | None = None) -> None:
    """Let the engine order the ledger from now on."""
    store = Store(place.find(str(clone.path), {}))
    try:
        with SyncLock(store.path, 60), store.git:  # the relay fetches, too
            store.git.start()
            while True:
                sync = Sync(store, "origin", NOW, 60)
                sync.look()
                tip = sync.pin.tip
                assert tip
                begins = first or tip.place + 1
                engine.begin(tip.charter.repo, incarnation, begins, tip.last_lines)
                with contextlib.suppress(Moved):  # a relay has archived
                    switching.begin(sync, terms_of(incarnation, begins))
                    return
    finally:
        store.close()


@contextlib.contextmanager
def fleet(tmp_path: Path, engine: Any = None, *, starts: bool = True) -> Iterator[tuple[Machine, Machine]]:
    """Two machines of a fleet, whose relays run."""
    engine = engine or MemoryEngine()
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    for each in (here, there):
        each.settings = {**each.settings, "BB_DAEMON": "off"}
        each.sync()
    here.sync()
    switch(here, engine)
    there.sync(pull=True)
    both = Machine(here, engine, AMBER), Machine(there, engine, COBALT)
    try:
        if starts:
            for machine in both:
                machine.start()
        yield both
    finally:
        engine.before = engine.after = lambda _: None
        for machine in both:
            machine.stop()


def become_equal(*machines: Machine) -> None:
    """The machines get the same lines and the same results. Lines that are recorded meanwhile, such as signatures, may
    take another round."""

    def are_equal() -> bool:
        answers = [machine.ask(kind) for kind in ("flush", "fresh") for machine in machines]
        if any(refused_for_a_while(answer) for answer in answers):
            return False
        assert all(answer["ok"] for answer in answers), answers
        found = [(machine.lines(), machine.grants(), machine.results().digest) for machine in machines]
        return all(one == found[0] for one in found)

    until(are_equal, lambda: [machine.log for machine in machines])


def refused_for_a_while(answer: dict[str, Any]) -> bool:
    """Whether the engine was silent, or late, for so long that the relay says so: this machine may be busy."""
    return not answer["ok"] and answer["error"]["code"] in ("ENGINE_UNREACHABLE", "FLEET_BEHIND")


def wait_for(condition: Callable[[], Any], machine: Machine | None = None) -> None:
    until(condition, lambda: machine.log if machine else "it")


def is_connected_to(machine: Machine, incarnation: str) -> bool:
    status = machine.result("status")
    return (status["state"], status["incarnation"]) == ("connected", incarnation)


def environment_of(machine: Machine) -> Mapping[str, str]:
    return {**os.environ, "BB_NOW": NOON, **machine.clone.settings}


def raising(*names: object) -> Callable[[str], None]:
    """Refuses these operations. The second of NAMES is the refusal."""
    first, refusal, *rest = names

    def check(name: str) -> None:
        if name == first or name in rest:
            assert isinstance(refusal, Refusal)
            raise refusal()

    return check


def hostile_rows(writer: str, first: int) -> list[tuple[str, int, bytes]]:
    """Rows that no relay of ours would send, each by a machine with the right to append."""
    stranger = "aaaaaaaaaaaa"
    return [
        (stranger, 1, b"no json\n"),
        (stranger, 2, b"\n\n\n"),
        ("bbbbbbbbbbbb", 1, b"x" * (2 << 20) + b"\n"),
        ("cccccccccccc", 7, b'{"v":1,"id":"cccccccccccc.7","l":1}\n'),
        ("dddddddddddd", 1, b"without an end"),
        ("eeeeeeeeeeee", 1, b""),
        ("-", 0, b""),
        ("../../etc/x", 1, b"path\n"),
        ("a b\nc", 1, b"path\n"),
        (writer, first, b"our number, other bytes\n"),
    ]
