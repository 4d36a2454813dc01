"""What the fake platforms have in common: an HTTP server on the loopback that can fail as platforms and networks do.

A failure is planned for the next call of a method. `after` failures happen when the platform has done what was asked:
the worst moment for a program that must do everything once.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RESET = struct.pack("ii", 1, 0)  # a closed connection is reset


@dataclass
class Reply:
    """The answer to one call."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """One call, as it came."""

    verb: str
    path: str  # with its query
    headers: dict[str, str]
    body: bytes


Failure = Callable[[BaseHTTPRequestHandler], Reply | None]


def too_many(seconds: float = 1) -> Failure:
    """Too many requests: wait SECONDS."""
    return lambda _: Reply({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": str(seconds)})


def broken(_: BaseHTTPRequestHandler) -> Reply:
    """The platform has a bad day."""
    return Reply("oops", 500)


def reset(handler: BaseHTTPRequestHandler) -> None:
    """The connection is reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    handler.close_connection = True


def kill(end: Callable[[], object]) -> Failure:
    """The bot is killed at this moment."""

    def failure(handler: BaseHTTPRequestHandler) -> None:
        end()
        reset(handler)

    return failure


class Platform:
    """A fake platform. `name_of` says which method a call is; `answer` does it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._before: dict[str, list[Failure | None]] = defaultdict(list)
        self._after: dict[str, list[Failure | None]] = defaultdict(list)
        self._one_at_a_time = threading.RLock()
        handler = type("Handler", (_Handler,), {"platform": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def fail(self, method: str, *failures: Failure | None, after: bool = False) -> None:
        """The next calls of METHOD fail; with AFTER, once they are done. None stands for a call that does not fail."""
        (self._after if after else self._before)[method].extend(failures)

    def called(self, method: str) -> list[dict[str, Any]]:
        """The arguments of each call of METHOD."""
        return [about for name, about in self.calls if name == method]

    def method(self, call: Call) -> tuple[str, dict[str, Any]]:
        """The name of the method of CALL, and its arguments."""
        raise NotImplementedError

    def answer(self, method: str, about: dict[str, Any]) -> Reply:
        """Do what is asked."""
        raise NotImplementedError

    def handled(self, call: Call, handler: BaseHTTPRequestHandler) -> Reply | None:
        """The answer to CALL; None if it gets none."""
        method, about = self.method(call)
        with self._one_at_a_time:
            self.calls.append((method, about))
            if self._before[method] and (failure := self._before[method].pop(0)):
                return failure(handler)
            reply = self.answer(method, about)
            if self._after[method] and (failure := self._after[method].pop(0)):
                return failure(handler)
            return reply

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    platform: Platform
    protocol_version = "HTTP/1.1"

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.platform.handled(Call(self.command, self.path, dict(self.headers), body), self)
        if reply is None:
            return
        octets = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        octets = b"" if reply.status == 204 else octets
        self.send_response(reply.status)
        kind = {} if reply.status == 204 else {"Content-Type": "application/json"}
        for name, value in {**kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _any  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Nothing: the calls are kept."""
