"""A bug met while one client is served takes nobody else's answer, and nothing with it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.daemon.clients import server
from bb.daemon.clients.server import Server
from bb.daemon.clients.streams import Streams
from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.ledger.files.lock import Lock
from bb.ledger.records.batch import Batch
from bb.ops.chat import chat
from bb.ops.desk.desk import Desk
from bb.wire import cccc

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


class Stand:
    """A server whose loop turns when a test says so."""

    def __init__(self, folder: Path) -> None:
        self.bugs: list[str] = []
        self.loop = Loop()
        self.loop.on_error = lambda error: self.bugs.append(str(error))
        self.path = str(folder / "s")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(50)
        listener.setblocking(False)
        self.desk = Desk(str(folder), {"CCCC_HOME": str(folder / "home")}, is_served=True)
        log = Log(str(folder / "log"))
        self.server = Server(self.loop, listener, self.desk, Streams(self.loop), log, lambda *_: None)

    def ask(self, *asked: tuple[str, dict[str, Any]]) -> list[dict[str, Any] | None]:
        """What is answered to requests of the same moment; None where the connection just ends."""
        clients = []
        for op, args in asked:
            client = socket.socket(socket.AF_UNIX)
            client.connect(self.path)
            client.sendall(json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n")
            clients.append(client)
        for _ in range(5):
            self.loop.later(0, lambda: None)
            self.loop.turn()
        answers: list[dict[str, Any] | None] = []
        for client in clients:
            client.setblocking(False)
            octets = client.recv(1 << 20)
            answers.append(json.loads(octets) if octets else None)
            client.close()
        return answers

    def group(self, title: str) -> str:
        (answer,) = self.ask(("group_create", {"title": title}))
        assert answer is not None
        return str(answer["result"]["group_id"])

    def texts(self, group: str) -> list[str]:
        (answer,) = self.ask(("inbox_list", {"group_id": group, "actor_id": "user"}))
        assert answer is not None
        return [message["data"]["text"] for message in answer["result"]["messages"]]


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    made.server.close()
    made.desk.close()
    made.loop.close()


def send(group: str, text: str) -> tuple[str, dict[str, Any]]:
    return "send", {"group_id": group, "text": text, "by": "system", "to": ["user"]}


def codes(answers: list[dict[str, Any] | None]) -> list[str | None]:
    return [answer and (answer["error"]["code"] if answer["error"] else "ok") for answer in answers]


def test_a_bug_in_an_op_is_the_answer_of_who_asked_for_it(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    group = stand.group("One")
    plain = chat._key
    monkeypatch.setattr(chat, "_key", lambda given: 1 // 0 if given else plain(given))
    wrong = ("send", send(group, "bug")[1] | {"client_id": "x"})

    assert codes(stand.ask(send(group, "before"), wrong, send(group, "after"))) == ["ok", "internal_error", "ok"]
    assert stand.texts(group) == ["before", "after"]


def test_a_bug_met_with_one_ledger_is_not_the_others(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    one, other = stand.group("One"), stand.group("Other")
    plain, failed = Batch.__exit__, []

    def leave(batch: Batch, *given: object) -> None:
        plain(batch, *given)
        if batch.has_recorded and batch._store is stand.desk.groups[one].store and not failed:
            failed.append(1)
            raise ZeroDivisionError

    monkeypatch.setattr(Batch, "__exit__", leave)
    answers = stand.ask(send(one, "to one"), send(other, "to the other"))

    assert codes(answers) == ["internal_error", "ok"]
    assert codes(stand.ask(send(one, "again"), send(other, "again"))) == ["ok", "ok"]
    assert stand.texts(other) == ["to the other", "again"]
    for group in (one, other):
        store = stand.desk.groups[group].store
        with Lock(str(Path(store.path) / "j" / str(store.writer) / "lock"), 0.2):
            pass  # nobody has kept it


def test_who_cannot_be_answered_is_hung_up_on_and_the_others_are_answered(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
):
    group = stand.group("One")
    plain = cccc.success
    monkeypatch.setattr(cccc, "success", lambda found: 1 // 0 if "groups" in found else plain(found))

    assert codes(stand.ask(send(group, "a"), ("groups", {}), send(group, "b"))) == ["ok", None, "ok"]
    assert stand.bugs == ["integer division or modulo by zero"]
    assert stand.server.is_busy is False


def test_a_bug_met_while_a_request_is_read_ends_that_client(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    plain = server.cccc.request
    monkeypatch.setattr(server.cccc, "request", lambda line: 1 // 0 if b"groups" in line else plain(line))

    assert codes(stand.ask(("ping", {}), ("groups", {}), ("ping", {}))) == [
        "daemon_unavailable",
        None,
        "daemon_unavailable",
    ]
    assert codes(stand.ask(("ping", {}))) == ["daemon_unavailable"]
    assert stand.server.is_busy is False
