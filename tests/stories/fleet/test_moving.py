"""A ledger moves to an engine, to a new log after the engine has lost history, and back to the git remote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.ledger.fleet import incarnations, settings
from bb.ledger.local import fleet_files
from bb.ledger.travel import switching
from tests.engines import Postgres
from tests.engines import postgres as new_server
from tests.stories.fleet.moving_support import (
    address,
    archive,
    carrier_of,
    letters,
    logs,
    record_reservation,
    send,
    tip_of,
    two_clones,
)
from tests.stories.travel.travel_support import AMBER, COBALT, Clone

PERSON = {"agent": "user"}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Clone, Clone]:
    return two_clones(tmp_path)


@pytest.fixture
def engine(postgres: Postgres) -> str:
    return address(postgres)


@pytest.fixture
def fleet(two: tuple[Clone, Clone], engine: str) -> tuple[Clone, Clone]:
    """Two clones that have begun and joined a fleet."""
    here, there = two
    here.ask("fleet.begin", engine=engine)
    there.ask("fleet.join", engine=engine)
    return here, there


def test_the_push_of_a_charter_with_terms_is_the_switch(two: tuple[Clone, Clone], engine: str):
    here, there = two
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    before = tip_of(here)

    begun = here.ask("fleet.begin", engine=engine)

    tip = tip_of(here)
    assert tip.charter.fleet
    assert begun["terms"] == tip.charter.fleet.as_dict()
    assert tip.charter.fleet.first == tip.place + 1 > before.generation
    assert (tip.charter.format, tip.charter.min_reader, tip.charter.min_writer) == (2, 2, 2)
    assert tip.events > before.events, "what was recorded is published first"
    (log,) = logs(engine)
    assert (log.head.incarnation, log.first) == (tip.charter.fleet.incarnation, tip.charter.fleet.first)
    assert log.writers == len(tip.last_lines)
    assert settings.read(str(here.store))
    assert not begun["relay"]["running"], "the tests allow no daemon"

    assert there.ask("fleet.status")["state"] == "none"
    there.sync(pull=True)
    assert there.ask("fleet.status")["state"] == "not_joined"
    joined = there.ask("fleet.join", engine=engine)
    assert joined["head"] == tip.place
    assert joined["visible_to"] is None, "it publishes already"


def test_a_dry_run_of_each_verb_changes_nothing(two: tuple[Clone, Clone], engine: str):
    here, there = two
    record_reservation(here, AMBER, "src", base="c0ffee")
    tip = here.tip

    planned = here.ask("fleet.begin", engine=engine, dry_run=True)

    assert [one["scope"] for one in planned["void"]] == ["src"]
    assert "postgres" in planned["engine"]["carrier"]
    assert (here.tip, logs(engine)) == (tip, [])
    assert not fleet_files.has_engine(str(here.store))
    here.ask("fleet.begin", engine=engine)
    tip = here.tip
    there.sync(pull=True)
    for name, at in (("fleet.join", there), ("fleet.prune", here), ("fleet.end", here)):
        assert at.ask(name, engine=engine, dry_run=True)["dry_run"]
    assert here.ask("fleet.begin", engine=engine, again=True, reason="to look", dry_run=True)["first"] > 1_000_000
    assert here.tip == tip
    assert not fleet_files.has_engine(str(there.store))
    (log,) = logs(engine)
    assert not log.head.is_closed


def test_a_dry_run_says_how_much_would_be_sent_and_archived(two: tuple[Clone, Clone], engine: str):
    here, there = two
    here.ask("fleet.begin", engine=engine)
    there.sync(pull=True)

    def would_be_sent() -> int:
        (text,) = [step for step in there.ask("fleet.join", engine=engine, dry_run=True)["steps"] if "sends" in step]
        return int(text.split("sends ")[1].split()[0])

    before = would_be_sent()
    there.ask("agent.reserve", agent=COBALT, scope=["lib", "docs"], bead="bb-2")
    assert (before, would_be_sent()) == (0, 3), "two reservations, and the note that the clone has read the others"

    there.ask("fleet.join", engine=engine)
    send(there)
    planned = here.ask("fleet.end", dry_run=True)
    assert planned["rows"] == 1
    assert "not archived yet, now 1 row" in planned["steps"][2]


def test_a_dry_run_of_the_end_is_refused_where_the_end_would_be(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, _ = fleet
    gone, machine = "host=/nowhere dbname=bb", f"{engine.replace('user=postgres', '')} user=build-end"
    here.ask("fleet.enroll", machine="build-end", engine=engine, do=True)

    for address_of, planned, done in (
        (gone, "ENGINE_UNREACHABLE", "ENGINE_UNREACHABLE"),
        (machine, "ENGINE_DENIED", "ENGINE_DENIED"),
        (address(postgres), "ANOTHER_ENGINE", "ENGINE_UNPREPARED"),
    ):
        assert here.refused_or("fleet.end", engine=address_of, dry_run=True) == planned
        assert here.refused_or("fleet.end", engine=address_of) == done
    assert here.ask("fleet.end", lost=True, reason="to look", dry_run=True)["rows"] == 0


def test_a_fleet_ends_with_the_owners_address_where_the_role_of_the_relay_may_not_read(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, there = fleet
    write(there, "Sent")
    send(there)
    role = f"{dict(part.split('=') for part in engine.split())['dbname']}-r"
    postgres.sql(f'create role "{role}" login')
    settings.write(str(here.store), settings.EngineAddress("postgres", engine.replace("=postgres", f"={role}")))

    assert here.ask("fleet.end", engine=engine)["rows"] == 1

    assert tip_of(here).charter.fleet is None


def test_only_the_person_moves_a_ledger(fleet: tuple[Clone, Clone], engine: str):
    here, _ = fleet
    here.settings = {**here.settings, "BB_AGENT": AMBER}

    for name, given in (("fleet.begin", {"again": True, "reason": "x"}), ("fleet.end", {}), ("fleet.prune", {})):
        assert here.refused_or(name, engine=engine, **given) == "PERSON_ONLY"
    assert here.refused_or("fleet.enroll", machine="build-7", engine=engine) == "PERSON_ONLY"


def test_what_does_not_fit_is_refused_before_anything_is_done(
    two: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, there = two
    assert here.refused_or("fleet.begin") == "NO_ENGINE"
    assert here.refused_or("fleet.begin", engine=engine, again=True) == "INVALID_ARGS"
    assert here.refused_or("fleet.begin", engine=engine, again=True, reason="lost") == "NO_FLEET"
    assert here.refused_or("fleet.end", engine=engine) == "NO_FLEET"
    assert here.refused_or("fleet.join", engine=engine) == "NO_FLEET"
    assert here.refused_or("fleet.begin", engine=f"{engine} password=x") == "SECRET_IN_ADDRESS"
    assert here.refused_or("fleet.begin", engine="host=/nowhere dbname=bb") == "ENGINE_UNREACHABLE"
    assert logs(engine) == []

    here.ask("fleet.begin", engine=engine)
    assert here.refused_or("fleet.begin", engine=engine) == "FLEET_EXISTS"
    there.sync(pull=True)
    assert there.refused_or("fleet.join") == "NO_ENGINE"
    assert there.refused_or("fleet.join", engine="nats://127.0.0.1") == "ANOTHER_ENGINE"
    assert there.refused_or("fleet.join", engine=address(postgres)) == "ENGINE_UNPREPARED"
    assert not fleet_files.has_engine(str(there.store))
    assert there.refused_or("fleet.end", lost=True) == "INVALID_ARGS"


def test_a_clone_that_publishes_meanwhile_makes_the_switch_take_fresh_numbers(
    two: tuple[Clone, Clone], engine: str, monkeypatch: pytest.MonkeyPatch
):
    here, there = two
    original, calls = switching.begin, []

    def late(sync: Any, terms: Any) -> Any:
        if not calls:
            there.ask("agent.reserve", agent=COBALT, scope=["lib"], bead="bb-2")
            there.sync(push=True)
        calls.append(terms.first)
        return original(sync, terms)

    monkeypatch.setattr(switching, "begin", late)
    here.ask("fleet.begin", engine=engine)

    assert len(calls) == 2
    assert calls[1] > calls[0]
    (log,) = logs(engine)
    assert log.first == calls[1]
    with carrier_of(here) as carrier:
        writer = next(
            name for name in tip_of(here).last_lines if name in {one.name for one in (there.store / "j").iterdir()}
        )
        assert carrier.append(writer, tip_of(here).last_line(writer) + 1, [b"the next line"]) == log.first


def test_of_two_that_begin_at_once_one_is_told_that_there_is_a_fleet(
    two: tuple[Clone, Clone], engine: str, monkeypatch: pytest.MonkeyPatch
):
    here, there = two
    original, calls = switching.begin, []

    def late(sync: Any, terms: Any) -> Any:
        calls.append(terms)
        if len(calls) == 1:
            there.ask("fleet.begin", engine=engine)
        return original(sync, terms)

    monkeypatch.setattr(switching, "begin", late)

    assert here.refused_or("fleet.begin", engine=engine) == "FLEET_EXISTS"
    assert here.refused_or("fleet.begin", engine=engine) == "FLEET_EXISTS"
    here.ask("fleet.join", engine=engine)


def test_an_interrupted_beginning_is_run_again(two: tuple[Clone, Clone], engine: str):
    here, _ = two
    hook = here.path.parent / "hub.git" / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    assert here.refused_or("fleet.begin", engine=engine) == "HOOK_DECLINED"
    assert here.ask("fleet.status")["state"] == "none"

    hook.unlink()
    begun = here.ask("fleet.begin", engine=engine)
    used = [log for log in logs(engine) if log.head.incarnation == begun["terms"]["incarnation"]]
    assert len(used) == 1


def test_reservations_in_flight_are_void_and_their_holders_are_told(two: tuple[Clone, Clone], engine: str):
    here, there = two
    granted = here.ask("agent.reserve", agent=AMBER, scope=["kept"], bead="bb-1", **{"global": True})
    record_reservation(here, AMBER, "src", base="c0ffee")
    record_reservation(there, COBALT, "lib", base="c0ffee")

    begun = here.ask("fleet.begin", engine=engine)
    followed = there.sync(pull=True)

    assert [(one["agent_id"], one["scope"]) for one in begun["void"]] == [(AMBER, "src")]
    assert [(one["agent_id"], one["scope"]) for one in followed["void"]] == [(COBALT, "lib")]
    assert letters(here, AMBER) == ["void: your reservation of src"]
    assert letters(there, COBALT) == ["void: your reservation of lib"]
    assert here.ask("agent.heartbeat", agent=AMBER)["contested"] == ["src"]
    assert "void" in str(here.ask("turn", agent=AMBER))
    assert here.ask("check", path=["src/a"], agent=AMBER)["paths"][0]["verdict"] == "free"
    assert here.states_of(AMBER) == {"kept": "active"}
    token = here.ask("agent.status", agent=AMBER)["reservations"][0]["token"]
    assert token == granted["token"]
    assert "void" not in there.sync(pull=True), "it is told once"


def test_an_end_archives_everything_and_every_clone_follows(fleet: tuple[Clone, Clone], engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation_of(there))
    last = send(there)
    write(there, "Away")

    ended = here.ask("fleet.end", reason="one machine again")

    tip = tip_of(here)
    assert ended["rows"] == 1
    assert tip.charter.fleet is None
    assert tip.charter.format == 2
    assert tip.generation > last
    (log,) = logs(engine)
    assert log.head.is_closed
    assert not fleet_files.has_engine(str(here.store))
    assert (COBALT, "lib", "active") in here.holds()

    there.sync()
    assert not fleet_files.has_engine(str(there.store))
    here.sync()
    assert "Away" in letters(here, AMBER)
    assert here.digest == there.digest
    assert here.refused_or("fleet.end", engine=engine) == "NO_FLEET"
    assert here.ask("agent.reserve", agent=AMBER, scope=["a"], bead="b", **{"global": True})["token"] > last


def test_an_interrupted_end_is_run_again(fleet: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = fleet
    write(there, "Sent")
    send(there)
    with monkeypatch.context() as patch:
        patch.setattr(switching, "end", _dies)
        with pytest.raises(KeyboardInterrupt):
            here.ask("fleet.end")
    assert tip_of(here).charter.fleet, "the log is closed, and its rows are archived"

    assert here.ask("fleet.end")["rows"] == 0
    assert "Sent" in letters(here, AMBER)


def test_a_beginning_that_was_killed_after_the_switch_is_completed_by_joining(
    two: tuple[Clone, Clone], engine: str, monkeypatch: pytest.MonkeyPatch
):
    here, _ = two
    with monkeypatch.context() as patch:
        patch.setattr(settings, "write", _dies)
        with pytest.raises(KeyboardInterrupt):
            here.ask("fleet.begin", engine=engine)

    assert here.ask("fleet.status")["state"] == "not_joined"
    refusal = here.refused("fleet.begin", engine=engine)
    assert (refusal.code, "bb fleet join" in str(refusal.hint)) == ("FLEET_EXISTS", True)
    here.ask("fleet.join", engine=engine)
    assert send(here) >= tip_of(here).place


def test_a_clone_that_has_not_joined_works_alone_and_says_how_to_join(two: tuple[Clone, Clone], engine: str):
    here, there = two
    here.ask("fleet.begin", engine=engine)
    there.sync(pull=True)

    assert there.ask("agent.reserve", agent=COBALT, scope=["lib"], bead="b")["state"] == "active"
    for refusal in (
        there.refused("agent.reserve", agent=COBALT, scope=["a"], bead="b", **{"global": True}),
        there.refused("sync"),
        there.refused("sync", publish=True),
    ):
        assert refusal.code == "NOT_IN_FLEET"
        assert "bb fleet join" in str(refusal.hint)
    assert there.ask("status")["fleet"]["state"] == "not_joined"
    checks = {each["name"]: each for each in there.ask("doctor")["checks"]}
    assert checks["fleet"]["state"] == "odd"
    assert checks["fleet"]["mend"] == "bb fleet join ENGINE"


def test_a_fleet_begins_again_after_an_end_above_all_places(fleet: tuple[Clone, Clone], engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation_of(there))
    last = send(there)
    here.ask("fleet.end")

    begun = here.ask("fleet.begin", engine=engine)

    assert begun["first"] > last
    there.ask("fleet.join", engine=engine)
    assert send(there) >= begun["first"] - 1


def test_a_fleet_can_end_without_its_engine(fleet: tuple[Clone, Clone], postgres: Postgres, engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation_of(there))
    last = send(there)
    database = dict(part.split("=") for part in engine.split())["dbname"]
    postgres.sql(f"drop database {database} with (force)")

    refusal = here.refused("fleet.end")
    assert refusal.code == "ENGINE_UNREACHABLE"
    ended = here.ask("fleet.end", lost=True, reason="the database is gone")

    assert ended["engine"] is None
    assert tip_of(here).generation > last
    followed = there.sync()
    assert [one["scope"] for one in followed["void"]] == ["lib"], "only the engine had it"
    here.sync()
    assert here.digest == there.digest


def test_a_new_incarnation_leaps_above_every_place_and_publishes_what_is_left(fleet: tuple[Clone, Clone], engine: str):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation_of(there))
    last, before = send(there), incarnation_of(here)

    begun = here.ask("fleet.begin", again=True, reason="a rehearsal")

    assert begun["rows"] == 1
    assert begun["first"] >= last + incarnations.LEAP
    assert begun["terms"]["incarnation"] != before
    assert begun["terms"]["reason"] == "a rehearsal"
    assert (COBALT, "lib", "active") in here.holds()
    assert [log.head.is_closed for log in logs(engine)] == [True, False]
    there.sync(pull=True)
    assert send(there) >= begun["first"] - 1


def test_after_an_old_backup_the_lost_lines_come_back_and_lost_reservations_are_void(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, there = fleet
    write(there, "Kept")
    send(there)
    database = dict(part.split("=") for part in engine.split())["dbname"]
    postgres.sql(f"create database {database}_old template {database}")
    write(there, "Lost")
    record_reservation(there, COBALT, "lib", order=incarnation_of(here))
    lost = send(there)
    postgres.sql(f"drop database {database} with (force)")
    postgres.sql(f"alter database {database}_old rename to {database}")

    planned = there.ask("fleet.begin", again=True, reason="the backup of Monday", dry_run=True)
    assert [one["scope"] for one in planned["void"]] == ["lib"], "the archive lacks it"
    begun = here.ask("fleet.begin", again=True, reason="the backup of Monday")

    assert begun["rows"] == 1, "what is in the backup is published"
    assert begun["first"] >= incarnations.LEAP
    assert begun["first"] > lost
    followed = there.sync(pull=True)
    assert [(one["agent_id"], one["scope"]) for one in followed["void"]] == [(COBALT, "lib")]
    assert letters(there, COBALT) == ["void: your reservation of lib"]
    assert send(there) == begun["first"], "the lines that the new log lacks, in one row"
    here.ask("fleet.end")
    assert {"Kept", "Lost"} <= set(letters(here, AMBER))


def test_an_engine_that_ends_before_the_archive_is_not_joined(
    fleet: tuple[Clone, Clone], engine: str, postgres: Postgres
):
    here, there = fleet
    database = dict(part.split("=") for part in engine.split())["dbname"]
    postgres.sql(f"create database {database}_old template {database}")
    write(there, "Done")
    send(there)
    archived = archive(here)
    postgres.sql(f"drop database {database} with (force)")
    postgres.sql(f"alter database {database}_old rename to {database}")

    assert there.refused_or("fleet.join", engine=engine) == "ENGINE_REWOUND"
    status = there.ask("fleet.status")
    assert (status["state"], status["code"]) == ("stopped", "ENGINE_REWOUND")
    send(here)
    write(there, "Other")
    send(there)
    assert archived >= 2
    assert there.refused_or("fleet.join", engine=engine) == "ANOTHER_ENGINE", "the same places have other rows"


def test_a_fleet_moves_to_another_engine_and_nothing_is_void(
    fleet: tuple[Clone, Clone], postgres: Postgres, engine: str
):
    here, there = fleet
    record_reservation(there, COBALT, "lib", order=incarnation_of(there))
    send(there)
    other = address(postgres)

    moved = here.ask("fleet.begin", engine=other, again=True, reason="a larger server")

    assert moved["rows"] == 1
    assert moved["void"] == []
    (log,) = logs(engine)
    assert log.head.is_closed
    assert there.refused_or("fleet.join") == "ANOTHER_ENGINE", "it still has the address of the old engine"
    there.ask("fleet.join", engine=other)
    assert send(there) >= moved["first"] - 1


def test_rows_that_are_archived_and_read_are_pruned(fleet: tuple[Clone, Clone]):
    here, there = fleet
    write(there, "One")
    send(there)
    write(there, "Two")
    last = send(there)
    assert here.ask("fleet.prune")["rows"] == 0, "nothing is archived"
    archive(there)  # which this clone has not heard of yet

    assert here.ask("fleet.prune", dry_run=True)["rows"] == 1
    pruned = here.ask("fleet.prune")

    assert pruned["upto"] == last
    assert pruned["rows"] == 1, "the last row stays"
    there.ask("fleet.join")
    newcomer = here.ask("fleet.status")
    assert newcomer["head"] == last


def test_a_machine_is_enrolled_and_may_append_and_no_more(fleet: tuple[Clone, Clone], postgres: Postgres, engine: str):
    here, there = fleet
    role = f"{dict(part.split('=') for part in engine.split())['dbname']}-m"

    printed = here.ask("fleet.enroll", machine=role)
    assert not printed["done"]
    assert postgres.sql(f"select count(*) from pg_roles where rolname = '{role}'") == "0"
    here.ask("fleet.enroll", machine=role, do=True)

    own = engine.replace("user=postgres", f"user={role}")
    there.ask("fleet.join", engine=own)
    assert send(there) >= 1
    assert there.ask("fleet.status")["health"]["role"] == role
    refusal = there.refused("fleet.end")
    assert refusal.code in ("ENGINE_DENIED", "NOT_ENTITLED")
    assert tip_of(there).charter.fleet

    here.ask("fleet.enroll", machine=role, revoke=True, do=True)
    assert there.refused_or("fleet.join", engine=own) in ("ENGINE_DENIED", "ENGINE_UNREACHABLE")
    assert here.refused_or("fleet.enroll", machine=role, writer="x") == "INVALID_VALUE"


def test_the_schema_is_printed_for_the_person_who_runs_the_database(two: tuple[Clone, Clone], postgres: Postgres):
    here, _ = two
    database = postgres.database()

    printed = here.ask("fleet.schema")["statements"]
    postgres.sql(printed, database)
    postgres.sql(printed, database)

    assert here.ask("fleet.begin", engine=address(postgres, database))["terms"]


def test_an_engine_that_a_power_failure_can_rewind_is_refused(two: tuple[Clone, Clone]):
    here, _ = two
    tip = here.tip
    with new_server({"fsync": "off"}) as server:
        refusal = here.refused("fleet.begin", engine=address(server))

    assert refusal.code == "ENGINE_NOT_DURABLE"
    assert "fsync" in refusal.message
    assert here.tip == tip


def test_the_environment_of_libpq_names_the_engine_and_is_saved(two: tuple[Clone, Clone], postgres: Postgres):
    here, there = two
    database = postgres.database()
    where = {"PGHOST": str(postgres.folder), "PGPORT": str(postgres.port), "PGUSER": "postgres", "PGDATABASE": database}
    here.settings = {**here.settings, **where}

    here.ask("fleet.begin")

    saved = settings.read(str(here.store))
    assert saved
    assert f"dbname={database}" in saved.address
    here.settings = there.settings
    assert here.ask("fleet.status")["health"]["durable"], "without the variables"


def _dies(*_: object) -> None:
    """Stands for SIGKILL at this step."""
    raise KeyboardInterrupt


def write(at: Clone, subject: str) -> None:
    """Let the agent there write a message to the other one."""
    letter = {"category": "INFO", "subject": subject, "body": "About the parser.", "bead": "bb-2"}
    at.ask("agent.send", **{"from": COBALT, "to": AMBER, **letter})


def incarnation_of(at: Clone) -> str:
    fleet = tip_of(at).charter.fleet
    assert fleet
    return fleet.incarnation
