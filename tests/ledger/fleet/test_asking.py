"""How a command asks its relay: it waits no longer than it says, reads no more than it must, and claims no more than it
knows."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError, Busy
from bb.ledger.files.lock import taken_for_good
from bb.ledger.fleet import asking, relay
from bb.ledger.fleet.asking import RelayGone, RelayLost, RelaySilent
from bb.ledger.local import fleet_files

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Unix sockets")

Answering = Callable[[socket.socket], None]


class Fake:
    """A store whose relay does whatever a test wants it to do with a client."""

    def __init__(self, store: Path, listener: socket.socket) -> None:
        self.store = str(store)
        self.heard: list[bytes] = []
        self._listener = listener

    def serve(self, answer: Answering, lines: int = 1) -> None:
        def once() -> None:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as reading:
                self.heard += [reading.readline() for _ in range(lines)]
                answer(connection)

        threading.Thread(target=once, daemon=True).start()

    def says(self, octets: bytes) -> None:
        def answer(connection: socket.socket) -> None:
            try:
                connection.sendall(octets)
            except OSError:
                return  # it has heard enough

        self.serve(answer)

    def asked(self, **question: Any) -> dict[str, Any]:
        return asking.ask(self.store, {"ask": "settle", **question}, patience=30)


def describe(store: Path, **described: Any) -> None:
    (store / "fleet").mkdir(exist_ok=True)
    (store / "fleet" / fleet_files.ADDRESS).write_text(json.dumps({"v": 1, "pid": 1, **described}))


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    path = f"/tmp/bb-asking-{os.getpid()}-{threading.get_ident()}.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        describe(tmp_path, path=path)
        try:
            yield Fake(tmp_path, listener)
        finally:
            os.unlink(path)


def line(answer: Any) -> bytes:
    return json.dumps(answer).encode() + b"\n"


def test_a_question_is_one_line_and_so_is_its_answer(fake: Fake):
    fake.says(line({"ok": True, "result": {"place": 7, "text": "ñ"}}))

    assert fake.asked(events=["w.1"]) == {"place": 7, "text": "ñ"}
    assert json.loads(fake.heard[0]) == {"ask": "settle", "events": ["w.1"], "patience": 30}


def test_an_answer_may_come_in_pieces(fake: Fake):
    def slowly(connection: socket.socket) -> None:
        for octet in line({"ok": True, "result": {"place": 1}}):
            connection.sendall(bytes([octet]))

    fake.serve(slowly)

    assert fake.asked() == {"place": 1}


def test_a_refusal_of_the_relay_is_raised_with_all_that_it_says(fake: Fake):
    away = Busy.declare("ENGINE_UNREACHABLE", "It is away", hint="wait")("no route", since=3)
    fake.says(line(relay.refused(away)))

    with pytest.raises(BbError) as refused:
        fake.asked()

    assert (refused.value.code, refused.value.message, refused.value.hint) == ("ENGINE_UNREACHABLE", "no route", "wait")
    assert refused.value.details == {"since": 3}
    assert refused.value.exit_status == Busy.exit_status


@pytest.mark.parametrize(
    "answer",
    [
        b"not JSON\n",
        b"[1, 2]\n",
        b'{"ok": "yes", "result": {}}\n',
        b'{"result": {}}\n',
        b"{" * 100_000 + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_answer_leaves_the_outcome_unknown(fake: Fake, answer: bytes):
    fake.says(answer)

    with pytest.raises(RelaySilent.error):
        fake.asked()


@pytest.mark.parametrize("answer", [b"", b'{"ok": true, "result": {}}'])
def test_a_connection_that_ends_before_the_answer_does_leaves_the_outcome_unknown_and_says_so(
    fake: Fake, answer: bytes
):
    fake.says(answer)

    with pytest.raises(RelayLost.error):
        fake.asked()


@pytest.mark.parametrize(
    "described",
    [None, 7, [], {}, {"code": 7, "message": []}, {"code": "../../x"}, {"code": "A" * 1000}, {"exit_status": 0}],
)
def test_a_refusal_in_a_strange_form_is_one_all_the_same(fake: Fake, described: Any):
    fake.says(line({"ok": False, "error": described}))

    with pytest.raises(BbError) as refused:
        fake.asked()

    assert refused.value.code == "REFUSED"
    assert 2 <= refused.value.exit_status <= 7


def test_an_answer_without_end_is_not_read_to_its_end(fake: Fake):
    def flood(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"x" * 65536)
        except OSError:
            return

    fake.serve(flood)

    with pytest.raises(RelaySilent.error, match="longer than"):
        fake.asked()


def test_a_relay_that_does_not_answer_is_waited_for_no_longer_than_the_patience_says(fake: Fake):
    is_over = threading.Event()
    fake.serve(lambda _: is_over.wait(60) and None)
    try:
        with pytest.raises(RelaySilent.error, match="within"):
            asking.ask(fake.store, {"ask": "fresh"}, patience=-asking.SLACK)
    finally:
        is_over.set()


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{",
        "[]",
        '{"path": 7}',
        '{"host": "127.0.0.1"}',
        '{"host": "192.0.2.1", "port": 80, "token": "x"}',
        '{"host": "127.0.0.1", "port": 0, "token": "x"}',
        '{"path": "/nowhere/relay.sock"}',
        json.dumps({"path": "x" * 200}),
        json.dumps({"path": "a\0b"}),
    ],
)
def test_without_a_valid_address_no_relay_runs(tmp_path: Path, written: str):
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / fleet_files.ADDRESS).write_text(written)

    with pytest.raises(RelayGone.error):
        asking.connect(str(tmp_path))


def test_without_a_fleet_no_relay_runs(tmp_path: Path):
    with pytest.raises(RelayGone.error):
        asking.connect(str(tmp_path))


def test_over_tcp_the_token_comes_first_and_only_while_the_lock_is_held(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        describe(tmp_path, host="127.0.0.1", port=listener.getsockname()[1], token="s3cret")
        fake = Fake(tmp_path, listener)

        with pytest.raises(RelayGone.error):  # another program may have the port by now
            fake.asked()

        lock = taken_for_good(fleet_files.path(str(tmp_path), fleet_files.LOCK))
        assert lock is not None
        try:
            fake.serve(lambda connection: connection.sendall(line({"ok": True, "result": {"place": 2}})), lines=2)
            assert fake.asked() == {"place": 2}
        finally:
            os.close(lock)
    assert json.loads(fake.heard[0]) == {"v": 1, "auth": "s3cret"}
    assert json.loads(fake.heard[1])["ask"] == "settle"


def test_a_copy_of_a_store_does_not_ask_the_relay_of_the_original_and_a_moved_store_does(fake: Fake, tmp_path: Path):
    original = tmp_path / "original"
    (original / "fleet").mkdir(parents=True)
    lock = taken_for_good(fleet_files.path(str(original), fleet_files.LOCK))
    assert lock is not None
    where = asking.address(fake.store)
    assert where is not None
    describe(original, path=where.path, lock=asking.lock_identity(str(original)))
    shutil.copytree(original, tmp_path / "copy")
    shutil.copytree(original, tmp_path / "without a lock", ignore=shutil.ignore_patterns(fleet_files.LOCK))
    moved = original.rename(tmp_path / "moved")

    for copy in ("copy", "without a lock"):
        with pytest.raises(RelayGone.error):
            asking.connect(str(tmp_path / copy))
    asking.connect(str(moved)).__exit__()
    os.close(lock)
