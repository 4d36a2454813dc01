"""What the stories of reserving in a fleet share: two clones with a home and a daemon each, and a proxy before the
engine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bb.kernel import clock
from bb.ledger.local import fleet_files
from bb.ledger.published import fleet_results
from tests.engines import Postgres, Proxy
from tests.stories.daemon.cli_support import ended
from tests.support import Ran, Scratch, is_running, scratch
from tests.waiting import until

AMBER, COBALT = "amber-otter", "cobalt-harbor"


@dataclass
class Side:
    """A clone on a machine of its own: one agent, one home, one daemon."""

    at: Scratch
    agent: str

    def json(self, *words: str, **settings: Any) -> Ran:
        return self.at.json(*words, **{"BB_AGENT": self.agent, **settings})

    def text(self, *words: str, **settings: Any) -> Ran:
        return self.at.bb(*words, **{"BB_AGENT": self.agent, **settings})

    def reserve(self, scope: str, *more: str, **settings: Any) -> Ran:
        """Ask for SCOPE, and again if a busy machine has made the engine's answer late."""
        words = ("agent", "reserve", "--scope", scope, *more)
        return until(lambda: "FLEET_BEHIND" not in (found := self.json(*words, **settings)).out and found)

    def waits(self, scope: str, seconds: str) -> Ran:
        """Wait for SCOPE, in a process beside those that the test starts meanwhile."""
        return self.at.started("reserve", scope, "--wait", seconds, "--json", BB_AGENT=self.agent)

    def token(self, scope: str) -> int | None:
        """The token of our reservation of SCOPE; None without one."""
        rows = self.json("agent", "status", "--agent", self.agent).data["reservations"]
        return next((row["token"] for row in rows if row["scope"] == scope and row.get("global")), None)

    def state(self, scope: str) -> str | None:
        rows = self.json("agent", "status", "--agent", self.agent).data["reservations"]
        return next((row["state"] for row in rows if row["scope"] == scope), None)

    @property
    def store(self) -> str:
        return str(self.at.store)

    def lines(self) -> int:
        """How many lines this clone has recorded."""
        return sum(file.read_bytes().count(b"\n") for file in Path(self.store, "j").glob("*/*.jsonl"))

    def daemon(self) -> int:
        """The process that runs the relay of this clone."""
        return int(json.loads(Path(fleet_files.path(self.store, fleet_files.ADDRESS)).read_text())["pid"])

    def restart_daemon(self, meanwhile: Callable[[], None]) -> None:
        """Stop the daemon, do something, and start it again."""
        assert self.text("daemon", "stop").status == 0
        meanwhile()
        assert self.text("daemon", "start").status == 0

    def has_been_silent(self, minutes: int) -> None:
        """Let the last sign of life of the agent be so many minutes old."""
        path = Path(self.store) / "presence" / f"{self.agent}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seen_at": ago(minutes), "steady": 0}))

    def has_heard(self, other: str, since: int, last: int = 0) -> None:
        """Let this clone have heard other machines from some minutes ago until some minutes ago, and have heard nothing
        of the agent OTHER since then. Its daemon must not run."""
        (Path(self.store) / "presence" / "remote" / f"{other}.json").unlink(missing_ok=True)
        until_then = now_ms() - last * clock.MINUTE
        about = {"hears_since": now_ms() - since * clock.MINUTE, "hears_last": until_then, "hears_engine": until_then}
        with contextlib.closing(sqlite3.connect(fleet_results.path_of(self.store))) as file, file:
            file.executemany("insert or replace into about values (?, ?)", about.items())

    def kill_daemon(self) -> None:
        pid = self.daemon()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_running(pid), "the end of the daemon")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def ago(minutes: int) -> str:
    return clock.text(now_ms() - minutes * clock.MINUTE)


@dataclass
class Fleet:
    """Two clones that have joined a fleet, and the proxy through which the first one reaches the engine."""

    here: Side
    there: Side
    proxy: Proxy
    server: Postgres
    database: str


@contextlib.contextmanager
def fleet(tmp_path: Path, server: Postgres, there: Mapping[str, str] | None = None) -> Iterator[Fleet]:
    """A fleet on a database of its own. Every daemon ends with it. THERE are settings of the second machine."""
    database = server.database()
    target = str(server.folder / f".s.PGSQL.{server.port}")

    def address(port: int | None) -> str:
        through = f"host=127.0.0.1 port={port} dbname={database} user=postgres sslmode=disable"
        return through if port else server.conninfo(database)

    with fleet_on(tmp_path, target, address, there) as (here, other, proxy):
        yield Fleet(here, other, proxy, server, database)


@contextlib.contextmanager
def fleet_on(
    tmp_path: Path,
    target: tuple[str, int] | str,
    address: Callable[[int | None], str],
    there: Mapping[str, str] | None = None,
) -> Iterator[tuple[Side, Side, Proxy]]:
    """A fleet on any engine: two machines, and the proxy before TARGET through which the first one reaches it. ADDRESS
    is that of the engine, or of a port in front of it."""
    of = {"a": {}, "b": dict(there or {})}
    hub = scratch(tmp_path / "hub")
    hub.git("config", "receive.denyCurrentBranch", "ignore")
    here, other = (_clone(tmp_path, hub, name, agent, of[name]) for name, agent in (("a", AMBER), ("b", COBALT)))
    with Proxy(target) as proxy, ended(here.at), ended(other.at):
        begun = here.text("fleet", "begin", address(None), "--relay", address(proxy.port), BB_AGENT="")
        assert begun.status == 0, begun.err
        assert other.text("sync", "--pull").status == 0
        joined = other.text("fleet", "join", address(None), BB_AGENT="")
        assert joined.status == 0, joined.err
        yield here, other, proxy


def _clone(tmp_path: Path, hub: Scratch, name: str, agent: str, settings: Mapping[str, str]) -> Side:
    hub.git("clone", "--quiet", str(hub.path), str(tmp_path / name))
    at = Scratch(tmp_path / name, {"CCCC_HOME": str(tmp_path / f"home-{name}"), "BB_DAEMON": "", **settings})
    if name == "a":
        assert at.bb("init").status == 0
        assert at.bb("sync", "--publish").status == 0
    else:
        assert at.bb("sync", "--pull").status == 0
    assert at.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    assert at.bb("sync", "--publish").status == 0
    return Side(at, agent)
