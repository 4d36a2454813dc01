"""What goes wrong in other daemons of this protocol, and does not here (notes on CCCC, §0 and §12)."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.stories.daemon.ipc_support import Daemon, answer_of, request, running
from tests.stories.daemon.sdk_support import Client
from tests.support import environment
from tests.waiting import until

MANY = 2300  # messages; more than others look back
SECRET = "s3cr3t-of-ada-and-nobody-else"
DEADLINE = 15.0  # seconds that a client has for its request


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("known") / "home") as daemon:
        yield daemon


@dataclass
class Waiting:
    """Clients that a daemon waits for since before the first test here."""

    half_a_line: socket.socket  # has said no more than that
    deaf: socket.socket  # does not take the end of a stream
    since: float


@pytest.fixture(scope="module", autouse=True)
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    with (
        running(tmp_path_factory.mktemp("waiting") / "home") as other,
        other.connect() as half,
        other.connect() as deaf,
    ):
        half.sendall(b'{"v":1,"op":')
        group = made(other)
        for _ in range(4):
            say(other, group, "w" * 900_000)
        deaf.sendall(request("events_stream", group_id=group, since_seq=0, limit=4))
        yield Waiting(half, deaf, time.monotonic())
        assert other.call("ping")


@pytest.fixture
def group(daemon: Daemon) -> str:
    """A group with a foreman, ada, and a peer, bo."""
    return made(daemon)


def made(daemon: Daemon) -> str:
    group = str(daemon.call("group_create", title="Known")["group_id"])
    for actor in ("ada", "bo"):
        daemon.call("actor_add", group_id=group, actor_id=actor, runner="headless")
    return group


def say(daemon: Daemon, group: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    event: dict[str, Any] = daemon.call("send", group_id=group, text=text, **more)["event"]
    return event


def unread(daemon: Daemon, group: str, actor: str) -> list[str]:
    messages = daemon.call("inbox_list", group_id=group, actor_id=actor, limit=0)["messages"]
    return [message["data"].get("text") or message["data"]["title"] for message in messages]


# -- 0.3, 12.7: two vocabularies


def test_notes_0_3_both_vocabularies_are_understood_at_once(daemon: Daemon, group: str) -> None:
    say(daemon, group, "as ever", priority="attention", to=["bo"])
    say(daemon, group, "as today", message_mode="mail", to=["bo"])
    ops = [{"op": "task.create", "name": "As ever", "goal": "-"}, {"op": "task.create", "title": "As today"}]
    daemon.call("context_sync", group_id=group, ops=ops)

    assert unread(daemon, group, "bo") == ["as ever", "as today"]
    assert len(daemon.call("inbox_peek", group_id=group, actor_id="bo")["messages"]) == 1
    tasks = daemon.call("task_list", group_id=group)["tasks"]
    assert [task.get("title") or task.get("name") for task in tasks] == ["As ever", "As today"]


@pytest.mark.parametrize("version", ["0.4.32", "0.4.41"])
def test_notes_1_clients_find_a_daemon_whose_home_has_a_long_path(tmp_path: Path, version: str) -> None:
    with running(tmp_path / ("deep" * 20) / ("down" * 20)) as daemon, Client(version, daemon.home) as client:
        assert client.ping()["pid"] == daemon.pid


# -- 0.6, 12.1: clients that are no good


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_notes_0_6_clients_that_hang_up_do_no_harm(tmp_path: Path, transport: str) -> None:
    with running(tmp_path / "home", CCCC_DAEMON_TRANSPORT=transport) as daemon:
        group = made(daemon)
        before = open_files(daemon)
        for octets in (b"", b"\n", b'{"v":1', request("ping"), request("inbox_list", group_id=group, actor_id="bo")):
            for is_abrupt in (False, True):
                for _ in range(20):
                    with daemon.connect() as client:
                        if is_abrupt and transport == "tcp":
                            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        client.sendall(octets)

        assert daemon.call("ping")["pid"] == daemon.pid
        assert daemon.process is not None
        assert daemon.process.poll() is None
        until(lambda: open_files(daemon) <= before + 1, "the last of them to be forgotten")
        assert daemon.complaints == ""


def open_files(daemon: Daemon) -> int:
    if not Path("/proc").is_dir():
        return 0
    return len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))


def test_notes_0_6_who_says_half_a_line_keeps_nobody_waiting(daemon: Daemon) -> None:
    with ExitStack() as open_ones:
        for _ in range(20):
            open_ones.enter_context(daemon.connect()).sendall(b'{"v":1,"op":')
        took = [timed(lambda: daemon.call("ping")) for _ in range(50)]

    assert min(took) < 0.1  # how busy the machine is says nothing about bb


def timed(do: Any) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def test_notes_12_1_there_is_room_for_so_many_clients_and_the_next_is_told(tmp_path: Path) -> None:
    with running(tmp_path / "home", most_files=500) as daemon, ExitStack() as open_ones:
        clients = [open_ones.enter_context(daemon.connect()) for _ in range(100)]
        until(lambda: open_files(daemon) > 100 or sys.platform != "linux", "all to be let in")

        assert daemon.code("ping") == "too_many_clients"
        for client in clients[:10]:
            client.close()
        until(lambda: daemon.ask("ping")["ok"], "room for others")
        clients[-1].sendall(request("ping"))
        assert answer_of(clients[-1])["ok"], "who was let in is served"


def test_notes_12_1_a_listener_that_does_not_listen_is_dropped_and_the_others_are_not(
    daemon: Daemon, group: str
) -> None:
    first = say(daemon, group, "first")
    with daemon.stream(group, since_event_id=first["id"]) as listening, daemon.connect() as asleep:
        asleep.sendall(request("events_stream", group_id=group))
        until(lambda: bool(asleep.recv(1, socket.MSG_PEEK)), "the stream")
        with ThreadPoolExecutor(1) as other:
            heard = other.submit(listening.events, 20)
            said = [say(daemon, group, f"{count} " + "w" * 400_000) for count in range(20)]
            assert heard.result(60) == said

        asleep.settimeout(20)
        octets = 0
        while piece := asleep.recv(1 << 20):
            octets += len(piece)
        assert octets < 8_000_000, "it is not waited for, nor kept what it does not take"
    with daemon.stream(group, since_event_id=said[4]["id"]) as again:
        assert again.events(15) == said[5:]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_notes_11_daemons_do_not_multiply_when_many_want_one(tmp_path: Path) -> None:
    place = Daemon(tmp_path / "home")
    env = environment(CCCC_HOME=str(place.home))

    def start(_: int) -> dict[str, Any]:
        words = [sys.executable, "-m", "bb", "daemon", "start", "--json"]
        done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)["data"]
        return found

    with ThreadPoolExecutor(4) as many:
        found = list(many.map(start, range(4)))
    running_ones = daemons_of(place.home)
    try:
        assert sum(each["started"] for each in found) == 1
        assert running_ones == [found[0]["pid"]]
    finally:
        for pid in running_ones:
            os.kill(pid, signal.SIGKILL)


def daemons_of(home: Path) -> list[int]:
    """The processes that are, or are about to be, the daemon of a home directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words, given = (process / "cmdline").read_bytes(), (process / "environ").read_bytes().split(b"\0")
            if b"bb.daemon" in words and b"CCCC_HOME=" + os.fsencode(home) in given:
                found.append(int(process.name))
    return found


# -- 0.7, 12.2: a word is given for oneself


@pytest.mark.parametrize("by", ["user", "system", "ada", "svc:bridge"])
def test_notes_0_7_nobody_acknowledges_for_another(daemon: Daemon, group: str, by: str) -> None:
    said = say(daemon, group, to=["bo"], priority="attention")["id"]
    told = daemon.call("system_notify", group_id=group, title="Look", target_actor_id="bo", requires_ack=True)["event"]

    ack = {"group_id": group, "actor_id": "bo", "by": by}
    assert daemon.code("chat_ack", event_id=said, **ack) == "permission_denied"
    assert daemon.code("notify_ack", notify_event_id=told["id"], **ack) == "permission_denied"
    with daemon.stream(group, since_seq=0, kinds=["chat.ack", "system.notify_ack", "chat.message"]) as stream:
        assert stream.event()["id"] == said
        stream.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            stream.event()


def test_notes_12_2_an_acknowledgement_is_given_once(daemon: Daemon, group: str) -> None:
    said = say(daemon, group, to=["bo"], priority="attention")["id"]
    told = daemon.call("system_notify", group_id=group, title="Look", target_actor_id="bo", requires_ack=True)["event"]
    ack = {"group_id": group, "actor_id": "bo", "by": "bo"}

    with ThreadPoolExecutor(8) as many:
        acked = list(many.map(lambda _: daemon.call("chat_ack", event_id=said, **ack), range(16)))
        noted = list(many.map(lambda _: daemon.call("notify_ack", notify_event_id=told["id"], **ack), range(16)))

    assert sum(not each["already"] for each in acked) == 1
    assert len({each["event"]["id"] for each in noted}) == 1
    say(daemon, group, "the end")
    assert kinds_said(daemon, group).count("chat.ack") == 1
    assert kinds_said(daemon, group).count("system.notify_ack") == 1


def kinds_said(daemon: Daemon, group: str) -> list[str]:
    """The kinds of all events of a group up to its last message, which says `the end`."""
    kinds = ["chat.message", "chat.ack", "chat.read", "chat.reaction", "system.notify", "system.notify_ack"]
    found: list[dict[str, Any]] = []
    with daemon.stream(group, since_seq=0, kinds=kinds) as stream:
        while not found or found[-1]["data"].get("text") != "the end":
            found.append(stream.event())
    return [event["kind"] for event in found]


def test_notes_12_2_an_acknowledgement_wakes_nobody(daemon: Daemon, group: str) -> None:
    said = say(daemon, group, to=["bo"], by="ada", priority="attention")["id"]
    with daemon.stream(group, by="ada", since_event_id=said) as ada:
        daemon.call("chat_ack", group_id=group, actor_id="bo", event_id=said, by="bo")
        daemon.call("inbox_mark_all_read", group_id=group, actor_id="bo", by="bo")
        answered = daemon.call("reply", group_id=group, reply_to=said, text="Done", by="bo")["event"]

        assert ada.event() == answered
    assert unread(daemon, group, "ada") == ["Done"]


def test_notes_0_7_what_is_said_to_nobody_in_particular_is_said_to_everybody(daemon: Daemon, group: str) -> None:
    for to in (None, []):
        event = say(daemon, group, f"to {to}", to=to)
        assert event["data"].get("to", []) == []
    say(daemon, group, "@ada, look", to=[])

    assert unread(daemon, group, "ada") == unread(daemon, group, "bo") == ["to None", "to []", "@ada, look"]


def test_notes_5_a_broadcast_in_a_group_without_actors_is_no_mistake(daemon: Daemon) -> None:
    group = daemon.call("group_create")["group_id"]

    assert say(daemon, group, "Anybody here?")["data"]["text"] == "Anybody here?"


# -- 0.7: all or nothing


def test_notes_0_7_a_list_of_changes_is_made_whole_or_not_at_all(daemon: Daemon, group: str) -> None:
    before = daemon.call("context_get", group_id=group)
    present = daemon.call("presence_get", group_id=group)
    good: list[dict[str, Any]] = [
        {"op": "presence.update", "agent_id": "ada", "status": "Reading"},
        {"op": "vision.update", "vision": "Else"},
        {"op": "task.create", "name": "Numbers", "goal": "-"},
    ]
    for bad in ({"op": "weather.update"}, {"op": "task.update", "task_id": "T404", "name": "x"}, {"op": 7}, "x", None):
        assert daemon.code("context_sync", group_id=group, ops=[*good, bad]) in ("context_sync_error", "invalid_ops")
        assert daemon.code("context_sync", group_id=group, ops=[*good, bad], dry_run=True)

    assert daemon.call("context_get", group_id=group) == before
    assert daemon.call("presence_get", group_id=group) == present
    assert daemon.call("task_list", group_id=group)["tasks"] == []


def test_notes_0_7_a_template_is_imported_whole_or_not_at_all(daemon: Daemon, group: str, tmp_path: Path) -> None:
    daemon.call("attach", path=str(tmp_path), group_id=group)
    before = daemon.call("group_show", group_id=group)
    template = """
kind: cccc.group_template
v: 1
title: Other
actors:
- {id: cy, runtime: claude, runner: headless}
- {id: cy, runtime: abacus, runner: paper}
settings: {nudge_after_seconds: -5}
"""

    args = {"group_id": group, "confirm": group, "template": template}
    assert daemon.code("group_template_import_replace", **args) == "invalid_template"
    assert daemon.call("group_show", group_id=group) == before


# -- 0.9


def test_notes_0_9_a_reaction_is_called_so_and_disturbs_nobody(daemon: Daemon, group: str) -> None:
    said = say(daemon, group, by="ada")["id"]
    with daemon.stream(group, since_event_id=said) as usual:
        event = daemon.call("chat.react", group_id=group, event_id=said, emoji="👍", by="bo")
        after = say(daemon, group, "after")
        assert usual.event() == after
    with daemon.stream(group, since_event_id=said, kinds=["chat.reaction"]) as wanted:
        reaction = wanted.event()

    assert event
    assert reaction["kind"] == "chat.reaction"
    assert reaction["data"] == {"event_id": said, "actor_id": "bo", "emoji": "👍"}
    assert unread(daemon, group, "ada") == ["after"]


# -- 12.3: how far one has read is a place


def test_notes_12_3_a_clock_that_stands_still_hides_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "home", BB_NOW="2026-01-05T12:00:00Z") as daemon:
        group = made(daemon)
        events = [say(daemon, group, text) for text in "abcdef"]
        assert len({event["ts"] for event in events}) == 1

        mark = {"group_id": group, "actor_id": "bo", "by": "bo"}
        daemon.call("inbox_mark_read", event_id=events[1]["id"], **mark)
        assert unread(daemon, group, "bo") == ["c", "d", "e", "f"]
        daemon.call("inbox_mark_read", event_id=events[0]["id"], **mark)
        assert unread(daemon, group, "bo") == ["c", "d", "e", "f"], "a cursor never goes back"
        daemon.call("inbox_mark_all_read", **mark)
        assert unread(daemon, group, "bo") == []
        say(daemon, group, "g")
        assert unread(daemon, group, "bo") == ["g"]
        with daemon.stream(group, since_event_id=events[2]["id"]) as stream:
            assert [event["data"]["text"] for event in stream.events(4)] == ["d", "e", "f", "g"]
        older = daemon.call("message_history", group_id=group, actor_id="bo", before_event_id=events[2]["id"])
        assert [message["data"]["text"] for message in older["messages"]] == ["b", "a"]


def test_notes_12_3_a_clock_that_goes_back_hides_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "home", BB_NOW="2026-01-05T12:00:00Z") as daemon:
        group = made(daemon)
        read = say(daemon, group, "read")
        daemon.call("inbox_mark_read", group_id=group, actor_id="bo", event_id=read["id"])
        daemon.stop()
        daemon.start(BB_NOW="2020-01-05T12:00:00Z")
        late = say(daemon, group, "said before, by the clock")

        assert late["ts"] < read["ts"]
        assert unread(daemon, group, "bo") == ["said before, by the clock"]


# -- 12.4: what is said twice because its answer was lost


def test_notes_12_4_a_repetition_is_no_second_message_however_many_there_are_at_once(
    daemon: Daemon, group: str
) -> None:
    args = {"group_id": group, "text": "Once", "by": "ada", "client_id": "ada-1", "to": ["bo"]}
    with ThreadPoolExecutor(8) as many:
        events = list(many.map(lambda _: daemon.call("send", **args)["event"], range(24)))

    assert {event["id"] for event in events} == {events[0]["id"]}
    assert unread(daemon, group, "bo") == ["Once"]


def test_notes_12_4_a_repetition_after_the_daemon_was_killed_is_none_either(tmp_path: Path) -> None:
    with running(tmp_path / "home") as daemon:
        group = made(daemon)
        first = say(daemon, group, "Once", client_id="one")
        daemon.kill()
        daemon.start()

        assert say(daemon, group, "Once", client_id="one") == first
        assert unread(daemon, group, "bo") == ["Once"]


# -- 12.5: streams


def test_notes_12_5_no_event_is_lost_between_the_answer_and_the_first_that_comes(daemon: Daemon, group: str) -> None:
    for count in range(200):
        with daemon.stream(group) as stream:
            said = say(daemon, group, str(count))
            assert stream.event() == said


def test_notes_12_5_an_event_is_pushed_at_once(daemon: Daemon, group: str) -> None:
    with daemon.stream(group) as stream:
        took = [timed(lambda: (say(daemon, group), stream.event())) for _ in range(30)]

    assert min(took) < 0.1  # how busy the machine is says nothing about bb


def test_notes_12_5_many_listeners_all_hear_everything_once_and_in_order(daemon: Daemon, group: str) -> None:
    with ExitStack() as open_ones:
        streams = [open_ones.enter_context(daemon.stream(group)) for _ in range(20)]
        with ThreadPoolExecutor(4) as many:
            said = list(many.map(lambda count: say(daemon, group, str(count)), range(60)))
        heard = [stream.events(60) for stream in streams]

    assert all(each == heard[0] for each in heard)
    assert {event["id"] for event in heard[0]} == {event["id"] for event in said}
    assert all(one["seq"] < other["seq"] for one, other in pairwise(heard[0]))


def test_notes_12_5_somebody_who_catches_up_misses_nothing_of_what_is_said_meanwhile(
    daemon: Daemon, group: str
) -> None:
    first = say(daemon, group, "first")
    for count in range(100):
        say(daemon, group, f"before {count}")
    with ThreadPoolExecutor(4) as many:
        saying = [many.submit(say, daemon, group, f"meanwhile {count}") for count in range(100)]
        with daemon.stream(group, since_event_id=first["id"]) as stream:
            heard = stream.events(200)
        said = {each.result()["data"]["text"] for each in saying}

    texts = [event["data"]["text"] for event in heard]
    assert texts[:100] == [f"before {count}" for count in range(100)]
    assert set(texts[100:]) == said
    assert len(set(texts)) == 200


# -- 12.5, 12.6: what was said long ago


@pytest.fixture(scope="module")
def long_ago(daemon: Daemon) -> tuple[str, list[dict[str, Any]]]:
    """A group in which much has been said, all of it read: its id, and what was said."""
    group = made(daemon)
    first = say(daemon, group, "the first", to=["bo"], priority="attention")
    with ThreadPoolExecutor(16) as many:
        said = list(many.map(lambda count: say(daemon, group, str(count)), range(MANY)))
    for actor in ("ada", "bo", "user"):
        daemon.call("inbox_mark_all_read", group_id=group, actor_id=actor)
    return group, [first, *sorted(said, key=lambda event: event["seq"])]


def test_notes_12_5_a_stream_resumes_however_long_ago_it_was(
    daemon: Daemon, long_ago: tuple[str, list[dict[str, Any]]]
) -> None:
    group, said = long_ago
    with daemon.stream(group, since_event_id=said[0]["id"]) as stream:
        assert stream.events(MANY) == said[1:]


def test_notes_12_6_no_id_is_lost_when_a_ledger_is_compacted(
    daemon: Daemon, long_ago: tuple[str, list[dict[str, Any]]]
) -> None:
    group, said = long_ago
    done = daemon.call("ledger_compact", group_id=group, force=True)
    assert done["ok"] is True

    daemon.kill()
    daemon.start()

    acked = daemon.call("chat_ack", group_id=group, actor_id="bo", event_id=said[0]["id"], by="bo")
    answered = daemon.call("reply", group_id=group, reply_to=said[1]["id"], text="late", by="bo")["event"]
    assert (acked["acked"], acked["already"]) == (True, False)
    assert answered["data"]["quote_text"] == said[1]["data"]["text"]
    found = daemon.call("message_history", group_id=group, actor_id="user", query="the first")["messages"]
    assert found == [said[0]]
    with daemon.stream(group, since_seq=0, kinds=["chat.message"], limit=MANY + 1) as stream:
        assert stream.events(MANY + 1) == said
        assert stream.item() is None, "a stream that is limited ends"


def test_notes_0_8_an_empty_inbox_costs_little_however_much_has_been_read(
    daemon: Daemon, long_ago: tuple[str, list[dict[str, Any]]]
) -> None:
    much, little = long_ago[0], made(daemon)
    for group in (much, little):
        daemon.call("inbox_mark_all_read", group_id=group, actor_id="ada")

    def cost(op: str, group: str) -> float:
        return statistics.median(timed(lambda: daemon.call(op, group_id=group, actor_id="ada")) for _ in range(15))

    for op in ("inbox_list", "inbox_mark_all_read"):
        assert cost(op, much) < 5 * cost(op, little) + 0.005


# -- 12.8: secrets


def test_notes_12_8_what_an_actor_is_given_in_secret_stays_here(daemon: Daemon, group: str, tmp_path: Path) -> None:
    other, third = f"{SECRET}-2", f"{SECRET}-3"
    daemon.call("attach", path=str(tmp_path), group_id=group)
    secret = {"group_id": group, "actor_id": "cy", "runner": "headless", "env": {"TOKEN": SECRET, "KEY": third}}
    answers: list[Any] = [daemon.call("actor_add", **secret)]
    answers.append(daemon.call("actor_update", group_id=group, actor_id="bo", patch={"env": {"TOKEN": other}}))
    answers.append(daemon.call("actor_start", group_id=group, actor_id="cy"))
    looking = ("group_show", "actor_list", "group_template_export", "context_get", "ledger_snapshot", "groups")
    answers += [daemon.call(op, group_id=group) for op in looking]
    answers.append(daemon.call("headless_status", group_id=group, actor_id="cy"))
    say(daemon, group, "the end")
    with daemon.stream(
        group, since_seq=0, kinds=["actor.add", "actor.update", "actor.start", "chat.message"]
    ) as stream:
        while not answers or answers[-1].get("kind") != "chat.message":
            answers.append(stream.event())

    assert SECRET not in repr(answers)
    files = [path for path in daemon.home.rglob("*") if path.is_file()]
    where = [path for path in [*files, daemon.printed] if SECRET.encode() in path.read_bytes()]
    assert [path.name for path in where] == ["group.json"], "in one file, which only its owner may read"
    daemon.call("actor_remove", group_id=group, actor_id="cy")
    daemon.call("actor_update", group_id=group, actor_id="bo", patch={"env": {}})
    assert SECRET.encode() not in where[0].read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is a matter of POSIX")
def test_notes_12_8_the_program_is_given_it_all_the_same(daemon: Daemon, group: str, tmp_path: Path) -> None:
    daemon.call("attach", path=str(tmp_path), group_id=group)
    program = ["sh", "-c", 'echo "$TOKEN" > given; exec cat']
    args = {"group_id": group, "actor_id": "cat", "runtime": "custom", "command": program, "env": {"TOKEN": SECRET}}
    daemon.call("actor_add", **args)

    daemon.call("actor_start", group_id=group, actor_id="cat")

    given = tmp_path / "given"
    until(lambda: given.exists() and given.read_text() == f"{SECRET}\n", "the program")
    daemon.call("actor_stop", group_id=group, actor_id="cat")


# -- 12.1, once more: the client that has waited since the first test


def test_notes_12_1_who_does_not_finish_a_request_is_sent_away_in_the_end(waiting: Waiting) -> None:
    waiting.half_a_line.settimeout(max(waiting.since + DEADLINE + 10 - time.monotonic(), 1))

    with suppress(ConnectionResetError):
        assert waiting.half_a_line.recv(1) == b""

    assert time.monotonic() > waiting.since + DEADLINE - 2


def test_notes_12_1_who_does_not_take_the_end_of_a_stream_is_sent_away_in_the_end(waiting: Waiting) -> None:
    time.sleep(max(waiting.since + DEADLINE + 5 - time.monotonic(), 0))

    octets = 0
    while piece := waiting.deaf.recv(1 << 20):
        octets += len(piece)
    assert octets < 4 * 900_000
