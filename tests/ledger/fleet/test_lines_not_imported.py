"""Lines of rows that a relay has read, and that are not in the journals: the published ledger has them, too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bb.kernel.errors import Busy
from bb.ledger.fleet import engine_loop, housekeeping
from bb.ledger.journal import received
from bb.ledger.records import payload_removal
from bb.ledger.records.store import Store
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


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_withdrawal_whose_payload_could_not_be_removed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_restarted: bool
):
    may_blank, failed, blank = threading.Event(), threading.Event(), payload_removal.blank

    with fleet(tmp_path) as (here, there):
        about = {"to": "user", "category": "INFO", "bead": "b", "subject": "s", "body": "a private word"}
        event = str(here.clone.ask("agent.send", **{"from": here.agent}, **about)["message_id"])
        here.result("flush")
        there.result("fresh")
        assert b"a private word" in there.lines()[here.writer]

        def blank_later(store: Store) -> int:
            if store.path == there.path and not may_blank.is_set():
                failed.set()
                raise Busy("another process changes the journal")
            return blank(store)

        monkeypatch.setattr(payload_removal, "blank", blank_later)
        here.clone.ask("ledger.redact", event=event, reason="a slip", agent=here.agent)
        here.result("flush")
        wait_for(failed.is_set, there)
        if is_restarted:
            there.stop()
        may_blank.set()
        if is_restarted:
            there.start()
        wait_for(lambda: b"a private word" not in there.lines()[here.writer], there)
