"""How a relay keeps what it has read: on full and slow disks, and when there is much of it."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from bb.ledger.carrier.door import EngineUnreachable
from bb.ledger.files import disk
from bb.ledger.fleet import receiving, row_reader
from bb.ledger.journal import journal as journals
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from tests.coordination.soon_forgotten import forgetting_soon
from tests.ledger.fleet.fleet_support import (
    become_equal,
    fleet,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing


def test_a_full_disk_loses_nothing_and_the_relay_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plain, is_full = disk.write_all, [False]

    def write(fd: int, octets: bytes) -> None:
        name = os.readlink(f"/proc/self/fd/{fd}")
        if is_full[0] and "clone-1" in name and "received" in name:
            plain(fd, octets[: len(octets) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(fd, octets)

    monkeypatch.setattr(disk, "write_all", write)
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        is_full[0] = True
        won = here.reserve("src")
        refused = there.ask("fresh", 3.0)
        is_full[0] = False

        assert not refused["ok"]
        assert won["state"] == "admitted"
        become_equal(here, there)


def test_a_slow_engine_gets_honest_answers_in_time(tmp_path: Path):
    engine = MemoryEngine()

    def slowly(name: str) -> None:
        if name == "append":
            time.sleep(1.0)  # its disk takes so long

    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        engine.before = slowly
        event = here.reserved("src")
        hasty = here.ask("settle", 0.2, events=[event])
        patient = here.result("settle", 60.0, events=[event])

        assert hasty["error"]["code"] == "GRANT_PENDING"
        assert patient["events"][event]["state"] == "admitted"
        engine.before = nothing
        become_equal(here, there)


def test_machines_forget_the_same_grants_and_the_branch_too(tmp_path: Path):
    with forgetting_soon(), fleet(tmp_path) as (here, there):
        first, kept = here.reserve("src"), there.reserve("docs")
        here.release(first["id"])
        for _ in range(6):
            here.release(here.reserve("src")["id"])
            here.result("flush")
        here.result("archive")
        there.result("fresh")

        results = pins.read(here.place.store)
        assert results.fleet is not None
        grants = dict(results.fleet.admitted.grants.items())
        assert first["id"] not in grants
        assert kept["id"] in grants
        assert here.result("settle", events=[first["id"]])["events"][first["id"]]["state"] == "void"
        assert dict(results.admitted.grants) == dict(there.results().admitted.grants.items()) == grants


def test_a_long_journal_of_another_machine_is_received_in_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its lines are appended at once, whatever their number: nothing of them is compared with what is here."""
    for module in (journals, receiving):
        monkeypatch.setattr(module, "SEGMENT_SIZE", 700)
    with fleet(tmp_path) as (here, there):
        there.result("fresh")
        monkeypatch.setattr(receiving.Receiving, "_compare", nothing)
        for _ in range(6):
            here.release(here.reserve("src")["id"])
            become_equal(here, there)

        assert len(Journal(there.place.store, here.writer).segments()) > 3
        assert len(there.lines()[here.writer].splitlines()) > 12


def test_rows_that_wait_to_be_written_when_the_connection_is_lost_are_not_read_and_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """To compare them folds all lines into the index, and every machine would do that when the engine is back."""
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        become_equal(here, there)
        monkeypatch.setattr(row_reader, "PACE", 1000.0)
        monkeypatch.setattr(row_reader, "SLOWEST", 1000.0)
        here.reserve("first")
        there.result("fresh")  # it has written something just now
        won = here.reserve("src")
        assert there.reserve("docs")["state"] == "admitted"  # so the row before it is folded, too
        assert won["id"].encode() not in there.lines().get(here.writer, b""), "its line waits in memory"

        monkeypatch.setattr(receiving.Receiving, "write_again", nothing)
        lost: list[str] = []

        def lose_once(name: str) -> None:
            if name == "append" and not lost:
                lost.append(name)
                raise EngineUnreachable()

        here.stop()  # the lost connection is the other one
        engine.before = lose_once
        there.reserved("lib")
        wait_for(lambda: lost)

        wait_for(lambda: won["id"].encode() in there.lines().get(here.writer, b""))


def test_a_clone_that_only_fetches_does_not_keep_the_places_of_all_reservations(tmp_path: Path):
    with forgetting_soon(), fleet(tmp_path) as (here, there):
        kept = there.reserve("docs")
        there.result("flush")
        there.stop()
        sizes = []
        for _ in range(4):
            for _ in range(5):
                here.release(here.reserve("src")["id"])
                here.result("flush")
            here.result("archive")
            there.clone.sync(pull=True)
            known = pins.read(there.place.store).admitted
            sizes.append(len(known.generations))

        assert kept["id"] in known.generations
        assert sizes[-1] <= 8, sizes
        assert there.clone.ask("agent.status", agent=there.agent)["reservations"][0]["state"] == "active"
        there.start()
        wait_for(lambda: there.result("fresh")["place"] == here.result("fresh")["place"], there)  # they may sign
        # Each clone forgets places at another time, so only the grants are compared.
        assert (there.grants()["grants"], there.results().digest) == (here.grants()["grants"], here.results().digest)
