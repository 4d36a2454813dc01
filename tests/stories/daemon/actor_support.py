"""Actors that really run: small programs that write down what they are told, and clients at their terminals."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.stories.daemon.ipc_support import Daemon, end, request
from tests.support import is_running
from tests.waiting import PATIENCE, until

# Says when it is ready, and writes down each piece that is typed to it, with when.
LISTENER = """
import json, os, sys, time, tty
tty.setraw(0)
os.write(1, sys.argv[2].encode().decode("unicode_escape").encode("latin-1") + b"ready\\r\\n")
with open(sys.argv[1], "a", buffering=1) as heard:
    while True:
        octets = os.read(0, 65536)
        if not octets: break
        heard.write(json.dumps([time.time(), octets.decode("utf-8", "replace")]) + "\\n")
        if sys.argv[3:] == ["echo"]: os.write(1, octets)
"""
BASH = ["bash", "--norc", "--noprofile", "-i"]


class Stage:
    """A daemon, and a group with a directory that is no repository."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.daemon = Daemon(folder / "home", **settings).start()
        self.root = folder / "work"
        self.root.mkdir()
        self.group = self.daemon.call("attach", path=str(self.root))["group_id"]

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        return self.daemon.call(op, **{"group_id": self.group} | args)

    def code(self, op: str, **args: Any) -> str:
        return self.daemon.code(op, **{"group_id": self.group} | args)

    # -- actors

    def add(self, name: str, command: list[str], *, is_started: bool = True, **more: Any) -> dict[str, Any]:
        """Add an actor, and start it."""
        added = self.call("actor_add", actor_id=name, runtime="custom", runner="pty", command=command, **more)
        return self.start(name) if is_started else added

    def start(self, name: str) -> dict[str, Any]:
        return self.call("actor_start", actor_id=name)

    def listener(self, name: str, shows: str = "", *words: str, is_started: bool = True, **more: Any) -> Heard:
        """An actor that writes down what is typed to it."""
        heard = Heard(self.folder / f"{name}.heard")
        command = [sys.executable, "-u", "-c", LISTENER, str(heard.path), shows, *words]
        self.add(name, command, is_started=is_started, **more)
        if is_started:
            until(lambda: "ready" in self.tail(name), "an actor that is ready")
        return heard

    def bash(self, name: str = "shell", **more: Any) -> dict[str, Any]:
        return self.add(name, BASH, env={"PS1": "$ "}, **more)

    def actor(self, name: str) -> dict[str, Any]:
        return next(each for each in self.call("actor_list")["actors"] if each["id"] == name)

    def pid(self, name: str) -> int:
        """The process that an actor is, as the daemon has written it down."""
        found = [child for child in self.children() if child["actor"] == name]
        assert len(found) == 1, found
        return int(found[0]["pid"])

    def children(self) -> list[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            return list(json.loads((self.daemon.folder / "children.json").read_text())["children"])
        return []

    def tail(self, name: str, **more: Any) -> str:
        return str(self.call("terminal_tail", actor_id=name, **more)["text"])

    @contextlib.contextmanager
    def terminal(self, name: str, **more: Any) -> Iterator[Client]:
        """A client at an actor's terminal."""
        client = Client(self.daemon.connect(), self.group, name, more)
        try:
            yield client
        finally:
            client.close()

    # -- what is said, and what came of it

    def send(self, text: str, to: str | None = None, **more: Any) -> str:
        event = self.call("send", text=text, **({"to": [to]} if to else {}), **more)["event"]
        return str(event["id"])

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Every event of these kinds so far."""
        last = self.send("the end", to="user", message_mode="mail")
        found: list[dict[str, Any]] = []
        with self.daemon.stream(self.group, since_seq=0, kinds=[*kinds, "chat.message"]) as stream:
            while (event := stream.event())["id"] != last:
                found.append(event)
        return [event for event in found if event["kind"] in kinds]

    def notices(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events("system.notify") if event["data"]["kind"] == kind]

    def close(self) -> None:
        started = [child["pid"] for child in self.children()]
        end(self.daemon)
        for pid in started:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)


class Heard:
    """What was typed to an actor."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pieces(self) -> list[tuple[float, str]]:
        if not self.path.exists():
            return []
        return [tuple(json.loads(line)) for line in self.path.read_text().splitlines()]

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces())

    def until(self, text: str, seconds: float = PATIENCE) -> str:
        """All that was typed, once TEXT is among it."""
        until(lambda: text in self.text, lambda: f"{text!r} in {self.text!r}", seconds=seconds)
        return self.text

    def at(self, text: str) -> float:
        """When the piece that has TEXT was typed."""
        return next(at for at, piece in self.pieces() if text in piece)


class Client:
    """A client at an actor's terminal."""

    def __init__(self, client: socket.socket, group: str, actor: str, more: dict[str, Any]) -> None:
        self._socket = client
        client.sendall(request("term_attach", group_id=group, actor_id=actor, **more))
        self.shown = b""
        while b"\n" not in self.shown:
            self.shown += self._receive()
        line, _, self.shown = self.shown.partition(b"\n")
        self.answer = json.loads(line)

    def _receive(self, seconds: float = PATIENCE) -> bytes:
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(65536)
        except TimeoutError:
            return b""

    def type(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def sees(self, text: str) -> str:
        """All that was shown so far, once TEXT is among it."""

        def more() -> None:
            piece = self._receive()
            assert piece, f"the terminal is gone, and {text!r} was not shown: {self.shown[-2000:]!r}"
            self.shown += piece

        until(lambda: text.encode() in self.shown, lambda: f"{text!r} in {self.shown[-2000:]!r}", pause=more)
        return self.shown.decode(errors="replace")

    def ends(self) -> bool:
        """Whether the daemon closes the stream."""
        while piece := self._receive():
            self.shown += piece
        return True

    def close(self) -> None:
        self._socket.close()


def zombies_of(pid: int) -> list[int]:
    """The children of a process that have ended and that it has not collected."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = each.read_text().rpartition(")")[2].split()
            if fields[0] == "Z" and int(fields[1]) == pid:
                found.append(int(each.parent.name))
    return found


def gone(pid: int) -> Callable[[], bool]:
    return lambda: not is_running(pid)
