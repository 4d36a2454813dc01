"""The relay's file of results has readers in other processes, which come and go."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.published import fleet_results
from tests import engines
from tests.stories.fleet.client_support import Fleet, fleet
from tests.waiting import until

READ = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from about').fetchone()[0])"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


def test_a_reader_that_ends_takes_nothing_from_the_relay(two: Fleet):
    results = Path(fleet_results.path_of(two.here.store))
    log = results.with_name(results.name + "-wal")
    assert two.here.reserve("one").data["token"]
    before = log.stat().st_ino

    read = subprocess.run([sys.executable, "-c", READ, str(results)], capture_output=True, text=True)

    assert int(read.stdout) > 0
    assert log.stat().st_ino == before
    assert two.here.reserve("two").data["token"]


def test_a_relay_that_has_lost_the_log_of_its_file_makes_both_anew(two: Fleet):
    results = Path(fleet_results.path_of(two.here.store))
    assert two.there.reserve("three").data["token"]
    until(lambda: two.here.text("check", "three").out.startswith("held"))

    results.with_name(results.name + "-wal").unlink()

    assert two.there.reserve("four").data["token"]
    until(lambda: two.here.text("check", "four").out.startswith("held"))
    until(lambda: two.here.reserve("five").status == 0)
    assert two.here.token("five")
    assert two.here.text("check", "three").out.startswith("held")


@pytest.mark.parametrize("damage", ["another version", "removed"])
def test_what_another_machine_holds_is_not_free_while_nobody_knows_who_was_admitted(two: Fleet, damage: str):
    results = Path(fleet_results.path_of(two.here.store))
    assert two.there.reserve(damage).data["token"]
    until(lambda: two.here.text("check", damage).out.startswith("held"))

    def meanwhile() -> None:
        if damage == "removed":
            for rest in ("", "-wal", "-shm"):
                results.with_name(results.name + rest).unlink(missing_ok=True)
        else:
            with contextlib.closing(sqlite3.connect(results)) as file:
                file.execute(f"pragma user_version = {fleet_results.VERSION + 1}")
        checked = two.here.json("check", damage, BB_DAEMON="off")
        assert (checked.status, checked.code) == (7, "PATH_HELD")
        assert checked.envelope["error"]["details"]["fleet"] == {"place": None, "age_seconds": None, "no_relay": True}
        told = two.here.text("check", "free", BB_DAEMON="off").out
        assert "has not read everything" in told
        assert "`bb daemon start`" in told

        two.proxy.cut()

    def last_read(path: str) -> dict[str, Any]:
        found = two.here.json("check", path).envelope
        return dict((found["data"] or found["error"]["details"])["fleet"])

    two.here.restart_daemon(meanwhile)
    until(lambda: last_read("free")["place"], "the results of the archive")
    assert last_read(damage)["age_seconds"] is None
    assert two.here.json("check", damage).code == "PATH_HELD", "the archive lacks it, and the engine is away"

    two.proxy.mend()
    until(lambda: last_read("free")["age_seconds"] is not None, "the results of the engine")
    assert two.here.json("check", damage).code == "PATH_HELD"
