"""What a machine, an engine or a person who may push can do wrong, and what the relays of the others make of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bb.ledger.carrier.door import Machine as Beat
from bb.ledger.carrier.door import Row, next_digest
from bb.ledger.fleet import archiving, housekeeping, row_reader
from bb.ledger.journal.journal import Journal
from bb.ledger.travel import row_archive
from tests.engine_log import syncing
from tests.ledger.fleet.fleet_support import SECOND, Machine, fleet, is_connected_to, switch, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine, MemoryLog


def test_a_machine_on_which_nobody_does_anything_follows_to_the_next_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(housekeeping, "BEAT", 0.02)
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        for machine in (here, there):
            machine.result("flush")
            machine.result("fresh")
        for log in engine.logs.values():
            log.is_closed = True
        switch(here.clone, engine, SECOND, first=1_000_000)

        wait_for(lambda: is_connected_to(there, SECOND), there)


def archives_often(monkeypatch: pytest.MonkeyPatch, **others: float) -> None:
    for name, seconds in ({"EVERY": 0.02} | others).items():
        monkeypatch.setattr(archiving, name, seconds)


def archived_by(machine: Machine, place: int) -> bool:
    known: int = machine.result("status")["archived"]
    return known >= place


def test_a_leader_that_archives_nothing_does_not_stop_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    archives_often(monkeypatch, LONG=0.0, SPREAD=1)
    engine = MemoryEngine()
    engine.leader = object()  # a connection that holds the lock and does nothing
    with fleet(tmp_path, engine) as (here, there):
        won = here.reserve("src")

        wait_for(lambda: archived_by(here, won["token"]) and archived_by(there, won["token"]), here)
        assert not here.result("status")["leads"]


def test_a_relay_whose_pushes_fail_lets_another_one_lead_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    archives_often(monkeypatch)
    with fleet(tmp_path, starts=False) as (here, there):
        here.start()
        here.reserve("docs")
        wait_for(lambda: here.result("status")["leads"], here)
        here.clone.git("remote", "set-url", "origin", str(tmp_path / "nowhere.git"))
        won = here.reserve("src")
        there.start()

        wait_for(lambda: archived_by(there, won["token"]), there)
        failure = here.result("status")["archive_failure"]
        assert "OFFLINE" in failure
        assert "when the remote can be reached: `bb sync`" in failure
        assert there.result("status")["archive_failure"] is None


def test_forged_rows_on_the_branch_change_no_verdict_and_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A person who may push has published a row that the engine does not have."""
    archives_often(monkeypatch)
    with fleet(tmp_path, starts=False) as (here, there):
        there.start()
        there.result("archive")
        there.stop()
        forge(there.clone.path)
        here.start()
        won = here.reserve("src")
        wait_for(lambda: (here.result("status")["archive_failure"] or "").startswith(TOLD), here)

        assert won["state"] == "admitted"
        assert here.result("status")["state"] == "connected"


TOLD = ("ANOTHER_ENGINE", "ARCHIVE_LACKS_ROWS")  # when it archives, and when it looks at the branch


def forge(folder: Path) -> None:
    """Publish a row of a writer of our own, as the engine might have it."""
    with syncing(folder) as sync:
        tip = sync.pin.tip
        assert tip
        lines = b"".join(raw + b"\n" for raw in Journal(sync.store.path, sync.store.writer).lines_from(1))
        place, writer = tip.place + 1, sync.store.writer
        digest = next_digest(tip.digest, place, writer, 1, lines)
        row_archive.archive(sync, [Row(place, writer, 1, lines, digest)])


def test_an_engine_that_withholds_rows_keeps_no_processor_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A hostile engine acknowledges lines, and gives none of them. Rows come at last, when it gives them again."""
    monkeypatch.setattr(row_reader, "PACE", 3600.0)
    with fleet(tmp_path) as (here, _):
        here.result("fresh")
        with monkeypatch.context() as withheld:
            withheld.setattr(MemoryLog, "read", lambda *_: [])
            event = here.reserved("src")
            waiting = here.begin_to_ask("settle", events=[event])
            wait_for(lambda: here.result("status")["unsent"] == 0 or here.result("status")["appends"] > 0, here)
            before = here.result("status")["reads"]
            for _ in range(20):
                here.result("status")
            assert here.result("status")["reads"] - before < 10
        monkeypatch.setattr(row_reader, "PACE", 0.0)

        assert waiting.get()["result"]["events"][event]["state"] == "admitted"


def test_a_place_that_another_machine_claims_to_have_read_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(housekeeping, "BEAT", 0.02)
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _):
        won = here.reserve("src")
        engine.beats["mmmmmmmmmmmm"] = time.monotonic(), Beat("mallory", "mmmmmmmmmmmm", 1 << 62)
        wait_for(lambda: "mallory" in [one["name"] for one in here.result("status")["machines"]], here)
        status = here.result("status")

        assert won["token"] <= status["engine_place"] < 1000
        assert status["lag"] < 1000
        assert max(one["place"] for one in status["machines"]) <= status["engine_place"]
