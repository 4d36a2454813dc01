"""A daemon of one's own in a folder of the test's, and a client that says exactly what it is told to.

Nothing here knows how the daemon is made: it is started as a user starts it, found as the specification says (IPC §3),
and spoken to in bytes. Whatever becomes of a test, its daemon is gone afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from tests import forks, preloaded
from tests.support import environment
from tests.waiting import PATIENCE, until

PROGRAM = "; import sys; from bb.daemon.__main__ import main; sys.exit(main())"
MOST = 5_000_000  # bytes of a line; more than any client reads


class Refusal(Exception):
    """The daemon says no."""

    def __init__(self, error: dict[str, Any]) -> None:
        assert set(error) >= {"code", "message", "details"}, error
        assert isinstance(error["code"], str), error
        assert isinstance(error["message"], str), error
        assert isinstance(error["details"], dict), error
        self.code, self.message, self.details = error["code"], error["message"], error["details"]
        super().__init__(f"{self.code}: {self.message}")


class Daemon:
    """One daemon, or the place where there can be one."""

    def __init__(self, home: Path, umask: int = 0o022, most_files: int = 0, before: str = "", **settings: str) -> None:
        self.home = home  # made by whoever needs it first
        self.most_files = most_files
        self.before = before  # what is done in the process before it becomes a daemon
        self.umask = umask
        self.settings = settings
        self.process: preloaded.Process | subprocess.Popen[bytes] | None = None
        home.parent.mkdir(parents=True, exist_ok=True)

    # -- its life

    @property
    def folder(self) -> Path:
        return self.home / "daemon"

    @property
    def descriptor(self) -> dict[str, Any]:
        found = json.loads((self.folder / "ccccd.addr.json").read_text())
        assert isinstance(found, dict)
        return found

    @property
    def env(self) -> dict[str, str]:
        """What leads a command to this daemon: `repo.bb(..., **daemon.env)`."""
        return {"CCCC_HOME": str(self.home)} | self.settings

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def said(self) -> str:
        """What it wrote into its log, and what it printed."""
        found = [path for path in (self.folder / "ccccd.log", self.printed) if path.exists()]
        return "".join(path.read_text(errors="replace") for path in found)

    @property
    def printed(self) -> Path:
        return self.home.parent / f"{self.home.name[:40]}.printed"

    @property
    def complaints(self) -> str:
        """What it wrote into its log of its own mistakes."""
        return "\n".join(line for line in self.said.splitlines() if " ERROR " in line)

    def spawn(self, **settings: str) -> preloaded.Process | subprocess.Popen[bytes]:
        """Start the program, and wait for nothing. It has an interpreter of its own where a setting needs that."""
        given = self.env | settings
        where: dict[str, Any] = {"cwd": self.home.parent, "env": environment(**given)}
        how: dict[str, Any] = {"start_new_session": True, "umask": self.umask}
        with self.printed.open("ab") as printed:
            if not (self.most_files or self.before) and forks.may_run(given):
                return preloaded.start("bb.daemon", **where, **how, stdout=printed, stderr=printed)
            limited = ["sh", "-c", f'ulimit -n {self.most_files}; exec "$@"', "sh"] if self.most_files else []
            program = ["-c", self.before + PROGRAM] if self.before else ["-m", "bb.daemon"]
            command = [*limited, sys.executable, *program]
            return subprocess.Popen(command, **where, **how, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)

    def start(self, **settings: str) -> Daemon:
        """Start it, and wait until it can be found."""
        self.process = process = self.spawn(**settings)
        until(lambda: process.poll() is not None or self._is_described(), "a descriptor")
        assert process.poll() is None, self.said
        return self

    def _is_described(self) -> bool:
        with contextlib.suppress(OSError, ValueError, KeyError, AssertionError):
            return bool(self.descriptor["pid"] == self.pid)
        return False

    def stop(self) -> int:
        """Ask it to end as a system does; its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def fails(self, **settings: str) -> tuple[int, str]:
        """Start a program that is to end by itself; its exit status, and what it says."""
        before = len(self.said)
        status = self.spawn(**settings).wait(PATIENCE)
        return status, self.said[before:]

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)

    # -- what is said to it

    def connect(self, seconds: float = PATIENCE) -> socket.socket:
        """A connection, by the descriptor; its token, where there is one, is shown already."""
        client = self.connect_as_a_stranger(seconds)
        if token := self.descriptor.get("token"):
            client.sendall(json.dumps({"v": 1, "auth": token}).encode() + b"\n")
        return client

    def connect_as_a_stranger(self, seconds: float = PATIENCE) -> socket.socket:
        """A connection, as anybody has who knows where the daemon listens."""
        found = self.descriptor
        if found["transport"] == "unix":
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.settimeout(seconds)
            try:
                client.connect(found["path"])
            except OSError:
                client.close()
                raise
            return client
        return socket.create_connection((found["host"], found["port"]), timeout=seconds)

    def line(self, octets: bytes) -> dict[str, Any]:
        """Say OCTETS, and read the one line that is answered."""
        with self.connect() as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it had heard enough
                client.sendall(octets)
            return answer_of(client)

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        """Ask for an operation; the whole answer."""
        return self.line(request(op, **args))

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        """Ask for an operation; its result. Raises what is refused."""
        answer = self.ask(op, **args)
        if not answer["ok"]:
            raise Refusal(answer["error"])
        result = answer["result"]
        assert isinstance(result, dict), result
        return result

    def refusal(self, op: str, **args: Any) -> dict[str, Any]:
        """Ask for an operation that is refused; the error."""
        answer = self.ask(op, **args)
        assert answer["ok"] is False, answer
        error: dict[str, Any] = answer["error"]
        return error

    def code(self, op: str, **args: Any) -> str:
        """Ask for an operation that is refused; the code of the refusal."""
        return str(self.refusal(op, **args)["code"])

    def stream(self, group_id: str, **args: Any) -> Stream:
        """Listen to a group."""
        return Stream(self.connect(), group_id, args)


class Stream:
    """A connection that was upgraded to a stream of events."""

    def __init__(self, client: socket.socket, group_id: str, args: dict[str, Any]) -> None:
        self.socket = client
        client.sendall(request("events_stream", group_id=group_id, **args))
        self._lines = client.makefile("rb")
        answer = json.loads(self._lines.readline())
        if not answer["ok"]:
            self.close()
            raise Refusal(answer["error"])
        assert answer["result"] == {"group_id": group_id}

    def item(self) -> dict[str, Any] | None:
        """The next item; None when the stream has ended."""
        raw = self._lines.readline(MOST)
        return json.loads(raw) if raw else None

    def event(self) -> dict[str, Any]:
        """The next event."""
        while (item := self.item()) is not None:
            if item["t"] == "event":
                event = item["event"]
                assert isinstance(event, dict)
                return event
        raise AssertionError("the stream has ended")

    def events(self, count: int) -> list[dict[str, Any]]:
        return [self.event() for _ in range(count)]

    def close(self) -> None:
        self._lines.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def request(op: str, **args: Any) -> bytes:
    """A request as a client writes it."""
    return json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n"


def answer_of(client: socket.socket) -> dict[str, Any]:
    """The one line that comes, and that nothing comes behind it."""
    octets = b""
    while not octets.endswith(b"\n") and len(octets) < MOST:
        piece = client.recv(1 << 16)
        if not piece:
            break
        octets += piece
    assert octets.endswith(b"\n"), f"no whole line: {octets[:200]!r}"
    assert octets.count(b"\n") == 1, f"more than one line: {octets[:200]!r}"
    return well_formed(octets)


def well_formed(octets: bytes) -> dict[str, Any]:
    """An answer that is as the specification wants every answer (IPC §5.2, §6)."""
    answer = json.loads(octets.decode("utf-8"))
    assert set(answer) <= {"v", "ok", "result", "error"}, answer
    assert answer["v"] == 1
    assert isinstance(answer["result"], dict), answer
    if answer["ok"] is True:
        assert answer.get("error") is None, answer
    else:
        assert answer["ok"] is False, answer
        Refusal(answer["error"])
    return answer


@contextlib.contextmanager
def running(home: Path, umask: int = 0o022, most_files: int = 0, before: str = "", **settings: str) -> Iterator[Daemon]:
    """A daemon, as long as it is needed."""
    daemon = Daemon(home, umask, most_files, before, **settings)
    try:
        yield daemon.start()
    finally:
        end(daemon)


def end(daemon: Daemon) -> None:
    """Let nothing of it run any longer: neither it, nor the programs it has started."""
    try:
        started, short = _children(daemon), _short_folder(daemon)
    finally:
        daemon.kill()
    if short:
        shutil.rmtree(short, ignore_errors=True)
    for pid in started:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def _short_folder(daemon: Daemon) -> Path | None:
    """Where its socket is, if it could not be in its home; a killed daemon leaves it behind."""
    with contextlib.suppress(OSError, ValueError, KeyError, AssertionError):
        folder = Path(daemon.descriptor["path"]).parent
        return folder if folder.name.startswith("bb-") else None
    return None


def _children(daemon: Daemon) -> list[int]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        written = json.loads((daemon.folder / "children.json").read_text())
        return [child["pid"] for child in written["children"] if is_ours(child["pid"])]
    return []


def is_ours(pid: int) -> bool:
    """Whether a process is a program that some daemon of ours has started, and not another with a number used anew."""
    with contextlib.suppress(OSError):
        return b"CCCC_ACTOR_ID=" in Path(f"/proc/{pid}/environ").read_bytes()
    return False
