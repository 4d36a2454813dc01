"""The disk of a simulated machine: what survives a `kill -9`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bb.coordination.holdings.admission import Admitted
from bb.kernel import clock, ids
from bb.kernel.event import Event
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines

BEGUN = 1_700_000_000_000  # the true time at which a world begins, in milliseconds
SALT = "saltsalt"


@dataclass
class Disk:
    """The journal of a WRITER, and what its relay has saved in one transaction: the fold up to a PLACE with a DIGEST.
    That is in the log of an INCARNATION, which it began to read at the row with the digest START, with the results
    KNOWN, and with our lines up to BASE published. PLACED is the number of our last line with a place; HAS_SENT that
    of the last one that we tried to send."""

    writer: str
    link: lines.Link = lines.START
    own: list[bytes] = field(default_factory=list)
    incarnation: str = ""
    start: str = ""
    known: Admitted = Admitted()
    base: int = 0
    place: int = 0
    digest: str = ""
    placed: int = 0
    links: dict[str, lines.Link] = field(default_factory=dict)
    heard: dict[str, tuple[dict[str, int], float, float]] = field(default_factory=dict)

    def write(self, by: str, fact: Any, now: float) -> str:
        """Add the line of a FACT to the journal; returns its id."""
        kind, data = kinds.kind_and_data(fact)
        name = ids.event_id(self.writer, len(self.own) + 1)
        event = Event(name, self.link.lamport + 1, clock.text(int(BEGUN + now)), kind, by, data)
        octets, self.link = lines.write(event, self.link, SALT)
        self.own.append(octets[:-1])
        return name

    def unsent(self, after: int, most: int = 200) -> Sequence[bytes]:
        return self.own[after : after + most]

    def copy(self) -> Disk:
        """The disk of a cloned machine."""
        return copy.copy(self).with_own_lists()

    def with_own_lists(self) -> Disk:
        self.own, self.links, self.heard = list(self.own), dict(self.links), dict(self.heard)
        return self
