"""What the stories of a moving ledger share: two clones of a hub, and databases of a real PostgreSQL server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bb.coordination.facts import Reserved
from bb.kernel import clock
from bb.ledger.carrier.door import Gap
from bb.ledger.fleet import engines, last_rows, settings
from bb.ledger.fleet.settings import EngineAddress
from bb.ledger.git import place
from bb.ledger.journal import writers
from bb.ledger.published import pins
from bb.ledger.published.tip import Tip
from bb.ledger.records.store import Store
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from tests.engines import Postgres
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub
from tests.support import NOON


def two_clones(tmp_path: Path) -> tuple[Clone, Clone]:
    """Two clones of a hub, each with an agent, that publish. No command starts a daemon."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    for each in (here, there):
        each.settings = {**each.settings, "BB_DAEMON": "off"}
        each.sync()
    return here, there


def address(server: Postgres, database: str | None = None) -> str:
    """The address of a database; of a new one, if none is given."""
    return server.conninfo(database or server.database())


def tip_of(at: Clone) -> Tip:
    known = pins.read(str(at.store))
    assert known.home
    tip = known.remote(known.home).tip
    assert tip
    return tip


@contextlib.contextmanager
def carrier_of(at: Clone) -> Iterator[Any]:
    """The carrier of the fleet that a clone has joined."""
    engine, tip = settings.read(str(at.store)), tip_of(at)
    assert engine
    assert tip.charter.fleet
    with contextlib.closing(engines.open_carrier(engine, tip.charter.repo, tip.charter.fleet)) as carrier:
        yield carrier


def logs(engine: str) -> list[Any]:
    """The logs that an engine has."""
    with contextlib.closing(engines.keeper(EngineAddress("postgres", engine))) as keeper:
        return keeper.logs()


def send(at: Clone) -> int:
    """Send everything that a clone has recorded to its engine, as its relay does. Returns the last place."""
    store = Store(place.find(str(at.path), {}))
    journals, last = os.path.join(store.path, writers.JOURNALS), 0
    try:
        with carrier_of(at) as carrier:
            for journal in store.journals():
                if writers.read_owner(journals, journal.writer) is None:
                    continue
                try:
                    carrier.append(journal.writer, 1_000_000_000, [b"a line far ahead"])
                except Gap.error as gap:
                    if lines := list(journal.lines_from(gap.details["next"])):
                        last = carrier.append(journal.writer, gap.details["next"], lines)
            return last or int(carrier.head().place)
    finally:
        store.close()


def archive(at: Clone) -> int:
    """Archive what the engine has. Returns the place of the tip."""
    store = Store(place.find(str(at.path), {}))
    try:
        with carrier_of(at) as carrier, SyncLock(store.path, 60), store.git:
            sync = Sync(store, "origin", 0, 60)
            sync.look()
            last_rows.publish(sync, carrier)
            return last_rows.tip_of(sync).place
    finally:
        store.close()


@contextlib.contextmanager
def refusing_pushes(at: Clone) -> Iterator[None]:
    """The hub refuses every push meanwhile."""
    hook = at.path.parent / "hub.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    try:
        yield
    finally:
        hook.unlink()


def record_reservation(at: Clone, agent: str, scope: str, *, base: str | None = None, order: str | None = None) -> str:
    """Record a global reservation that is not decided yet. Returns its id."""
    store = Store(place.find(str(at.path), {}))
    try:
        fact = Reserved(agent, scope, "bb-1", 120, False, False, base=base, order=order)
        (event,) = store.record(lambda _: [fact], by=agent, now=clock.parse(NOON))
        return str(event.id)
    finally:
        store.close()


def letters(at: Clone, agent: str) -> list[str]:
    """The subjects in an agent's inbox."""
    return [each["subject"] for each in at.ask("agent.inbox", agent=agent)]
