"""How `bb` asks a daemon: it waits no longer than it says, reads no more than it must, and claims to know no more."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError, Refused
from bb.ledger.local import descriptor
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.wire import cccc, client
from bb.wire.ndjson import MOST_ANSWER, MOST_REQUEST

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Unix sockets")

Answering = Callable[[socket.socket], None]


class Fake:
    """A home whose daemon does whatever a test wants it to do with a client."""

    def __init__(self, home: Path, listener: socket.socket) -> None:
        self.home = str(home)
        self.heard: list[bytes] = []
        self._listener = listener

    def serve(self, answer: Answering) -> None:
        def once() -> None:
            connection, _ = self._listener.accept()
            with connection:
                self.heard.append(connection.makefile("rb").readline())
                answer(connection)

        threading.Thread(target=once, daemon=True).start()

    def says(self, octets: bytes) -> None:
        def answer(connection: socket.socket) -> None:
            try:
                connection.sendall(octets)
            except OSError:
                return  # it has heard enough

        self.serve(answer)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Fake]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        describe(tmp_path, transport="tcp", host="127.0.0.1", port=listener.getsockname()[1])
        yield Fake(tmp_path, listener)


def describe(home: Path, **described: Any) -> None:
    (home / "daemon").mkdir(exist_ok=True)
    (home / "daemon" / descriptor.DESCRIPTOR).write_text(json.dumps({"v": 1, "pid": 1, **described}))


def ok(**result: Any) -> bytes:
    return cccc.success(result)


def refused(**described: Any) -> bytes:
    return json.dumps({"v": 1, "ok": False, "result": {}, "error": described}).encode() + b"\n"


def test_what_is_asked_is_one_line_and_what_is_answered_is_the_result(daemon: Fake):
    daemon.says(ok(message="ño", count=1))

    assert client.ask(daemon.home, "send", {"text": "a\nb\u2028", "to": ["user"]}) == {"message": "ño", "count": 1}
    assert daemon.heard[0].isascii()
    assert json.loads(daemon.heard[0]) == {"v": 1, "op": "send", "args": {"text": "a\nb\u2028", "to": ["user"]}}


def test_an_answer_may_come_in_pieces(daemon: Fake):
    def slowly(connection: socket.socket) -> None:
        for octet in ok(message="here"):
            connection.sendall(bytes([octet]))

    daemon.serve(slowly)

    assert client.ask(daemon.home, "ping", {}) == {"message": "here"}


def test_what_comes_behind_the_answer_to_an_upgrade_is_not_lost(daemon: Fake):
    daemon.says(ok(writer=True) + b"\x1b[2Jshown\nmore")

    connection, result, rest = client.upgrade(daemon.home, "term_attach", {})

    with connection:
        assert result == {"writer": True}
        while len(rest) < len(b"\x1b[2Jshown\nmore"):
            rest += connection.recv(100)
    assert rest == b"\x1b[2Jshown\nmore"


@pytest.mark.parametrize("size", [MOST_ANSWER - 1, 100_000])
def test_a_long_answer_is_read_whole(daemon: Fake, size: int):
    around = len(ok(text=""))
    daemon.says(ok(text="x" * (size - around)))

    assert len(client.ask(daemon.home, "inbox_list", {})["text"]) == size - around


UNKNOWN = {
    "nothing": b"",
    "half a line": b'{"v":1,"ok":tr',
    "no JSON": b"hello\n",
    "no object": b"[]\n",
    "no text": b'{"v":1,"ok":true,"result":"\xff"}\n',
    "deep": b"[" * 100_000 + b"\n",
    "endless": b"x" * (MOST_ANSWER + 100_000),
}


@pytest.mark.parametrize("octets", UNKNOWN.values(), ids=UNKNOWN)
def test_when_an_answer_is_lost_nobody_claims_to_know_what_became_of_the_request(daemon: Fake, octets: bytes):
    daemon.says(octets)

    with pytest.raises(client.OutcomeUnknown.error) as refusal:
        client.ask(daemon.home, "send", {})

    assert refusal.value.exit_status == 6


@pytest.mark.parametrize("said", [b"", b"x"])
def test_a_daemon_that_does_not_answer_is_not_waited_for_forever(daemon: Fake, said: bytes):
    over = threading.Event()

    def silent(connection: socket.socket) -> None:
        while not over.wait(0.01):
            connection.sendall(said)  # a little, again and again

    daemon.serve(silent)
    try:
        with pytest.raises(client.OutcomeUnknown.error, match="too long"):
            client.ask(daemon.home, "send", {}, patience=0.2)
    finally:
        over.set()


def test_a_request_that_no_daemon_takes_is_not_sent(daemon: Fake):
    with pytest.raises(cccc.BadRequest.error):
        client.ask(daemon.home, "send", {"text": "x" * MOST_REQUEST})

    assert daemon.heard == []


# -- refusals


def test_a_refusal_keeps_code_message_hint_details_and_the_status_of_its_family(daemon: Fake):
    daemon.says(cccc.failure(Refused("not so", hint="otherwise", path="$.to", reason="why")))

    with pytest.raises(BbError) as found:
        client.ask(daemon.home, "send", {})

    refusal = found.value
    assert (refusal.code, refusal.message, refusal.hint, refusal.exit_status) == ("REFUSED", "not so", "otherwise", 4)
    assert refusal.details == {"path": "$.to", "reason": "why"}


@pytest.mark.parametrize("family", BbError.__subclasses__()[:6], ids=lambda family: family.code)
def test_every_family_keeps_its_status(daemon: Fake, family: type[BbError]):
    daemon.says(cccc.failure(family()))

    with pytest.raises(BbError) as found:
        client.ask(daemon.home, "send", {})

    assert found.value.exit_status == family.exit_status


STRANGE: list[dict[str, Any]] = [
    {"code": "no_such_thing", "message": "no", "details": {}},
    {"code": 7, "message": {"a": 1}, "details": []},
    {"code": "\x1b[2J", "message": None, "details": {"hint": 7, "exit_status": 0}},
    {"code": "x" * 1000, "details": {"exit_status": True}},
    {"code": "", "message": "", "details": {"message": "m", "hint": "h", "leaving": "l", "exit_status": 99}},
    {},
]


@pytest.mark.parametrize("described", STRANGE, ids=str)
def test_a_refusal_that_another_daemon_words_strangely_is_one_all_the_same(daemon: Fake, described: dict[str, Any]):
    daemon.says(refused(**described))

    with pytest.raises(BbError) as found:
        client.ask(daemon.home, "send", {})

    refusal = found.value
    assert refusal.exit_status == 4
    assert refusal.code.isascii()
    assert refusal.code.isupper()
    assert len(refusal.code) <= 64
    assert refusal.message


def test_another_daemons_code_is_shown_as_codes_are_here(daemon: Fake):
    daemon.says(refused(**STRANGE[0]))

    with pytest.raises(BbError) as found:
        client.ask(daemon.home, "send", {})

    assert (found.value.code, found.value.message) == ("NO_SUCH_THING", "no")


# -- finding it


def test_where_nothing_listens_no_daemon_is_running(tmp_path: Path):
    with pytest.raises(DaemonUnavailable.error):
        client.ask(str(tmp_path), "ping", {})
    describe(tmp_path, transport="unix", path=str(tmp_path / "gone"))
    with pytest.raises(DaemonUnavailable.error):
        client.ask(str(tmp_path), "ping", {})


def test_a_socket_that_somebody_left_behind_is_no_daemon(tmp_path: Path):
    where = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(where))
    describe(tmp_path, transport="unix", path=str(where))

    with pytest.raises(DaemonUnavailable.error):
        client.ask(str(tmp_path), "ping", {})


@pytest.mark.parametrize("path", ["/" + "x" * 200, "/a\0b", "/proc/self/environ"], ids=["long", "nul", "no socket"])
def test_a_path_that_no_socket_can_have_is_no_daemon_and_no_bug(tmp_path: Path, path: str):
    describe(tmp_path, transport="unix", path=path)

    with pytest.raises(DaemonUnavailable.error):
        client.ask(str(tmp_path), "ping", {})


@pytest.mark.parametrize(
    "described",
    [{"transport": "tcp", "host": "127.0.0.1", "port": 0}, {"transport": "pigeon"}, {"transport": "unix", "path": ""}],
    ids=str,
)
def test_a_descriptor_that_makes_no_sense_leads_to_the_usual_place(tmp_path: Path, described: dict[str, Any]):
    describe(tmp_path, **described)

    assert descriptor.address(str(tmp_path)).path == str(tmp_path / "daemon" / descriptor.SOCKET)


def test_an_address_is_written_as_people_write_it():
    assert str(descriptor.Address("unix", path="/x")) == "unix:/x"
    assert str(descriptor.Address("tcp", host="127.0.0.1", port=7)) == "tcp://127.0.0.1:7"
    assert str(descriptor.Address("tcp", host="::1", port=7)) == "tcp://[::1]:7"
