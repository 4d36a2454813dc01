"""A daemon that was killed is connected to, and keeps its locks, until the system has closed its files. That takes a
moment, and longer on a busy machine. A command in that moment is served by the next daemon, and need not know."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bb.cli.programs import daemon
from bb.ledger.files.lock import taken_for_good
from bb.ledger.fleet import asking, outbox, relay
from bb.ledger.fleet.asking import RelayStopped
from bb.ledger.local import descriptor, fleet_files
from bb.ledger.local.descriptor import AlreadyRunning
from bb.ledger.published import fleet_results
from bb.wire import client
from tests import engines
from tests.near import Near
from tests.stories.fleet.client_support import Fleet, fleet, now_ms
from tests.support import Ran
from tests.waiting import until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Unix sockets")

STILL_HELD = "Another process runs the relay of this clone"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


class Dying:
    """What is left of the daemon of the first machine: its sockets take connections, and it has its locks."""

    def __init__(self, two: Fleet) -> None:
        self._two = two
        self._home = Path(two.here.at.settings["CCCC_HOME"])
        where = asking.address(two.here.store)
        two.here.kill_daemon()
        assert where is not None
        Path(where.path).unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(where.path)
        self._socket.listen()
        self._locks = {
            name: taken_for_good(path)
            for name, path in (
                ("daemon", str(self._home / "daemon" / descriptor.LOCK)),
                ("relay", fleet_files.path(two.here.store, fleet_files.LOCK)),
            )
        }

    def log(self) -> str:
        return (self._home / "daemon" / "ccccd.log").read_text()

    def closes_its_socket(self, *, having_read: bool, connections: int = 1) -> None:
        """Close so many connections of the command that asks now, before or after it has asked, and take no more."""
        for left in reversed(range(connections)):
            connection, _ = self._socket.accept()
            with connection:
                if having_read:
                    assert connection.recv(1)
                if not left:
                    self._socket.close()

    def answers(self, answer: dict[str, Any]) -> None:
        """Answer the command that asks now, and take no more connections."""
        connection, _ = self._socket.accept()
        with connection:
            assert connection.recv(1)
            connection.sendall(json.dumps(answer).encode() + b"\n")
            self._socket.close()

    def lets_go(self, *names: str) -> None:
        for name in names:
            os.close(self._locks[name] or -1)


@pytest.mark.parametrize("connections", [1, 2])
@pytest.mark.parametrize("having_read", [False, True])
def test_a_question_to_it_is_asked_again_of_the_next_daemon(two: Fleet, having_read: bool, connections: int):
    dying = Dying(two)
    with ThreadPoolExecutor() as beside:
        reserving = _reserving(beside, two, f"one-{having_read}-{connections}")
        dying.closes_its_socket(having_read=having_read, connections=connections)
        dying.lets_go("daemon", "relay")

        assert reserving.result().data["token"]


@pytest.mark.parametrize("answer", [relay.refused(RelayStopped()), outbox.pending("it ends", ended=True)])
def test_a_question_that_it_refuses_because_it_ends_is_asked_again(two: Fleet, answer: dict[str, Any]):
    dying = Dying(two)
    with ThreadPoolExecutor() as beside:
        reserving = _reserving(beside, two, f"stopped-{answer['error']['code']}")
        dying.answers(answer)
        dying.lets_go("daemon", "relay")

        assert reserving.result().data["token"]


def test_if_there_is_no_next_daemon_what_may_have_been_sent_is_pending(two: Fleet):
    dying = Dying(two)
    with ThreadPoolExecutor() as beside:
        reserving = _reserving(beside, two, "no-next", BB_DAEMON="off")
        dying.closes_its_socket(having_read=True)
        dying.lets_go("daemon", "relay")

        assert reserving.result().code == "GRANT_PENDING"
    assert two.here.text("daemon", "start").status == 0
    until(lambda: two.here.token("no-next"))


def test_the_next_daemon_starts_when_its_lock_is_free(two: Fleet):
    dying = Dying(two)
    before = dying.log().count(AlreadyRunning.code)
    with ThreadPoolExecutor() as beside:
        reserving = _reserving(beside, two, "two")
        dying.closes_its_socket(having_read=False)
        until(lambda: dying.log().count(AlreadyRunning.code) > before, "a daemon that finds the lock held")
        dying.lets_go("daemon", "relay")

        assert reserving.result().data["token"]


def test_the_next_daemon_runs_the_relay_when_its_lock_is_free(two: Fleet):
    dying = Dying(two)
    before = dying.log().count(STILL_HELD)
    with ThreadPoolExecutor() as beside:
        reserving = _reserving(beside, two, "three")
        dying.closes_its_socket(having_read=False)
        dying.lets_go("daemon")
        until(lambda: dying.log().count(STILL_HELD) > before, "a relay that finds the lock held")
        dying.lets_go("relay")

        assert reserving.result().data["token"]


@pytest.mark.parametrize("has_attended", [False, True])
def test_a_daemon_that_is_ended_while_another_command_starts_it_is_started_again(
    two: Fleet, monkeypatch: pytest.MonkeyPatch, has_attended: bool
):
    begun: list[subprocess.Popen[bytes]] = []
    ended: list[int] = []

    def spawned(*how: Any) -> subprocess.Popen[bytes]:
        begun.append(spawn(*how))
        return begun[-1]

    def ends_once(home: str, op: str, args: Mapping[str, Any], **how: Any) -> dict[str, Any]:
        answer = ask(home, op, args, **how) if has_attended or op != "fleet_attend" or ended else {}
        if op == "fleet_attend" and not ended:
            ended.append(two.here.at.started("daemon", "stop", "--json").data["pid"])
        return answer or ask(home, op, args, **how)

    ask, spawn = client.ask, daemon._spawned
    monkeypatch.setattr(client, "ask", ends_once)
    monkeypatch.setattr(daemon, "_spawned", spawned)
    try:
        answer = Near(two.here.at.path, two.here.at.settings).json("daemon", "start").data

        assert (answer["fleet"]["attended"], answer["started"]) == (True, True), answer
        assert answer["pid"] == two.here.daemon() not in ended
    finally:
        two.here.at.started("daemon", "stop")
        for child in begun:
            child.wait()


def _reserving(beside: ThreadPoolExecutor, two: Fleet, scope: str, **settings: str) -> Future[Ran]:
    return beside.submit(two.here.at.started, "reserve", scope, "--json", BB_AGENT=two.here.agent, **settings)


def test_a_home_in_which_no_daemon_can_run_is_named(two: Fleet, tmp_path: Path):
    two.here.at.started("daemon", "stop")
    (tmp_path / "file").touch()

    refused = two.here.json("reserve", "homeless", CCCC_HOME="", HOME=str(tmp_path / "file"))

    assert refused.code == "RELAY_GONE"
    error = refused.envelope["error"]
    assert str(tmp_path / "file" / ".cccc") in error["message"]
    assert "ledger" not in error["message"]
    assert "set CCCC_HOME" in error["hint"]


@pytest.mark.parametrize("words", [("turn",), ("check", "anything")])
def test_a_command_that_only_reads_starts_the_next_daemon_too(two: Fleet, words: tuple[str, ...]):
    assert two.here.text("daemon", "start").status == 0
    two.here.kill_daemon()
    Path(fleet_files.path(two.here.store, fleet_files.STARTED)).unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(fleet_results.path_of(two.here.store))) as file, file:
        file.execute("insert or replace into about values ('current_at', ?)", [now_ms() - 60_000])
    two.here.text(*words, BB_SYNC="off")
    assert not descriptor.is_running(two.here.at.settings["CCCC_HOME"])

    two.here.text(*words, BB_SYNC="")

    until(lambda: descriptor.is_running(two.here.at.settings["CCCC_HOME"]), "the next daemon")
    until(lambda: "Connected" in two.here.text("fleet", "status").out, "its relay")
    assert "no_relay" not in two.here.json("check", "anything").data["fleet"]
