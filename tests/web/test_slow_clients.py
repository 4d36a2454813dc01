"""Clients that say half of what they want, or nothing: each is sent away, and keeps nobody else waiting.

Over plain sockets: no HTTP client of any library would do such things.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.wire import http_limits
from tests.near import Near, near
from tests.support import NOON, ROOT, environment
from tests.web.served import Caller, Served

MANY = http_limits.MOST_OPEN + 44
LONG = 60.0  # seconds; far more than anything here takes


@pytest.fixture(scope="module")
def served(the_scene: Path) -> Iterator[Served]:
    """No test changes anything there."""
    with Served(Near(the_scene)) as found:
        yield found


def head(port: int, *rows: str, path: str = "/sessions", method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *rows, "", ""]).encode()


def connected(crowd: contextlib.ExitStack, port: int) -> socket.socket:
    client = crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LONG))
    client.settimeout(LONG)
    return client


def until_closed(client: socket.socket) -> bytes:
    """What comes until the other end closes the connection, which it must."""
    said = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while piece := client.recv(1 << 16):
            said += piece
    return said


def test_three_hundred_half_requests_are_all_closed_and_a_page_comes_all_the_while(served: Served):
    caller = Caller(served)
    with contextlib.ExitStack() as crowd:
        halves = [connected(crowd, served.port) for _ in range(MANY)]
        for each in halves:
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                each.sendall(b"GET /sessions HTTP/1.1\r\nHost: 127.0")

        assert caller.get("/sessions").status == 200
        said = [until_closed(each) for each in halves]
        assert caller.get("/sessions").status == 200

    assert set(said) <= {b"", http_limits.TOO_SLOW}
    assert said.count(http_limits.TOO_SLOW) > 100, "those that were let wait are told why they are sent away"


@pytest.mark.parametrize("kind", ["half bodies", "half forms of one who may", "answers that are not read"])
def test_no_crowd_keeps_a_page_from_coming(served: Served, kind: str):
    caller = Caller(served)
    caller.get("/sessions")
    by_cookie = [f"Cookie: {caller.cookie}", f"Origin: {served.base}"]
    request = {
        "half bodies": head(served.port, "Content-Length: 100000", path="/", method="POST") + b"x",
        "half forms of one who may": head(served.port, *by_cookie, "Content-Length: 9", path="/act/ack", method="POST"),
        "answers that are not read": head(served.port, path="/") * 200,
    }[kind]
    with contextlib.ExitStack() as crowd:
        clients = [connected(crowd, served.port) for _ in range(MANY)]
        for each in clients:
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                each.sendall(request)
        time.sleep(0.3)  # until they are waited for; a page that came before that would prove nothing

        assert [caller.get("/sessions").status for _ in range(3)] == [200] * 3


def test_a_body_that_comes_after_its_answer_is_dropped_and_the_answer_is_read(served: Served):
    with contextlib.ExitStack() as crowd:
        client = connected(crowd, served.port)
        client.sendall(head(served.port, f"Content-Length: {1 << 22}", path="/", method="POST"))
        began, said = time.monotonic(), client.recv(12)
        _send(client, b"x" * (1 << 20), 3)
        said += until_closed(client)

    assert said.startswith(b"HTTP/1.1 40")
    assert said.count(b"HTTP/1.1") == 1
    assert time.monotonic() - began < http_limits.FOR_A_HEAD


@pytest.mark.parametrize("begun", ["nothing", "a second request"])
def test_who_says_nothing_more_is_sent_away(served: Served, begun: str):
    with contextlib.ExitStack() as crowd:
        client = connected(crowd, served.port)
        if begun == "a second request":
            client.sendall(head(served.port) + b"GET / HTTP/1.1\r\nHo")
        said = until_closed(client)

    assert said.count(b"HTTP/1.1 401") == (begun == "a second request")


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(served: Served):
    with contextlib.ExitStack() as crowd:
        client = connected(crowd, served.port)
        client.settimeout(0.2)
        client.sendall(b"GET /sessions HTTP/1.1\r\n")
        until, said = time.monotonic() + LONG, b"?"
        while said not in (b"", http_limits.TOO_SLOW):
            assert time.monotonic() < until
            try:
                client.sendall(b"X-A: b\r\n")
                said = client.recv(1000)
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                said = b""


def test_a_form_that_does_not_come_is_not_waited_for_and_is_no_bug(the_scene: Path):
    served = Served(Near(the_scene))
    try:
        caller = Caller(served)
        caller.get("/sessions")
        with contextlib.ExitStack() as crowd:
            client = connected(crowd, served.port)
            rows = [f"Cookie: {caller.cookie}", f"Origin: {served.base}", "Content-Length: 1000"]
            client.sendall(head(served.port, *rows, path="/act/ack", method="POST") + b"event=")

            assert b"HTTP/1.1 500" not in until_closed(client)
        assert caller.get("/sessions").status == 200
    finally:
        served.end()


def test_a_stream_that_goes_on_is_let_go_on_longer_than_any_request(served: Served):
    caller = Caller(served)
    caller.get("/sessions")
    with contextlib.ExitStack() as crowd:
        client = connected(crowd, served.port)
        client.sendall(head(served.port, f"Cookie: {caller.cookie}", path="/live?after="))
        heard, began = b"", time.monotonic()
        while heard.count(b"event: beat") < 1:
            piece = client.recv(1 << 16)
            assert piece, heard
            heard += piece

    assert time.monotonic() - began > http_limits.FOR_A_HEAD


def test_mcp_over_http_has_the_same_limits(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOON)
    command = [sys.executable, "-P", "-m", "bb", "mcp", "--http", "--port", "0", "--json"]
    env = environment(PYTHONPATH=str(ROOT)) | repo.settings
    server = subprocess.Popen(command, cwd=repo.path, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdout is not None
        about = json.loads(server.stdout.readline())["data"]
        port = int(about["url"].split(":")[2].partition("/")[0])
        token = Path(about["token_file"]).read_text().strip()
        with contextlib.ExitStack() as crowd:
            halves = [connected(crowd, port) for _ in range(20)]
            for each in halves:
                each.sendall(b"POST /mcp HTTP/1.1\r\nHost")
            large = connected(crowd, port)
            rows = [f"Authorization: Bearer {token}", "Content-Type: application/json", "Content-Length: 50000000"]
            large.sendall(head(port, *rows, path="/mcp", method="POST"))
            sender = threading.Thread(target=_send, args=(large, b" " * (1 << 20), 50), daemon=True)
            sender.start()

            assert b"HTTP/1.1 413" in until_closed(large)
            assert {until_closed(each) for each in halves} == {http_limits.TOO_SLOW}
    finally:
        server.terminate()
        server.communicate(timeout=LONG)


def _send(client: socket.socket, octets: bytes, times: int) -> None:
    with contextlib.suppress(OSError):
        for _ in range(times):
            client.sendall(octets)
