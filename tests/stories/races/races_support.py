"""What the tests of races share: processes that stay, do as they are told and start together, and a second look at
the ledger afterwards.

What the processes do is in `doers.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bb.coordination.holdings import scopes
from bb.kernel import clock
from tests import preloaded
from tests.ledger.ledger_support import every_line, kept
from tests.servers import stands_still
from tests.stories.races import doers
from tests.stories.races.doers import COVERING
from tests.waiting import PATIENCE, until

# -- processes that stay


@dataclass
class Answer:
    """What an op answered, or how it refused."""

    data: Any = None
    code: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0  # the system's steady clock, the same in every process
    busy: float = 0.0  # seconds of processor time, the program's and the system's

    @property
    def reservation(self) -> str:
        assert self.code is None, self
        return self.data["reservation_id"]


class Worker:
    """A process that does ops for one agent, with a desk it keeps or with a fresh one for each."""

    def __init__(self, repo: Path, agent: str, gate: Path, *, is_fresh: bool = False) -> None:
        self.agent = agent
        self._repo = repo
        self._buffer = b""
        words = (repo, agent, gate, "fresh" if is_fresh else "")
        self._child = preloaded.call(doers.work, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start(self, op: str, *, now: str | None = None, is_gated: bool = False, **given: Any) -> None:
        """Ask for OP without waiting for its answer."""
        assert self._child.stdin is not None
        request = {
            "op": op,
            "given": {name.rstrip("_"): value for name, value in given.items()},
            "now": now,
            "gated": is_gated,
        }
        self._child.stdin.write(json.dumps(request).encode() + b"\n")
        self._child.stdin.flush()

    def answer(self) -> Answer:
        """The answer to what was started."""
        return Answer(**json.loads(self.line()))

    def do(self, op: str, **given: Any) -> Answer:
        """Ask for OP and wait."""
        self.start(op, **given)
        return self.answer()

    @property
    def has_answered(self) -> bool:
        """Whether there is something to be read from it."""
        assert self._child.stdout is not None
        return b"\n" in self._buffer or bool(select.select([self._child.stdout], [], [], 0)[0])

    def line(self) -> bytes:
        """The next line it says."""
        assert self._child.stdout is not None
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            assert select.select([self._child.stdout], [], [], end - time.monotonic())[0], f"{self.agent} says nothing"
            octets = os.read(self._child.stdout.fileno(), 1 << 16)
            assert octets, f"{self.agent} has ended"
            self._buffer += octets
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def pause(self) -> None:
        """Stop it between two looks at the ledger: its place in line is all that it keeps locked."""
        until(self._is_stopped_in_peace)

    def _is_stopped_in_peace(self) -> bool:
        self._child.send_signal(signal.SIGSTOP)
        until(lambda: stands_still(self._child.pid), f"{self.agent} to stop")
        if is_free(kept(self._repo)):
            return True
        self.go_on()
        return False

    def go_on(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()


class Crew:
    """Workers in one repository, and the gate at which they wait for each other."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self.workers: list[Worker] = []
        self._gate = Path(tempfile.mkdtemp(), "gate")
        os.mkfifo(self._gate)
        self._way = os.open(self._gate, os.O_RDWR)

    def hire(self, *agents: str, is_fresh: bool = False) -> list[Worker]:
        """One more worker for each of AGENTS."""
        hired = [Worker(self.repo, agent, self._gate, is_fresh=is_fresh) for agent in agents]
        self.workers += hired
        return hired

    def registered(self, *agents: str, **settings: Any) -> list[Worker]:
        """One more worker for each of AGENTS, all of which are registered."""
        hired = self.hire(*agents, **settings)
        for one in hired:
            one.start("agent.register", name=one.agent, role="builder")
        refused = [answer.code for one in hired if (answer := one.answer()).code]
        assert refused == [], refused
        return hired

    def race(self, op: str, runners: Iterable[tuple[Worker, dict[str, Any]]]) -> list[Answer]:
        """Let every worker do OP, each with its own arguments, at the same moment."""
        return self.race_of([(one, op, given) for one, given in runners])

    def race_of(self, runners: Sequence[tuple[Worker, str, dict[str, Any]]]) -> list[Answer]:
        """Let workers do one op each at the same moment.

        All of them stand at the gate, reading from one pipe, before one write opens it.
        """
        for one, op, given in runners:
            one.start(op, is_gated=True, **given)
        for one, _, _ in runners:
            assert one.line() == b"ready"
        os.write(self._way, b"." * len(runners))
        return [one.answer() for one, _, _ in runners]

    def disband(self) -> None:
        for one in self.workers:
            one.kill()
        os.close(self._way)
        shutil.rmtree(self._gate.parent)


@contextmanager
def crew(repo: Path) -> Iterator[Crew]:
    """Nobody yet; whoever is hired ends with the block."""
    found = Crew(repo)
    try:
        yield found
    finally:
        found.disband()


# -- what workers do by themselves


def run(function: Callable[..., None], *words: object) -> preloaded.Process:
    """A process that runs FUNCTION, one of `doers.py`, with WORDS as text."""
    return preloaded.call(function, *words, stdout=subprocess.PIPE, text=True)


# -- a second look at the ledger


def in_order(repo: Path) -> list[dict[str, Any]]:
    """Every line of the ledger in the total order, each chain having been checked."""
    return sorted(every_line(kept(repo)), key=lambda line: (line["l"], line["id"].partition(".")[0]))


def of_kind(lines: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind]


def meetings(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Every point of the order at which two agents held overlapping scopes, neither of them shared."""
    live: dict[str, tuple[str, str]] = {}
    found = []
    for line in lines:
        data = line["data"]
        if line["kind"] == "x.bb.reserved" and not data.get("shared"):
            for other, (agent, scope) in live.items():
                if agent != line["by"] and overlap(scope, data["scope"]):
                    found.append(f"{line['id']} {data['scope']} of {line['by']} meets {other} {scope} of {agent}")
            live[line["id"]] = (line["by"], data["scope"])
        elif line["kind"] in ("x.bb.released", "x.bb.expired", "x.bb.taken_over"):
            live.pop(data["reservation_id"], None)
    return found


def overlap(one: str, other: str) -> bool:
    if one in COVERING and other in COVERING:
        return True
    first, second = scopes.stored(one), scopes.stored(other)
    assert first is not None
    assert second is not None
    return scopes.compare(first, second, ignore_case=False) != scopes.DISJOINT


def standing(repo: Path) -> int:
    """How many files there are in the line of those who wait."""
    return len(list((kept(repo) / "queue").glob("*.json")))


def is_free(store: Path) -> bool:
    """Whether nobody is at the ledger just now: every lock can be had, that of the index among them."""
    with contextlib.ExitStack() as closing:
        for path in [*store.rglob("lock"), *store.rglob("lock.queue")]:
            try:
                fcntl.flock(closing.enter_context(path.open()), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        index = closing.enter_context(contextlib.closing(sqlite3.connect(store / "index.sqlite", timeout=0)))
        try:
            index.execute("BEGIN IMMEDIATE").connection.rollback()
        except sqlite3.OperationalError:
            return False
    return True


def waiters(repo: Path) -> list[str]:
    """The agents that the line names, in order."""
    found = []
    for path in sorted((kept(repo) / "queue").glob("*.json")):
        with contextlib.suppress(FileNotFoundError):  # it has just left
            found.append(json.loads(path.read_bytes())["agent"])
    return found


def ago(minutes: float) -> str:
    """So many minutes before now."""
    return clock.text(time.time_ns() // 1_000_000 - round(minutes * clock.MINUTE))


def ends_of(lines: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """How each place in line ended, by its id: at most once, unless something is wrong."""
    found: dict[str, list[str]] = {line["id"]: [] for line in of_kind(lines, "x.bb.queued")}
    for line in of_kind(lines, "x.bb.left_line"):
        found[line["data"]["place_id"]].append(line["data"]["how"])
    return found
