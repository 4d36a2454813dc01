"""The server of the scripted model.

A request that offers tools is a turn of the agent, and gets the next turn of the script. A request without tools is a
side request, such as one for the title of a session: it gets a short text and uses nothing up.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from tests.hosts.model import anthropic, chat, gemini, responses
from tests.hosts.model.turns import Step, Turn

DIALECTS: dict[str, ModuleType] = {
    "/messages": anthropic,
    "/chat/completions": chat,
    "/responses": responses,
    "enerateContent": gemini,
}
COUNTS = {"input_tokens": 10, "totalTokens": 10}  # Anthropic's and Gemini's answers to a request to count tokens
LAST = "Done."  # when the script has ended


@dataclass
class Heard:
    """A request of the host."""

    path: str
    body: dict[str, Any]

    @property
    def is_turn(self) -> bool:
        return bool(self.body.get("tools"))

    @property
    def text(self) -> str:
        """Every text in the request that the model reads; its tools are not part of it."""
        return "\n".join(_texts({key: value for key, value in self.body.items() if key not in ("tools", "metadata")}))

    @property
    def tools(self) -> str:
        return json.dumps(self.body.get("tools", []))


@dataclass
class Model:
    """A scripted model, and what it was told."""

    script: list[Step] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # paths that are no question to a model
    url: str = ""

    @property
    def turns(self) -> list[Heard]:
        return [request for request in self.heard if request.is_turn]

    def answer(self, request: Heard) -> Turn:
        self.heard.append(request)
        if not request.is_turn:
            return LAST
        place = len(self.turns) - 1
        step = self.script[place] if place < len(self.script) else LAST
        return step() if callable(step) else step


def serve(model: Model) -> ThreadingHTTPServer:
    """Serve MODEL on a free port, in threads, until `shutdown()`."""
    handler = type("Handler", (_Handler,), {"model": model, "lock": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model
    lock: threading.Lock

    def do_POST(self) -> None:
        octets = self._body()
        path = self.path.partition("?")[0]
        dialect = next((module for ending, module in DIALECTS.items() if path.endswith(ending)), None)
        if dialect is None:
            self._other(path)
            return
        body = json.loads(octets)
        with self.lock:
            request = Heard(path, body)
            turn = self.model.answer(request)
            number = len(self.model.heard)
        if body.get("stream") or "stream" in path:
            self._stream(dialect, dialect.events(turn, body, number))
        else:
            self._json(dialect.whole(turn, body, number))

    def do_GET(self) -> None:
        self._other(self.path)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _other(self, path: str) -> None:
        """Anything but a question to a model, such as settings or a list of models. There is none of it."""
        self.model.others.append(f"{self.command} {path}")
        if path.endswith(("count_tokens", "countTokens")):
            self._json(COUNTS)
        else:
            self._json({"error": {"message": "there is nothing here"}}, 404)

    def _json(self, document: dict[str, Any], status: int = 200) -> None:
        octets = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def _stream(self, dialect: ModuleType, events: Iterator[tuple[str, dict[str, Any]]]) -> None:
        """Server-sent events. A named event repeats its name in its data, as all three protocols do."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for place, (name, data) in enumerate(events):
            head = f"event: {name}\n" if name else ""
            data = {"type": name, "sequence_number": place, **data} if name else data
            self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
        if dialect is chat:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Nothing: what a test needs to know is in the model."""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
