"""The disk of a simulated machine: what survives a `kill -9`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bb.coordination.agents.hearing import Hearing
from bb.coordination.holdings.admission import Admitted, seen_by_holders
from bb.kernel import clock, ids
from bb.kernel.event import Event
from bb.ledger.fleet.row_fold import Delta
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines

BEGUN = 1_700_000_000_000  # the true time at which a world begins, in milliseconds
SALT = "saltsalt"


def copied(known: Admitted) -> Admitted:
    return Admitted(dict(known.grants), dict(known.generations), dict(known.names))


@dataclass
class Disk:
    """The journal of a WRITER, and what its relay has saved in one transaction: the results up to a PLACE with a
    DIGEST, in the log of an INCARNATION, and the LINKS of all writers. PLACED is the number of our last line with a
    place. SEEN has the place at which each holder was last seen. HEARD has the last
    beats of other machines, with their age and the time of this machine's clock; HEARING, since when they are heard."""

    writer: str
    link: lines.Link = lines.START
    own: list[bytes] = field(default_factory=list)
    incarnation: str = ""
    place: int = 0
    digest: str = ""
    saved: Admitted = field(default_factory=lambda: copied(Admitted()))
    seen: dict[str, int] = field(default_factory=dict)
    placed: int = 0
    links: dict[str, lines.Link] = field(default_factory=dict)
    heard: dict[str, tuple[Mapping[str, int], float, float]] = field(default_factory=dict)
    hearing: Hearing = Hearing()  # noqa: RUF009  (it never changes)

    def save(self, changed: Delta) -> None:
        """Save what rows have changed."""
        grants, generations, names = self.saved.grants, self.saved.generations, self.saved.names
        assert isinstance(grants, dict)
        assert isinstance(generations, dict)
        assert isinstance(names, dict)
        grants.update(changed.grants)
        self.seen.update(changed.seen)
        generations.update(changed.generations)
        names.update(changed.names)

    def results(self) -> Admitted:
        """What was saved, as a new relay reads it."""
        return self.saved.replace(grants=seen_by_holders(self.saved.grants, self.seen))

    def write(self, by: str, fact: Any, now: float) -> str:
        """Add the line of a FACT to the journal; returns its id."""
        kind, data = kinds.kind_and_data(fact)
        name = ids.event_id(self.writer, len(self.own) + 1)
        event = Event(name, self.link.lamport + 1, clock.text(int(BEGUN + now)), kind, by, data)
        octets, self.link = lines.write(event, self.link, SALT)
        self.own.append(octets[:-1])
        return name

    def copy(self) -> Disk:
        """The disk of a cloned machine."""
        own, links, heard = list(self.own), dict(self.links), dict(self.heard)
        return replace(self, own=own, links=links, heard=heard, seen=dict(self.seen), saved=copied(self.saved))
