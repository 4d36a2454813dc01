"""Relays on a real PostgreSQL server: in threads of the test, and in processes that are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from bb.ledger.carrier.postgres import PostgresCarrier, PostgresKeeper
from tests import preloaded
from tests.ledger.fleet.fleet_support import NOON, Machine
from tests.stories.fleet import relay_process


class Server:
    """A database as an engine of `fleet_support`."""

    kind = "postgres"

    def __init__(self, conninfo: str, of: dict[str, str] | None = None) -> None:
        self.conninfo = conninfo
        self.of = of or {}  # other addresses of some clones, such as that of a proxy
        self.before: Callable[[str], object] = print
        self.after: Callable[[str], object] = print

    def begin(self, repo: str, incarnation: str, first: int, heads: Any) -> None:
        with contextlib.closing(PostgresKeeper(self.conninfo)) as keeper:
            keeper.begin(repo, incarnation, first, heads)

    def carrier(self, repo: str, incarnation: str) -> PostgresCarrier:
        return PostgresCarrier(self.conninfo, repo, incarnation)


class Through(Server):
    """The same database through a proxy."""

    def __init__(self, server: Server, conninfo: str) -> None:
        super().__init__(server.conninfo)
        self._through = conninfo

    def carrier(self, repo: str, incarnation: str) -> PostgresCarrier:
        return PostgresCarrier(self._through, repo, incarnation)


class RelayProcess:
    """The relay of a clone in a process of its own. It is killed with SIGKILL at the step KILLED_AT, if that is given.
    The steps are counted: calls to the engine, and writes to files, each before and after it."""

    def __init__(self, machine: Machine, conninfo: str, killed_at: int = 0) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        words = (machine.clone.path, conninfo, killed_at)
        self._process = preloaded.call(relay_process.main, *words, env={**os.environ, "BB_NOW": NOON}, **pipes)

    def ask(self, kind: str, patience: float = 60.0, **about: Any) -> dict[str, Any] | None:
        """The answer; None if the process was killed before it."""
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"ask": kind, "patience": patience, **about}) + "\n")
            self._process.stdin.flush()
            if line := self._process.stdout.readline():
                found: dict[str, Any] = json.loads(line)
                return found
        return None

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self) -> int:
        """End the process in order. Returns the number of steps that it made, or 0 if it was killed."""
        with contextlib.suppress(BrokenPipeError):
            out, _ = self._process.communicate(timeout=120)
        if self._process.returncode == -signal.SIGKILL:
            return 0
        return int(out.strip().rpartition("\n")[2] or 0)


@contextlib.contextmanager
def running(machine: Machine, conninfo: str, killed_at: int = 0) -> Iterator[RelayProcess]:
    process = RelayProcess(machine, conninfo, killed_at)
    try:
        yield process
    finally:
        process.kill()
