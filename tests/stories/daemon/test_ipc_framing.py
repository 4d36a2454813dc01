"""Bytes in, bytes out: what the daemon makes of requests, and of clients that are no good (IPC §4 to §7)."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.grids import some
from tests.stories.daemon.ipc_support import Daemon, answer_of, request, running, well_formed
from tests.stories.daemon.ipc_types import LATER, OPS, checked, moment
from tests.waiting import until

LIMIT = 2_000_000
NEEDS_NOTHING = {"ping", "shutdown", "observability_get", "groups", "group_create"}
VALUES: tuple[Any, ...] = (None, True, 7, -1.5, "", "\x00", "ü" * 300, [], ["x"], [[], None], {"x": 1}, 1 << 80)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("ipc")) as daemon:
        yield daemon


@pytest.fixture
def group(daemon: Daemon) -> str:
    return str(daemon.call("group_create", title="Framing")["group_id"])


def history(daemon: Daemon, group: str) -> list[str]:
    """What was said in the group, newest first."""
    found = daemon.call("message_history", group_id=group, actor_id="user", limit=0)["messages"]
    return [message["data"]["text"] for message in found]


# -- §4.2: one line, one line


def test_ipc_4_2_one_line_is_answered_with_one_line_and_the_connection_ends(daemon: Daemon) -> None:
    with daemon.connect() as client:
        client.sendall(b'{"v":1,"op":"ping","args":{}}\n')
        answer = answer_of(client)
        assert client.recv(1) == b"", "the daemon closes after its answer"

    assert answer["ok"]
    assert checked("ping", answer["result"])["ipc_v"] == 1


def test_ipc_9_1_the_specifications_own_example_is_understood(daemon: Daemon) -> None:
    answer = daemon.line(b'{"v":1,"op":"ping","args":{}}\n')

    assert list(answer) == ["v", "ok", "result", "error"]
    assert answer["error"] is None
    assert answer["result"]["capabilities"]["events_stream"] is True


def test_ipc_9_2_the_specifications_own_error_is_answered(daemon: Daemon) -> None:
    answer = daemon.line(b'{"v":1,"op":"group_show","args":{}}\n')

    assert answer["ok"] is False
    assert answer["result"] == {}
    assert answer["error"]["code"] == "missing_group_id"


def test_ipc_4_2_a_line_may_come_byte_by_byte(daemon: Daemon) -> None:
    with daemon.connect() as client:
        for octet in b'{"v":1,"op":"ping"}\n':
            client.send(bytes([octet]))
        assert answer_of(client)["ok"]


@pytest.mark.parametrize("together", [True, False])
def test_ipc_4_2_a_second_line_is_not_looked_at(daemon: Daemon, group: str, together: bool) -> None:
    first, second = request("ping"), request("send", group_id=group, text="not to be said")
    with daemon.connect() as client:
        if together:
            client.sendall(first + second)
        else:
            client.sendall(first)
            with suppress(BrokenPipeError):  # the answer may be there already, and the connection gone
                client.sendall(second)
        answer = answer_of(client)

    assert answer["result"]["ipc_v"] == 1
    assert history(daemon, group) == []


@pytest.mark.parametrize("ending", [b"\r\n", b" \n", b"\t\n"])
def test_ipc_4_2_white_space_around_a_request_does_no_harm(daemon: Daemon, ending: bytes) -> None:
    assert daemon.line(b' {"v": 1, "op": "ping"}' + ending)["ok"]


def test_ipc_4_2_text_beyond_ascii_goes_there_and_back(daemon: Daemon, group: str) -> None:
    said = 'Grüße 🦦 \u2028 \x7f \\ " \t'
    plain = json.dumps({"v": 1, "op": "send", "args": {"group_id": group, "text": said}}, ensure_ascii=False)

    answer = daemon.line(plain.encode("utf-8") + b"\n")

    assert answer["result"]["event"]["data"]["text"] == said


# -- §5: what a request is

NO_REQUESTS = {
    "nothing": b"\n",
    "blank": b"   \n",
    "no JSON": b"hello\n",
    "half a JSON": b'{"v":1,"op":"ping"\n',
    "two values": b'{"v":1,"op":"ping"} {"v":1,"op":"ping"}\n',
    "a list": b'[{"v":1,"op":"ping"}]\n',
    "a text": b'"ping"\n',
    "a number": b"1\n",
    "null": b"null\n",
    "NaN": b'{"v":1,"op":"ping","args":{"x":NaN}}\n',
    "infinity": b'{"v":1,"op":"ping","args":{"x":1e999}}\n',
    "a number without end": b'{"v":' + b"1" * 10_000 + b',"op":"ping"}\n',
    "invalid UTF-8": b'{"v":1,"op":"ping","args":{"x":"\xff\xfe"}}\n',
    "an overlong form": b'{"v":1,"op":"ping","args":{"x":"\xc0\xaf"}}\n',
    "a surrogate in UTF-8": b'{"v":1,"op":"ping","args":{"x":"\xed\xa0\x80"}}\n',
    "half a surrogate pair": b'{"v":1,"op":"ping","args":{"x":"\\ud800"}}\n',
    "UTF-16": '{"v":1,"op":"ping"}'.encode("utf-16") + b"\n",
    "a byte order mark": b'\xef\xbb\xbf{"v":1,"op":"ping"}\n',
    "a control character": b'{"v":1,"op":"pi\x00ng"}\n',
    "HTTP": b"GET / HTTP/1.1\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"\n",
    "deep lists": b'{"v":1,"op":"ping","args":{"x":' + b"[" * 100_000 + b"\n",
    "deep objects": b'{"v":1,"op":"ping","args":' + b'{"x":' * 100_000 + b"1" + b"}" * 100_001 + b"\n",
    "deeper than anybody needs": b'{"v":1,"op":"ping","args":{"x":' + b"[" * 600 + b"]" * 600 + b"}}\n",
    "no v": b'{"op":"ping"}\n',
    "v 2": b'{"v":2,"op":"ping"}\n',
    "v 0": b'{"v":0,"op":"ping"}\n',
    "v as text": b'{"v":"1","op":"ping"}\n',
    "v true": b'{"v":true,"op":"ping"}\n',
    "v 1.0": b'{"v":1.0,"op":"ping"}\n',
    "v null": b'{"v":null,"op":"ping"}\n',
    "no op": b'{"v":1}\n',
    "op empty": b'{"v":1,"op":""}\n',
    "op blank": b'{"v":1,"op":"  "}\n',
    "op null": b'{"v":1,"op":null}\n',
    "op a number": b'{"v":1,"op":5}\n',
    "op a list": b'{"v":1,"op":["ping"]}\n',
    "op an object": b'{"v":1,"op":{"ping":1}}\n',
    "args a list": b'{"v":1,"op":"ping","args":[]}\n',
    "args a text": b'{"v":1,"op":"ping","args":"{}"}\n',
    "args a number": b'{"v":1,"op":"ping","args":0}\n',
    "args false": b'{"v":1,"op":"ping","args":false}\n',
    "an unknown member": b'{"v":1,"op":"ping","args":{},"id":7}\n',
    "an unknown member that is null": b'{"v":1,"op":"ping","jsonrpc":null}\n',
    "an unknown member without a name": b'{"v":1,"op":"ping","":1}\n',
}


@pytest.mark.parametrize("line", NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_ipc_5_1_what_is_no_request_is_refused_as_one(daemon: Daemon, line: bytes) -> None:
    answer = daemon.line(line)

    assert answer["ok"] is False
    assert answer["error"]["code"] == "invalid_request"
    assert len(json.dumps(answer)) < 2000, "what was wrong is not repeated at any length"


@pytest.mark.parametrize(
    "line", [b'{"v":1,"op":"ping"}\n', b'{"v":1,"op":"ping","args":null}\n', b'{"op":"ping","v":1}\n']
)
def test_ipc_5_1_args_may_be_left_out(daemon: Daemon, line: bytes) -> None:
    assert daemon.line(line)["ok"]


@pytest.mark.parametrize(
    "op", ["nothing_of_the_kind", "Ping", "ping\u200b", "__init__", "x" * 100_000, "ping/../groups"]
)
def test_ipc_6_1_an_operation_that_there_is_not_is_unknown(daemon: Daemon, op: str) -> None:
    answer = daemon.ask(op)

    assert answer["error"]["code"] == "unknown_op"
    assert len(json.dumps(answer)) < 2000


def test_ipc_7_arguments_that_are_not_known_are_ignored(daemon: Daemon) -> None:
    answer = daemon.ask("ping", trace_id="abc", by="user", later={"x": [1]})

    assert answer["ok"]


# -- §4.3: how long a line may be


def test_ipc_4_3_a_line_just_within_the_limit_is_read(daemon: Daemon) -> None:
    frame = request("ping", x="")
    line = request("ping", x="y" * (LIMIT - len(frame)))

    assert len(line) == LIMIT
    assert daemon.line(line)["ok"]


@pytest.mark.parametrize("octets", [LIMIT + 1, 3 * LIMIT])
@pytest.mark.parametrize("ending", [b"\n", b""])
def test_ipc_4_3_a_longer_line_is_refused_once_that_is_clear(daemon: Daemon, octets: int, ending: bytes) -> None:
    with daemon.connect() as client:
        client.sendall(b"x" * (octets - len(ending)) + ending)
        answer = answer_of(client)

    assert answer["error"]["code"] == "invalid_request"


def test_ipc_4_3_a_long_message_is_not_cut(daemon: Daemon, group: str) -> None:
    said = "word " * 60_000
    daemon.call("actor_add", group_id=group, actor_id="reader", runner="headless")

    sent = daemon.call("send", group_id=group, text=said)["event"]
    (read,) = daemon.call("inbox_list", group_id=group, actor_id="reader")["messages"]

    assert sent["data"]["text"] == said
    assert read == sent


def test_ipc_4_3_a_message_too_long_for_a_ledger_is_refused_and_nothing_of_it_is_kept(
    daemon: Daemon, group: str
) -> None:
    code = daemon.code("send", group_id=group, text="z" * 1_900_000)

    assert code not in ("internal_error", "unknown_op")
    assert history(daemon, group) == []
    assert daemon.call("send", group_id=group, text="short")["event"]["data"]["text"] == "short"


@pytest.mark.parametrize("character", ["w", "ü", "🦦", "\x01"])
@pytest.mark.parametrize("op", ["inbox_list", "inbox_peek", "inbox_read", "message_history"])
def test_ipc_4_3_an_answer_stays_below_what_clients_read_and_the_rest_is_in_the_next(
    daemon: Daemon, group: str, op: str, character: str
) -> None:
    daemon.call("actor_add", group_id=group, actor_id="reader", runner="headless")
    long = character * (600_000 // len(json.dumps(character, ensure_ascii=False).strip('"').encode()))
    said = [
        daemon.call("send", group_id=group, text=f"{part} {long}", to=["reader"], message_mode="mail")["event"]["id"]
        for part in range(8)
    ]

    seen: list[str] = []
    more: dict[str, Any] = {}
    while len(seen) < len(said):
        with daemon.connect() as client, client.makefile("rb") as answers:
            client.sendall(request(op, group_id=group, actor_id="reader", limit=0, **more))
            octets = answers.readline()
        assert len(octets) < 4_000_000
        found = [message["id"] for message in well_formed(octets)["result"]["messages"]]
        assert found
        seen += found
        if op == "message_history":
            more = {"before_event_id": found[-1]}
        elif op != "inbox_read":
            daemon.call("inbox_mark_read", group_id=group, actor_id="reader", event_id=found[-1])
    assert seen == (said[::-1] if op == "message_history" else said)


@pytest.mark.parametrize("op", ["events", "ledger.log", "ledger.export"])
def test_what_bb_lists_fits_into_an_answer_too_and_has_an_end(daemon: Daemon, group: str, op: str) -> None:
    for part in range(6):
        daemon.call("send", group_id=group, text=f"{part} " + "ü" * 200_000)

    with daemon.connect() as client, client.makefile("rb") as answers:
        client.sendall(request(op, group_id=group))
        octets = answers.readline()

    assert len(octets) < 4_000_000
    assert len(well_formed(octets)["result"]["items"]) > 2
    if op == "ledger.export":
        assert daemon.code(op, group_id=group, output="no\0file") == "OUTPUT_NOT_WRITTEN"
    else:
        assert daemon.code(op, group_id=group, follow=True) == "INVALID_VALUE"


# -- clients that are no good


def test_ipc_4_2_a_line_without_its_end_is_refused_when_no_more_can_come(daemon: Daemon, group: str) -> None:
    with daemon.connect() as client:
        client.sendall(request("send", group_id=group, text="half").rstrip(b"\n"))
        client.shutdown(socket.SHUT_WR)
        assert answer_of(client)["error"]["code"] == "invalid_request"

    assert history(daemon, group) == []


def test_ipc_4_2_who_has_nothing_more_to_say_still_gets_an_answer(daemon: Daemon) -> None:
    with daemon.connect() as client:
        client.sendall(request("ping"))
        client.shutdown(socket.SHUT_WR)
        assert answer_of(client)["ok"]
        assert client.recv(1) == b""


def test_ipc_4_2_who_says_nothing_at_all_gets_nothing(daemon: Daemon) -> None:
    with daemon.connect() as client:
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""


def test_ipc_4_2_who_asks_and_does_not_wait_is_served_all_the_same(daemon: Daemon, group: str) -> None:
    with daemon.connect() as client:
        client.sendall(request("send", group_id=group, text="on my way out"))

    until(lambda: history(daemon, group) == ["on my way out"], "the message of a client that left")


def test_ipc_4_1_half_a_line_and_silence_keep_nobody_else_waiting(daemon: Daemon) -> None:
    with ExitStack() as open_ones:
        for _ in range(50):
            client = open_ones.enter_context(daemon.connect())
            client.sendall(b'{"v":1,"op":"pi')
        began = time.monotonic()
        for _ in range(20):
            assert daemon.call("ping")
        assert time.monotonic() - began < 5


def test_ipc_8_13_who_never_reads_an_answer_keeps_nobody_else_waiting(daemon: Daemon, group: str) -> None:
    for part in range(5):
        daemon.call("send", group_id=group, text=f"{part} " + "w" * 700_000, to=["user"], by="system")
    with ExitStack() as open_ones:
        for _ in range(10):
            client = open_ones.enter_context(daemon.connect())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(request("inbox_list", group_id=group, actor_id="user", limit=0))
        began = time.monotonic()
        for _ in range(20):
            assert daemon.call("ping")
        assert time.monotonic() - began < 5


def test_ipc_4_1_fifteen_hundred_clients_at_once_are_all_answered(daemon: Daemon) -> None:
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(daemon.connect()) for _ in range(1500)]
        for client in clients:
            client.sendall(request("ping"))
        assert all(answer_of(client)["ok"] for client in clients)


# -- §6, §7: whatever is asked, the answer is one


def test_ipc_8_every_operation_is_there_and_says_so(daemon: Daemon) -> None:
    able = daemon.call("ping")["capabilities"]

    assert [op for op in (*OPS, *LATER) if able.get(op) is not True] == []


@pytest.mark.parametrize("op", [op for op in (*OPS, *LATER) if op not in NEEDS_NOTHING])
def test_ipc_6_1_an_operation_without_what_it_needs_is_refused_and_changes_nothing(
    daemon: Daemon, group: str, op: str
) -> None:
    groups = daemon.call("groups")["groups"]

    code = daemon.code(op)

    assert code not in ("unknown_op", "internal_error")
    assert daemon.call("groups")["groups"] == groups


@pytest.mark.parametrize("op", [op for op in (*OPS, *LATER) if op not in ("ping", "shutdown", "groups", "attach")])
def test_ipc_6_1_whatever_stands_in_an_argument_the_daemon_has_an_answer(daemon: Daemon, op: str) -> None:
    """Each argument in turn is of every type that there is in JSON, the others are right."""
    right = _right_arguments(daemon)
    for name in ARGUMENTS[op]:
        for value in some(VALUES, 5, f"{op} {name}"):
            args = {other: right[other] for other in ARGUMENTS[op] if other in right} | {name: value}
            _must_be_answered(daemon, op, args)


INSIDE = {
    "group_update": [("patch", name) for name in ("title", "topic")],
    "group_settings_update": [
        ("patch", name) for name in ("min_interval_seconds", "default_send_to", "terminal_transcript_visibility")
    ],
    "actor_update": [
        ("patch", name)
        for name in ("title", "runtime", "runner", "command", "submit", "default_scope_key", "enabled", "env")
    ],
    "observability_update": [("patch", name) for name in ("developer_mode", "log_level", "components")],
    "actor_add": [("env", "NAME"), ("command", 0)],
    "send": [
        ("to", 0),
        ("dst_to", 0),
        *((what, 0, name) for what in ("attachments", "refs") for name in ("path", "kind", "bytes", "sha256", "url")),
    ],
    "system_notify": [("context", "x")],
    "events_stream": [("kinds", 0)],
    "context_sync": [
        ("ops", 0),
        *(("ops", 0, name) for name in ("op", "name", "title", "task_id", "status", "steps", "actor_id", "blocked_by")),
    ],
}


@pytest.mark.parametrize("op", INSIDE)
def test_ipc_6_1_whatever_stands_inside_an_argument_the_daemon_has_an_answer(daemon: Daemon, op: str) -> None:
    right = _right_arguments(daemon)
    for name, *path in INSIDE[op]:
        for value in some(VALUES, 5, f"{op} {name} {path}"):
            inner: Any = value
            for step in reversed(path):
                inner = [inner] if isinstance(step, int) else OPERATION.get(op, {}) | {step: inner}
            args = {other: right[other] for other in ARGUMENTS[op] if other in right} | {str(name): inner}
            _must_be_answered(daemon, op, args)


OPERATION = {"context_sync": {"op": "task.create"}}


def _must_be_answered(daemon: Daemon, op: str, args: dict[str, Any]) -> None:
    answer = well_formed(_first_line(daemon, request(op, **args)))
    code = None if answer["ok"] else answer["error"]["code"]
    assert code not in ("internal_error", "unknown_op"), f"{op} {args}: {daemon.complaints[-2000:]}"


def _first_line(daemon: Daemon, octets: bytes) -> bytes:
    """The first line of an answer; a stream may follow."""
    with daemon.connect() as client, client.makefile("rb") as answers:
        client.sendall(octets)
        return answers.readline()


ARGUMENTS: dict[str, list[str]] = {
    op: names.split()
    for op, names in {
        "observability_get": "",
        "observability_update": "by patch",
        "group_create": "title topic by",
        "group_show": "group_id",
        "group_update": "group_id by patch",
        "group_delete": "group_id by",
        "group_use": "group_id path by",
        "group_detach_scope": "group_id scope_key by",
        "group_set_state": "group_id state by",
        "group_settings_update": "group_id by patch",
        "group_start": "group_id by",
        "group_stop": "group_id by",
        "actor_list": "group_id include_unread",
        "actor_add": "group_id actor_id title runtime runner command env default_scope_key submit by",
        "actor_update": "group_id actor_id by patch",
        "actor_remove": "group_id actor_id by",
        "actor_start": "group_id actor_id by",
        "actor_stop": "group_id actor_id by",
        "actor_restart": "group_id actor_id by",
        "send": "group_id text by to priority path attachments src_group_id src_event_id dst_group_id dst_to refs"
        " format message_mode reply_required client_id client_ts thread quote_text insight suggested_user_message",
        "reply": "group_id reply_to text by to priority attachments refs format message_mode client_id client_ts"
        " reply_required insight suggested_user_message",
        "send_cross_group": "group_id dst_group_id text by to priority attachments message_mode insight",
        "chat_ack": "group_id actor_id event_id by",
        "inbox_list": "group_id actor_id by limit kind_filter",
        "inbox_mark_read": "group_id actor_id event_id by",
        "inbox_mark_all_read": "group_id actor_id by kind_filter",
        "context_get": "group_id detail",
        "context_sync": "group_id by ops dry_run if_version",
        "task_list": "group_id task_id task_ids status statuses query assignee attention offset limit include_index",
        "presence_get": "group_id",
        "headless_status": "group_id actor_id",
        "headless_set_status": "group_id actor_id status task_id",
        "headless_ack_message": "group_id actor_id message_id",
        "system_notify": "group_id by kind priority title message target_actor_id requires_ack context"
        " related_event_id",
        "notify_ack": "group_id actor_id notify_event_id by",
        "terminal_tail": "group_id actor_id by max_chars strip_ansi compact",
        "terminal_clear": "group_id actor_id by",
        "term_resize": "group_id actor_id cols rows",
        "term_attach": "group_id actor_id by",
        "ledger_snapshot": "group_id by reason",
        "ledger_compact": "group_id by reason force",
        "group_template_export": "group_id",
        "group_template_preview": "group_id by template",
        "group_template_import_replace": "group_id by confirm template",
        "group_create_from_template": "path by title topic template",
        "events_stream": "group_id by since_event_id since_ts since_seq kinds limit",
        "inbox_peek": "group_id actor_id by limit",
        "inbox_read": "group_id actor_id by limit",
        "message_history": "group_id actor_id by mode query before_event_id limit",
        "message_deliver": "group_id source_event_id actor_ids by force_ambiguous",
        "reply_request_cancel": "group_id source_event_id by",
    }.items()
}


def _right_arguments(daemon: Daemon) -> dict[str, Any]:
    """What may stand in an argument of that name, in a group of its own."""
    group = daemon.call("group_create", title="Right")["group_id"]
    other = daemon.call("group_create", title="Other")["group_id"]
    daemon.call("actor_add", group_id=group, actor_id="ada", runner="headless", runtime="claude")
    daemon.call("actor_start", group_id=group, actor_id="ada")
    said = daemon.call("send", group_id=group, text="Look!", to=["ada"], priority="attention")["event"]["id"]
    told = daemon.call("system_notify", group_id=group, title="Look!", target_actor_id="ada")["event"]["id"]
    return {
        "group_id": group,
        "dst_group_id": other,
        "actor_id": "ada",
        "by": "user",
        "text": "hello",
        "patch": {},
        "path": str(daemon.home),
        "state": "active",
        "reply_to": said,
        "event_id": said,
        "source_event_id": said,
        "notify_event_id": told,
        "message_id": said,
        "status": "idle",
        "message": "hello",
        "ops": [],
        "template": "kind: cccc.group_template\nv: 1\n",
        "confirm": group,
        "cols": 80,
        "rows": 24,
    }


def test_ipc_5_1_a_request_in_pieces_with_a_pause_is_one_request(daemon: Daemon) -> None:
    line = request("ping")
    with daemon.connect() as client:
        client.sendall(line[:10])
        time.sleep(0.1)
        client.sendall(line[10:])
        assert answer_of(client)["ok"]


# -- §4.4, §4.5: connections that become something else


def test_ipc_4_5_what_a_listener_says_after_its_request_is_not_looked_at(daemon: Daemon, group: str) -> None:
    with daemon.stream(group) as stream:
        stream.socket.sendall(request("send", group_id=group, text="not to be said"))
        said = daemon.call("send", group_id=group, text="said")["event"]
        assert stream.event() == said


def test_ipc_4_5_a_stream_that_is_refused_is_an_answer_like_any_other(daemon: Daemon, group: str) -> None:
    for args in (
        {"group_id": "g_nothing"},
        {"group_id": group, "kinds": "chat.message"},
        {"group_id": group, "limit": 0},
    ):
        answer = daemon.ask("events_stream", **args)
        assert answer["ok"] is False
    assert daemon.code("events_stream", group_id=group, kinds=[1]) == "invalid_kinds"


def test_cccs_10_a_stream_with_a_limit_has_no_more_however_slowly_it_is_read(daemon: Daemon, group: str) -> None:
    said = [daemon.call("send", group_id=group, text=f"{part} " + "w" * 300_000)["event"] for part in range(8)]

    with daemon.stream(group, since_seq=0, kinds=["chat.message"], limit=3) as stream:
        time.sleep(0.3)
        assert stream.events(3) == said[:3]
        assert stream.item() is None


def test_ipc_4_5_heartbeats_come_and_are_recorded_nowhere(tmp_path: Path) -> None:
    with running(tmp_path / "home", before="import bb.daemon.run; bb.daemon.run.HEARTBEAT = 0.1") as daemon:
        group = daemon.call("group_create")["group_id"]
        first = daemon.call("send", group_id=group, text="first")["event"]
        with daemon.stream(group) as stream:
            beats = [stream.item() for _ in range(3)]
        second = daemon.call("send", group_id=group, text="second")["event"]

    for beat in beats:
        assert beat is not None
        assert set(beat) == {"t", "ts"}
        assert beat["t"] == "heartbeat"
        assert moment(beat["ts"])
    assert second["seq"] == first["seq"] + 1


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is a matter of POSIX")
def test_ipc_4_4_a_connection_becomes_a_terminal(daemon: Daemon, group: str, tmp_path: Path) -> None:
    daemon.call("attach", path=str(tmp_path), group_id=group)
    program = ["sh", "-c", 'printf ready; stty -echo; while read line; do stty size; echo "said $line"; done']
    daemon.call("actor_add", group_id=group, actor_id="sh", runtime="custom", command=program)
    seen = {"group_id": group, "actor_id": "sh"}
    assert daemon.code("term_attach", **seen) == "actor_not_running"
    daemon.call("actor_start", **seen)
    with daemon.connect() as first, daemon.connect() as second:
        for client in (first, second):
            client.sendall(request("term_attach", **seen))
            assert b"ready" in _until(client, b"ready"), "what was shown before"
        daemon.call("term_resize", **seen, cols=100, rows=30)
        second.sendall(b"I only watch\n")
        first.sendall(b"hello\n")
        shown = _until(first, b"said hello")
        assert b"30 100" in shown
        assert b"said I only watch" not in shown
        assert b"said hello" in _until(second, b"said hello"), "all who watch see it"
        first.close()
        until(lambda: b"said again" in _typed(second, b"again\n"), "the next to be the one who types")
        daemon.call("actor_stop", **seen)
        while second.recv(1 << 16):
            pass  # the stream ends with the program


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is a matter of POSIX")
def test_ipc_4_4_what_was_typed_before_one_left_is_typed_however_much_the_program_says(
    daemon: Daemon, group: str, tmp_path: Path
) -> None:
    daemon.call("attach", path=str(tmp_path), group_id=group)
    program = "stty -echo; while :; do echo noise; done & while read line; do echo $line >> heard; done"
    daemon.call("actor_add", group_id=group, actor_id="sh", runtime="custom", command=["sh", "-c", program])
    seen = {"group_id": group, "actor_id": "sh"}
    daemon.call("actor_start", **seen)
    heard = tmp_path / "heard"
    for word in ("one", "two", "three", "four", "five"):
        with daemon.connect() as client:
            client.sendall(request("term_attach", **seen))
            assert b"noise" in _until(client, b"noise")
            client.sendall(word.encode() + b"\n")
        until(lambda word=word: heard.exists() and word in heard.read_text(), f"{word!r} to be heard")
    daemon.call("actor_stop", **seen)


def _until(client: socket.socket, wanted: bytes) -> bytes:
    """What comes, as far as what is wanted."""
    octets = b""
    while wanted not in octets:
        piece = client.recv(1 << 16)
        assert piece, octets
        octets += piece
    return octets


def _typed(client: socket.socket, octets: bytes) -> bytes:
    """What comes shortly after something was typed."""
    client.sendall(octets)
    time.sleep(0.1)
    client.setblocking(False)
    try:
        return client.recv(1 << 16)
    except BlockingIOError:
        return b""
    finally:
        client.settimeout(30)


# -- §7.1: in whose name


@pytest.mark.parametrize("by", [None, "", "user"])
def test_ipc_7_1_who_does_not_say_is_taken_for_the_usual_one(daemon: Daemon, group: str, by: str | None) -> None:
    named = {} if by is None else {"by": by}

    assert daemon.call("send", group_id=group, text="hello", **named)["event"]["by"] == "user"
    told = daemon.call("system_notify", group_id=group, title="hello", **named)["event"]
    assert told["by"] == (by or "system")


@pytest.mark.parametrize("by", ["nobody", "svc:cccc.web", "svc:", "Ada Lovelace", "user\n", "@all", "USER"])
def test_ipc_7_1_who_is_nobody_here_is_refused(daemon: Daemon, group: str, by: str) -> None:
    assert daemon.code("send", group_id=group, text="hello", by=by) == "permission_denied"
    assert history(daemon, group) == []


def test_ipc_7_1_a_service_speaks_in_its_own_name(daemon: Daemon, group: str) -> None:
    assert (
        daemon.call("send", group_id=group, text="built", by="svc:com.example.ci")["event"]["by"]
        == "svc:com.example.ci"
    )


# -- over TCP, where an answer can be lost on its way


@pytest.fixture(scope="module")
def over_tcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("tcp"), CCCC_DAEMON_TRANSPORT="tcp") as daemon:
        yield daemon


def test_ipc_4_1_over_tcp_requests_are_answered_alike(over_tcp: Daemon) -> None:
    assert checked("ping", over_tcp.call("ping"))["ipc_v"] == 1
    assert over_tcp.code("group_show") == "missing_group_id"


def test_ipc_4_3_over_tcp_too_long_a_line_gets_its_refusal(over_tcp: Daemon) -> None:
    with over_tcp.connect() as client:
        client.sendall(b"x" * 3 * LIMIT + b"\n")
        assert answer_of(client)["error"]["code"] == "invalid_request"
        assert client.recv(1) == b""


def test_ipc_4_2_over_tcp_an_answer_arrives_whole_whatever_was_said_behind_the_request(over_tcp: Daemon) -> None:
    group = str(over_tcp.call("group_create", title="Long")["group_id"])
    for part in range(4):
        over_tcp.call("send", group_id=group, text=f"{part} " + "w" * 800_000, by="system")
    with over_tcp.connect() as client:
        client.sendall(request("inbox_list", group_id=group, actor_id="user", limit=0))
        client.sendall(b"and something else, which is still unread when the answer is sent\n" * 1000)
        time.sleep(0.2)
        assert len(answer_of(client)["result"]["messages"]) == 4


def test_ipc_4_2_who_goes_on_talking_is_hung_up_on(over_tcp: Daemon) -> None:
    with over_tcp.connect() as client:
        client.sendall(request("ping"))
        assert answer_of(client)["ok"]

        def is_over() -> bool:
            try:
                client.sendall(b"x" * 1000)
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False

        until(is_over, "the end of the connection")
