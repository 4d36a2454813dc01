"""The relay's file of results has readers in other processes, which come and go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
