"""The git branch of a simulated fleet: rows in commits, by whoever pushes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.ledger.carrier import door
from bb.ledger.carrier.door import Row
from bb.ledger.journal.line import Link
from tests.fleet_worlds.engine import REPO, Log
from tests.fleet_worlds.model import Book, Broken, Model


@dataclass(frozen=True)
class Begun:
    """What the archive had made when a log began."""

    known: Admitted = field(default_factory=Admitted)
    heads: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)


@dataclass
class Archive:
    """CHARTER has the incarnation and the first place of the log. DIGEST is that of the last archived row."""

    model: Model
    charter: tuple[str, int] | None = None
    commits: list[tuple[str, list[Row]]] = field(default_factory=list)  # with the incarnation
    begun: Begun = field(default_factory=Begun)
    links: dict[str, Link] = field(default_factory=dict)
    place: int = 0
    digest: str = ""
    _fold: OrderedAdmission | None = None
    _book: Book | None = None

    @property
    def tip(self) -> int:
        return len(self.commits)

    @property
    def heads(self) -> dict[str, int]:
        """The number of each writer's last archived line. Rows that do not count are left out."""
        return {writer: link.n for writer, link in self.links.items()}

    def switch(self, log: Log) -> None:
        """The push of a charter with the terms of a new LOG."""
        self.charter = log.incarnation, log.first
        self.begun = self.results()
        self.place, self.digest = log.first - 1, door.first_digest(REPO, log.incarnation)
        self._fold = OrderedAdmission(self.begun.known, log.incarnation)
        self._book = Book.after(log.incarnation, self._book)
        self.commits.append((log.incarnation, []))
        self.model.base = self._book

    def results(self) -> Begun:
        """What a reader knows that has only the archive."""
        known = self._fold.admitted if self._fold else Admitted()
        return Begun(known, self.heads, dict(self.links))

    def continuing(self, rows: Sequence[Row]) -> list[Row]:
        """Those of an engine's ROWS that continue the archive."""
        found, place, digest = [], self.place, self.digest
        for row in rows:
            place, digest = place + 1, door.next_digest(digest, place + 1, row.writer, row.first, row.octets)
            if (row.place, row.digest) != (place, digest):
                break
            found.append(row)
        return found

    def push(self, tip: int, incarnation: str, rows: Sequence[Row]) -> bool:
        """Publish ROWS on the commit TIP. False if another machine was first, as the lease of a push finds out."""
        if tip != self.tip or self.charter is None or self.charter[0] != incarnation:
            return False
        if len(self.continuing(rows)) < len(rows):
            raise Broken("rows were archived that do not continue the archive")
        assert self._fold is not None
        assert self._book is not None
        for row in rows:
            said = self.model.read(row, self.links)
            self._fold.row(row.place, said.facts, said.recorders)
            self._book.enter(row, said)
            if said.link is not None:
                self.links[row.writer] = said.link
        self.commits.append((incarnation, list(rows)))
        self.place, self.digest = rows[-1].place, rows[-1].digest
        return True

    def rows(self) -> Iterator[Row]:
        for _, rows in self.commits:
            yield from rows
