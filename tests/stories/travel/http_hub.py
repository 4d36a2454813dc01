"""A hub behind real smart HTTP: `git http-backend` behind a small server on the loopback interface."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class HttpHub:
    """The address of a repository, and how its server answers."""

    def __init__(self, repository: Path) -> None:
        self.root, self.name = repository.parent, repository.name
        self.port = 0
        # The status and the text for `receive` (a push), `upload`, `receive POST`, or "" for all; else git answers.
        self.when: dict[str, tuple[int, str]] = {}

    def address(self, user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}/{self.name}"


class Server(ThreadingHTTPServer):
    """The server of one hub."""

    def __init__(self, hub: HttpHub) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub = hub
        hub.port = self.server_address[1]


class Handler(BaseHTTPRequestHandler):
    """Answers as the hub wants, or lets git answer. Everybody may push."""

    server: Server

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        is_chunked = self.headers.get("Transfer-Encoding") == "chunked"
        self._answer(self._chunks() if is_chunked else self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _chunks(self) -> bytes:
        octets = b""
        while size := int(self.rfile.readline(), 16):
            octets += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return octets

    def _answer(self, given: bytes) -> None:
        service = "receive" if "receive-pack" in self.path else "upload"
        for wanted in ("", service, f"{service} {self.command}"):
            if wanted in self.server.hub.when:
                status, text = self.server.hub.when[wanted]
                fields = {"WWW-Authenticate": 'Basic realm="hub"'} if status == 401 else {}
                return self._send(status, {"Content-Type": "text/plain", **fields}, text.encode())
        return self._by_git(given)

    def _by_git(self, given: bytes) -> None:
        path, _, query = self.path.partition("?")
        env = {
            "GIT_PROJECT_ROOT": str(self.server.hub.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(given)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "somebody",
            "REMOTE_ADDR": "127.0.0.1",
            "PATH": "/usr/bin:/bin",
        }
        done = subprocess.run(["git", "http-backend"], input=given, env=env, capture_output=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(row.split(": ", 1) for row in head.decode().split("\r\n"))
        self._send(int(fields.pop("Status", "200").split()[0]), fields, body)

    def _send(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(repository: Path) -> Iterator[HttpHub]:
    """REPOSITORY, served over HTTP until the end of the block."""
    hub = HttpHub(repository)
    server = Server(hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
