"""The saved results of a relay: lost, removed, damaged and overwritten ones are computed again."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.carrier.door import EngineUnreachable
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet import housekeeping
from bb.ledger.fleet.results_file import ResultsFile
from tests.ledger.fleet.fleet_support import Machine, become_equal, fleet, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing


def test_lost_results_are_computed_again_from_the_archive(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        grants = there.grants()
        there.stop()
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.unlink()
        there.start()
        there.result("fresh")

        assert won["id"] in grants["grants"]
        assert there.grants() == grants
        become_equal(here, there)


def test_results_that_are_removed_while_the_relay_runs_are_made_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.unlink()
        here.reserve("docs")
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_results_that_are_made_again_are_not_called_current_before_the_engine_was_read(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.reserve("src")
        there.result("fresh")
        assert there.results().current_at

        def refuse_reads_since_then(name: str) -> None:
            if name == "read" and "results are lost" in "".join(there.log):
                raise EngineUnreachable()

        engine.before = refuse_reads_since_then
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.unlink()
        here.reserved("docs")
        here.begin_to_ask("flush")
        wait_for(lambda: connects(there) > 1, there)

        assert not there.results().current_at
        engine.before = nothing
        there.result("fresh")
        assert there.results().current_at


def connects(machine: Machine) -> int:
    """How often the relay has connected since it has found its results lost."""
    log = "\n".join(machine.log)
    return log.partition("results are lost")[2].count("connected to")


def test_damaged_results_are_made_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        there.stop()
        for file in (Path(there.path) / "fleet").glob("results.sqlite*"):
            file.write_bytes(b"no database" * 1000)
        there.start()
        there.result("fresh")

        assert won["id"] in there.grants()["grants"]
        become_equal(here, there)


def test_results_that_are_overwritten_while_the_relay_runs_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The relay's own connection may have all pages in memory. Nobody may take the file for an empty one meanwhile."""
    monkeypatch.setattr(housekeeping, "BEAT", 0.05)
    with fleet(tmp_path) as (here, there):
        won = here.reserve("src")
        there.result("fresh")
        file = Path(there.path) / "fleet" / "results.sqlite"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("pragma wal_checkpoint(passive)").fetchall()
            damaged = file.stat().st_ino
            with file.open("r+b") as octets:
                octets.write(b"\xff" * file.stat().st_size)
            wait_for(lambda: file.exists() and file.stat().st_ino != damaged, there)
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_results_whose_damage_is_found_late_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On a page that is not read when the relay begins: what can be read of the file must not be taken again."""
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        file = Path(there.path) / "fleet" / "results.sqlite"
        damaged = file.stat().st_ino
        (file.parent / "keeps-its-number").hardlink_to(file)
        put = ResultsFile._put

        def put_on_a_damaged_page(results: ResultsFile, *about: Any) -> None:
            if results._path == str(file) and file.stat().st_ino == damaged:
                raise sqlite3.DatabaseError("database disk image is malformed")
            put(results, *about)

        monkeypatch.setattr(ResultsFile, "_put", put_on_a_damaged_page)
        won = here.reserve("src")
        wait_for(lambda: there.ask("fresh")["ok"] and won["id"] in there.grants()["grants"], there)

        become_equal(here, there)


def test_journals_that_lost_their_ends_in_a_power_failure_are_completed_again(tmp_path: Path):
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        for n in range(5):
            here.reserve(f"src/{n}")
        there.result("fresh")
        there.stop()
        (journal,) = (Path(there.path) / "received" / here.writer).glob("*.jsonl")
        octets = journal.read_bytes()
        journal.write_bytes(octets[: octets.rfind(b"\n", 0, -1000) + 30])
        there.start()

        become_equal(here, there)
