"""A daemon of a test's own: a process with its home in a temporary folder, and its clients.

Clients here read the descriptor and speak lines of JSON by themselves, as somebody does who has only the specification.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import environment
from tests.waiting import PATIENCE, until

MOST_ANSWER = 4_000_000  # bytes that a client reads


@dataclass
class Daemon:
    """One daemon. It may be stopped and started again; its home stays."""

    home: Path
    env: dict[str, str]  # what leads a command to it: `repo.bb(..., **daemon.env)`
    process: subprocess.Popen[bytes] | None = None

    @property
    def descriptor(self) -> dict[str, Any]:
        return json.loads((self.home / "daemon" / "ccccd.addr.json").read_text())

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bb.daemon"],
                cwd=self.home,
                env=environment(**self.env),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        until(self._listens, "the daemon to listen")

    def _listens(self) -> bool:
        """Whether it has written its descriptor, and not one before it."""
        assert self.process is None or self.process.poll() is None, (self.home / "said").read_text()
        try:
            return self.process is not None and self.descriptor["pid"] == self.process.pid
        except FileNotFoundError:
            return False

    def stop(self) -> int | None:
        """End it, the hard way if it takes too long; its exit status, if it ran."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.terminate()
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait(PATIENCE)

    def connect(self) -> socket.socket:
        """A connection, for those who want more than one answer of it."""
        where = self.descriptor
        is_unix = where["transport"] == "unix"
        client = socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET, socket.SOCK_STREAM)
        client.settimeout(PATIENCE)
        client.connect(where["path"] if is_unix else (where["host"], where["port"]))
        if "token" in where:
            client.sendall(json.dumps({"v": 1, "auth": where["token"]}).encode() + b"\n")
        return client

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        """The answer to a request."""
        with self.connect() as client:
            client.sendall(json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(client.makefile("rb").readline(MOST_ANSWER))
        assert set(answer) == {"v", "ok", "result", "error"}, answer
        assert answer["ok"] is (answer["error"] is None), answer
        return answer

    def result(self, op: str, **args: Any) -> dict[str, Any]:
        """The result of a request that is granted."""
        answer = self.call(op, **args)
        assert answer["ok"], answer["error"]
        return answer["result"]

    def refusal(self, op: str, **args: Any) -> dict[str, Any]:
        """The error of a request that is refused."""
        answer = self.call(op, **args)
        assert not answer["ok"], answer["result"]
        return answer["error"]


@contextmanager
def running(home: Path, **settings: str) -> Iterator[Daemon]:
    """A daemon, as long as it is needed."""
    made = Daemon(home, {"CCCC_HOME": str(home), **settings})
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that runs, in a home where nothing has been."""
    with running(tmp_path / "home") as made:
        yield made
