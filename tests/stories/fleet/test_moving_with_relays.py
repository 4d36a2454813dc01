"""A fleet whose relays run begins again after its engine has lost history, moves to another engine, and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import Postgres
from tests.stories.fleet.client_support import Fleet, Side, fleet
from tests.waiting import until

LEAP = 1_000_000


def state(side: Side) -> str:
    found = side.json("fleet", "status", BB_AGENT="").data["state"]
    return str(found)


def put_back(at: Fleet, database: str, place: int) -> None:
    """Put the engine's log back to a PLACE, as an old backup does, and end all connections."""
    log = f"(select id from bb.log where place >= {place} and not is_closed)"
    at.server.sql(
        f"delete from bb.row where log = {log} and place > {place};"
        f"update bb.writer w set last = (select max(last) from bb.row r where r.log = w.log and r.writer = w.writer) "
        f"where log = {log} and exists (select from bb.row r where r.log = w.log and r.writer = w.writer);"
        f"update bb.log t set place = {place}, "
        f"digest = (select digest from bb.row r where r.log = t.id and r.place = {place}) where id = {log};",
        database,
    )
    at.server.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}'")


def database_of(side: Side) -> str:
    address = side.json("fleet", "status", BB_AGENT="").data["engine"]["address"]
    return str(next(part for part in address.split() if part.startswith("dbname=")).removeprefix("dbname="))


def test_a_fleet_whose_engine_lost_history_stops_and_begins_again(tmp_path: Path, postgres: Postgres):
    with fleet(tmp_path, postgres) as at:
        kept = int(at.there.reserve("kept").data["token"])
        assert at.here.text("sync").status == 0
        head = int(at.here.json("fleet", "status", BB_AGENT="").data["head"])
        lost = int(at.there.reserve("lost").data["token"])
        put_back(at, database_of(at.there), head)

        until(lambda: state(at.there) == "stopped", "the relay compares")
        refused = at.there.reserve("more")
        assert refused.code == "ENGINE_REWOUND"
        assert "begin --again" in refused.err + refused.out
        problems = at.there.json("problems", BB_AGENT="")
        assert "fleet" in {each["kind"] for each in problems.envelope["error"]["details"]["problems"]}
        assert at.there.json("doctor", BB_AGENT="").code == "PROBLEMS_FOUND"

        begun = at.here.text("fleet", "begin", "--again", "--reason", "the backup of Monday", BB_AGENT="")
        assert begun.status == 0, begun.err
        until(lambda: state(at.there) == "connected", "the other relay finds the new log")
        until(lambda: at.there.state("lost") is None, "its holder's clone gives it up")
        assert at.there.token("kept") == kept
        assert "void: your reservation of lost" in at.there.text("inbox").out
        again = at.there.reserve("lost").data["token"]
        assert again > lost + LEAP // 2
        assert at.here.text("sync").status == 0
        assert at.here.reserve("lost").code == "RESERVATION_CONFLICT"


def test_a_fleet_ends_while_its_relays_run(tmp_path: Path, postgres: Postgres):
    with fleet(tmp_path, postgres) as at:
        token = int(at.there.reserve("kept").data["token"])

        ended = at.here.text("fleet", "end", postgres.conninfo(database_of(at.there)), BB_AGENT="")
        assert ended.status == 0, ended.err
        until(lambda: state(at.there) == "none", "the other clone follows")

        for side in (at.there, at.here, at.there):
            assert side.text("sync", "--publish").status == 0
        assert at.here.json("ledger", "digest").data["digest"] == at.there.json("ledger", "digest").data["digest"]
        assert at.there.token("kept") == token
        assert at.here.reserve("kept", "--global").code == "RESERVATION_CONFLICT"
        assert at.here.reserve("other", "--global").data["token"] > token


@pytest.mark.parametrize("verb", [("fleet", "join"), ("fleet", "begin", "--again", "--reason", "moved")])
def test_a_relay_goes_on_with_another_engine_at_once(tmp_path: Path, postgres: Postgres, verb: tuple[str, ...]):
    with fleet(tmp_path, postgres) as at:
        before = int(at.there.reserve("kept").data["token"])
        other = postgres.conninfo(postgres.database())
        moved = at.here.text("fleet", "begin", other, "--again", "--reason", "a larger server", BB_AGENT="")
        assert moved.status == 0, moved.err
        assert at.here.reserve("mine").data["token"] > before + LEAP // 2
        until(lambda: state(at.there) == "stopped", "it still has the old address")

        done = at.there.text(*verb, other, BB_AGENT="")

        assert done.status == 0, done.err
        assert at.there.reserve("more").status == 0
        assert at.there.token("kept") == before
