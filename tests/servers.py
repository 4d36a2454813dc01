"""What the servers of tests have in common: each is a process with a folder, which can be killed at once, stand still,
be started again with what its disk has, and be put back to an earlier copy of its data. It ends with the process that
started it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support import is_running
from tests.waiting import until

MEMORY = Path("/dev/shm")
# When this process has ended without a word, the server ends, and its folder goes.
END = 'read -r it; kill "-$2" "$0"; for _ in 1 2 3 4 5 6 7 8 9; do kill -0 "$0" 2>&- && sleep 1; done; rm -rf "$1"'


def stands_still(pid: int) -> bool:
    """Whether a process that got SIGSTOP has stopped, with all its threads. One that has ended stands still, too."""
    states = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            states.append(stat.read_text(errors="replace").rpartition(")")[2].split()[0])
    return all(state in "TtZX" for state in states)


def free_port() -> int:
    """A port of loopback that nobody has."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@contextlib.contextmanager
def folder_of_a_server(under: Path | None = None) -> Iterator[Path]:
    """A folder for a server, in memory, or UNDER another one."""
    if under is None and os.access(MEMORY, os.W_OK):
        under = MEMORY
    folder = Path(tempfile.mkdtemp(prefix="bb-engine-", dir=under))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Server(ABC):
    """A server: FOLDER has its data in `data`, unless they are elsewhere, and what it says in `log`."""

    ends_at_once_by = "KILL"  # the signal
    stops_by = signal.SIGTERM

    def __init__(self, folder: Path, data: Path | None = None) -> None:
        self.folder, self.data, self.port = folder, data or folder / "data", free_port()
        self._server: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    # -- what each kind of server does in its own way

    @abstractmethod
    def _command(self) -> Sequence[str | Path]: ...

    def _how(self) -> Mapping[str, object]:
        """How the process is started, beside its command."""
        return {}

    @abstractmethod
    def _write_settings(self) -> None: ...

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server, which runs, can be used."""

    # -- starting and ending

    def start_again(self) -> None:
        """Start the server on the data that there is, and wait until it answers."""
        self.begin_to_start()
        self.wait_until_it_answers()

    def begin_to_start(self) -> None:
        """Start the server. It may need others before it answers."""
        assert self._server is None, "it runs"
        self._write_settings()
        with open(self.folder / "log", "ab") as log:
            self._server = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._how()
            )
        words = [str(self._server.pid), self.folder, self.ends_at_once_by]
        self._watcher = subprocess.Popen(["sh", "-c", END, *words], stdin=subprocess.PIPE)

    def wait_until_it_answers(self) -> None:
        def answers() -> bool:
            assert self._server is not None
            assert self._server.poll() is None, f"the server has ended: {self._said()}"
            return self._answers()

        until(answers, lambda: f"the server: {self._said()}")

    def kill_hard(self) -> None:
        """SIGKILL for every process of the server at once."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut down as the system does when it goes down."""
        self._end(self.stops_by)

    @property
    def is_started(self) -> bool:
        return self._server is not None

    def pids(self) -> list[int]:
        """Every process of the server, the first one first."""
        if self._server is None:
            return []
        pid = self._server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        with contextlib.suppress(OSError):
            return [pid, *map(int, children.read_text().split())]
        return [pid]

    def freeze(self) -> None:
        """Let every process of the server stand still: it takes connections, and answers nothing. On a busy machine it
        takes a while until the signal reaches all threads, and until then they go on."""
        self._signal(signal.SIGSTOP)
        until(lambda: all(map(stands_still, self.pids())), "the processes of the server")

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def rewind(self, backup: Path) -> None:
        """Put the data back to a copy, as somebody does who restores a backup, and start again."""
        if self.is_started:
            self.kill_hard()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", backup, self.data], check=True)
        self.start_again()

    def _said(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def _signal(self, number: int) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end(self, number: signal.Signals) -> None:
        server, watcher = self._server, self._watcher
        if server is None or watcher is None:
            return
        watcher.kill()
        watcher.communicate()
        pids = self.pids()
        if number == signal.SIGKILL:
            self._signal(signal.SIGSTOP)  # so that none of them starts another meanwhile
            pids = self.pids()
            self._signal(signal.SIGKILL)
        else:
            self.thaw()
            server.send_signal(number)
        server.wait()
        until(lambda: not any(map(is_running, pids)), "the end of the server's processes")
        self._server = self._watcher = None
