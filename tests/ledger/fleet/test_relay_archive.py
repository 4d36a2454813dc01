"""The archive that a relay writes on the git branch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.carrier.door import VOID, Row
from bb.ledger.fleet import archiving, row_reader
from bb.ledger.git import place
from bb.ledger.index.index import Index
from bb.ledger.published import pins
from bb.ledger.records.store import Store
from bb.ledger.travel import row_archive
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from tests.ledger.fleet.fleet_support import (
    NOW,
    SECOND,
    Machine,
    become_equal,
    fleet,
    hostile_rows,
    switch,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine, MemoryLog
from tests.stories.travel.travel_support import Clone, clone


def test_the_relay_that_leads_archives_and_a_newcomer_computes_the_same_from_git_alone(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        lost = there.reserve("src")
        there.reserve("docs")
        archived = here.result("archive")
        there.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        known = pins.read(str(newcomer.store))

        assert archived["archived"] >= archived["place"] > 0
        assert known.admitted.as_json()["grants"] == here.grants()["grants"]
        assert won["id"] in known.admitted.grants
        assert lost["id"] not in known.admitted.grants


def test_a_newcomer_reads_all_that_the_engine_has_before_it_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Archiving takes as long as reading, and others may lead meanwhile."""
    monkeypatch.setattr(row_reader, "PACE", 0.0)
    monkeypatch.setattr(archiving, "EVERY", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine, starts=False) as (here, there):
        here.start()
        places = {here.reserve(f"src/{n}")["token"] for n in range(8)}
        here.stop()
        before = len(engine.calls)
        read = MemoryLog.read
        monkeypatch.setattr(MemoryLog, "read", lambda log, since, _: read(log, since, 1))
        there.start()

        assert there.result("archive")["archived"] >= max(places)
        until_it_leads = engine.calls[before : engine.calls.index("lead", before)]
        assert until_it_leads.count("read") >= len(places)


def test_who_waits_for_a_long_log_is_answered_before_the_archive_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archiving, "EVERY", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine, starts=False) as (here, there):
        here.start()
        for n in range(8):
            here.reserve(f"src/{n}")
        here.stop()
        answered: list[bool] = []
        engine.before = lambda name: answered.append(bool(waiting.found)) if name == "lead" else None
        with engine.lock:  # until it is asked
            there.start()
            waiting = there.begin_to_ask("fresh")
        there.result("archive")

        assert waiting.get()["ok"]
        assert answered
        assert all(answered)


def test_a_relay_that_archives_imports_lines_while_the_index_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After a long log was read, that takes a minute."""
    begun, may_go_on = threading.Event(), threading.Event()
    catch_up = Index.catch_up

    def held_up(index: Index, *about: Any, **more: Any) -> Any:
        if threading.current_thread().name == "bb-relay-git":
            begun.set()
            assert may_go_on.wait(60)
        return catch_up(index, *about, **more)

    with fleet(tmp_path) as (here, there):
        become_equal(here, there)
        monkeypatch.setattr(Index, "catch_up", held_up)
        there.reserve("src")
        archived = here.begin_to_ask("archive")
        wait_for(begun.is_set)
        won = there.reserve("docs")
        try:
            here.result("fresh", 20)
            assert won["id"].encode() in here.lines()[there.writer]
        finally:
            may_go_on.set()
        assert archived.get()["ok"]


def test_a_row_that_does_not_count_is_archived_without_lines(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        with engine.lock:
            for writer, first, octets in hostile_rows("ffffffffffff", 1):
                engine.log.add(writer, first, octets)
        won = there.reserve("src")
        here.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        known = pins.read(str(newcomer.store))

        assert won["id"] in known.admitted.grants
        assert known.admitted.as_json()["grants"] == here.grants()["grants"]


def archived_falsely(machine: Machine, engine: MemoryEngine, writer: str) -> None:
    """Archive what waits from the clone of MACHINE, and leave the lines of WRITER out."""
    store = Store(machine.place)

    def without(_: object, __: object, rows: Sequence[Row]) -> list[Row]:
        return [row.replace(writer=VOID, first=0, octets=b"") if row.writer == writer else row for row in rows]

    with pytest.MonkeyPatch.context() as patch, SyncLock(store.path, 60), store.git:
        patch.setattr(row_archive, "_counted", without)
        store.git.start()
        sync = Sync(store, "origin", NOW, 60)
        sync.look()
        tip = sync.pin.tip
        assert tip
        rows = machine.open_carrier().read(tip.place)
        assert any(row.writer == writer for row in rows)
        row_archive.archive(sync, rows)
    store.close()


def test_an_archive_that_leaves_out_a_row_that_counts_is_noticed_and_nothing_is_built_on_it(tmp_path: Path):
    """For readers of git, no later row of that writer would count."""
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        here.result("archive")
        there.result("archive")
        won = here.reserve("src")
        there.result("fresh")
        for one in (here, there):
            one.stop()

        archived_falsely(there, engine, here.writer)
        tip = here.clone.tip
        here.start()
        again = here.reserve("docs")
        assert here.code("archive", patience=3.0), "it is refused"

        assert here.clone.tip == tip
        checks = here.clone.refused("doctor").details["checks"]
        (finding,) = [each for each in checks if each["name"] == "fleet archive"]
        assert (finding["state"], "begin --again" in finding["mend"]) == ("broken", True)
        there.start()
        for log in engine.logs.values():
            log.is_closed = True  # as `bb fleet begin --again` does first
        switch(here.clone, engine, SECOND, first=1_000_000)
        for one in (here, there):
            wait_for(lambda one=one: one.result("status")["incarnation"] == SECOND)
        here.result("flush")
        become_equal(here, there)
        here.result("archive")
        newcomer = clone(tmp_path / "hub.git", "newcomer")
        newcomer.sync(pull=True)
        assert {won["id"], again["id"]} <= events_of(newcomer)


def events_of(newcomer: Clone) -> set[str]:
    """The ids of all events in a clone."""
    store = Store(place.find(str(newcomer.path), {}))
    try:
        return {f"{journal.writer}.{n}" for journal in store.journals() for n in range(1, journal.tail().n + 1)}
    finally:
        store.close()
