"""What only PostgreSQL does: what a hostile machine can and cannot do, durability, standbys, backups, notifications."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from bb.ledger.carrier import door
from bb.ledger.carrier.door import Machine
from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.carrier.postgres_keeper import NotAMachine, PostgresKeeper, schema
from bb.ledger.carrier.postgres_session import EngineUnprepared
from tests import engines
from tests.contracts.carriers import ADA, BOB, FIRST, INCARNATION, REPO, PostgresEngine, begun, everything
from tests.waiting import until

MALLORY = "mmmmmmmmmmmm"


@pytest.fixture
def engine(postgres: engines.Postgres) -> PostgresEngine:
    made = PostgresEngine(postgres)
    begun(made)
    return made


@pytest.fixture
def carrier(engine: PostgresEngine) -> Iterator[PostgresCarrier]:
    with contextlib.closing(engine.carrier()) as made:
        assert isinstance(made, PostgresCarrier)
        yield made


@contextlib.contextmanager
def as_machine(engine: PostgresEngine, name: str = "mallory") -> Iterator[psycopg.Connection]:
    with psycopg.connect(engine.machine(name), autocommit=True) as connection:
        yield connection


FORBIDDEN = [
    "select * from bb.log",
    "select * from bb.row",
    "select * from bb.writer",
    "select * from bb.beat",
    "update bb.log set place = 5",
    "insert into bb.writer values (1, 'aaaaaaaaaaaa', 1, 'mallory')",
    "delete from bb.row",
    "truncate bb.beat",
    "select bb.may_use(1, 'aaaaaaaaaaaa')",
    "select bb.milliseconds()",
    "create table bb.mine (x int)",
    "create function bb.mine() returns int language sql as 'select 1'",
    "create or replace function bb.version() returns integer language sql as 'select 2'",
    "alter function bb.version() owner to mallory",
    "drop schema bb cascade",
    "create role another",
    "create database another",
    "copy (select 1) to program 'id'",
    "alter role mallory superuser",
    "set role postgres",
    "set session authorization postgres",
    "alter system set fsync = off",
]


def test_a_machine_has_no_rights_but_to_execute(engine: PostgresEngine) -> None:
    def may(connection: psycopg.Connection, statement: str) -> bool:
        with contextlib.suppress(psycopg.Error):
            connection.execute(statement)
            return True
        return False

    with as_machine(engine) as connection:
        assert [statement for statement in FORBIDDEN if may(connection, statement)] == []


HOSTILE: list[tuple[object, ...]] = [
    (REPO, INCARNATION, MALLORY, 0, b"x\n"),
    (REPO, INCARNATION, MALLORY, -(1 << 63), b"x\n"),
    (REPO, INCARNATION, MALLORY, (1 << 63) - 1, b"x\n"),
    (REPO, INCARNATION, MALLORY, None, b"x\n"),
    (REPO, INCARNATION, MALLORY, 1, None),
    (REPO, INCARNATION, MALLORY, 1, b""),
    (REPO, INCARNATION, MALLORY, 1, b"no newline"),
    (REPO, INCARNATION, MALLORY, 1, b"nul\x00\n"),
    (REPO, INCARNATION, MALLORY, 1, b"x" * (4 << 20) + b"\n"),
    (REPO, INCARNATION, None, 1, b"x\n"),
    (REPO, INCARNATION, "", 1, b"x\n"),
    (REPO, INCARNATION, "mmmmmmmmmmmm\n", 1, b"x\n"),
    (REPO, INCARNATION, "m" * 1_000_000, 1, b"x\n"),
    (REPO, INCARNATION, "'; drop schema bb cascade; --", 1, b"x\n"),
    (REPO, INCARNATION, "MMMMMMMMMMMM", 1, b"x\n"),
    (None, None, MALLORY, 1, b"x\n"),
    ("'; drop schema bb cascade; --", "x", MALLORY, 1, b"x\n"),
]


def test_hostile_values_append_nothing(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    with as_machine(engine) as connection:
        for number, values in enumerate(HOSTILE, 1):
            carrier.append(ADA, number, [b"%d" % number])
            with contextlib.suppress(psycopg.Error):
                found = connection.execute(
                    "select place, problem from bb.append(%s, %s, %s, %s::bigint, %s::bytea)", values
                ).fetchone()
                assert found is not None
                assert found[0] is None
                assert found[1]
            assert carrier.head().place == FIRST - 1 + number, values

    assert len(everything(carrier)) == len(HOSTILE)


def test_temporary_objects_of_a_machine_do_not_replace_those_of_the_functions(
    engine: PostgresEngine, carrier: PostgresCarrier
) -> None:
    with as_machine(engine) as connection:
        connection.execute("create temp table log (id int, repo text, incarnation text, place bigint)")
        connection.execute("create function pg_temp.sha256(bytea) returns bytea language sql as 'select ''x''::bytea'")
        connection.execute("set search_path = pg_temp, bb")
        connection.execute("select bb.append(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, b"x\n"))

    assert len(everything(carrier)) == 1, "with the digest of the rule"


def test_a_machine_that_does_not_wait_for_the_disk_waits_in_spite(engine: PostgresEngine) -> None:
    with as_machine(engine) as connection:
        connection.execute("set synchronous_commit = off")
        with connection.transaction():
            connection.execute("select bb.append(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, b"x\n"))
            assert connection.execute("show synchronous_commit").fetchone() == ("on",)


def test_a_machine_that_keeps_the_log_locked_delays_others_and_they_are_told(
    engine: PostgresEngine, carrier: PostgresCarrier
) -> None:
    with as_machine(engine) as connection:
        with connection.transaction():
            connection.execute("select bb.append(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, b"x\n"))
            with pytest.raises(door.EngineUnreachable.error):
                carrier.append(ADA, 1, [b"1"])
            assert carrier.head().place == FIRST - 1, "reading goes on"
        assert carrier.append(ADA, 1, [b"1"]) == FIRST + 1
        with contextlib.closing(PostgresKeeper(engine.address())) as keeper:
            keeper.run(keeper.revoke("mallory"))
        with pytest.raises(psycopg.Error):
            connection.execute("select bb.version()")


@pytest.fixture
def owned(postgres: engines.Postgres) -> Iterator[tuple[engines.Postgres, str]]:
    """A server and a database that belongs to the role `ownerkeeper`, which is no superuser and may make roles."""
    postgres.sql("create role ownerkeeper login createrole")
    database = postgres.database()
    postgres.sql(f"alter database {database} owner to ownerkeeper")
    yield postgres, database
    postgres.sql(f"drop database {database} with (force)")
    for role in (*MADE, "ownerkeeper"):
        postgres.sql(f"drop role if exists {role}")


MADE = ("stuck", "other", "modest", "stranger")  # the roles that tests make as `ownerkeeper`


@pytest.mark.parametrize("call", ["append", "beat"])
def test_a_machine_that_keeps_a_transaction_open_is_ended_whatever_limits_it_has_set(
    owned: tuple[engines.Postgres, str], call: str
) -> None:
    server, database = owned
    with contextlib.closing(PostgresKeeper(server.conninfo(database, "ownerkeeper"))) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST, {})
        for name in ("stuck", "other"):
            keeper.run(keeper.enroll(name))
    at_once = schema().replace("interval '15 seconds'", "interval '0 seconds'")
    server.sql(f"set role ownerkeeper; {at_once}", database)
    with (
        psycopg.connect(server.conninfo(database, "stuck")) as stuck,
        contextlib.closing(PostgresCarrier(server.conninfo(database, "other"), REPO, INCARNATION)) as carrier,
    ):
        stuck.execute("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0")
        stuck.execute("select bb.append(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, b"x\n"))
        if call == "append":
            with pytest.raises(door.EngineUnreachable.error, match="stuck"):
                carrier.append(ADA, 1, [b"1"])
        else:
            carrier.beat(Machine("", ADA, FIRST))
        assert carrier.append(ADA, 1, [b"1"]) == FIRST
        with pytest.raises(psycopg.OperationalError):
            stuck.execute("select 1")


def test_the_beats_of_one_role_are_limited_and_hide_nobody(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    carrier.beat(Machine("", ADA, FIRST, {"ada": 3}))
    agents = '{"mallory": 1, "padding": "' + "x" * 65_000 + '"}'
    with as_machine(engine) as connection:
        for number in range(1, 41):
            writer = f"{number:012}".translate(str.maketrans("0123456789", "abcdefghij"))
            connection.execute("select bb.beat(%s, %s, %s, 1, %s)", (REPO, INCARNATION, writer, agents))
        found = connection.execute(
            "select role, sum(length(agents)), count(*) from bb.alive(%s, %s) group by role order by role",
            (REPO, INCARNATION),
        ).fetchall()

    assert [(role, count) for role, _, count in found] == [("mallory", 40), ("postgres", 1)]
    assert found[0][1] <= 1 << 20
    assert {machine.name: dict(machine.agents) for machine in carrier.alive()}["postgres"] == {"ada": 3}


@pytest.mark.parametrize("what", ["place", "first", "at"])
def test_a_server_that_answers_with_something_else_is_away(engine: PostgresEngine, what: str) -> None:
    kinds = dict.fromkeys(("place", "first", "at"), "bigint") | {what: "bytea"}
    values = dict.fromkeys(("place", "first", "at"), "1::bigint") | {what: "decode(repeat('7f', 5000), 'hex')"}
    engine.server.sql(
        f"""drop function bb.read(text, text, bigint, integer);
        create function bb.read(r text, i text, since bigint, most integer, out place {kinds["place"]},
            out writer text, out first {kinds["first"]}, out at {kinds["at"]}, out digest bytea, out octets bytea)
        returns setof record language sql as $$
            select {values["place"]}, 'aaaaaaaaaaaa', {values["first"]}, {values["at"]}, ''::bytea, 'x'::bytea $$""",
        engine.database,
    )
    with contextlib.closing(engine.carrier()) as carrier, pytest.raises(door.EngineUnreachable.error):
        carrier.read(FIRST - 1)


def test_a_writer_stays_bound_to_its_machine_in_the_next_log(engine: PostgresEngine) -> None:
    address, evil = engine.machine("mine"), engine.machine("mallory")
    with contextlib.closing(engine.carrier(address)) as carrier:
        carrier.append(ADA, 1, [b"1"])
    begun(engine, {ADA: 1, BOB: 7}, incarnation="e" * 16)

    with (
        contextlib.closing(engine.carrier(evil, incarnation="e" * 16)) as mallory,
        contextlib.closing(engine.carrier(address, incarnation="e" * 16)) as mine,
    ):
        with pytest.raises(door.Denied.error):
            mallory.append(ADA, 2, [b"forged"])
        assert mine.append(ADA, 2, [b"2"]) == FIRST
        assert mine.append(BOB, 8, [b"8"]) == FIRST + 1, "nobody has used that writer yet"


def test_notifications_of_others_do_no_harm(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    carrier.read(FIRST - 1)
    with as_machine(engine) as connection:
        for payload in ("", "x", "9" * 7000, "-1", "²"):
            connection.execute("select pg_notify(%s, %s)", (f"bb_{carrier._log}", payload))
    assert carrier.wait(FIRST - 1, 60)
    assert carrier.read(FIRST - 1) == []


def test_a_reader_whose_notifications_are_lost_looks_by_itself(
    engine: PostgresEngine, carrier: PostgresCarrier
) -> None:
    with contextlib.closing(engine.carrier()) as deaf:
        assert isinstance(deaf, PostgresCarrier)
        assert deaf.read(FIRST - 1) == []
        assert deaf._session is not None
        deaf._session.ask("unlisten *")
        carrier.append(ADA, 1, [b"1"])
        assert until(lambda: deaf.wait(FIRST - 1, 600) and deaf.read(FIRST - 1))


def test_the_age_of_a_beat_is_that_of_the_server(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    for writer in (ADA, BOB, MALLORY):
        carrier.beat(Machine("", writer, FIRST))
    for writer, age in ((ADA, "46 seconds"), (BOB, "61 minutes"), (MALLORY, "-1 hour")):
        change = f"update bb.beat set at = at - interval '{age}' where writer = '{writer}'"
        engine.server.sql(change, engine.database)

    alive = {machine.writer: machine.is_alive for machine in carrier.alive()}

    assert alive == {ADA: False, MALLORY: True}, "a clock of the server that was set back is harmless too"


def test_the_beat_has_the_name_of_the_role_whatever_the_machine_says(engine: PostgresEngine) -> None:
    with contextlib.closing(engine.carrier(engine.machine("m-1"))) as carrier:
        carrier.beat(Machine("somebody else", ADA, FIRST))
        assert [machine.name for machine in carrier.alive()] == ["m-1"]
        with contextlib.closing(engine.carrier(engine.machine("m-2"))) as second, pytest.raises(door.Denied.error):
            second.beat(Machine("m-1", ADA, FIRST))


def test_strange_agents_of_another_machine_are_left_out(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    with as_machine(engine) as connection:
        for agents in ["[]", "7", "not json", '{"x": 1e999}', '{"x": "y", "z": 5}', '{"x": -1}']:
            connection.execute("select bb.beat(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, agents))
            with pytest.raises(psycopg.Error):
                connection.execute("select bb.beat(%s, %s, %s, 1, %s)", (REPO, INCARNATION, MALLORY, "x" * 70_000))

            (machine,) = carrier.alive()
            assert set(machine.agents) <= {"z"}


def test_a_moved_writer_is_bound_anew_by_the_keeper(engine: PostgresEngine) -> None:
    old, new = engine.carrier(engine.machine("old")), engine.carrier(engine.machine("new"))
    with (
        contextlib.closing(old),
        contextlib.closing(new),
        contextlib.closing(PostgresKeeper(engine.address())) as keeper,
    ):
        old.append(ADA, 1, [b"1"])
        with pytest.raises(door.Denied.error):
            new.append(ADA, 2, [b"2"])
        assert keeper.unbind(ADA) == 1
        assert new.append(ADA, 2, [b"2"]) == FIRST + 1
        with pytest.raises(door.Denied.error):
            old.append(ADA, 3, [b"3"])


def test_what_cannot_be_a_machine_is_refused(engine: PostgresEngine) -> None:
    with contextlib.closing(PostgresKeeper(engine.address())) as keeper:
        for name in ["", "pg_x", "PUBLIC", 'a"b', "a b", "x" * 64, "-x", "a;b", "ü", "postgres"]:
            with pytest.raises(NotAMachine.error):
                keeper.enroll(name)


def test_enrolling_is_harmless_to_repeat_and_to_take_back(engine: PostgresEngine) -> None:
    address = engine.machine("again")
    with contextlib.closing(PostgresKeeper(engine.address())) as keeper:
        for _ in range(2):
            keeper.run(keeper.revoke("again"))
            with contextlib.closing(engine.carrier(address)) as carrier, pytest.raises(door.Denied.error):
                carrier.head()
            keeper.run(keeper.enroll("again"))
            with contextlib.closing(engine.carrier(address)) as carrier:
                assert carrier.head().place == FIRST - 1
        assert all("again" in line and "hostssl" in line for line in keeper.hba_lines("again"))


def test_a_keeper_need_not_be_a_superuser(engine: PostgresEngine) -> None:
    engine.server.sql("drop owned by keeper; drop role keeper" if role_exists(engine, "keeper") else "select 1")
    engine.server.sql("create role keeper login createrole")
    database = engine.server.database()
    engine.server.sql(f"grant create on database {database} to keeper")
    with contextlib.closing(PostgresKeeper(engine.server.conninfo(database, "keeper"))) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST, {})
        keeper.run(keeper.enroll("plain"))
        with contextlib.closing(PostgresCarrier(engine.server.conninfo(database, "plain"), REPO, INCARNATION)) as plain:
            assert plain.append(ADA, 1, [b"1"]) == FIRST
        keeper.run(keeper.revoke("plain"))
        assert keeper.health()["role"] == "keeper"


def test_what_a_role_may_not_do_names_the_role_that_may(owned: tuple[engines.Postgres, str]) -> None:
    server, database = owned
    with contextlib.closing(PostgresKeeper(server.conninfo(database, "ownerkeeper"))) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST, {})
        keeper.run(keeper.enroll("modest"))
        server.sql("alter role ownerkeeper nocreaterole")
        with pytest.raises(door.Denied.error) as refusal:
            keeper.run(keeper.enroll("another"))
        assert "CREATEROLE" in (refusal.value.hint or "")
    with contextlib.closing(PostgresKeeper(server.conninfo(database, "modest"))) as machine:
        with pytest.raises(door.Denied.error) as refusal:
            machine.end(REPO, INCARNATION)
        assert "bb-owner" in (refusal.value.hint or "")


def test_a_role_that_somebody_else_has_made_is_enrolled_by_an_owner_that_administers_it(
    owned: tuple[engines.Postgres, str],
) -> None:
    """From PostgreSQL 16 on, CREATEROLE alone does not permit to change such a role."""
    server, database = owned
    server.sql("create role stranger login")
    with contextlib.closing(PostgresKeeper(server.conninfo(database, "ownerkeeper"))) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST, {})
        if int(server.sql("show server_version_num")) >= 160000:
            with pytest.raises(door.Denied.error) as refusal:
                keeper.run(keeper.enroll("stranger"))
            assert "grant MACHINE to OWNER with admin option" in (refusal.value.hint or "")
            server.sql("grant stranger to ownerkeeper with admin option")
        keeper.run(keeper.enroll("stranger"))
    with contextlib.closing(PostgresCarrier(server.conninfo(database, "stranger"), REPO, INCARNATION)) as carrier:
        assert carrier.append(ADA, 1, [b"1"]) == FIRST


def test_a_missing_password_and_a_missing_service_are_told_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    hba = "local all postgres trust\nlocal all all scram-sha-256\n"
    with engines.postgres(hba=hba) as server:
        server.sql("create role guest login password 'x'")
        for environment in ({}, {"PGPASSWORD": "s3cret"}):
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            with pytest.raises(door.Denied.error) as denied:
                PostgresCarrier(server.conninfo(user="guest"), REPO, INCARNATION).head()
            assert ".pgpass" in (denied.value.hint or "")
            assert "s3cret" not in f"{denied.value.message}{denied.value.hint}"
    with pytest.raises(door.EngineUnreachable.error) as unknown:
        PostgresCarrier("service=nowhere", REPO, INCARNATION).head()
    assert "pg_service.conf" in (unknown.value.hint or "")


def role_exists(engine: PostgresEngine, name: str) -> bool:
    return engine.server.sql(f"select count(*) from pg_roles where rolname = '{name}'") == "1"


def test_a_database_without_the_schema_says_so(engine: PostgresEngine) -> None:
    conninfo = engine.server.conninfo(engine.server.database())
    with contextlib.closing(PostgresCarrier(conninfo, REPO, INCARNATION)) as carrier:
        with pytest.raises(EngineUnprepared.error):
            carrier.head()
        assert carrier.health()["durable"]
    with contextlib.closing(PostgresKeeper(conninfo)) as keeper:
        assert keeper.logs() == []


def test_the_schema_can_be_made_by_psql_again_and_again(engine: PostgresEngine, carrier: PostgresCarrier) -> None:
    carrier.append(ADA, 1, [b"1"])
    for _ in range(2):
        engine.server.sql(schema(), engine.database)
    assert carrier.append(ADA, 2, [b"2"]) == FIRST + 1


def test_a_server_that_does_not_write_to_its_disk_is_refused() -> None:
    with engines.postgres({"fsync": "off"}) as server:
        engine = PostgresEngine(server)
        with pytest.raises(door.EngineNotDurable.error) as refusal:
            begun(engine)
        assert "fsync" in refusal.value.message
        with contextlib.closing(engine.carrier()) as carrier:
            assert carrier.health()["durable"] is False
            with pytest.raises(door.EngineNotDurable.error):
                carrier.append(ADA, 1, [b"x"])


def test_fsync_that_is_turned_off_while_connected_is_noticed() -> None:
    with engines.postgres() as server, contextlib.closing(begun(PostgresEngine(server)).carrier()) as carrier:
        carrier.append(ADA, 1, [b"1"])
        server.change(fsync="off")
        until(lambda: server.sql("show fsync") == "off")
        with pytest.raises(door.EngineNotDurable.error):
            until(lambda: carrier.append(ADA, 1, [b"1"]) is None, "the refusal")


def test_a_session_waits_for_the_disk_even_where_the_server_does_not() -> None:
    settings = {"synchronous_commit": "off"}
    with engines.postgres(settings) as server, contextlib.closing(begun(PostgresEngine(server)).carrier()) as carrier:
        assert carrier.health()["synchronous_commit"] == "on"
        assert carrier.append(ADA, 1, [b"1"]) == FIRST
    settings = {"synchronous_commit": "remote_apply"}
    with engines.postgres(settings) as server, contextlib.closing(PostgresEngine(server).carrier()) as carrier:
        assert carrier.health()["synchronous_commit"] == "remote_apply"


def test_a_commit_that_its_synchronous_standby_has_not_confirmed_is_unknown() -> None:
    with engines.postgres() as server, contextlib.closing(begun(PostgresEngine(server)).carrier(patience=1)) as carrier:
        carrier.append(ADA, 1, [b"1"])
        server.change(synchronous_standby_names="nobody")
        until(lambda: server.sql("show synchronous_standby_names") == "nobody")
        with pytest.raises(door.AppendUnknown.error):
            until(lambda: carrier.append(ADA, 2, [b"2"]) is None)
        server.change(synchronous_standby_names="")
        assert until(lambda: appended(carrier, 2, b"2")) == FIRST + 1


def test_a_commit_whose_wait_for_its_standby_was_given_up_is_unknown() -> None:
    """The server then says that it has committed, and a warning."""
    waiting = "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'"
    with engines.postgres() as server, contextlib.closing(begun_locally(server).carrier(patience=60)) as carrier:
        giving_up = threading.Thread(target=lambda: until(lambda: server.sql(waiting) == "1"))
        giving_up.start()
        with pytest.raises(door.AppendUnknown.error, match="synchronous"):
            carrier.append(ADA, 1, [b"1"])
        giving_up.join()


def begun_locally(server: engines.Postgres) -> PostgresEngine:
    """An empty log, made before the server waits for a standby."""
    server.change(synchronous_standby_names="")
    until(lambda: server.sql("show synchronous_standby_names") == "")
    engine = begun(PostgresEngine(server))
    assert isinstance(engine, PostgresEngine)
    server.change(synchronous_standby_names="nobody")
    until(lambda: server.sql("show synchronous_standby_names") == "nobody")
    return engine


def appended(carrier: PostgresCarrier, number: int, line: bytes) -> int | None:
    try:
        return carrier.append(ADA, number, [line])
    except (door.AppendUnknown.error, door.EngineUnreachable.error):
        return None


def test_a_server_that_stands_still_is_refused_in_time() -> None:
    with engines.postgres() as server, contextlib.closing(begun(PostgresEngine(server)).carrier(patience=1)) as carrier:
        carrier.append(ADA, 1, [b"1"])
        server.freeze()
        began = time.monotonic()
        with pytest.raises(door.AppendUnknown.error):
            carrier.append(ADA, 2, [b"2"])
        for _ in range(2):
            with pytest.raises(door.EngineUnreachable.error):
                carrier.append(ADA, 2, [b"2"])
        assert time.monotonic() - began < 60, "a limit, not a measure"
        server.thaw()
        assert until(lambda: appended(carrier, 2, b"2")) == FIRST + 1
        assert len(everything(carrier)) == 2


def test_a_restored_backup_has_another_digest() -> None:
    with engines.postgres() as server:
        engine = begun(PostgresEngine(server))
        with contextlib.closing(engine.carrier()) as carrier:
            carrier.append(ADA, 1, [b"1"])
            backup = server.backup()
            carrier.append(ADA, 2, [b"2"])
            before = carrier.head()
            server.rewind(backup)
            assert until(lambda: head_of(carrier)).place == FIRST, "the head is lower"
            carrier.append(BOB, 1, [b"other"])
            after = carrier.head()
            assert (after.place, after.digest != before.digest) == (before.place, True)


def test_a_standby_is_refused_until_it_is_the_primary() -> None:
    with engines.postgres() as server:
        engine = begun(PostgresEngine(server))
        with contextlib.closing(engine.carrier()) as carrier:
            carrier.append(ADA, 1, [b"1"])
            standby = server.standby(server.folder / "standby")
            try:
                until(lambda: carrier.health()["standbys"], "the standby")
                second = PostgresCarrier(standby.conninfo(engine.database), REPO, INCARNATION)
                with contextlib.closing(second):
                    with pytest.raises(door.EngineUnreachable.error):
                        second.head()
                    assert second.health()["primary"] is False
                    until(lambda: standby.sql("select max(place) from bb.row", engine.database) == str(FIRST))
                    standby.stop()  # it falls behind, as an asynchronous one does
                    carrier.append(ADA, 2, [b"2"])
                    lost = carrier.head()
                    server.kill_hard()
                    standby.start_again()
                    standby.promote()
                    assert until(lambda: head_of(second)).place < lost.place, "what it had acknowledged is gone"
            finally:
                standby.kill_hard()


def head_of(carrier: PostgresCarrier) -> door.Head | None:
    try:
        return carrier.head()
    except door.EngineUnreachable.error:
        return None
