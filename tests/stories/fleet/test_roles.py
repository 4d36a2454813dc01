"""A fleet whose machines have their own roles: in which order it is set up, and what is refused before the switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.cli.screens import fleet
from bb.kernel.foreign import Foreign
from bb.ledger.fleet import settings
from tests.engines import Postgres, postgres
from tests.stories.fleet.moving_support import address, logs, send, tip_of, two_clones
from tests.stories.travel.travel_support import Clone

HBA = "local all postgres trust\nlocal all owner,machine,early trust\nlocal all locked scram-sha-256\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with the roles that a person has made on it."""
    with postgres(hba=HBA) as made:
        made.sql("create role owner login createrole")
        for role in ("early", "locked"):
            made.sql(f"create role {role} login password 'unknown'")
        yield made


@pytest.fixture
def database(server: Postgres) -> Iterator[str]:
    name = server.database()
    server.sql(f"grant create on database {name} to owner")
    yield name
    server.sql(f"drop database {name} with (force)")
    server.sql("drop role if exists machine")


@pytest.fixture
def two(tmp_path: Path) -> tuple[Clone, Clone]:
    return two_clones(tmp_path)


def test_the_machine_of_the_first_clone_is_enrolled_before_the_fleet_begins(
    two: tuple[Clone, Clone], server: Postgres, database: str
):
    here, there = two
    owner, machine = server.conninfo(database, "owner"), server.conninfo(database, "machine")
    refusal = here.refused("fleet.enroll", machine="machine", engine=owner)
    assert (refusal.code, "bb fleet schema" in str(refusal.hint)) == ("ENGINE_UNPREPARED", True)

    here.ask("fleet.enroll", machine="machine", engine=owner, do=True)

    assert here.ask("fleet.begin", engine=owner, relay=machine, dry_run=True)["dry_run"]
    here.ask("fleet.begin", engine=owner, relay=machine)
    assert here.ask("fleet.status")["health"]["role"] == "machine"
    assert send(here) >= tip_of(here).place
    there.ask("fleet.join", engine=machine)


def test_a_relay_with_the_owners_role_needs_no_tables_before(two: tuple[Clone, Clone], server: Postgres, database: str):
    here, _ = two
    owner = server.conninfo(database, "owner")
    other = f"{owner} application_name=bb-relay"

    assert here.ask("fleet.begin", engine=owner, relay=other, dry_run=True)["dry_run"]
    assert here.ask("fleet.begin", engine=owner, relay=other)["terms"]
    assert here.ask("fleet.status")["health"]["role"] == "owner"


def test_a_relay_whose_role_is_not_enrolled_is_refused_although_there_are_no_tables_yet(
    two: tuple[Clone, Clone], server: Postgres, database: str
):
    here, _ = two
    owner, early = server.conninfo(database, "owner"), server.conninfo(database, "early")
    tip = here.tip

    for is_tried in (True, False):
        refusal = here.refused("fleet.begin", engine=owner, relay=early, dry_run=is_tried)
        assert (refusal.code, "bb fleet enroll" in str(refusal.hint)) == ("ENGINE_UNPREPARED", True)
    assert here.tip == tip


@pytest.mark.parametrize("is_tried", [True, False], ids=["dry run", "done"])
@pytest.mark.parametrize(
    ("role", "code", "says"),
    [
        ("early", "ENGINE_DENIED", "bb fleet enroll"),
        ("locked", "ENGINE_DENIED", ".pgpass"),
        ("nobody", "ENGINE_DENIED", "bb fleet enroll"),
    ],
)
def test_an_address_of_the_relay_that_does_not_work_is_refused_before_the_switch(
    two: tuple[Clone, Clone], server: Postgres, database: str, role: str, code: str, says: str, is_tried: bool
):
    here, _ = two
    owner = server.conninfo(database, "owner")
    server.sql(here.ask("fleet.schema")["statements"], database)
    server.sql("alter schema bb owner to owner", database)
    tip = here.tip

    refusal = here.refused("fleet.begin", engine=owner, relay=server.conninfo(database, role), dry_run=is_tried)

    assert (refusal.code, says in str(refusal.hint)) == (code, True), refusal.hint
    assert "the relay" in refusal.message
    assert here.tip == tip
    assert logs(server.conninfo(database)) == []
    assert settings.read(str(here.store)) is None


@pytest.mark.parametrize("is_tried", [True, False], ids=["dry run", "done"])
def test_a_role_that_may_not_make_the_tables_is_told_who_can(
    two: tuple[Clone, Clone], server: Postgres, database: str, is_tried: bool
):
    here, _ = two
    tip, engine = here.tip, server.conninfo(database, "early")

    refusal = here.refused("fleet.begin", engine=engine, dry_run=is_tried)

    assert refusal.code == "ENGINE_DENIED"
    assert "grant create on database" in str(refusal.hint)
    assert "bb fleet schema" in str(refusal.hint)
    assert here.tip == tip
    server.sql(f"grant create on database {database} to early")
    assert here.ask("fleet.begin", engine=engine, dry_run=is_tried)["dry_run"] == is_tried


def test_a_writer_that_no_role_has_used_is_named(two: tuple[Clone, Clone], server: Postgres, database: str):
    here, _ = two
    owner = server.conninfo(database, "owner")

    done = here.ask("fleet.enroll", machine="machine", engine=owner, writer="zzzzzzzzzzzz", do=True)

    assert done["unbound"] == 0
    assert "No role has used the writer zzzzzzzzzzzz" in "\n".join(fleet.enrolled(Foreign(done)))


def test_a_dry_run_leaves_no_tables(two: tuple[Clone, Clone], server: Postgres, database: str):
    here, _ = two

    planned = here.ask("fleet.begin", engine=server.conninfo(database, "owner"), dry_run=True)

    assert "make bb's tables in the engine" in planned["steps"]
    assert server.sql("select count(*) from pg_namespace where nspname = 'bb'", database) == "0"


def test_where_the_tables_of_a_fleet_are_gone_nobody_is_sent_to_begin_another_one(
    two: tuple[Clone, Clone], server: Postgres, database: str
):
    here, there = two
    engine, other = server.conninfo(database), address(server)
    here.ask("fleet.begin", engine=engine)
    there.sync(pull=True)

    refusals = [there.refused("fleet.join", engine=other), here.refused("fleet.end", engine=other)]
    server.sql("drop schema bb cascade", database)
    refusals.append(here.refused("fleet.end"))

    for refusal in refusals:
        assert refusal.code == "ENGINE_UNPREPARED"
        assert "begin ENGINE --again" in str(refusal.hint)
    status = here.ask("fleet.status")
    assert (status["code"], "begin ENGINE --again" in status["hint"]) == ("ENGINE_UNPREPARED", True)
    (check,) = [each for each in here.ask("doctor")["checks"] if each["name"] == "fleet"]
    assert "begin ENGINE --again" in check["mend"]
    assert here.ask("fleet.begin", engine=engine, again=True, reason="the schema was dropped")["terms"]
