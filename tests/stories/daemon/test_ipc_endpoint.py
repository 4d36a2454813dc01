"""Where the daemon is found, that there is one of it, and what is left when it goes (IPC §3, §4.1)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.grids import repeats
from tests.stories.daemon.ipc_support import Daemon, Refusal, answer_of, end, request, running
from tests.stories.daemon.ipc_types import checked, moment
from tests.support import scratch
from tests.waiting import until

BUSY, USAGE, REFUSED = 6, 2, 4


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Daemon]:
    """Where there can be a daemon; nothing runs yet."""
    daemon = Daemon(tmp_path / "home")
    try:
        yield daemon
    finally:
        end(daemon)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# -- §3: how it is found


def test_ipc_3_1_the_descriptor_says_what_the_specification_wants(place: Daemon) -> None:
    place.start()

    found = place.descriptor

    assert set(found) >= {"v", "transport", "path", "host", "port", "pid", "version", "ts"}
    assert (found["v"], found["transport"], found["host"], found["port"]) == (1, "unix", "", 0)
    assert found["path"] == str(place.home / "daemon" / "ccccd.sock"), "where clients look that find no descriptor"
    written = place.folder / "ccccd.pid"
    until(lambda: written.exists() and written.read_text(), "the number of the process, which is written last")
    assert found["pid"] == place.pid == int(written.read_text())
    assert found["version"] == place.call("ping")["version"]
    assert moment(found["ts"])


def test_ipc_3_1_a_home_may_have_any_name(tmp_path: Path) -> None:
    with running(tmp_path / 'Zuhause von 🦦 "und" $HOME') as daemon:
        assert daemon.call("groups") == {"groups": []}


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a matter of POSIX")
def test_ipc_4_1_whatever_the_umask_the_endpoint_is_its_owners_alone(tmp_path: Path) -> None:
    with running(tmp_path / "fresh" / "home", umask=0) as daemon:
        assert mode(daemon.home) == 0o700
        group = daemon.call("group_create")["group_id"]
        daemon.call("actor_add", group_id=group, actor_id="ada", env={"TOKEN": "hush"})

        assert mode(daemon.folder) == 0o700
        for name in ("ccccd.sock", "ccccd.addr.json", "ccccd.pid", "ccccd.lock", "ccccd.log"):
            assert mode(daemon.folder / name) == 0o600, name
        (known,) = (daemon.home / "groups").glob("*/group.json")
        assert b"hush" in known.read_bytes()
        assert mode(known) == 0o600


def test_ipc_3_1_a_folder_that_others_could_enter_is_closed_to_them(place: Daemon) -> None:
    place.folder.mkdir(parents=True)
    place.folder.chmod(0o777)

    place.start()

    assert mode(place.folder) == 0o700


LONG = "a" * 100


def test_ipc_3_1_a_home_with_too_long_a_path_for_a_socket_is_served_at_a_short_one(tmp_path: Path) -> None:
    home = tmp_path / LONG / LONG
    with running(home) as daemon:
        path = Path(daemon.descriptor["path"])
        assert len(os.fsencode(path)) < 104
        assert mode(path) == 0o600
        assert mode(path.parent) == 0o700
        assert daemon.call("ping")["pid"] == daemon.pid

        assert daemon.stop() == 0
        assert not path.parent.exists(), "nothing stays behind where others keep their things"


def test_ipc_3_1_two_homes_with_long_paths_do_not_meet(tmp_path: Path) -> None:
    with running(tmp_path / LONG / LONG) as one, running(tmp_path / LONG / (LONG + "b")) as other:
        assert one.call("ping")["pid"] == one.pid
        assert other.call("ping")["pid"] == other.pid


def test_ipc_3_1_a_short_path_is_where_the_system_keeps_what_is_a_users(tmp_path: Path) -> None:
    home = tmp_path / LONG / LONG
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime, running(home, XDG_RUNTIME_DIR=runtime) as daemon:
        assert Path(daemon.descriptor["path"]).is_relative_to(runtime)


@pytest.mark.parametrize("trap", ["a link", "open to all"])
def test_ipc_3_1_a_short_path_that_somebody_else_has_prepared_is_not_used(tmp_path: Path, trap: str) -> None:
    with running(tmp_path / LONG / LONG) as daemon:
        folder = Path(daemon.descriptor["path"]).parent
        assert daemon.stop() == 0
        if trap == "a link":
            (tmp_path / "theirs").mkdir(0o700)
            folder.symlink_to(tmp_path / "theirs")
        else:
            folder.mkdir()
            folder.chmod(0o777)
        try:
            status, said = daemon.fails()
        finally:
            folder.unlink() if folder.is_symlink() else folder.rmdir()

        assert status not in (0, 1)
        assert "is accessible to other users" in said
        assert not (daemon.folder / "ccccd.addr.json").exists()


# -- one daemon for one home


def test_ipc_1_1_a_second_daemon_refuses_and_leaves_the_first_as_it_is(place: Daemon) -> None:
    place.start()
    before = (place.folder / "ccccd.addr.json").read_bytes(), (place.folder / "ccccd.sock").lstat().st_ino

    status, said = place.fails()

    assert status == BUSY
    assert "ALREADY_RUNNING" in said
    assert before == ((place.folder / "ccccd.addr.json").read_bytes(), (place.folder / "ccccd.sock").lstat().st_ino)
    assert place.call("ping")["pid"] == place.pid


def test_ipc_1_1_of_many_that_start_at_once_one_serves(place: Daemon) -> None:
    processes = [place.spawn() for _ in range(5)]
    try:
        until(lambda: sum(process.poll() is None for process in processes) == 1, "all but one to give up")
        (served,) = [process for process in processes if process.poll() is None]
        until((place.folder / "ccccd.addr.json").exists, "a descriptor")

        assert {process.returncode for process in processes if process is not served} == {BUSY}
        assert place.call("ping")["pid"] == served.pid
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_ipc_3_what_a_killed_daemon_leaves_behind_is_replaced(place: Daemon) -> None:
    place.start()
    group = place.call("group_create", title="Still there")["group_id"]
    first = place.pid
    place.kill()
    assert (place.folder / "ccccd.sock").exists()
    assert place.descriptor["pid"] == first

    place.start()

    assert place.descriptor["pid"] == place.pid != first
    assert place.call("group_show", group_id=group)["group"]["title"] == "Still there"


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"v":1}', os.urandom(4000)])
def test_ipc_3_a_descriptor_that_says_nothing_is_replaced(place: Daemon, rubbish: bytes) -> None:
    place.folder.mkdir(parents=True)
    for name in ("ccccd.addr.json", "ccccd.sock", "ccccd.pid", "ccccd.lock", "children.json", "observability.json"):
        (place.folder / name).write_bytes(rubbish)

    place.start()

    assert place.call("ping")["pid"] == place.pid


# -- §3.3, §4.1: TCP


def listening(port: int) -> set[str]:
    """The addresses that somebody listens at, as the system writes them."""
    with contextlib.suppress(OSError):
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {row[1].split(":")[0] for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "0A"}
    return set()


def test_ipc_4_1_over_tcp_it_listens_to_this_machine_alone(place: Daemon) -> None:
    place.start(CCCC_DAEMON_TRANSPORT="tcp")

    found = place.descriptor

    assert (found["transport"], found["host"]) == ("tcp", "127.0.0.1")
    assert 0 < found["port"] < 1 << 16
    assert listening(found["port"]) <= {"0100007F"}
    assert checked("ping", place.call("ping"))["pid"] == place.pid


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_ipc_3_3_the_port_can_be_chosen(place: Daemon) -> None:
    port = free_port()

    place.start(CCCC_DAEMON_TRANSPORT="TCP", CCCC_DAEMON_PORT=str(port), CCCC_DAEMON_HOST="localhost")

    assert place.descriptor["port"] == port
    assert place.call("ping")


def test_ipc_3_3_a_port_that_is_taken_is_refused(place: Daemon) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, said = place.fails(CCCC_DAEMON_TRANSPORT="tcp", CCCC_DAEMON_PORT=str(taken.getsockname()[1]))

    assert status == USAGE
    assert "INVALID_ENDPOINT" in said
    assert not (place.folder / "ccccd.addr.json").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"CCCC_DAEMON_TRANSPORT": "pigeon"},
        {"CCCC_DAEMON_TRANSPORT": "tcp", "CCCC_DAEMON_PORT": "70000"},
        {"CCCC_DAEMON_TRANSPORT": "tcp", "CCCC_DAEMON_PORT": "http"},
        {"CCCC_DAEMON_TRANSPORT": "tcp", "CCCC_DAEMON_PORT": "٣"},
    ],
)
def test_ipc_3_3_what_cannot_be_listened_at_is_refused(place: Daemon, settings: dict[str, str]) -> None:
    status, said = place.fails(**settings)

    assert status == USAGE
    assert "INVALID_ENDPOINT" in said


@pytest.mark.parametrize(
    ("host", "allowed"), [("0.0.0.0", ""), ("::", "0"), ("192.0.2.1", "no"), ("example.invalid", "")]
)
def test_ipc_3_3_to_listen_to_others_is_refused(place: Daemon, host: str, allowed: str) -> None:
    status, said = place.fails(CCCC_DAEMON_TRANSPORT="tcp", CCCC_DAEMON_HOST=host, CCCC_DAEMON_ALLOW_REMOTE=allowed)

    assert status == REFUSED
    assert "REMOTE_REFUSED" in said
    assert not (place.folder / "ccccd.addr.json").exists()


def test_ipc_3_3_to_listen_to_others_takes_a_word_and_is_warned_of_loudly(place: Daemon) -> None:
    place.start(CCCC_DAEMON_TRANSPORT="tcp", CCCC_DAEMON_HOST="0.0.0.0", CCCC_DAEMON_ALLOW_REMOTE="1")

    until(lambda: "WARNING: the daemon listens on 0.0.0.0" in place.printed.read_text(), "a warning")
    assert " WARNING the daemon listens on 0.0.0.0" in (place.folder / "ccccd.log").read_text()
    found = place.descriptor
    assert listening(found["port"]) <= {"00000000"}
    assert found["host"] == "127.0.0.1", "§3.1: a host that one can connect to"
    assert place.call("ping")


def test_ipc_3_where_there_can_be_no_home_it_says_so(place: Daemon) -> None:
    place.home.write_text("not a folder")

    status, said = place.fails()

    assert status not in (0, 1)
    assert "Traceback" not in said


# -- how it ends


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ipc_3_2_asked_by_the_system_it_leaves_nothing_behind(place: Daemon, number: signal.Signals) -> None:
    place.start()
    group = place.call("group_create")["group_id"]
    path = place.descriptor["path"]
    with place.stream(group) as stream:
        assert place.process is not None
        place.process.send_signal(number)
        assert stream.item() is None, "a stream ends with the daemon (§8.13)"

    assert place.process.wait(30) == 0
    for name in ("ccccd.addr.json", "ccccd.sock", "ccccd.pid"):
        assert not (place.folder / name).exists(), name
    with pytest.raises(OSError, match=r"refused|No such file"), socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def test_ipc_3_2_who_has_found_it_can_end_it_at_once(place: Daemon) -> None:
    for _ in range(3):
        place.start()

        assert place.stop() == 0
        assert not (place.folder / "ccccd.addr.json").exists()


@pytest.fixture
def waiting(place: Daemon, tmp_path: Path) -> Iterator[tuple[Daemon, list[socket.socket]]]:
    """A daemon with clients that wait for mail to an agent, for as long as they may."""
    repo = scratch(tmp_path / "repo")
    assert repo.bb("init").status == 0
    assert repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    place.start()
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(place.connect()) for _ in range(10)]
        for client in clients:
            args = {"cwd": str(repo.path), "agent": "amber-otter", "timeout": 3600}
            client.sendall(request("agent.wait", **args))
        place.settings["repo"] = str(repo.path)
        yield place, clients


def test_ipc_4_1_clients_that_wait_for_long_keep_nobody_else_waiting(
    waiting: tuple[Daemon, list[socket.socket]],
) -> None:
    place, _ = waiting
    began = time.monotonic()

    listed = place.call("agent.list", cwd=place.settings["repo"])

    assert "amber-otter" in repr(listed)
    assert place.call("ping")
    assert time.monotonic() - began < 10


def threads_of(place: Daemon) -> int:
    return len(list(Path(f"/proc/{place.pid}/task").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell how many threads there are")
def test_ipc_4_1_nobody_waits_for_clients_that_have_left(waiting: tuple[Daemon, list[socket.socket]]) -> None:
    place, clients = waiting
    args = {"cwd": place.settings["repo"], "agent": "amber-otter", "timeout": 3600}
    with ExitStack() as more:
        for _ in range(64 - len(clients)):
            more.enter_context(place.connect()).sendall(request("agent.wait", **args))
        until(lambda: threads_of(place) == 65)
        assert place.code("agent.list", cwd=args["cwd"]) == "TOO_MANY_WAIT"
    for client in clients[1:]:
        client.close()
    until(lambda: threads_of(place) == 2)

    clients[0].shutdown(socket.SHUT_WR)  # which only says that it will say no more
    time.sleep(0.3)
    sent = {"from": "user", "to": "amber-otter", "bead": "bb-1", "category": "INFO", "subject": "Come", "body": "Now."}
    place.call("agent.send", cwd=args["cwd"], **sent)
    assert answer_of(clients[0])["result"]["messages"][0]["subject"] == "Come"


def test_ipc_4_1_nothing_is_reserved_for_a_client_that_has_left(waiting: tuple[Daemon, list[socket.socket]]) -> None:
    place, _ = waiting
    where, bead = place.settings["repo"], "bb-1"
    place.call("agent.register", cwd=where, name="calm-crane", role="builder")
    held = place.call("agent.reserve", cwd=where, agent="calm-crane", scope=["src"], bead=bead)
    with place.connect() as client:
        client.sendall(request("agent.reserve", cwd=where, agent="amber-otter", scope=["src"], bead=bead, wait=600))
        time.sleep(0.5)
    time.sleep(0.5)
    place.call("agent.release", cwd=where, agent="calm-crane", scope=["src"])
    time.sleep(0.5)

    assert held["agent_id"] == "calm-crane"
    assert place.call("agent.status", cwd=where)["reservations"] == []


def test_ipc_3_2_clients_that_wait_for_long_do_not_keep_it_from_ending(
    waiting: tuple[Daemon, list[socket.socket]],
) -> None:
    place, clients = waiting
    assert place.call("ping")
    began = time.monotonic()

    assert place.stop() == 0

    assert time.monotonic() - began < 10
    assert clients[0].recv(1) == b""
    assert "Traceback" not in place.said


def test_ipc_8_1_shutdown_is_answered_and_done(place: Daemon) -> None:
    place.start()

    answer = place.call("shutdown")

    assert checked("shutdown", answer) == {"message": "shutting down"}
    assert place.process is not None
    assert place.process.wait(30) == 0
    assert not (place.folder / "ccccd.addr.json").exists()


def test_ipc_8_1_programs_that_run_end_with_the_daemon_and_run_again_under_the_next(
    place: Daemon, tmp_path: Path
) -> None:
    place.start()
    (tmp_path / "work").mkdir()
    group = place.call("attach", path=str(tmp_path / "work"))["group_id"]
    place.call("actor_add", group_id=group, actor_id="cat", runtime="custom", command=["cat"])
    place.call("actor_start", group_id=group, actor_id="cat")
    first = _program(place)
    place.call("shutdown")
    assert place.process is not None
    assert place.process.wait(30) == 0
    until(lambda: not Path(f"/proc/{first}").exists(), "the program to end")

    place.start()

    until(lambda: _program(place) not in (0, first), "the program to run again")
    (actor,) = place.call("actor_list", group_id=group)["actors"]
    assert actor["running"] is True


def test_ipc_8_4_a_program_that_ends_at_once_has_been_started_and_does_not_run(place: Daemon, tmp_path: Path) -> None:
    place.start()
    (tmp_path / "work").mkdir()
    group = place.call("attach", path=str(tmp_path / "work"))["group_id"]
    place.call("actor_add", group_id=group, actor_id="short", runtime="custom", command=["true"])
    kinds = ["actor.start", "x.bb.exited"]
    with place.stream(group, kinds=kinds) as stream:
        for _ in repeats(8, 20):
            place.call("actor_start", group_id=group, actor_id="short")
            assert [event["kind"] for event in stream.events(2)] == kinds
            until(lambda: not place.call("actor_list", group_id=group)["actors"][0]["running"], "it to be over")


def _program(place: Daemon) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(json.loads((place.folder / "children.json").read_text())["children"][0]["pid"])
    return 0


# -- what was acknowledged is there


class Sender(threading.Thread):
    """Says one thing after the other, each until it is sure that it was heard."""

    def __init__(self, daemon: Daemon, group: str, name: str) -> None:
        super().__init__(daemon=True)
        self._daemon, self._group, self._name = daemon, group, name
        self.acknowledged: dict[str, str] = {}  # by id, what was said
        self.is_over = False
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            count = 0
            while not self.is_over:
                self._say(f"{self._name} {count}")
                count += 1
        except Exception as error:  # for the test to see
            self.failure = error

    def _say(self, text: str) -> None:
        while True:
            with contextlib.suppress(OSError, AssertionError, ValueError):
                event = self._daemon.call("send", group_id=self._group, text=text, client_id=text)["event"]
                assert event["data"]["text"] == text
                self.acknowledged[event["id"]] = text
                return
            time.sleep(0.03)


def test_ipc_8_5_whatever_was_acknowledged_is_there_once_however_often_the_daemon_is_killed(place: Daemon) -> None:
    chance = random.Random(5)
    place.start()
    group = str(place.call("group_create")["group_id"])
    place.call("actor_add", group_id=group, actor_id="reader", runner="headless")
    senders = [Sender(place, group, name) for name in ("ada", "bo", "cy", "di")]
    for sender in senders:
        sender.start()
    read_up_to = ""
    for _ in range(6):
        time.sleep(chance.uniform(0.05, 0.4))
        unread = place.call("inbox_list", group_id=group, actor_id="reader", limit=1000)["messages"]
        if unread:
            read_up_to = chance.choice(unread)["id"]
            place.call("inbox_mark_read", group_id=group, actor_id="reader", event_id=read_up_to)
        place.kill()
        place.start()
        assert place.call("inbox_list", group_id=group, actor_id="reader")["cursor"]["event_id"] == read_up_to
    for sender in senders:
        sender.is_over = True
    for sender in senders:
        sender.join(30)
        assert sender.failure is None
    place.call("send", group_id=group, text="the end")

    seen = _everything_said(place, group)

    acknowledged = {event: text for sender in senders for event, text in sender.acknowledged.items()}
    assert len(acknowledged) > 50
    assert {event: text for event, _, text in seen if event in acknowledged} == acknowledged
    texts = [text for _, _, text in seen]
    assert len(texts) == len(set(texts)), "what was repeated because its answer was lost is there once"
    assert len({event for event, _, _ in seen}) == len(seen)
    places = [seq for _, seq, _ in seen]
    assert places == sorted(set(places))
    unread = place.call("inbox_list", group_id=group, actor_id="reader", limit=1000)["messages"]
    order = [event for event, *_ in seen]
    assert [message["id"] for message in unread] == order[order.index(read_up_to) + 1 :][:1000]


def _everything_said(place: Daemon, group: str) -> list[tuple[str, int, str]]:
    """Every message of the group from the beginning on: id, place, text; up to the last one."""
    seen = []
    with place.stream(group, since_seq=0, kinds=["chat.message"]) as stream:
        while not seen or seen[-1][2] != "the end":
            event: dict[str, Any] = stream.event()
            seen.append((event["id"], event["seq"], event["data"]["text"]))
    return seen


def test_ipc_7_2_an_id_can_be_asked_for_after_a_crash(place: Daemon) -> None:
    place.start()
    group = place.call("group_create")["group_id"]
    place.call("actor_add", group_id=group, actor_id="reader", runner="headless")
    said = place.call("send", group_id=group, text="first", to=["reader"], priority="attention")["event"]["id"]
    place.kill()
    place.start()

    answer = place.call("reply", group_id=group, reply_to=said, text="second", by="reader")
    acked = place.call("chat_ack", group_id=group, actor_id="reader", event_id=said, by="reader")

    assert answer["event"]["data"]["quote_text"] == "first"
    assert acked["already"] is False
    with pytest.raises(Refusal) as refused:
        place.call("reply", group_id=group, reply_to="nothing.1", text="third")
    assert refused.value.code == "event_not_found"
