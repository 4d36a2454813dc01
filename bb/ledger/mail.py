"""Mail as it stands: copies of messages with what was said, found by the index."""

from __future__ import annotations

from itertools import dropwhile

from bb.coordination import roster
from bb.kernel import ids, order
from bb.messaging import letters, mailbox
from bb.messaging import mail as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.index import Index


def inbox(index: Index, agent: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """What was sent to AGENT, newest first, read as it is wanted."""
    return _named(index, f"unread {agent}" if state == mailbox.UNREAD else f"to {agent}", state)


def owed(index: Index, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """What asks to be accepted and is not yet, newest first: by AGENT, or by anybody."""
    return _named(index, f"owed {agent}" if agent else "owed")


def unsettled(index: Index, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """What is owed, but for what a retired agent owed and somebody else was asked for since."""
    for message in owed(index, agent):
        known = roster.agent(message["to_agent"], index.state(roster.NAME, message["to_agent"]))
        if not (known and known.is_retired and _is_passed_on(index, message)):
            yield message


def _is_passed_on(index: Index, message: dict[str, Any]) -> bool:
    """Whether the sender, or the person, has asked another agent for the same since, about the same bead."""
    copies = (copy for _, copy in about(index, message["bead_id"]))
    later = dropwhile(lambda copy: copy["message_id"] != message["message_id"], copies)
    return any(
        copy["to_agent"] != message["to_agent"]
        and copy["category"] == message["category"]
        and copy["from_agent"] in (message["from_agent"], ids.PERSON)
        for copy in later
    )


def handed_to(index: Index, agent: str) -> Iterator[dict[str, Any]]:
    """The hand-offs that AGENT was given, newest first."""
    return _named(index, f"handed to {agent}")


def one(index: Index, event: str, agent: str) -> dict[str, Any] | None:
    """AGENT's copy of a message; None when it has none."""
    return _copy(index, event, index.state(letters.NAME, event), agent)


def copies(index: Index, event: str) -> list[dict[str, Any]]:
    """Every copy of one message, by recipient."""
    return copies_of(index, event, index.state(letters.NAME, event))


def copies_of(index: Index, event: str, letter: Any) -> list[dict[str, Any]]:
    """Every copy of the message whose folded state is LETTER, by recipient."""
    agents = sorted(letters.sent(letter).to) if letter else []
    return [found for agent in agents if (found := _copy(index, event, letter, agent))]


def about(index: Index, bead: str) -> list[tuple[str, dict[str, Any]]]:
    """Every copy of every message about a bead, oldest first, each with the message's place in the order."""
    return [
        (order.sortable(letter["said"][:3]), copy)
        for event, letter in index.found(letters.NAME, f"bead {bead}")
        for copy in copies_of(index, event, letter)
    ]


def count_unread(index: Index, agent: str) -> int:
    """How many of AGENT's messages it has not seen."""
    return index.count(mailbox.NAME, f"unread {agent}")


def _named(index: Index, term: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """The copies that TERM finds, newest first."""
    for _, name, copy in index.newest_first(mailbox.NAME, term):
        if state in (None, mailbox.state_of(copy)):
            event, _, agent = name.partition(" ")
            if (letter := index.state(letters.NAME, event)) is not None:
                yield _shown(event, letter, agent, copy)


def _copy(index: Index, event: str, letter: Any, agent: str) -> dict[str, Any] | None:
    copy = index.state(mailbox.NAME, mailbox.copy(event, agent))
    return _shown(event, letter, agent, copy) if letter is not None and copy and "sent" in copy else None


def _shown(event: str, letter: Any, agent: str, copy: Any) -> dict[str, Any]:
    """One copy as every face shows it."""
    sent = letters.sent(letter)
    acked_at = copy["acked"][3] if "acked" in copy else None
    read_at = min((copy[gesture][3] for gesture in ("read", "acked") if gesture in copy), default=None)
    return {
        "message_id": rules.message_id(event, agent, is_alone=len(sent.to) == 1),
        "thread_id": sent.thread,
        "bead_id": sent.bead,
        "from_agent": sent.sender,
        "to_agent": agent,
        "category": sent.category,
        "subject": sent.subject,
        "body": sent.body,
        "state": mailbox.state_of(copy),
        "requires_ack": sent.requires_ack,
        "created_at": letters.sent_at(letter),
        "read_at": read_at,
        "acked_at": acked_at,
        "scope": sent.scope,
        "payload": sent.payload,
    }
