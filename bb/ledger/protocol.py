"""Protocol events as they are read back: hand-offs and blockers from the mail, incursions and resumptions from the
notices, each in the envelope of Operative Protocol §6.1."""

from __future__ import annotations

import heapq

from bb.coordination import holdings, notices, protocol
from bb.coordination.facts import OVERLAPPING, Incurred
from bb.kernel.order import sortable
from bb.ledger import mail as mails
from bb.messaging import letters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.holdings import Holdings
    from bb.ledger.index import Index

OPEN, CLOSED = "open", "closed"


class Events:
    """The protocol events of one store. ROOT is where the project lies for whoever reads."""

    def __init__(self, index: Index, held: Holdings, root: str) -> None:
        self._index = index
        self._held = held
        self._root = root

    def newest_first(self, event_type: str | None = None, bead: str | None = None) -> Iterator[dict[str, Any]]:
        """Every event of a type, or of all, about one bead or any; read as they are wanted."""
        term = event_type or "protocol" if bead is None else f"bead {bead}"
        both = heapq.merge(self._letters(term), self._notices(term), key=lambda found: found[0], reverse=True)
        return (event for _, event in both if event_type in (None, event["event_type"]))

    def open_incursions(self) -> list[dict[str, Any]]:
        """Where two agents work in each other's way at this moment, newest first."""
        return [event for _, event in self._notices(OVERLAPPING) if event["state"] == OPEN]

    def notices_about(self, bead: str) -> list[tuple[str, dict[str, Any]]]:
        """INCURSION and RESUME about a bead, its owner's or the incoming one's, each with its place in the order."""
        met = [
            term
            for reservation in self._held.ever_about(bead)
            for term in self._index.terms(notices.NAME, f"incident {reservation.id} ")
        ]
        found = {event["id"]: (place, event) for term in [f"bead {bead}", *met] for place, event in self._notices(term)}
        return list(found.values())

    def one(self, name: str) -> list[dict[str, Any]]:
        """The event of that id; several when it went to several and no copy was named."""
        event, _, agent = name.partition("_")
        if state := self._index.state(notices.NAME, event):
            return [] if agent else [self._notice(event, state)]
        letter = self._index.state(letters.NAME, event)
        return (
            []
            if letter is None
            else [found for found in self._letter(event, letter) if not agent or found["to_agent"] == agent]
        )

    def _letters(self, term: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for place, name, letter in self._index.newest_first(letters.NAME, term):
            for event in self._letter(name, letter):
                yield place, event

    def _notices(self, term: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for _, name, state in self._index.newest_first(notices.NAME, term):
            yield sortable(state["said"][:3]), self._notice(name, state)

    def _letter(self, name: str, letter: Any) -> list[dict[str, Any]]:
        """A hand-off or blocker, once for each recipient."""
        return [
            protocol.envelope(
                copy["message_id"],
                copy["created_at"],
                self._root,
                {
                    "event_type": copy["category"],
                    "bead_id": copy["bead_id"],
                    "from_agent": copy["from_agent"],
                    "to_agent": copy["to_agent"],
                    "scope": copy["scope"],
                    "payload": copy["payload"],
                },
            )
            | {"state": copy["state"]}
            for _, copy in mails.copies_of(self._index, [(name, letter)])
            if copy["payload"] is not None
        ]

    def _notice(self, name: str, state: Any) -> dict[str, Any]:
        fact = notices.notice(state)
        if isinstance(fact, Incurred):
            payload = protocol.incursion(
                kind=fact.kind, owner=fact.owner, incoming=fact.incoming, liveness=fact.liveness, hint=fact.hint
            )
            event = self._envelope(name, state, fact.bead, fact.incoming, fact.owner, fact.scope, payload)
            is_open = self._is_open(fact)
            return event | {"outcome": fact.outcome, "held": fact.held, "state": OPEN if is_open else CLOSED}
        payload = protocol.resume(reason=fact.reason, prior=fact.prior, adopted=fact.adopted, evidence=fact.evidence)
        event = self._envelope(name, state, fact.bead, fact.agent, fact.prior, fact.scope, payload)
        return event | {"beads": list(fact.beads), "state": CLOSED}

    def _envelope(
        self, name: str, state: Any, bead: str, sender: str, to: str, scope: str | None, payload: dict[str, Any]
    ) -> dict[str, Any]:
        event_type = protocol.INCURSION if "incursion_kind" in payload else protocol.RESUME
        said = {"event_type": event_type, "bead_id": bead, "from_agent": sender, "to_agent": to, "scope": scope}
        return protocol.envelope(name, notices.noticed_at(state), self._root, said | {"payload": payload})

    def _is_open(self, fact: Incurred) -> bool:
        """Whether the two agents still work in each other's way, anywhere in what the owner held then."""
        owner = self._held.one(fact.reservation)
        if fact.outcome != OVERLAPPING or owner is None or owner.state != holdings.ACTIVE:
            return False
        held = self._held.held(owner)
        if held is None or held.is_over:
            return False
        met = (overlap.held for overlap in self._held.met_by([held.scope]))
        return any(each.reservation.agent == fact.incoming and not each.is_over for each in met)
