"""Protocol events as they are read back: hand-offs and blockers from the mail, incursions and resumptions from the
notices, each in the envelope of Operative Protocol §6.1."""

from __future__ import annotations

from bb.coordination.facts import CONTESTED, OVERLAPPING, TOUCHED, Incurred
from bb.coordination.protocol import events, notices
from bb.coordination.protocol.notices import CLOSED, OPEN, Incident
from bb.kernel.order import sortable
from bb.ledger.views import mail as mails
from bb.messaging import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.coordination.holdings.reservations import Held
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings


class Events:
    """The protocol events of one store. ROOT is where the project lies for whoever reads."""

    def __init__(self, index: Index, held: Holdings, root: str) -> None:
        self._index = index
        self._held = held
        self._root = root
        self._met: dict[str, list[Held]] = {}

    def newest_first(self, event_type: str | None = None, bead: str | None = None) -> Iterator[dict[str, Any]]:
        """Every event of a type, or of all, about one bead or any; read as they are wanted."""
        import heapq  # noqa: PLC0415  (only those who look back need it)

        term = event_type or "protocol" if bead is None else f"bead {bead}"
        both = heapq.merge(self._letters(term), self._notices(term), key=lambda found: found[0], reverse=True)
        return (event for _, event in both if event_type in (None, event["event_type"]))

    def open_incursions(self) -> list[dict[str, Any]]:
        """Where two agents work in each other's way at this moment, or one has touched what another holds and nobody
        has settled it; newest first."""
        return [event for _, event in self._notices(notices.UNSETTLED) if event["state"] == OPEN]

    def incursions(self) -> Iterator[dict[str, Any]]:
        """Every INCURSION: those that are open, then all others, each newest first."""
        unsettled = self.open_incursions()
        yield from unsettled
        names = {event["id"] for event in unsettled}
        yield from (event for _, event in self._notices(events.INCURSION) if event["id"] not in names)

    def incident(self, name: str) -> Incident | None:
        """The INCURSION that an event of that name records."""
        state = self._index.state(notices.NAME, name)
        if not notices.is_known(state) or not isinstance(notices.notice(state), Incurred):
            return None
        return self._incident(self._twins(name, state))

    def known(self, incident: str) -> Incident | None:
        """The INCURSION that was recorded as that INCIDENT."""
        twins = self._index.found(notices.NAME, incident)
        return self._incident(twins) if twins else None

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
        state = self._index.state(notices.NAME, event)
        if notices.is_known(state):
            return [] if agent else [self._notice(self._twins(event, state))]
        letter = self._index.state(messages.NAME, event)
        return (
            []
            if letter is None
            else [found for found in self._letter(event, letter) if not agent or found["to_agent"] == agent]
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
        """All entries that record the same, the earliest first: more than one where several clones found it."""
        fact = notices.notice(state)
        if isinstance(fact, Incurred) and fact.outcome == TOUCHED:
            return self._index.found(notices.NAME, fact.incident)
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
            resolution=notices.resolution(fact, [each for _, each in twins]),
            is_open=self._is_open(name, fact),
        )

    def _notice(self, twins: list[tuple[str, Any]]) -> dict[str, Any]:
        name, state = twins[0]
        fact = notices.notice(state)
        if isinstance(fact, Incurred):
            found = self._incident(twins)
            payload = events.incursion(
                kind=fact.kind, owner=fact.owner, incoming=fact.incoming, liveness=fact.liveness, hint=fact.hint
            )
            event = self._envelope(name, state, fact.bead, fact.incoming, fact.owner, fact.scope, payload)
            return event | {
                "outcome": fact.outcome,
                "where": fact.where,
                "held": fact.held,
                "reservation_id": fact.reservation,
                "state": found.state,
                "found_by": fact.found_by or None,
                "paths": list(fact.paths),
                "count": fact.count,
                "commit": fact.commit or None,
                "resolution": found.resolution.as_dict() if found.resolution else None,
            }
        payload = events.resume(reason=fact.reason, prior=fact.prior, adopted=fact.adopted, evidence=fact.evidence)
        event = self._envelope(name, state, fact.bead, fact.agent, fact.prior, fact.scope, payload)
        return event | {"beads": list(fact.beads), "state": CLOSED}

    def _envelope(
        self, name: str, state: Any, bead: str, sender: str, to: str, scope: str | None, payload: dict[str, Any]
    ) -> dict[str, Any]:
        event_type = events.INCURSION if "incursion_kind" in payload else events.RESUME
        said = {"event_type": event_type, "bead_id": bead, "from_agent": sender, "to_agent": to, "scope": scope}
        envelope = events.envelope(name, notices.noticed_at(state), self._root, said | {"payload": payload})
        return envelope | mails.mark(self._index, name, sender)

    def _is_open(self, name: str, fact: Incurred) -> bool:
        """Whether the two agents still work in each other's way, anywhere in what the owner held then. What was touched
        stays so until somebody has settled it.

        Whoever gives back what it held beside the owner, and comes again, has a new incident: then the old one stays
        closed, and only the new one is open.
        """
        if fact.outcome not in (OVERLAPPING, CONTESTED):
            return fact.outcome == TOUCHED
        beside = self._beside(fact.reservation, fact.incoming)
        if not beside or self._index.found(notices.NAME, fact.incident)[-1][0] != name:
            return False
        if fact.scope in beside or fact.outcome == CONTESTED:
            return True
        return self._stands_for(name, fact, beside)

    def _beside(self, reservation: str, agent: str) -> set[str]:
        """The scopes of an AGENT that overlap a RESERVATION that runs. Asked once for each reservation: a hundred
        incidents may be about one."""
        if reservation not in self._met:
            held = self._held.live(reservation)
            met = () if held is None or held.is_over else self._held.met_by([held.scope])
            self._met[reservation] = [each.held for each in met if not each.held.is_over]
        return {each.scope.text for each in self._met[reservation] if each.reservation.agent == agent}

    def _stands_for(self, name: str, fact: Incurred, beside: set[str]) -> bool:
        """Whether an incident tells of what its agent holds BESIDE the owner although it names something else: where
        several scopes came in at once, it names the first of them. The last incident does that for what none names."""
        same = f"incident {fact.reservation} {fact.incoming} {fact.outcome} "
        terms = self._index.terms(notices.NAME, same)
        unnamed = beside - {term.removeprefix(same) for term in terms}
        found = [each for term in terms for each in self._index.found(notices.NAME, term)]
        last = max(found, key=lambda each: sortable(each[1][notices.SAID][:3]))
        return bool(unnamed) and last[0] == name
