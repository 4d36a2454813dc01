"""A relay whose engine has lost lines, is another one, or has closed the log; and a log that begins anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.carrier.door import Denied, EngineUnreachable
from bb.ledger.published import pins
from tests.ledger.fleet.fleet_support import (
    SECOND,
    become_equal,
    fleet,
    is_connected_to,
    raising,
    switch,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing


def test_a_restored_backup_stops_every_verdict_until_the_log_is_right_again(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        old = engine.backup()
        here.reserve("src")
        there.result("fresh")
        new = engine.backup()
        engine.restore(old)
        engine.before = raising("wait", EngineUnreachable)
        wait_for(lambda: here.result("status")["refusal"])
        engine.before = nothing

        wait_for(lambda: here.result("status")["state"] == "stopped")
        assert here.code("settle", events=[here.reserved("docs")]) == "ENGINE_REWOUND"
        wait_for(lambda: there.code("fresh") == "ENGINE_REWOUND" or there.result("status")["state"] == "stopped")
        engine.restore(new)
        wait_for(lambda: here.result("status")["state"] == "connected")
        assert here.reserve("tests")["state"] == "admitted"


def test_another_history_of_the_same_length_is_found_too(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        there.stop()
        old = engine.backup()
        here.reserve("src")
        here.stop()
        engine.restore(old)
        there.start()
        there.reserve("docs")
        there.reserve("docs/more")
        here.start()

        wait_for(lambda: here.result("status")["state"] == "stopped")
        assert here.code("fresh") == "ENGINE_REWOUND"


def test_an_engine_without_the_log_is_another_engine(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        logs, engine.logs = engine.logs, {}
        wait_for(lambda: here.code("fresh") == "ANOTHER_ENGINE")
        engine.logs = logs

        wait_for(lambda: here.result("status")["state"] == "connected")


def test_an_engine_that_may_lose_what_it_acknowledges_gives_no_verdicts(tmp_path: Path):
    engine = MemoryEngine()
    engine.is_durable = False
    with fleet(tmp_path, engine) as (here, _):
        wait_for(lambda: here.code("fresh") == "ENGINE_NOT_DURABLE")


def test_a_closed_log_takes_nothing_and_says_so(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.log.is_closed = True

        assert here.code("settle", events=[here.reserved("src")]) == "FLEET_ENDED"


def test_a_machine_without_rights_is_told(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        here.result("flush")
        engine.before = raising("append", Denied)

        assert here.code("settle", events=[here.reserved("src")]) == "ENGINE_DENIED"


def test_a_new_incarnation_begins_from_the_archive_and_gets_the_lines_that_it_lacks(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        engine.logs = {}
        switch(here.clone, engine, SECOND, first=1_000_000)
        wait_for(lambda: is_connected_to(here, SECOND) and is_connected_to(there, SECOND), here)
        here.result("flush")
        again = there.reserve("docs", order=SECOND)

        former = here.result("settle", events=[won["id"]])["events"][won["id"]]["state"]
        inside = there.reserve("src/x", order=SECOND)["state"]

        assert again["token"] >= 1_000_000 > won["token"]
        # It depends on whether the former grant was archived in time. Both machines agree.
        assert (former, inside) in (("admitted", "refused"), ("void", "admitted"))
        become_equal(here, there)


def test_an_engine_that_is_gone_for_good_does_not_hide_the_new_charter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.ledger.fleet.housekeeping.LOOK_WHILE_AWAY", 0.0)
    monkeypatch.setattr("bb.ledger.fleet.housekeeping.LOOK_AGAIN", 0.0)
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.before = raising("head", EngineUnreachable, "append", "read", "wait", "beat")
        wait_for(lambda: there.result("status")["state"] == "away")

        switch(here.clone, engine, SECOND, first=1_000_000)

        for one in (here, there):
            wait_for(lambda one=one: (tip := pins.read(one.path).terms) and tip.incarnation == SECOND)
        engine.before = nothing
        wait_for(lambda: there.result("status")["incarnation"] == SECOND)
