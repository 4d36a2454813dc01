"""Rows of an engine that are no lines of their writer, and clones that go on under a new writer because of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.ledger.fleet.fleet_support import (
    become_equal,
    fleet,
    hostile_rows,
    wait_for,
)
from tests.ledger.fleet.memory_carrier import MemoryEngine


def test_hostile_rows_keep_their_places_and_nothing_of_them_counts_anywhere(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        number = len(there.lines()[there.writer].split(b"\n"))
        with engine.lock:
            begun = engine.log.place
            rows = hostile_rows(there.writer, number + 1)
            for writer, first, octets in rows:
                engine.log.add(writer, first, octets)
        won = here.reserve("src")

        assert won["state"] == "admitted"
        assert won["token"] > begun + len(rows)
        assert not {"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd"} & here.lines().keys()
        assert here.result("status")["flawed"]
        become_equal(here, there)


def test_a_writer_whose_numbers_somebody_took_goes_on_under_a_new_one(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.result("flush")
        former = there.writer
        number = len(there.lines()[former].split(b"\n"))
        with engine.lock:
            engine.log.append(former, number + 1, [b"somebody else wrote this"], 0)
        there.reserved("src", order=None)  # under its number, unless the relay has read that row already
        wait_for(lambda: there.writer != former or there.result("flush"), there)
        wait_for(lambda: there.writer != former, there)
        won = there.reserve("docs")

        assert won["state"] == "admitted"
        assert won["id"].split(".")[0] != former
        become_equal(here, there)


def test_a_copied_clone_goes_on_under_a_new_writer_when_the_engine_has_other_lines_of_it(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there):
        here.result("flush")
        there.stop()
        # A virtual machine that was put back to an earlier state: the same writer, and other lines with its numbers.
        store = Path(there.path)
        kept = tmp_path / "kept"
        shutil.copytree(store, kept, symlinks=True)
        there.reserved("src/one", order=None)
        there.start()
        there.result("flush")
        there.stop()
        put_back(kept, store)
        former = there.writer
        lost = there.reserved("src/two", order=None)
        assert lost.startswith(former)
        there.start()

        wait_for(lambda: there.writer not in (former, "None"), there)
        there.result("flush")
        become_equal(here, there)
        assert b"src/one" in here.lines()[former]
        assert b"src/two" in here.lines()[there.writer]


def put_back(kept: Path, store: Path) -> None:
    """Put the files of a store back, so that it is the same store: its locks keep their identity."""
    names = {file.relative_to(kept) for file in kept.rglob("*") if file.is_file()}
    for file in list(store.rglob("*")):
        if file.is_file() and file.relative_to(store) not in names and "fleet" not in file.parts:
            file.unlink()
    for name in names:
        if name.name != "lock" and "fleet" not in name.parts:
            (store / name).write_bytes((kept / name).read_bytes())
