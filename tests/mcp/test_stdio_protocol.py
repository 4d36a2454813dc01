"""stdio speaks the protocol by itself: as the official SDK does, to every request that a host may send."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bb.mcp import stdio
from bb.mcp.answers import RequestError
from bb.mcp.protocol import NEW, Connection
from tests.mcp.mcp_support import AMBER, INITIALIZE, Here
from tests.support import environment
from tests.waiting import PATIENCE, until

BB = [sys.executable, "-m", "bb", "mcp"]
# The same tools, served by the SDK.
SDK = """
import anyio, os
from mcp.server.stdio import stdio_server
from bb.mcp.log import report
from bb.mcp.server import server
from bb.mcp.tool_calls import Toolbox
async def serve():
    serving = server(Toolbox(os.getcwd(), dict(os.environ), report, is_hosts_child=True))
    async with stdio_server() as streams:
        await serving.run(*streams, serving.create_initialization_options())
anyio.run(serve)
"""
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: NEW, CAPABILITIES: {}, "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALLS: Sequence[tuple[str, dict[str, Any] | None]] = (
    ("ping", None),
    ("server/discover", None),
    ("tools/list", None),
    ("tools/list", {"cursor": None}),
    ("tools/call", {"name": "check", "arguments": {"path": ["src/a"]}}),
    ("tools/call", {"name": "check", "arguments": None}),
    ("tools/call", {"name": "check"}),
    ("tools/call", {"name": "chat.list_events"}),
    ("tools/call", {"name": "nope"}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": "check", "arguments": []}),
    ("tools/call", {}),
    ("tools/call", None),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "bb://chat"}),
    ("resources/read", {"uri": "bb://nope"}),
    ("resources/read", {"uri": 7}),
    ("resources/read", {}),
    ("resources/subscribe", {"uri": "bb://chat"}),
    ("prompts/list", {}),
    ("logging/setLevel", {"level": "info"}),
    ("initialize", {}),
    ("nope", {}),
)


def request(name: int | str, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": name, "method": method} | ({} if params is None else {"params": params})


def answers(here: Here, command: Sequence[str], asked: Sequence[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What a server answers, by the ids of the requests. Stdin stays open until all is answered."""
    env = environment(**here.repo.settings, BB_AGENT=AMBER)
    with subprocess.Popen(command, cwd=here.repo.path, env=env, stdin=-1, stdout=-1) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in asked))
        process.stdin.flush()
        lines = [json.loads(process.stdout.readline()) for line in asked if "id" in line]
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    return {line["id"]: line for line in lines}


def same(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what may differ: the words of errors in the protocol."""
    if "error" not in answer:
        return answer
    error = dict(answer["error"])
    if not (isinstance(error.get("data"), dict) and "code" in error["data"]):
        error.pop("message")
        error["data"] = error.get("data") or None
    return answer | {"error": error}


OLD_REQUESTS = [INITIALIZE, BEGUN, *(request(number, *call) for number, call in enumerate(CALLS, 2))]
NEW_REQUESTS = [request(number, name, (given or {}) | {"_meta": META}) for number, (name, given) in enumerate(CALLS)]
OTHERS: dict[str, list[dict[str, Any]]] = {
    "before the handshake": [request(1, "ping"), request(2, "tools/list"), INITIALIZE | {"id": 3}],
    "a second handshake": [INITIALIZE, BEGUN, INITIALIZE | {"id": 2}, request(3, "ping")],
    "the newer version after a handshake": [INITIALIZE, BEGUN, request(2, "tools/list", {"_meta": META})],
    "a handshake after the newer version": [
        request(1, "server/discover", {"_meta": META}),
        INITIALIZE | {"id": 2},
        request(3, "tools/list"),
        request(4, "ping", {"_meta": META}),
    ],
    "no capabilities": [request(1, "tools/list", {"_meta": {VERSION: NEW}})],
    "odd capabilities": [request(1, "tools/list", {"_meta": {VERSION: NEW, CAPABILITIES: None}})],
    "an unknown version": [request(1, "tools/list", {"_meta": META | {VERSION: "2099-01-01"}})],
    "an old version in metadata": [request(1, "server/discover", {"_meta": META | {VERSION: "2025-06-18"}})],
    "ids that are text": [INITIALIZE | {"id": "one"}, BEGUN, request("two", "ping"), request("", "ping")],
    **{
        f"a handshake for {version}": [
            INITIALIZE | {"params": INITIALIZE["params"] | {"protocolVersion": version}},  # type: ignore[operator]
            request(2, "tools/call", {"name": "check", "arguments": {"path": ["a"]}}),
        ]
        for version in ("2024-11-05", "2025-03-26", "2025-11-25", NEW, "2099-01-01", "")
    },
}


@pytest.mark.parametrize(
    "asked",
    [pytest.param(OLD_REQUESTS, id="old"), pytest.param(NEW_REQUESTS, id="new")]
    + [pytest.param(asked, id=name) for name, asked in OTHERS.items()],
)
def test_every_request_is_answered_as_the_sdk_answers_it(both: Here, asked: list[dict[str, Any]]):
    ours, theirs = answers(both, BB, asked), answers(both, [sys.executable, "-c", SDK], asked)

    assert set(ours) == {line["id"] for line in asked if "id" in line}
    assert {name: same(line) for name, line in ours.items()} == {name: same(line) for name, line in theirs.items()}


def test_lines_that_are_no_request_are_ignored(both: Here):
    env = environment(**both.repo.settings, BB_AGENT=AMBER)
    lines = [
        *(b"no", b"{}", b"[]", b"5", b"\xff\xfe", b"null", b"[" * 100_000, b'"x"', b"NaN"),
        *(b'{"jsonrpc": "2.0", "id": 1}', b'{"jsonrpc": "2.0", "id": 1, "method": 7}'),
        *(b'{"id": 1, "method": "ping"}', b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}'),
        *(b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}' % odd for odd in (b"null", b"true", b"1.5", b"{}", b"[]")),
        *(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": %s}' % odd for odd in (b"[1]", b"7", b'"x"')),
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
        b'{"jsonrpc": "2.0", "method": "notifications/nope", "params": {}}',
        b'[{"jsonrpc": "2.0", "id": 9, "method": "ping"}]',
        b'{"jsonrpc": "2.0", "id": 8, "result": {}}',
        b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}',
    ]

    ran = subprocess.run(
        BB, cwd=both.repo.path, env=env, input=b"\n".join(lines), capture_output=True, timeout=PATIENCE
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [{"jsonrpc": "2.0", "id": "last", "result": {}}]


def test_a_line_without_end_fills_no_memory_and_ends_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stdio, "LONGEST", 100)
    ping = json.dumps(request(1, "ping")).encode()
    reading, heard = io.BytesIO(b"x" * 950 + ping + b"\n" + ping + b"\n" + b"y" * 100 + b"\n" + ping), []

    stdio.hear_all(reading, lambda line: heard.append(line.strip()))

    assert heard == [ping, ping]


# -- calls that wait


class Waits:
    """A connection whose requests wait until they are told to end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.given_up: list[str] = []

    def work(self, method: str, params: dict[str, Any]) -> Callable[[Callable[[], bool]], dict[str, Any]]:
        if method == "ping":
            return lambda _: {}
        if method == "nope":
            raise RequestError(-32601, "Method not found", method)

        def wait(is_gone: Callable[[], bool]) -> dict[str, Any]:
            while not self.may_end.wait(0.005) and not is_gone():
                pass
            if is_gone():
                self.given_up.append(params["name"])
            return {"name": params["name"]}

        return wait


def said(written: io.BytesIO) -> list[Any]:
    return [json.loads(line)["id"] for line in written.getvalue().splitlines()]


def hear(host: stdio.Host, *messages: dict[str, Any]) -> None:
    for message in messages:
        host.hear(json.dumps(message).encode())


def waiting(count: int) -> list[dict[str, Any]]:
    return [request(number, "tools/call", {"name": str(number)}) for number in range(count)]


def test_more_calls_than_run_at_once_keep_no_other_request_waiting():
    connection, written = Waits(), io.BytesIO()
    host = stdio.Host(connection, written)  # type: ignore[arg-type]

    hear(host, *waiting(stdio.AT_ONCE + 8), request("p", "ping"), request("n", "nope"))
    assert said(written) == ["p", "n"]

    connection.may_end.set()
    host.settle()
    assert sorted(said(written)[2:]) == list(range(stdio.AT_ONCE + 8))


def test_a_cancelled_call_is_given_up_and_not_answered():
    connection, written = Waits(), io.BytesIO()
    host = stdio.Host(connection, written)  # type: ignore[arg-type]
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    hear(host, *waiting(3), cancel)
    until(lambda: connection.given_up == ["1"], "the end of the cancelled call")
    connection.may_end.set()
    host.settle()

    assert sorted(said(written)) == [0, 2]


def test_what_waits_at_the_end_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stdio, "LAST_WORDS", 0.01)
    connection, written = Waits(), io.BytesIO()
    host = stdio.Host(connection, written)  # type: ignore[arg-type]

    hear(host, *waiting(2))
    host.settle()

    until(lambda: sorted(connection.given_up) == ["0", "1"], "the end of both calls")
    assert said(written) == []


def test_a_bug_is_an_error_of_the_protocol_and_is_reported(capsys: pytest.CaptureFixture[str]):
    connection, written = Waits(), io.BytesIO()
    host = stdio.Host(connection, written)  # type: ignore[arg-type]
    connection.may_end.set()

    hear(host, request(1, "tools/call", {}))
    host.settle()

    (answer,) = map(json.loads, written.getvalue().splitlines())
    assert answer["error"] == {"code": -32603, "message": "KeyError in tools/call"}
    assert "ran into a bug" in capsys.readouterr().err


def test_a_connection_remembers_its_version_and_its_client(both: Here):
    connection = Connection(both.toolbox())

    assert connection.work("initialize", INITIALIZE["params"])(lambda: False)["protocolVersion"] == "2025-06-18"  # type: ignore[arg-type]
    with pytest.raises(RequestError) as refused:
        connection.work("tools/list", {"_meta": META})
    assert refused.value.code == -32600


def test_neither_the_sdk_nor_typer_is_imported_for_a_first_call(both: Here):
    """The SDK takes three times as long as all else that happens until then."""
    calls = [
        INITIALIZE,
        BEGUN,
        request(2, "tools/list"),
        request(3, "tools/call", {"name": "session", "arguments": {}}),
    ]
    code = "import sys, bb.mcp.run; bb.mcp.run.main([]); print(*sys.modules, file=sys.stderr)"

    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=both.repo.path,
        env=environment(**both.repo.settings, BB_AGENT=AMBER),
        input="".join(json.dumps(call) + "\n" for call in calls).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )

    assert len(ran.stdout.splitlines()) == 3
    heavy = {"mcp", "mcp_types", "pydantic", "anyio", "asyncio", "typer", "rich", "argparse", "logging", "json"}
    assert not heavy & set(ran.stderr.decode().split())
