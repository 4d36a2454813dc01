"""Ten minutes of everything at once: 500 connections, 50 streams, 20 programs on terminals, senders and readers.

Memory stays flat, every acknowledged event reaches every stream exactly once and in order, and no zombie is left.
BB_SOAK_SECONDS makes it shorter or longer.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bb.daemon.terminal.transcript import LIMIT
from tests.support import ROOT, environment
from tests.waiting import until

CONNECTIONS, STREAMS, ACTORS, SENDERS = 500, 50, 20, 4
SECONDS = float(os.environ.get("BB_SOAK_SECONDS", "600"))
PAUSE = 0.05  # seconds between two messages of one sender: the soak is about time, not about speed
WARM_UP = 0.3  # of the time, after which memory must not grow any more
GROWTH = 1.15

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


class Running:
    """A daemon and ways to ask it."""

    def __init__(self, home: Path) -> None:
        self.path = str(home / "daemon" / "ccccd.sock")
        settings = environment(CCCC_HOME=str(home))
        self.process = subprocess.Popen([sys.executable, "-m", "bb.daemon"], env=settings, cwd=ROOT)

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        try:
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        with self.connect() as connection, connection.makefile("rb") as file:
            connection.sendall(json.dumps({"v": 1, "op": op, "args": args}).encode() + b"\n")
            answer = json.loads(file.readline())
        assert answer["ok"], answer
        result: dict[str, Any] = answer["result"]
        return result

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

    def children(self) -> list[str]:
        """The states of its children."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == str(self.process.pid):
                found.append(fields[0])
        return found


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "home")
    try:
        until((tmp_path / "home" / "daemon" / "ccccd.addr.json").exists)
        yield running
    finally:
        running.process.terminate()
        running.process.wait(20)


class Soak:
    """What goes on at once."""

    def __init__(self, daemon: Running, group: str) -> None:
        self.daemon = daemon
        self.group = group
        self.until = time.monotonic() + SECONDS
        self.sent: list[str] = []
        self.seen: list[list[str]] = [[] for _ in range(STREAMS)]
        self.failures: list[BaseException] = []
        self.ready = threading.Semaphore(0)

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.until and not self.failures

    def start(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                self.failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def send(self) -> None:
        while self.goes_on:
            to = random.choice([[], [f"a{random.randrange(ACTORS)}"], ["@peers"], ["user"]])
            priority = random.choice(["normal", "normal", "attention"])
            text = f"{random.random()}"
            answer = self.daemon.call("send", group_id=self.group, text=text, to=to, priority=priority)
            self.sent.append(answer["event"]["id"])
            time.sleep(PAUSE)

    def read(self) -> None:
        while self.goes_on:
            whose = {"group_id": self.group, "actor_id": f"a{random.randrange(ACTORS)}"}
            self.daemon.call("inbox_list", **whose)
            self.daemon.call("inbox_mark_all_read", **whose, by=whose["actor_id"])
            self.daemon.call("terminal_tail", **whose)
            time.sleep(PAUSE * 5)

    def listen(self, place: int) -> None:
        with self.daemon.connect() as connection, connection.makefile("rb") as file:
            args = {"group_id": self.group, "kinds": ["chat.message"]}
            connection.sendall(json.dumps({"v": 1, "op": "events_stream", "args": args}).encode() + b"\n")
            assert json.loads(file.readline())["ok"]
            self.ready.release()
            connection.settimeout(None)
            for line in file:
                item = json.loads(line)
                if item["t"] == "event":
                    self.seen[place].append(item["event"]["id"])

    def idle(self) -> None:
        """Connections that say nothing, or half a line, and are sent away after a while."""
        held: list[socket.socket] = []
        while self.goes_on:
            while len(held) < CONNECTIONS:
                held.append(self.daemon.connect())
                if random.random() < 0.5:
                    held[-1].sendall(b'{"v": 1, "op"')
            time.sleep(0.5)
            for connection in random.sample(held, 50):
                connection.close()
                held.remove(connection)
        for connection in held:
            connection.close()

    def watch(self) -> list[tuple[float, int]]:
        """The daemon's memory, now and then."""
        started, memory = time.monotonic(), []
        while self.goes_on:
            memory.append((time.monotonic() - started, self.daemon.memory()))
            time.sleep(min(5, SECONDS / 20))
        return memory


def test_ten_minutes_of_everything_at_once(daemon: Running, tmp_path: Path) -> None:
    soak = Soak(daemon, with_actors(daemon, tmp_path / "scope"))
    streams = [soak.start(partial(soak.listen, place)) for place in range(STREAMS)]
    assert all(soak.ready.acquire(timeout=30) for _ in range(STREAMS))
    workers = [*(soak.start(soak.send) for _ in range(SENDERS)), soak.start(soak.read), soak.start(soak.idle)]
    memory = soak.watch()
    for worker in workers:
        worker.join(60)
    assert not soak.failures, soak.failures[0]
    wait_until(lambda: all(len(each) >= len(soak.sent) for each in soak.seen))

    for each in soak.seen:
        assert len(each) == len(set(each)), "an event came twice"
        assert set(soak.sent) == set(each), "an event was lost"
        assert each == soak.seen[0], "two streams differ in their order"
    assert all(stream.is_alive() for stream in streams)
    warm = [kilobytes for at, kilobytes in memory if at > SECONDS * WARM_UP]
    assert max(warm) < warm[0] * GROWTH, f"memory grows: {memory}"
    daemon.call("group_stop", group_id=soak.group)
    wait_until(lambda: not daemon.children())
    assert daemon.children() == [], "a child or a zombie is left"
    print(f"{len(soak.sent)} events to {STREAMS} streams, memory {memory[0][1]} to {memory[-1][1]} kB")


def with_actors(daemon: Running, scope: Path) -> str:
    """A group with programs that talk by themselves, and some that only listen. What is kept of their terminals is as
    much as ever is from the start, or memory would grow until it is."""
    scope.mkdir()
    group: str = daemon.call("group_create", title="Soak")["group_id"]
    daemon.call("attach", path=str(scope), group_id=group)
    full = f"yes 'much has been said' | head -c {LIMIT + 100_000}; "
    listener = ["sh", "-c", full + "while read line; do echo got; done"]
    talker = ["sh", "-c", full + "i=0; while :; do i=$((i+1)); echo line $i; sleep 1; done"]
    for n in range(ACTORS):
        command = talker if n % 2 else listener
        daemon.call("actor_add", group_id=group, actor_id=f"a{n}", runtime="custom", command=command)
        daemon.call("actor_start", group_id=group, actor_id=f"a{n}")
    return group


def wait_until(is_so: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.1)
