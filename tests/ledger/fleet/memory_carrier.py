"""An engine in memory, behind the same door as the real ones, on which a test can let anything go wrong.

`engine.before` and `engine.after` are called with the name of each operation (head, append, read, wait, beat, …):
before it has an effect, and after it, when its answer is on the way. Either may raise, wait, or note that it was there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from bb.ledger.carrier.door import (
    MOST_READ,
    AnotherEngine,
    EngineUnreachable,
    FleetEnded,
    Forked,
    Gap,
    Head,
    LogInUse,
    Machine,
    Pruned,
    Row,
    first_digest,
    next_digest,
)
from bb.ledger.files import readiness

LOOK = 0.02  # seconds between two looks of `wait`


def nothing(_: str) -> None:
    return None


class MemoryLog:
    """One log."""

    def __init__(self, repo: str, incarnation: str, first: int, heads: dict[str, int]) -> None:
        self.repo, self.incarnation, self.first = repo, incarnation, first
        self.begun = dict(heads)
        self.rows: list[Row] = []
        self.lines: dict[str, list[tuple[bytes, int]]] = {}
        self.digest = first_digest(repo, incarnation)
        self.oldest, self.is_closed = first, False

    @property
    def place(self) -> int:
        return self.first + len(self.rows) - 1

    def head(self, now: int) -> Head:
        return Head(self.incarnation, self.place, self.digest, self.oldest, now, self.is_closed)

    def append(self, writer: str, first: int, lines: Sequence[bytes], now: int) -> int:
        """As the door says. Nothing in the lines is looked at."""
        if self.is_closed:
            raise FleetEnded()
        begun, had = self.begun.get(writer, 0), self.lines.setdefault(writer, [])
        known = begun + len(had) + 1 - first
        if known < 0:
            raise Gap(next=begun + len(had) + 1)
        for n, line in enumerate(lines[:known], first):
            if n > begun and had[n - begun - 1][0] != line:
                raise Forked()
        if not (new := lines[known:]):
            last = first + len(lines) - 1 - begun
            return had[last - 1][1] if last > 0 else self.first - 1
        octets = b"".join(line + b"\n" for line in new)
        self.add(writer, first + known, octets, now)
        had += [(line, self.place) for line in new]
        return self.place

    def add(self, writer: str, first: int, octets: bytes, now: int = 0) -> Row:
        """A row with any bytes, as a hostile machine may append it."""
        place = self.place + 1
        self.digest = next_digest(self.digest, place, writer, first, octets)
        self.rows.append(Row(place, writer, first, octets, self.digest, now))
        return self.rows[-1]

    def read(self, since: int, most: int) -> list[Row]:
        if since + 1 < self.oldest and self.rows:
            raise Pruned(oldest=self.oldest)
        start = max(since + 1 - self.first, 0)
        return self.rows[start : start + most]

    def copy(self) -> MemoryLog:
        """What a backup has."""
        old = MemoryLog(self.repo, self.incarnation, self.first, self.begun)
        old.rows, old.digest, old.is_closed, old.oldest = list(self.rows), self.digest, self.is_closed, self.oldest
        old.lines = {writer: list(lines) for writer, lines in self.lines.items()}
        return old


class MemoryEngine:
    """A server with its logs."""

    kind = "postgres"  # so that it may stand in a charter

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.logs: dict[tuple[str, str], MemoryLog] = {}
        self.beats: dict[str, tuple[float, Machine]] = {}
        self.leader: object = None
        self.before: Callable[[str], object] = nothing
        self.after: Callable[[str], object] = nothing
        self.is_durable = True
        self.ahead = 0  # milliseconds that its clock is ahead
        self.calls: list[str] = []

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead

    # -- for the person who runs it

    def begin(self, repo: str, incarnation: str, first: int, heads: Any) -> Head:
        with self.lock:
            known = self.logs.get((repo, incarnation))
            if known and known.rows:
                raise LogInUse()
            log = self.logs[repo, incarnation] = MemoryLog(repo, incarnation, first, dict(heads))
            return log.head(self.now())

    def end(self, repo: str, incarnation: str) -> Head:
        with self.lock:
            log = self.logs[repo, incarnation]
            log.is_closed = True
            return log.head(self.now())

    @property
    def log(self) -> MemoryLog:
        """The only log, or the last one."""
        return list(self.logs.values())[-1]

    def backup(self) -> dict[tuple[str, str], MemoryLog]:
        with self.lock:
            return {name: log.copy() for name, log in self.logs.items()}

    def restore(self, backup: dict[tuple[str, str], MemoryLog]) -> None:
        with self.lock:
            self.logs = {name: log.copy() for name, log in backup.items()}

    def carrier(self, repo: str, incarnation: str) -> MemoryCarrier:
        return MemoryCarrier(self, repo, incarnation)


class MemoryCarrier:
    """One connection."""

    kind = "postgres"

    def __init__(self, engine: MemoryEngine, repo: str, incarnation: str) -> None:
        self.engine, self.name = engine, (repo, incarnation)

    def _do(self, name: str, work: Callable[[MemoryLog], Any]) -> Any:
        self.engine.calls.append(name)
        self.engine.before(name)
        with self.engine.lock:
            log = self.engine.logs.get(self.name)
            if log is None:
                raise AnotherEngine()
            found = work(log)
        self.engine.after(name)
        return found

    def head(self) -> Head:
        found: Head = self._do("head", lambda log: log.head(self.engine.now()))
        return found

    def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        return int(self._do("append", lambda log: log.append(writer, first, lines, self.engine.now())))

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        found: list[Row] = self._do("read", lambda log: log.read(since, most))
        return found

    def wait(self, since: int, seconds: float, also: Sequence[int] = ()) -> bool:
        deadline = time.monotonic() + seconds
        self.engine.before("wait")
        while True:
            with self.engine.lock:
                log = self.engine.logs.get(self.name)
                if log is None or log.place > since:
                    return True
            left = deadline - time.monotonic()
            with suppress(OSError):
                if left <= 0 or readiness.readable(also, min(left, LOOK)):
                    return False

    def beat(self, machine: Machine) -> None:
        if not machine.writer:
            raise EngineUnreachable("that is not the id of a writer")
        self._do("beat", lambda _: self.engine.beats.update({machine.writer: (time.monotonic(), machine)}))

    def alive(self) -> list[Machine]:
        now = time.monotonic()
        found: list[Machine] = self._do(
            "alive", lambda _: [one.replace(age=now - at) for at, one in self.engine.beats.values()]
        )
        return found

    def health(self) -> dict[str, Any]:
        self.engine.before("health")
        return {"durable": self.engine.is_durable}

    def lead(self) -> bool:
        def take(_: MemoryLog) -> bool:
            self.engine.leader = self.engine.leader or self
            return self.engine.leader is self

        return bool(self._do("lead", take))

    def yield_lead(self) -> None:
        if self.engine.leader is self:
            self.engine.leader = None

    def close(self) -> None:
        if self.engine.leader is self:
            self.engine.leader = None
