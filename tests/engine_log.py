"""A log of rows as an engine keeps it, in memory; and clones that send it lines and archive it, with real git."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bb.kernel import clock
from bb.ledger.carrier.door import Row, first_digest, next_digest
from bb.ledger.git import place as places
from bb.ledger.journal import writers
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from bb.ledger.published.fleet_terms import FleetTerms
from bb.ledger.records.store import Store
from bb.ledger.travel import row_archive, switching
from bb.ledger.travel.sync import BOTH, Sync
from bb.ledger.travel.sync_lock import SyncLock
from tests.support import NOON, environment

INCARNATION = "0123456789abcdef"
NOW = clock.parse(NOON)


class EngineLog:
    """The rows of one incarnation, and the last line of each writer in it. It takes any bytes, as an engine does."""

    def __init__(
        self, repo: str, first: int, heads: Mapping[str, int] | None = None, incarnation: str = INCARNATION
    ) -> None:
        self.repo, self.first, self.incarnation = repo, first, incarnation
        self.heads = dict(heads or {})
        self.rows: list[Row] = []

    @property
    def terms(self) -> FleetTerms:
        return FleetTerms("postgres", self.incarnation, self.first, by="user", reason="a test", ts=NOON)

    @property
    def place(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def digest(self) -> str:
        return self.rows[-1].digest if self.rows else first_digest(self.repo, self.incarnation)

    def append(self, writer: str, first: int, octets: bytes) -> Row:
        """Append lines, whatever they are."""
        place = self.place + 1
        row = Row(place, writer, first, octets, next_digest(self.digest, place, writer, first, octets), NOW)
        self.rows.append(row)
        self.heads[writer] = row.last
        return row

    def since(self, place: int) -> list[Row]:
        return [row for row in self.rows if row.place > place]


@contextmanager
def store_of(folder: Path) -> Iterator[Store]:
    store = Store(places.find(str(folder), environment()))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def syncing(folder: Path, patience: float = 60.0, name: str = "origin") -> Iterator[Sync]:
    """A sync of the clone in FOLDER, as a relay has one."""
    with store_of(folder) as store, SyncLock(store.path, patience), store.git:
        yield Sync(store, name, NOW, patience)


def begin(folder: Path, incarnation: str = INCARNATION, beyond: int = 0) -> EngineLog:
    """Begin a fleet from the clone in FOLDER, BEYOND some places. Everything that is published counts as sent."""
    with syncing(folder) as sync:
        sync.look()
        tip = sync.pin.tip
        assert tip is not None
        log = EngineLog(tip.charter.repo, tip.place + 1 + beyond, tip.last_lines, incarnation)
        switching.begin(sync, log.terms)
    return log


def end(folder: Path, log: EngineLog) -> None:
    with syncing(folder) as sync:
        sync.look()
        switching.end(sync, log.place)


def send(folder: Path, log: EngineLog, most: int = 1000) -> list[Row]:
    """Append every line of the clone's own writers that the LOG lacks, at MOST so many lines in a row."""
    sent = []
    with store_of(folder) as store:
        journals = os.path.join(store.path, writers.JOURNALS)
        for writer in sorted(os.listdir(journals)):
            if writers.read_owner(journals, writer) is None:
                continue
            head = log.heads.get(writer, 0)
            lines = list(Journal(store.path, writer).lines_from(head + 1))
            for start in range(0, len(lines), most):
                part = lines[start : start + most]
                sent.append(log.append(writer, head + 1 + start, b"".join(raw + b"\n" for raw in part)))
    return sent


def archive(folder: Path, rows: Sequence[Row], look: bool = False) -> pins.Pins:
    """Archive ROWS from the clone in FOLDER. It may LOOK at the branch first, as a relay does that has just begun."""
    with syncing(folder) as sync:
        if look:
            sync.look()
        row_archive.archive(sync, rows)
        return sync.pins


def record(folder: Path, by: str, *facts: Any, now: int = NOW) -> list[str]:
    """Record facts in a clone, in one write; their event ids."""
    with store_of(folder) as store:
        return [event.id for event in store.record(lambda _: facts, by=by, now=now)]


def results(folder: Path) -> Any:
    """The results of publication order that a clone knows."""
    with store_of(folder) as store:
        return pins.read(store.path).admitted


def sync_both(folder: Path) -> Sync:
    """What `bb sync` does with the remote, whatever the fleet: looks, publishes, makes a snapshot if one is due."""
    with syncing(folder) as sync:
        sync.run(BOTH)
        return sync
