"""Protocol events as they are read back: hand-offs and blockers from the mail, incursions and resumptions from the
notices, each in the envelope of Operative Protocol §6.1."""

from __future__ import annotations

from bb.coordination import holdings, notices, protocol
from bb.kernel import order
from bb.ledger import mail as mails
from bb.messaging import letters

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    def newest_first(self, event_type: str | None = None, bead: str | None = None) -> list[dict[str, Any]]:
        """Every event of a type, or of all, about one bead or any."""
        term = f"bead {bead}" if bead else event_type or "protocol"
        found = [event for name, _ in self._index.found(letters.NAME, term) for event in self._letter(name)]
        found += [self._notice(name, state) for name, state in self._index.found(notices.NAME, term)]
        wanted = [event for event in found if event_type in (None, event["event_type"])]
        return sorted(wanted, key=lambda event: str(event["order"]), reverse=True)

    def one(self, name: str) -> list[dict[str, Any]]:
        """The event of that id; several when it went to several and no copy was named."""
        event, _, agent = name.partition("_")
        if state := self._index.state(notices.NAME, event):
            return [] if agent else [self._notice(event, state)]
        return [found for found in self._letter(event) if not agent or found["to_agent"] == agent]

    def _letter(self, name: str) -> list[dict[str, Any]]:
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
            | {"state": copy["state"], "order": copy["order"]}
            for copy in mails.copies(self._index, name)
            if copy["payload"] is not None
        ]

    def _notice(self, name: str, state: Any) -> dict[str, Any]:
        *at, (ts, event_type, said) = state["said"]
        is_incursion = event_type == protocol.INCURSION
        payload = (
            protocol.incursion(
                kind=said["kind"],
                owner=said["owner"],
                incoming=said["incoming"],
                liveness=said["liveness"],
                hint=said["hint"],
            )
            if is_incursion
            else protocol.resume(
                reason=said["reason"], prior=said["prior"], adopted=said["adopted"], evidence=said["evidence"]
            )
        )
        event = protocol.envelope(
            name,
            ts,
            self._root,
            {
                "event_type": event_type,
                "bead_id": said["bead"],
                "from_agent": said["incoming"] if is_incursion else said["agent"],
                "to_agent": said["owner"] if is_incursion else said["prior"],
                "scope": said["scope"] if is_incursion else None,
                "payload": payload,
            },
        )
        more = {"outcome": said["outcome"], "held": said["held"]} if is_incursion else {"beads": list(said["beads"])}
        is_open = is_incursion and self._is_open(said)
        return event | more | {"state": OPEN if is_open else CLOSED, "order": order.sortable(at)}

    def _is_open(self, said: dict[str, Any]) -> bool:
        """Whether two agents still work where an incursion found them both."""
        owner = self._held.one(said["reservation"])
        if said["outcome"] != "overlapping" or owner is None or owner.state != holdings.ACTIVE:
            return False
        incoming = [each for each in self._held.of(said["incoming"]) if each.scope.text == said["scope"]]
        held = self._held.held(owner)
        return held is not None and not held.is_over and any(not each.is_over for each in incoming)
