"""`bb mcp` as a process: started as hosts start it, on stdin and stdout and over HTTP, and how it ends."""

from __future__ import annotations

import json
import shlex
import signal
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from bb.cli.programs import extras, mcp_start
from bb.kernel import json_text
from tests.mcp.mcp_support import AMBER, COBALT, ERAS, INITIALIZE, NEW, OLD, Here
from tests.support import environment
from tests.waiting import PATIENCE

BB = [sys.executable, "-m", "bb"]
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}}


def started(here: Here, *words: str, **settings: str) -> subprocess.Popen[bytes]:
    env = environment(**{**here.repo.settings, **settings})
    return subprocess.Popen(
        [*BB, "mcp", *words], cwd=here.repo.path, env=env, stdin=-1, stdout=-1, stderr=-1, start_new_session=True
    )


def say(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(b"".join(json_text.dumps(each).encode() + b"\n" for each in messages))
    process.stdin.flush()


def heard(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


@pytest.mark.parametrize("era", [OLD, "auto", NEW])
def test_the_official_client_works_on_stdin_and_stdout_in_both_eras(both: Here, era: str):
    env = environment(**both.repo.settings, BB_AGENT=AMBER)
    starting = StdioServerParameters(command=BB[0], args=[*BB[1:], "mcp"], cwd=both.repo.path, env=env)

    async def talk() -> Any:
        with anyio.fail_after(PATIENCE):
            async with Client(stdio_client(starting, sys.__stderr__), mode=era) as client:
                tools = await client.list_tools()
                reserved = await client.call_tool("reserve", {"scope": ["src"], "bead": "bb-1"})
                status = await client.read_resource("bb://status")
                return client.protocol_version, len(tools.tools), reserved, json.loads(status.contents[0].text)

    version, tools, reserved, status = anyio.run(talk)

    assert version == ("2025-11-25" if era == OLD else NEW)
    assert tools == 10
    assert reserved.structured_content["agent_id"] == AMBER
    assert [each["scope"] for each in status["reservations"]] == ["src"]
    assert both.repo.json("agent", "status").data["summary"]["active"] == 1


def test_where_there_is_nothing_it_starts_and_says_so_and_what_is_no_message_ends_nothing(here: Here, tmp_path: Path):
    """A host that cannot start a server says nothing of why; an answer does."""
    process = started(here, "--directory", "${workspaceFolder}")

    say(process, INITIALIZE)
    assert heard(process)["result"]["serverInfo"]["name"] == "bb"
    assert process.stdin
    process.stdin.write(b"no message\n{}\n\xff\xfe\n")
    say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"}, CALL)
    answer = heard(process)
    out, err = process.communicate(timeout=PATIENCE)  # which ends its stdin

    assert (process.returncode, out, err) == (0, b"", b"")
    assert answer["id"] == 2
    assert answer["result"]["structuredContent"]["code"] == "NO_SUCH_DIRECTORY"


def test_what_was_asked_before_the_end_of_stdin_is_answered(both: Here):
    """As a script asks that pipes its requests."""
    process = started(both, BB_AGENT=AMBER)
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    calls = [CALL | {"id": number} for number in range(2, 12)]
    asked = "".join(json.dumps(each) + "\n" for each in [INITIALIZE, begun, *calls])

    out, err = process.communicate(asked.encode(), timeout=PATIENCE)

    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert (process.returncode, err) == (0, b"")
    assert set(answers) == set(range(1, 12))
    assert all(not answers[number]["result"]["isError"] for number in range(2, 12))


def test_what_waits_when_stdin_ends_is_not_waited_for(both: Here):
    both.repo.json("agent", "reserve", "--agent", COBALT, "--scope", "src", "--bead", "bb-1")
    process = started(both, BB_AGENT=AMBER, BB_NOW="")
    wait = {"name": "reserve", "arguments": {"scope": ["src"], "bead": "bb-2", "wait": 600}}
    say(process, INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, CALL | {"params": wait})
    heard(process)

    began = time.monotonic()
    process.communicate(timeout=PATIENCE)

    assert time.monotonic() - began < 10
    assert process.returncode == 0
    assert [each["agent_id"] for each in both.repo.json("agent", "status").data["reservations"]] == [COBALT]


def test_a_host_that_is_gone_is_no_bug(both: Here):
    process = started(both)
    say(process, INITIALIZE)
    heard(process)
    assert process.stdout
    process.stdout.close()

    say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"}, CALL)
    process.stdout = None
    _, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert b"Traceback" not in err


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_where_there_are_no_streams_nobody_is_served(here: Here, closed: str):
    command = f"exec {shlex.join(BB)} mcp {closed}"

    ran = subprocess.run(
        ["sh", "-c", command], cwd=here.repo.path, env=environment(), stdin=-3, capture_output=True, timeout=PATIENCE
    )

    assert ran.returncode == 2
    assert b"Error: [NOBODY_THERE]" in ran.stderr


def test_an_interruption_ends_it_at_once(both: Here):
    process = started(both)
    say(process, INITIALIZE)
    heard(process)

    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


# -- HTTP


@pytest.fixture
def served(both: Here) -> Iterator[tuple[Here, dict[str, Any], subprocess.Popen[bytes]]]:
    process = started(both, "--http", "--port", "0", "--json", BB_AGENT=AMBER)
    try:
        yield both, heard(process)["data"], process
    finally:
        process.kill()
        process.communicate()


def test_over_http_both_eras_work_for_whoever_shows_the_token_and_nobody_else(
    served: tuple[Here, dict[str, Any], subprocess.Popen[bytes]],
):
    here, told, process = served
    path = Path(told["token_file"])
    token = path.read_text().strip()
    shown = {"authorization": f"Bearer {token}"}

    # only its owner reads the token, which is made once and is in no commit
    assert path.parent == here.repo.store
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 40
    assert "mcp" not in here.repo.git("status", "--porcelain")

    async def talk(era: str) -> tuple[str, int, bool]:
        http = httpx2.AsyncClient(headers=shown)
        async with http, Client(streamable_http_client(told["url"], http_client=http), mode=era) as client:
            called = await client.call_tool("session", {})
            return client.protocol_version, len((await client.list_tools()).tools), called.is_error

    assert [anyio.run(talk, era) for era in ERAS] == [("2025-11-25", 10, False), (NEW, 10, False)]

    # and whoever does not, or comes from elsewhere, gets nothing
    port = told["url"].split(":")[2].split("/")[0]
    assert asked(told["url"], shown) == 200
    assert asked(told["url"], {}) == 401
    assert asked(told["url"], {"authorization": f"Bearer {token}x"}) == 401
    assert asked(told["url"], {"authorization": token}) == 401
    assert asked(told["url"].replace("/mcp", "/other"), {}) == 401
    assert asked(told["url"], shown | {"host": "evil.example"}) == 421
    assert asked(told["url"], shown | {"host": "127.0.0.1:1"}) == 421
    assert asked(told["url"], shown | {"origin": "http://evil.example"}) == 403
    assert asked(told["url"], shown | {"origin": "null"}) == 403
    assert asked(told["url"], shown | {"origin": f"http://localhost:{port}"}) == 200

    again = here.repo.bb("status")  # the ledger is where it was
    assert again.status == 0
    taken = subprocess.run(
        [*BB, "mcp", "--http", "--port", port, "--json"],
        cwd=here.repo.path,
        env=environment(**here.repo.settings),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (taken.returncode, json.loads(taken.stdout)["error"]["code"]) == (6, "PORT_TAKEN")

    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < 10
    assert process.returncode in (0, 130)
    assert out == b""
    assert token.encode() not in err
    assert b"Traceback" not in err
    assert path.read_text().strip() == token


def asked(url: str, headers: dict[str, str]) -> int:
    """With what status a request is answered."""
    wanted = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, json_text.dumps(INITIALIZE).encode(), wanted)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


# -- the command


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["--json"], 2, "STDOUT_IS_TAKEN"),
        (["--port", "80", "--json"], 2, "STDOUT_IS_TAKEN"),
        (["--http", "--port", "x", "--json"], 2, "INVALID_VALUE"),
        (["--http", "--port", "65536", "--json"], 2, "INVALID_VALUE"),
        (["--http", "--agent", "not an id", "--json"], 2, "INVALID_AGENT_ID"),
        (["--http", "--channel", "--json"], 2, "INVALID_VALUE"),
        (["--http", "install", "--host", "claude", "--json"], 2, "USAGE"),
        (["--frob", "--json"], 2, "UNKNOWN_OPTION"),
        (["fly", "--json"], 2, "UNKNOWN_COMMAND"),
        (["install", "--json"], 2, "MISSING_OPTION"),
    ],
)
def test_what_is_typed_wrongly_starts_nothing(here: Here, words: list[str], status: int, code: str):
    refused = here.repo.bb("mcp", *words)

    assert (refused.status, refused.code) == (status, code)
    assert refused.envelope["command"].startswith("mcp")


def test_a_port_is_of_no_use_on_stdin(here: Here):
    refused = here.repo.bb("mcp", "--port", "80")

    assert refused.status == 2
    assert refused.err.startswith("Error: [INVALID_VALUE] --port goes with --http")


def test_without_the_extra_it_says_how_to_get_it(here: Here, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(extras.EXTRAS, "mcp", ("mcp", "no_such_package"))

    refused = here.repo.bb("mcp", "--http", "--json")

    assert (refused.status, refused.code) == (4, "EXTRA_MISSING")
    assert "beadboard[mcp]" in refused.envelope["error"]["hint"]


def test_help_explains_the_server_and_the_command_beside_it(here: Here):
    shown = here.repo.bb("mcp", "--help").out

    assert shown.startswith("Usage: bb mcp [OPTIONS] [COMMAND [ARGS]...]")
    for word in ("--http", "--port", "--agent", "--directory", "--channel", "install", "bb mcp install --host HOST"):
        assert word in " ".join(shown.split())
    assert here.repo.bb("help", "mcp").out == shown
    assert "--undo" in here.repo.bb("mcp", "install", "--help").out
    assert "  mcp " in here.repo.bb("--help").out


def test_it_becomes_a_program_of_its_own_that_is_told_what_was_typed(here: Here, monkeypatch: pytest.MonkeyPatch):
    told: list[list[str]] = []

    def become(face: str, words: list[str]) -> None:
        told.append([face, *words])
        raise SystemExit(0)

    monkeypatch.setattr(extras, "exec_face", become)
    here.repo.bb("mcp", "--agent", AMBER, "--directory", "-x y")
    here.repo.bb("mcp", "--http", "--port", "0", "--json")
    here.repo.bb("mcp", "--channel", "--directory", "-x y")

    assert told == [
        ["mcp", f"--agent={AMBER}", "--directory=-x y"],
        ["mcp", "--http", "--json", "--port=0"],
        ["mcp", "--channel", "--directory=-x y"],
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], []),
        (["--agent", AMBER], [f"--agent={AMBER}"]),
        ([f"--agent={AMBER}", "--directory", "a=b c"], [f"--agent={AMBER}", "--directory=a=b c"]),
        (["--channel"], ["--channel"]),
        (["--channel", "--agent", AMBER], ["--channel", f"--agent={AMBER}"]),
        (["--channel", "--channel"], None),
        (["--channel=x"], None),
        (["--http"], None),
        (["--json"], None),
        (["--agent", "not an id"], None),
        (["--agent"], None),
        (["--agent", AMBER, "--agent", AMBER], None),
        (["--directory", "-x"], None),
        (["--directory="], None),
        (["--directory", "a\nb"], None),
        (["install"], None),
        (["--help"], None),
    ],
)
def test_hosts_start_it_without_waiting_for_typer(
    words: list[str], told: list[str] | None, monkeypatch: pytest.MonkeyPatch
):
    found: list[list[str]] = []
    monkeypatch.setattr(extras, "exec_face", lambda face, words: found.append([face, *words]))
    monkeypatch.setattr(sys, "stdin", None)

    mcp_start.exec_if_plain(words)

    assert found == ([] if told is None else [["mcp", *told]])
