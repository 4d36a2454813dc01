"""Lines of rows that a relay has read, and that are not in the journals: the published ledger has them, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.fleet import engine_loop, housekeeping
from bb.ledger.journal import received
from tests.ledger.fleet.fleet_support import Machine, become_equal, fleet, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine


@pytest.fixture(autouse=True)
def _looks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_loop, "STOPPED_PAUSE", 0.1)
    monkeypatch.setattr(housekeeping, "LOOK_AGAIN", 0.1)


def read_without_importing(here: Machine, there: Machine) -> int:
    """The relay of HERE ends when it has read what THERE recorded, while a sync keeps it from the journals. Returns the
    last place."""
    with received.Turn(here.path):
        last = int([there.reserve(f"src/{n}") for n in range(3)][-1]["token"])
        wait_for(lambda: here.results().place >= last, here)
        here.stop()
    assert here.results().imported < last
    return last


def test_rows_that_the_engine_has_no_more_are_imported_from_the_published_ledger(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("fresh")
        there.result("fresh")
        last = read_without_importing(here, there)
        there.result("archive")
        there.stop()  # so nothing more is archived
        engine.log.oldest = engine.log.place
        here.start()
        wait_for(lambda: here.result("status")["state"] == "connected" and here.ask("fresh")["ok"], here)

        assert here.results().imported >= last
        assert here.reserve("tests")["state"] == "admitted"
        there.start()
        become_equal(here, there)


def test_rows_after_the_published_ones_are_imported_from_the_engine(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("fresh")
        there.result("fresh")
        with received.Turn(here.path):
            for n in range(3):
                there.reserve(f"src/{n}")
            there.result("archive")
            engine.log.oldest = engine.log.place
            last = there.reserve("docs")["token"]
            wait_for(lambda: here.results().place >= last, here)
            here.stop()
            there.stop()  # so nothing more is archived
        assert here.results().imported < engine.log.oldest - 1
        here.start()
        wait_for(lambda: here.result("status")["state"] == "connected" and here.ask("fresh")["ok"], here)

        assert here.results().imported >= last
        there.start()
        become_equal(here, there)


def test_published_lines_that_were_lost_in_a_power_failure_are_fetched_again(tmp_path: Path):
    """The relay appends received lines without waiting for the disk, and the pins say durably that they are here."""
    with fleet(tmp_path) as (here, there):
        here.result("fresh")
        there.result("fresh")
        for n in range(3):
            there.reserve(f"src/{n}")
        for machine in (here, there):
            machine.result("archive")
        here.stop()
        (journal,) = (Path(here.path) / "received" / there.writer).glob("*.jsonl")
        octets = journal.read_bytes()
        journal.write_bytes(octets[: octets.index(b"\n") + 1])
        there.reserve("docs")
        here.start()
        wait_for(lambda: here.ask("fresh")["ok"], here)

        assert any("FLEET_LINES_LACKING" in line for line in here.log)
        become_equal(here, there)
