"""A clone of a fleet is deleted while bb's daemon runs its relay, and the daemon goes on with the others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.fleet import settings
from tests.engines import Postgres
from tests.stories.daemon.cli_support import home
from tests.stories.fleet.client_support import Fleet, fleet
from tests.support import is_running
from tests.waiting import until


@pytest.fixture
def two(tmp_path: Path, postgres: Postgres) -> Iterator[Fleet]:
    with fleet(tmp_path, postgres) as made:
        yield made


def test_the_relay_of_a_deleted_clone_ends_and_makes_nothing_where_the_clone_was(two: Fleet):
    there = two.there
    assert there.reserve("lib").status == 0
    assert sessions(two) == 2
    log = home(there.at) / "daemon" / "ccccd.log"

    shutil.rmtree(there.at.path)

    until(lambda: "was deleted, or its disk is away" in log.read_text(), "the end of the relay")
    until(lambda: sessions(two) == 1, "the end of its connection")
    assert "ERROR" not in log.read_text()
    assert list(there.at.path.rglob("*")) == [], log.read_text()
    assert two.here.reserve("src").status == 0
    there.at.path.mkdir()  # for the command that ends the daemon


def test_the_daemon_of_a_deleted_home_ends_and_makes_nothing_there(two: Fleet):
    there = two.there
    assert there.reserve("lib").status == 0
    daemon, folder = there.daemon(), home(there.at)

    shutil.rmtree(folder)
    (folder / "daemon").mkdir(parents=True)
    (folder / "daemon" / "ccccd.lock").touch()

    until(lambda: not is_running(daemon), "the end of the daemon")
    assert sorted({each.name for each in folder.rglob("*")} - {"ccccd.log"}) == ["ccccd.lock", "daemon"]
    assert there.reserve("src").status == 0, "another daemon runs the relay now"


def sessions(of: Fleet) -> int:
    """The connections of relays to the engine."""
    engine = settings.read(of.here.store)
    assert engine
    name = next(word for word in engine.address.split() if word.startswith("dbname=")).removeprefix("dbname=")
    return int(of.server.sql(f"select count(*) from pg_stat_activity where datname = '{name}'"))
