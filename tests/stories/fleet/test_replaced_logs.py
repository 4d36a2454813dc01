"""Logs that are not used any more: they are closed, at the latest when their engine is back, and removed once
everything in them is published."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.fleet import engines, replaced_logs, settings
from bb.ledger.fleet.settings import EngineAddress
from tests.engines import Postgres, Proxy
from tests.stories.fleet.moving_support import (
    address,
    logs,
    record_reservation,
    send,
    tip_of,
    two_clones,
)
from tests.stories.travel.travel_support import COBALT, Clone


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[Proxy]:
    with Proxy(str(postgres.folder / f".s.PGSQL.{postgres.port}")) as made:
        yield made


@pytest.fixture
def engine(postgres: Postgres) -> str:
    return address(postgres)


@pytest.fixture
def fleet(tmp_path: Path, postgres: Postgres, engine: str, proxy: Proxy) -> tuple[Clone, Clone]:
    """Two clones in a fleet. The first one reaches the engine through the proxy."""
    here, there = two_clones(tmp_path)
    database = engine.partition("dbname=")[2].split()[0]
    through = f"host=127.0.0.1 port={proxy.port} dbname={database} user=postgres sslmode=disable"
    here.ask("fleet.begin", engine=through)
    there.ask("fleet.join", engine=engine)
    return here, there


def incarnation(at: Clone) -> str:
    fleet = tip_of(at).charter.fleet
    assert fleet
    return fleet.incarnation


def test_a_log_that_cannot_be_closed_is_closed_later(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres, proxy: Proxy
):
    here, _ = fleet
    before, other = incarnation(here), address(postgres)
    proxy.cut()

    begun = here.ask("fleet.begin", engine=other, again=True, reason="the engine is away")

    assert "127.0.0.1" in begun["still_open"]
    assert [log.incarnation for log in replaced_logs.still_open(str(here.store))] == [before]
    (finding,) = [each for each in here.ask("doctor")["checks"] if each["name"] == "fleet old log"]
    assert finding["state"] == "odd"
    assert "bb fleet prune" in finding["mend"]
    assert replaced_logs.close_all(str(here.store)).keys() == {before}, "it is still away"

    proxy.mend()
    assert replaced_logs.close_all(str(here.store)) == {}

    (log,) = logs(engine)
    assert log.head.is_closed
    assert replaced_logs.still_open(str(here.store)) == []


def copy_of(engine: str, postgres: Postgres) -> str:
    """The address of a copy of a database, as a restored backup or a promoted standby is one."""
    database = engine.partition("dbname=")[2].split()[0]
    postgres.sql(f"create database {database}_copy template {database}")
    return address(postgres, f"{database}_copy")


def test_a_fleet_that_moves_to_a_copy_of_its_engine_leaves_no_open_log(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, there = fleet
    other = copy_of(engine, postgres)
    record_reservation(there, COBALT, "lib", order=incarnation(there))
    send(there)

    begun = here.ask("fleet.begin", engine=other, again=True, reason="the backup is the engine now")

    assert begun["still_open"] is None
    assert (begun["rows"], begun["void"]) == (1, []), "what only the old server had is published"
    (log,) = logs(engine)
    assert log.head.is_closed


def test_the_log_on_a_server_that_is_away_is_named_and_closed_later_although_a_copy_of_it_is_closed(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres, proxy: Proxy
):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation(there))
    send(there)
    before, other = incarnation(here), copy_of(engine, postgres)
    proxy.cut()

    begun = here.ask("fleet.begin", engine=other, again=True, reason="the standby is the primary now")

    assert "127.0.0.1" in begun["still_open"]
    assert (begun["rows"], begun["void"]) == (1, []), "the copy has the rows too"
    assert [log.incarnation for log in replaced_logs.still_open(str(here.store))] == [before]
    proxy.mend()
    assert replaced_logs.close_all(str(here.store)) == {}
    (log,) = logs(engine)
    assert log.head.is_closed


def test_a_log_in_use_is_never_closed_by_a_note(fleet: tuple[Clone, Clone], engine: str):
    """As after a new beginning whose push was refused."""
    here, _ = fleet
    store, saved = str(here.store), settings.read(str(here.store))
    assert saved
    replaced_logs.note(
        store, replaced_logs.OpenLog(saved.carrier, saved.address, tip_of(here).charter.repo, incarnation(here))
    )

    assert replaced_logs.close_all(store) == {}

    (log,) = logs(engine)
    assert not log.head.is_closed
    assert replaced_logs.still_open(store) == []


def test_nothing_is_closed_while_the_remote_is_away(fleet: tuple[Clone, Clone], engine: str):
    here, _ = fleet
    hub = here.path.parent / "hub.git"
    hub.rename(hub.with_name("away.git"))

    assert here.refused("fleet.begin", again=True, reason="the backup").code == "OFFLINE"

    (log,) = logs(engine)
    assert not log.head.is_closed


def test_a_log_is_closed_by_the_role_that_owns_it(fleet: tuple[Clone, Clone], postgres: Postgres, engine: str):
    here, there = fleet
    role = f"{engine.partition('dbname=')[2].split()[0]}-m"
    here.ask("fleet.enroll", machine=role, engine=engine, do=True)
    there.ask("fleet.join", engine=engine.replace("user=postgres", f"user={role}"))

    begun = there.ask("fleet.begin", engine=engine, again=True, reason="the backup of Monday")

    assert begun["still_open"] is None
    assert [log.head.is_closed for log in logs(engine)] == [True, False]


def test_a_log_that_is_not_used_any_more_is_removed_once_it_is_published(fleet: tuple[Clone, Clone], engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation(there))
    send(there)
    here.ask("fleet.begin", engine=engine, again=True, reason="the backup of Monday")
    before, now = logs(engine)

    planned = here.ask("fleet.prune", dry_run=True)
    assert [(log["incarnation"], log["removed"]) for log in planned["logs"]] == [(before.head.incarnation, True)]
    assert len(logs(engine)) == 2
    pruned = here.ask("fleet.prune")

    assert pruned["logs"] == planned["logs"]
    assert [log.head.incarnation for log in logs(engine)] == [now.head.incarnation]
    assert here.ask("fleet.prune")["logs"] == []
    there.sync(pull=True)
    assert send(there) >= 1, "the log in use goes on"


def test_a_log_with_lines_that_only_it_has_is_closed_and_stays(
    fleet: tuple[Clone, Clone], postgres: Postgres, engine: str, proxy: Proxy
):
    """Its engine was away when the fleet began again, and another machine went on with it."""
    here, there = fleet
    other = address(postgres)
    proxy.cut()
    here.ask("fleet.begin", engine=other, again=True, reason="the engine is away")
    record_reservation(there, COBALT, "lib", order=incarnation(there))
    send(there)

    (kept,) = here.ask("fleet.prune", engine=engine)["logs"]

    assert (kept["was_closed"], kept["removed"], kept["unpublished"]) == (False, False, 1)
    assert [log.head.is_closed for log in logs(engine)] == [True]
    assert replaced_logs.still_open(str(here.store)) == []
    there.ask("fleet.join", engine=other)
    send(there)
    here.ask("fleet.end", engine=other)
    (removed,) = here.ask("fleet.prune", engine=engine)["logs"]
    assert (removed["was_closed"], removed["removed"]) == (True, True)
    assert logs(engine) == []


def test_after_the_end_of_a_fleet_its_log_can_be_removed(fleet: tuple[Clone, Clone], engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation(there))
    send(there)
    here.ask("fleet.end")

    (log,) = here.ask("fleet.prune", engine=engine)["logs"]

    assert (log["was_closed"], log["removed"], log["unpublished"]) == (True, True, 0)
    assert logs(engine) == []
    assert here.ask("fleet.prune", engine=engine)["logs"] == []
    begun = here.ask("fleet.begin", engine=engine)
    assert [each.head.incarnation for each in logs(engine)] == [begun["terms"]["incarnation"]]


def test_of_two_that_began_a_fleet_at_once_the_log_of_the_loser_is_removed(fleet: tuple[Clone, Clone], engine: str):
    here, _ = fleet
    terms = tip_of(here).charter.fleet
    assert terms
    with contextlib.closing(engines.keeper(EngineAddress("postgres", engine))) as keeper:
        keeper.begin(tip_of(here).charter.repo, "e" * 16, terms.first, {})

    (log,) = here.ask("fleet.prune", engine=engine)["logs"]

    assert (log["incarnation"], log["removed"]) == ("e" * 16, True)
    assert [each.head.incarnation for each in logs(engine)] == [terms.incarnation]


def test_a_log_that_somebody_is_about_to_begin_is_left_alone(fleet: tuple[Clone, Clone], engine: str):
    here, _ = fleet
    tip = tip_of(here)
    with contextlib.closing(engines.keeper(EngineAddress("postgres", engine))) as keeper:
        keeper.begin(tip.charter.repo, "e" * 16, tip.place + 1_000_000, {})

    assert here.ask("fleet.prune", engine=engine)["logs"] == []
    assert len(logs(engine)) == 2
