"""Mail as it stands: copies of messages with what was said, found by the index."""

from __future__ import annotations

from bb.kernel import order
from bb.messaging import letters, mailbox
from bb.messaging import mail as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.index import Index


def inbox(index: Index, agent: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """What was sent to AGENT, newest first."""
    term = f"unread {agent}" if state == mailbox.UNREAD else f"to {agent}"
    for name, copy in _pages(index, term):
        if state in (None, mailbox.state_of(copy)) and (found := _message(index, name, copy)):
            yield found


def owed(index: Index, agent: str | None = None) -> list[dict[str, Any]]:
    """What asks to be accepted and is not yet, newest first: by AGENT, or by anybody."""
    found = index.found(mailbox.NAME, f"owed {agent}" if agent else "owed", newest_first=True)
    return [message for name, copy in found if (message := _message(index, name, copy))]


def one(index: Index, event: str, agent: str) -> dict[str, Any] | None:
    """AGENT's copy of a message; None when it has none."""
    name = mailbox.copy(event, agent)
    state = index.state(mailbox.NAME, name)
    return _message(index, name, state) if state and "sent" in state else None


def copies(index: Index, event: str) -> list[dict[str, Any]]:
    """Every copy of one message, by recipient."""
    letter = index.state(letters.NAME, event)
    agents = letter["said"][3][1]["to"] if letter else []
    return [found for agent in sorted(agents) if (found := one(index, event, agent))]


def about(index: Index, bead: str) -> list[dict[str, Any]]:
    """Every copy of every message about a bead, oldest first."""
    found = index.found(letters.NAME, f"bead {bead}")
    return [copy for event, _ in found for copy in copies(index, event)]


def count_unread(index: Index, agent: str) -> int:
    """How many of AGENT's messages it has not seen."""
    return index.count(mailbox.NAME, f"unread {agent}")


PAGE = 200


def _pages(index: Index, term: str) -> Iterator[tuple[str, Any]]:
    """The copies that a term finds, newest first; most readers stop early."""
    page = index.found(mailbox.NAME, term, newest_first=True, limit=PAGE)
    yield from page
    if len(page) == PAGE:
        yield from index.found(mailbox.NAME, term, newest_first=True)[PAGE:]


def _message(index: Index, name: str, copy: Any) -> dict[str, Any] | None:
    """One copy as every face shows it."""
    event, _, agent = name.partition(" ")
    letter = index.state(letters.NAME, event)
    if letter is None:
        return None
    *_, (ts, said) = letter["said"]
    acked_at = copy["acked"][3] if "acked" in copy else None
    read_at = min((copy[gesture][3] for gesture in ("read", "acked") if gesture in copy), default=None)
    return {
        "message_id": rules.message_id(event, agent, is_alone=len(said["to"]) == 1),
        "thread_id": said["thread"],
        "bead_id": said["bead"],
        "from_agent": said["sender"],
        "to_agent": agent,
        "category": said["category"],
        "subject": said["subject"],
        "body": said["body"],
        "state": mailbox.state_of(copy),
        "requires_ack": said["requires_ack"],
        "created_at": ts,
        "read_at": read_at,
        "acked_at": acked_at,
        "scope": said["scope"],
        "payload": said["payload"],
        "order": order.sortable(letter["said"][:3]),
    }
