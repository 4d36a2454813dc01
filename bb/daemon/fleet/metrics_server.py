"""`/metrics` on the loopback interface: numbers about the relays, in the text format of Prometheus. Off unless asked.

Any user of the machine can connect to a port, so the answer has numbers and the names of repositories, and no path. A
page in a browser can reach the port too, under a name of its own (DNS rebinding), so the Host of a request is checked.
One client is served at a time, each for a short while.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from bb.daemon.loop.log import Log
from bb.kernel.errors import Usage
from bb.wire import loopback

SETTING = "BB_DAEMON_METRICS"
HOSTS = frozenset(["127.0.0.1", "localhost", "[::1]"])
PATIENCE = 2.0  # seconds for a whole request, and for its answer
LARGEST = 8192  # bytes of a request's head
TEXT = "text/plain; version=0.0.4; charset=utf-8"
HEAD_END = b"\r\n\r\n"

InvalidMetricsPort = Usage.declare(
    "INVALID_METRICS_PORT", f"{SETTING} must be a port from 1 to 65535", hint=f"for example {SETTING}=9187"
)


def port_of(written: str) -> int | None:
    """The port that the environment names; None if it names none."""
    if not written.strip():
        return None
    if not (written.isascii() and written.isdigit() and 0 < int(written) < 1 << 16):
        raise InvalidMetricsPort(f"{SETTING} is {written[:20]!r}, which is not a port")
    return int(written)


class MetricsServer:
    """Serves what COLLECT returns at PORT, until it is closed."""

    def __init__(self, port: int, collect: Callable[[], str], log: Log) -> None:
        self.port = port
        self._collect = collect
        self._log = log
        self._listener = loopback.listening(port)
        self._is_over = False
        self._thread = threading.Thread(target=self._serve, name="bb-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        with contextlib.suppress(OSError):  # not every system allows this; closing is enough there
            self._listener.shutdown(socket.SHUT_RDWR)  # ends `accept`
        self._listener.close()

    def _serve(self) -> None:
        while not self._is_over:
            try:
                client, _ = self._listener.accept()
            except OSError:
                time.sleep(0.1)  # it is being closed, or for example no file handles are left
                continue
            try:
                with client:
                    client.settimeout(PATIENCE)
                    client.sendall(self._answer(_head_of(client)))
            except OSError:
                continue  # it sent nothing in time, or has left
            except Exception as error:
                self._log.bug("/metrics", error)

    def _answer(self, head: bytes) -> bytes:
        method, path, host = _asked(head)
        if not _is_this_machine(host):
            return _http("403 Forbidden", "The Host of the request is not this machine.\n")
        if path.partition("?")[0] != "/metrics":
            return _http("404 Not Found", "There is only /metrics.\n")
        if method not in ("GET", "HEAD"):
            return _http("405 Method Not Allowed", "Only GET is allowed.\n")
        return _http("200 OK", self._collect(), is_head=method == "HEAD")


def _head_of(client: socket.socket) -> bytes:
    """The head of the request."""
    head, deadline = b"", time.monotonic() + PATIENCE
    while HEAD_END not in head and len(head) < LARGEST:
        client.settimeout(max(deadline - time.monotonic(), 0.001))
        piece = client.recv(LARGEST)
        if not piece:
            break
        head += piece
    return head


def _asked(head: bytes) -> tuple[str, str, str]:
    """The method, the path and the Host of a request; empty if it is not one."""
    first, *fields = head.partition(HEAD_END)[0].decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, version = rest.partition(" ")
    hosts = [value.strip() for name, _, value in (field.partition(":") for field in fields) if name.lower() == "host"]
    if not version.startswith("HTTP/1.") or len(hosts) != 1:
        return "", "", ""
    return method, path, hosts[0]


def _is_this_machine(host: str) -> bool:
    """Whether a Host names this machine, with or without a port."""
    name, colon, port = host.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        name = host
    return name.lower() in HOSTS


def _http(status: str, text: str, *, is_head: bool = False) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {TEXT}\r\nContent-Length: {len(body)}\r\n"
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if is_head else body)
