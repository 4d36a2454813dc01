"""Queries on protocol events: HANDOFF and BLOCKED from the mail, INCURSION and RESUME from the notices, each in the
envelope of Operative Protocol §6.1."""

from __future__ import annotations

from bb.coordination.facts import CONTESTED, OVERLAPPING, TOUCHED, Incurred
from bb.coordination.protocol import events, notices
from bb.coordination.protocol.notices import CLOSED, OPEN, Incident
from bb.kernel.total_order import sortable
from bb.ledger.views import mail as mails
from bb.messaging import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.facts import Resumed
    from bb.coordination.holdings.held import Held
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings


class Events:
    """The protocol events of one store. ROOT is the path of the project for the reader."""

    def __init__(self, index: Index, held: Holdings, root: str) -> None:
        self._index = index
        self._held = held
        self._root = root
        self._met: dict[str, list[Held]] = {}

    def newest_first(self, event_type: str | None = None, bead: str | None = None) -> Iterator[dict[str, Any]]:
        """Every event, optionally of one type and about one bead, read lazily."""
        import heapq  # noqa: PLC0415  (most commands do not list events)

        term = event_type or "protocol" if bead is None else f"bead {bead}"
        both = heapq.merge(self._letters(term), self._notices(term), key=lambda placed: placed[0], reverse=True)
        return (event for _, event in both if event_type in (None, event["event_type"]))

    def open_incursions(self) -> list[dict[str, Any]]:
        """The open incursions, newest first: two agents hold overlapping scopes now, or one has changed a path that
        another held and it was not settled."""
        return [event for _, event in self._notices(notices.UNSETTLED) if event["state"] == OPEN]

    def incursions(self) -> Iterator[dict[str, Any]]:
        """Every INCURSION: first the open ones, then all others, both newest first."""
        unsettled = self.open_incursions()
        yield from unsettled
        names = {event["id"] for event in unsettled}
        yield from (event for _, event in self._notices(events.INCURSION) if event["id"] not in names)

    def incident(self, name: str) -> Incident | None:
        """The INCURSION that the event NAME records."""
        state = self._index.state(notices.NAME, name)
        if not notices.is_known(state) or not isinstance(notices.notice(state), Incurred):
            return None
        return self._incident(self._twins(name, state))

    def incident_by_key(self, incident: str) -> Incident | None:
        """The INCURSION that was recorded with the key INCIDENT."""
        twins = self._index.entries_by_term(notices.NAME, incident)
        return self._incident(twins) if twins else None

    def notices_about(self, bead: str) -> list[tuple[str, dict[str, Any]]]:
        """Every INCURSION and RESUME about a bead, the owner's or the incoming agent's, with its place in the order."""
        met = [
            term
            for reservation in self._held.ever_about(bead)
            for term in self._index.terms(notices.NAME, f"incident {reservation.id} ")
        ]
        by_id = {event["id"]: (place, event) for term in [f"bead {bead}", *met] for place, event in self._notices(term)}
        return list(by_id.values())

    def by_id(self, name: str) -> list[dict[str, Any]]:
        """The event NAME. If it went to several agents and NAME does not name a copy, all copies."""
        event, _, agent = name.partition("_")
        state = self._index.state(notices.NAME, event)
        if notices.is_known(state):
            return [] if agent else [self._notice(self._twins(event, state))]
        letter = self._index.state(messages.NAME, event)
        return (
            []
            if letter is None
            else [copy for copy in self._letter(event, letter) if not agent or copy["to_agent"] == agent]
        )

    def _letters(self, term: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for place, name, letter in self._index.newest_first(messages.NAME, term):
            for event in self._letter(name, letter):
                yield place, event

    def _notices(self, term: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for _, name, state in self._index.newest_first(notices.NAME, term):
            twins = self._twins(name, state)
            if twins[0][0] == name:
                yield sortable(state[notices.SAID][:3]), self._notice(twins)

    def _twins(self, name: str, state: Any) -> list[tuple[str, Any]]:
        """All entries about the same incident, earliest first. Several clones may have found it."""
        fact = notices.notice(state)
        if isinstance(fact, Incurred) and fact.outcome == TOUCHED:
            return self._index.entries_by_term(notices.NAME, fact.incident)
        return [(name, state)]

    def _letter(self, name: str, letter: Any) -> list[dict[str, Any]]:
        """A hand-off or blocker, once for each recipient."""
        return [
            events.envelope(
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
            | ({"signature": copy["signature"]} if "signature" in copy else {})
            for _, copy in mails.copies_of(self._index, [(name, letter)])
            if copy["payload"] is not None
        ]

    def _incident(self, twins: list[tuple[str, Any]]) -> Incident:
        name, state = twins[0]
        fact: Any = notices.notice(state)
        return Incident(
            id=name,
            at=notices.noticed_at(state),
            fact=fact,
            resolution=notices.resolution(fact, [twin for _, twin in twins]),
            is_open=self._is_open(name, fact),
        )

    def _notice(self, twins: list[tuple[str, Any]]) -> dict[str, Any]:
        name, state = twins[0]
        fact = notices.notice(state)
        if isinstance(fact, Incurred):
            incident = self._incident(twins)
            event = self._envelope(name, state, fact, fact.incoming, fact.owner)
            return event | {
                "outcome": fact.outcome,
                "where": fact.where,
                "held": fact.held,
                "reservation_id": fact.reservation,
                "state": incident.state,
                "found_by": fact.found_by or None,
                "paths": list(fact.paths),
                "count": fact.count,
                "commit": fact.commit or None,
                "resolution": incident.resolution.as_dict() if incident.resolution else None,
            }
        event = self._envelope(name, state, fact, fact.agent, fact.prior)
        return event | {"beads": list(fact.beads), "state": CLOSED}

    def _envelope(self, name: str, state: Any, fact: Incurred | Resumed, sender: str, to: str) -> dict[str, Any]:
        event = events.event_of_fact(fact, sender, to)
        envelope = events.envelope(name, notices.noticed_at(state), self._root, event)
        return envelope | mails.mark(self._index, name, sender)

    def _is_open(self, name: str, fact: Incurred) -> bool:
        """Whether an incident is open. An overlap is open while the two agents still hold overlapping scopes within the
        owner's reservation. A touched path is open until it is settled.

        If the incoming agent releases its scope and reserves it again, a new incident opens. The old one stays closed.
        """
        if fact.outcome not in (OVERLAPPING, CONTESTED):
            return fact.outcome == TOUCHED
        beside = self._beside(fact.reservation, fact.incoming)
        if not beside or self._index.entries_by_term(notices.NAME, fact.incident)[-1][0] != name:
            return False
        if fact.scope in beside or fact.outcome == CONTESTED:
            return True
        return self._stands_for(name, fact, beside)

    def _beside(self, reservation: str, agent: str) -> set[str]:
        """The scopes of AGENT that overlap a current RESERVATION. The overlaps are computed once for each reservation,
        because many incidents may be about it."""
        if reservation not in self._met:
            held = self._held.live(reservation)
            met = () if held is None or held.is_over else self._held.overlaps([held.scope])
            self._met[reservation] = [overlap.held for overlap in met if not overlap.held.is_over]
        return {held.scope.text for held in self._met[reservation] if held.reservation.agent == agent}

    def _stands_for(self, name: str, fact: Incurred, beside: set[str]) -> bool:
        """Whether an incident covers scopes in BESIDE that no incident names. An incident names only the first of
        several scopes that were reserved at once. The last incident of the same agents covers the others."""
        same = f"incident {fact.reservation} {fact.incoming} {fact.outcome} "
        terms = self._index.terms(notices.NAME, same)
        unnamed = beside - {term.removeprefix(same) for term in terms}
        entries = [entry for term in terms for entry in self._index.entries_by_term(notices.NAME, term)]
        last = max(entries, key=lambda entry: sortable(entry[1][notices.SAID][:3]))
        return bool(unnamed) and last[0] == name
