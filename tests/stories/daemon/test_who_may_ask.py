"""Over TCP the daemon serves whoever shows the token of its descriptor, which only its own user can read (IPC §4.1)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.ledger.local import descriptor
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.wire import client
from tests.stories.daemon.cli_support import ended
from tests.stories.daemon.ipc_support import Daemon, Refusal, answer_of, request, running
from tests.stories.daemon.sdk_support import Client
from tests.support import Scratch, environment, scratch
from tests.waiting import until

TCP = {"CCCC_DAEMON_TRANSPORT": "tcp"}
ANONYMOUS = {**TCP, "BB_DAEMON_ALLOW_ANONYMOUS_TCP": "1"}
FORBIDDEN, BUSY = 5, 6
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="takes two users")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("tcp") / "home", umask=0, **TCP) as made:
        yield made


def auth(token: object, **others: object) -> bytes:
    return json.dumps({"v": 1, "auth": token, **others}).encode() + b"\n"


def refused(daemon: Daemon, octets: bytes) -> dict[str, Any]:
    with daemon.connect_as_a_stranger() as stranger:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stranger.sendall(octets)
        answer = answer_of(stranger)
        assert stranger.recv(1) == b"", "and then the connection ends"
    assert answer["ok"] is False
    error: dict[str, Any] = answer["error"]
    return error


@pytest.mark.parametrize(
    "op", ["ping", "groups", "shutdown", "actor_start", "events_stream", "term_attach", "nonsense"]
)
def test_over_tcp_who_shows_no_token_is_refused_whatever_it_asks(daemon: Daemon, op: str):
    error = refused(daemon, request(op, group_id="g", actor_id="a"))

    assert error["code"] == "unauthorized"
    assert "--allow-anonymous-tcp" in error["details"]["hint"]
    assert daemon.call("ping")["pid"] == daemon.pid


WRONG = [
    auth(""),
    auth("0" * 64),
    auth(None),
    auth(7),
    auth(["a"]),
    auth("\ud800"),
    b"\n",
    b"[]\n",
    b"null\n",
    b"\xff\xfe\n",
    b"[" * 4000 + b"\n",
    b'{"v": 1, "op": "ping", "args": {"auth": "x"}}\n',
    b"x" * 5000,  # without an end
    b"x" * 3_000_000 + b"\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("octets", WRONG, ids=range(len(WRONG)))
def test_over_tcp_a_wrong_token_is_refused_and_so_is_whatever_is_none(daemon: Daemon, octets: bytes):
    assert refused(daemon, octets + request("shutdown"))["code"] == "unauthorized"

    assert daemon.call("ping")["pid"] == daemon.pid
    assert daemon.complaints == ""


def test_over_tcp_the_right_token_in_another_form_is_none(daemon: Daemon):
    token = daemon.descriptor["token"]

    for octets in (
        auth(token, op="ping"),
        auth(token[:-1]),
        auth(token + "0"),
        auth(token.upper() + " "),
        json.dumps({"v": 2, "auth": token}).encode() + b"\n",
        json.dumps({"auth": token}).encode() + b"\n",
        json.dumps({"v": 1, "op": "ping", "args": {}, "auth": token}).encode() + b"\n",
        token.encode() + b"\n",
        auth(token)[:-1] + b" " * 5000 + b"\n",
    ):
        assert refused(daemon, octets + request("ping"))["code"] == "unauthorized", octets


def test_over_tcp_the_token_may_come_byte_by_byte_and_the_request_with_it_or_after_it(daemon: Daemon):
    token = daemon.descriptor["token"]
    with daemon.connect_as_a_stranger() as slow:
        for octet in auth(token) + request("ping"):
            slow.sendall(bytes([octet]))
        assert answer_of(slow)["ok"]
    with daemon.connect_as_a_stranger() as quick_one:
        quick_one.sendall(
            json.dumps({"auth": token, "v": 1}, separators=(",", ":")).encode() + b"\r\n" + request("ping")
        )
        assert answer_of(quick_one)["ok"]


def test_over_tcp_what_is_upgraded_to_a_stream_takes_the_token_too(daemon: Daemon):
    group = str(daemon.call("group_create", title="Streamed")["group_id"])

    with daemon.stream(group) as stream:
        daemon.call("send", group_id=group, text="hello")
        assert stream.event()["data"]["text"] == "hello"


def test_over_tcp_half_a_token_and_silence_end_soon_and_a_crowd_of_strangers_keeps_nobody_out(daemon: Daemon):
    with contextlib.ExitStack() as crowd:
        strangers = [crowd.enter_context(daemon.connect_as_a_stranger()) for _ in range(700)]
        for number, each in enumerate(strangers):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                each.sendall(b'{"v": 1, "auth": "' if number % 2 else b"")

        assert daemon.call("ping")["pid"] == daemon.pid
        for each in strangers:
            with contextlib.suppress(ConnectionResetError):
                assert each.recv(1) == b""

    assert daemon.call("ping")["pid"] == daemon.pid
    assert daemon.complaints == ""


def test_the_token_is_fresh_at_each_start_its_owners_alone_and_said_nowhere(tmp_path: Path):
    with running(tmp_path / "home", umask=0, **TCP) as daemon:
        first = daemon.descriptor["token"]
        assert len(first) == 64
        assert stat.S_IMODE((daemon.folder / "ccccd.addr.json").stat().st_mode) == 0o600
        assert stat.S_IMODE(daemon.folder.stat().st_mode) == 0o700
        assert first not in json.dumps([daemon.call("ping"), daemon.call("groups"), daemon.call("observability_get")])
        refused(daemon, auth("0" * 64))
        assert first not in daemon.said
        if Path("/proc").is_dir():
            for name in ("cmdline", "environ"):
                assert first.encode() not in (Path("/proc") / str(daemon.pid) / name).read_bytes()
        elsewhere = [path for path in daemon.home.rglob("*") if path.is_file() and path.name != "ccccd.addr.json"]
        assert not [path for path in elsewhere if first.encode() in path.read_bytes()]
        daemon.stop()
        daemon.start()

        assert daemon.descriptor["token"] != first
        assert refused(daemon, auth(first) + request("ping"))["code"] == "unauthorized"


def test_over_a_unix_socket_nothing_is_asked_and_the_descriptor_has_no_token(tmp_path: Path):
    with running(tmp_path / "home") as daemon:
        assert "token" not in daemon.descriptor
        with daemon.connect_as_a_stranger() as anybody:
            anybody.sendall(request("ping"))
            assert answer_of(anybody)["ok"]


# -- clients that cannot


@pytest.mark.parametrize("version", ["0.4.32", "0.4.41"])
def test_a_published_client_is_refused_over_tcp_unless_it_is_allowed(tmp_path: Path, version: str):
    with running(tmp_path / "home", **TCP) as daemon:
        with Client(version, daemon.home) as published, pytest.raises(Refusal, match="unauthorized"):
            published.ping()
        daemon.stop()
        daemon.start(**ANONYMOUS)

        with Client(version, daemon.home) as published:
            assert published.ping()["pid"] == daemon.pid
        assert "token" not in daemon.descriptor
        until(lambda: "WARNING: the daemon does not require a token" in daemon.printed.read_text(), "a warning")
        assert (
            " WARNING the daemon does not require a token, so every user of this machine"
            in (daemon.folder / "ccccd.log").read_text()
        )


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Scratch]:
    made = scratch(tmp_path / "repo", CCCC_HOME=str(tmp_path / "home"))
    assert made.bb("init").status == 0
    with ended(made):
        yield made


def test_commands_show_the_token_by_themselves(repo: Scratch):
    found = repo.json("daemon", "start", **TCP).data

    assert found["warning"] is None
    assert repo.json("call", "ping").data["pid"] == found["pid"]
    assert repo.json("daemon", "status").data["responding"] is True
    assert "WARNING" not in repo.bb("daemon", "status").out
    assert not [each for each in repo.json("doctor").data["checks"] if each["name"] == "daemon"]


def test_that_strangers_are_served_is_said_at_the_start_by_status_and_by_doctor(repo: Scratch):
    repo.bb("daemon", "start", **TCP)
    refusal = repo.json("daemon", "start", "--allow-anonymous-tcp", **TCP)
    assert (refusal.status, refusal.envelope["error"]["code"]) == (BUSY, "ALREADY_RUNNING")
    assert "requires its token from clients" in refusal.envelope["error"]["message"]
    repo.bb("daemon", "stop")

    began = repo.bb("daemon", "start", "--allow-anonymous-tcp", **TCP).out
    status = repo.bb("daemon", "status").out
    doctor = repo.bb("doctor").out

    for said in (began, status, doctor):
        assert "every user of this machine can run programs as you" in " ".join(said.split())
    assert repo.json("daemon", "status").data["warning"].startswith("every user")
    assert repo.json("call", "ping").status == 0


# -- where a client shows the token


def test_a_client_shows_no_token_at_a_port_that_its_daemon_has_left(tmp_path: Path):
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        impostor.settimeout(0.2)
        (tmp_path / "daemon").mkdir()
        described = {
            "v": 1,
            "transport": "tcp",
            "host": "127.0.0.1",
            "port": impostor.getsockname()[1],
            "token": "s3cret",
        }
        (tmp_path / "daemon" / descriptor.DESCRIPTOR).write_text(json.dumps(described))

        def listen() -> None:
            with contextlib.suppress(TimeoutError):
                heard.append(impostor.accept()[0].recv(1000))

        listening = threading.Thread(target=listen)
        listening.start()
        with pytest.raises(DaemonUnavailable.error):
            client.ask(str(tmp_path), "ping", {}, patience=1)
        listening.join()

    assert heard == []


@as_root
def test_a_client_sends_nothing_where_another_users_descriptor_leads(tmp_path: Path):
    with running(tmp_path / "home", **TCP) as daemon:
        os.chown(daemon.folder / descriptor.DESCRIPTOR, 65534, 65534)

        with pytest.raises(BbError) as refusal:
            client.ask(str(daemon.home), "ping", {})

        assert (refusal.value.code, refusal.value.exit_status) == ("DESCRIPTOR_NOT_OURS", FORBIDDEN)
        os.chown(daemon.folder / descriptor.DESCRIPTOR, 0, 0)


@pytest.fixture
def shelter() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield Path(path)


def said_to_another_user(daemon: Daemon, where: object) -> str:
    """What another user of this machine can read of the descriptor, and is answered at that address."""
    script = f"""
import os, socket
client = socket.socket(socket.{"AF_INET" if isinstance(where, tuple) else "AF_UNIX"})
os.setgid(65534); os.setuid(65534)
try:
    print(os.read(os.open({str(daemon.folder / descriptor.DESCRIPTOR)!r}, os.O_RDONLY), 9))
except PermissionError:
    print("cannot read the token")
client.connect({where!r})
try:
    client.sendall({request("actor_start", group_id="g", actor_id="a")!r})
except BrokenPipeError:
    pass  # the refusal was quicker
print(client.recv(2000).decode("latin-1"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@as_root
def test_another_user_of_the_machine_starts_no_program_through_the_daemon(shelter: Path):
    with running(shelter / "home", umask=0, **TCP) as daemon:
        said = said_to_another_user(daemon, ("127.0.0.1", daemon.descriptor["port"]))

    assert said.startswith("cannot read the token\n")
    assert '"unauthorized"' in said


@as_root
def test_another_user_at_a_socket_whose_mode_is_not_obeyed_is_refused(shelter: Path):
    """As on a file system that knows no modes."""
    with running(shelter / "home") as daemon:
        for path in (daemon.home, daemon.folder, Path(daemon.descriptor["path"])):
            path.chmod(0o777)

        assert '"unauthorized"' in said_to_another_user(daemon, daemon.descriptor["path"])
        assert daemon.call("ping")["pid"] == daemon.pid


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a matter of POSIX")
def test_nobody_can_put_another_folder_in_the_place_of_the_daemons(tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)

    with running(tmp_path / "home", umask=0, **TCP) as daemon:
        assert stat.S_IMODE(daemon.home.stat().st_mode) == 0o775
