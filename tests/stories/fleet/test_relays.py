"""Relays of two clones on a real PostgreSQL server: killed at every step, with a server that is killed or put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import Postgres, Proxy, need_postgres, postgres, shared_postgres
from tests.grids import some
from tests.ledger.fleet.fleet_support import Machine, become_equal, fleet, wait_for
from tests.stories.fleet.relay_support import Server, Through, running


@pytest.fixture
def conninfo() -> str:
    need_postgres()
    server = shared_postgres()
    return server.conninfo(server.database())


def test_two_relays_agree_on_postgres(conninfo: str, tmp_path: Path):
    with fleet(tmp_path, Server(conninfo)) as (here, there):
        won, lost = here.reserve("src"), there.reserve("src/x")
        here.release(won["id"])
        here.result("flush")
        taken = there.reserve("src")

        assert (won["state"], lost["state"], taken["state"]) == ("admitted", "refused", "admitted")
        assert here.result("archive")["archived"] > won["token"]
        become_equal(here, there)


def test_a_relay_that_is_killed_at_any_step_goes_on_to_the_same_result(conninfo: str, tmp_path: Path):
    with fleet(tmp_path, Server(conninfo), starts=False) as (here, there):
        there.start()
        steps = 0
        for scope in ("first", "second"):  # the first run has more to do
            ours = here.reserved(scope)
            with running(here, conninfo) as process:
                assert process.ask("settle", events=[ours])
                process.ask("fresh")
                steps = process.end()
        killed = points = 0
        tokens = set[int]()
        for n, killed_at in enumerate(some(range(1, steps), 12)):
            scope = f"src/{n}"
            theirs = there.reserve(f"docs/{n}")
            ours = here.reserved(scope)
            with running(here, conninfo, killed_at) as process:
                first = process.ask("settle", events=[ours])
                process.ask("fresh")
                killed, points = killed + (process.end() == 0), points + 1
            with running(here, conninfo) as process:
                second = process.ask("settle", events=[ours])
                assert process.ask("fresh")
                assert process.end() > 0
            assert second
            verdict = second["result"]["events"][ours]
            assert verdict["state"] == "admitted"
            if first and first["ok"]:
                assert first["result"]["events"][ours]["token"] == verdict["token"]
            assert verdict["token"] not in tokens
            tokens.add(verdict["token"])
            assert theirs["id"] in here.grants()["grants"]
        here.start()
        become_equal(here, there)
        assert killed >= points / 2, f"of {points} runs, only {killed} were killed; a whole run had {steps} steps"


@contextlib.contextmanager
def own_server() -> Iterator[tuple[Postgres, str]]:
    with postgres() as server:
        yield server, server.conninfo(server.database())


@pytest.mark.long
def test_a_server_that_is_killed_loses_nothing_and_grants_nothing_twice(tmp_path: Path):
    with own_server() as (server, conninfo), fleet(tmp_path, Server(conninfo)) as (here, there):
        events: dict[str, Machine] = {}
        for _ in range(4):
            for n in range(5):
                for machine in (here, there):
                    events[machine.reserved(f"src/{n}")] = machine
            waiting = [
                (machine, machine.begin_to_ask("settle", 1.0, events=[event])) for event, machine in events.items()
            ]
            server.kill_hard()
            server.start_again()
            for _, one in waiting:
                one.get()
        for event, machine in events.items():
            wait_for(lambda machine=machine, event=event: machine.ask("settle", events=[event])["ok"], machine)
        become_equal(here, there)
        grants = here.grants()["grants"]
        holders = {scope: {grant[0] for grant in grants.values() if grant[1] == scope} for scope in ("src/0", "src/1")}

        assert all(len(found) == 1 for found in holders.values())


def test_a_restored_backup_of_the_server_is_found_at_the_next_connect(tmp_path: Path):
    with own_server() as (server, conninfo), fleet(tmp_path, Server(conninfo)) as (here, there):
        here.result("flush")
        backup = server.backup()
        assert here.reserve("src")["state"] == "admitted"
        there.result("fresh")
        server.rewind(backup)

        wait_for(lambda: here.result("status")["state"] == "stopped", here)
        assert here.code("settle", events=[here.reserved("docs")]) == "ENGINE_REWOUND"
        wait_for(lambda: there.code("fresh") == "ENGINE_REWOUND", there)


@contextlib.contextmanager
def behind_a_proxy(conninfo: str, tmp_path: Path) -> Iterator[tuple[Proxy, Machine, Machine]]:
    """Two machines, the first of which reaches the engine through a proxy. Both are connected."""
    server = shared_postgres()
    with (
        Proxy(("127.0.0.1", server.port)) as proxy,
        fleet(tmp_path, Server(conninfo), starts=False) as (here, there),
    ):
        database = conninfo.partition("dbname=")[2].partition(" ")[0]
        here.engine = Through(here.engine, f"host=127.0.0.1 port={proxy.port} dbname={database} user=postgres")
        here.start()
        there.start()
        here.result("flush")
        yield proxy, here, there


def test_lost_doubled_and_late_answers_change_nothing(conninfo: str, tmp_path: Path):
    with behind_a_proxy(conninfo, tmp_path) as (proxy, here, there):
        proxy.loses_answers = True
        event = here.reserved("src")
        lost = here.ask("settle", 1.0, events=[event])
        proxy.mend()
        proxy.drop()
        verdict = here.result("settle", events=[event])["events"][event]
        proxy.change = lambda octets: octets + octets
        here.ask("settle", 1.0, events=[here.reserved("docs")])
        proxy.mend()
        proxy.drop()

        assert lost["error"]["code"] in ("GRANT_PENDING", "ENGINE_UNREACHABLE", "FLEET_BEHIND")
        assert verdict["state"] == "admitted"
        become_equal(here, there)


def test_a_machine_that_is_cut_off_is_refused_soon_and_catches_up_afterwards(conninfo: str, tmp_path: Path):
    with behind_a_proxy(conninfo, tmp_path) as (proxy, here, there):
        proxy.cut()
        wait_for(lambda: here.result("status")["state"] == "away", here)
        refused = here.code("settle", events=[here.reserved("src")])
        won = there.reserve("src")
        proxy.mend()

        assert refused == "ENGINE_UNREACHABLE"
        assert won["state"] == "admitted"
        become_equal(here, there)
