"""Mail: the copies of messages, with their texts, found by the index."""

from __future__ import annotations

from itertools import dropwhile

from bb.coordination.agents import roster
from bb.kernel import ids, total_order
from bb.messaging import messages
from bb.messaging.facts import CBCL
from bb.messaging.mail import mail as rules
from bb.messaging.mail import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.messaging.facts import Sent

SENT = "chat.message"  # the kind of a message's line


def inbox(index: Index, agent: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """The messages to AGENT, newest first, read lazily."""
    return _named(index, f"unread {agent}" if state == mailbox.UNREAD else f"to {agent}", state)


def unacknowledged(index: Index, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """The messages that require an acknowledgement and have none yet, newest first: from AGENT, or from any agent."""
    return _named(index, f"owed {agent}" if agent else "owed")


def unsettled(index: Index, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """The owed messages, without those of a retired agent that were sent to another agent since."""
    for message in unacknowledged(index, agent):
        recipient = roster.agent(message["to_agent"], index.state(roster.NAME, message["to_agent"]))
        if not (recipient and recipient.is_retired and _is_passed_on(index, message)):
            yield message


def _is_passed_on(index: Index, message: dict[str, Any]) -> bool:
    """Whether the sender or the person has since sent such a message about the same bead to another agent."""
    copies = (copy for _, copy in about(index, message["bead_id"]))
    later = dropwhile(lambda copy: copy["message_id"] != message["message_id"], copies)
    return any(
        copy["to_agent"] != message["to_agent"]
        and copy["category"] == message["category"]
        and copy["from_agent"] in (message["from_agent"], ids.PERSON)
        for copy in later
    )


def handed_to(index: Index, agent: str) -> Iterator[dict[str, Any]]:
    """The hand-offs to AGENT, newest first."""
    return _named(index, f"handed to {agent}")


def copy_of(index: Index, event: str, agent: str) -> dict[str, Any] | None:
    """AGENT's copy of a message; None if it has none."""
    letter = index.state(messages.NAME, event)
    copies = copies_of(index, [(event, letter)], [agent]) if letter is not None else []
    return copies[0][1] if copies else None


def copies(index: Index, event: str) -> list[dict[str, Any]]:
    """Every copy of one message, by recipient."""
    letter = index.state(messages.NAME, event)
    return [copy for _, copy in copies_of(index, [(event, letter)])] if letter is not None else []


def about(index: Index, bead: str) -> list[tuple[str, dict[str, Any]]]:
    """Every copy of every message about a bead, oldest first, each with the message's place in the order."""
    return copies_of(index, index.entries_by_term(messages.NAME, f"bead {bead}"))


def copies_of(
    index: Index, found: Sequence[tuple[str, Any]], agents: Sequence[str] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """The copies of the messages FOUND (pairs of event and folded state), for AGENTS or for all their recipients."""
    letters = [(event, letter, messages.sent(letter)) for event, letter in found]
    names = [
        (event, letter, sent, agent)
        for event, letter, sent in letters
        for agent in agents or sorted(dict.fromkeys(sent.to))
    ]
    states = index.states_of(mailbox.NAME, [mailbox.copy(event, agent) for event, _, _, agent in names])
    return [
        (
            total_order.sortable(letter["said"][:3]),
            _shown(event, letter, sent, agent, copy) | mark(index, event, sent.sender),
        )
        for event, letter, sent, agent in names
        if (copy := states.get(mailbox.copy(event, agent))) and "sent" in copy
    ]


def count_unread(index: Index, agent: str) -> int:
    """The number of AGENT's unread messages."""
    return index.count(mailbox.NAME, f"unread {agent}")


def mark(index: Index, event: str, sender: str) -> dict[str, Any]:
    """A mark for a message in the person's name that the person has not signed; empty if there is no list of
    signers."""
    if index.law is None or sender != ids.PERSON:
        return {}
    from bb.ledger.index import counting  # noqa: PLC0415  (only with a list of signers)

    return counting.signature_mark(index, event, SENT, sender)


def _named(index: Index, term: str, state: str | None = None) -> Iterator[dict[str, Any]]:
    """The copies under a TERM of the index, newest first."""
    for _, name, copy in index.newest_first(mailbox.NAME, term):
        if state in (None, mailbox.state_of(copy)):
            event, _, agent = name.partition(" ")
            if (letter := index.state(messages.NAME, event)) is not None:
                sent = messages.sent(letter)
                yield _shown(event, letter, sent, agent, copy) | mark(index, event, sent.sender)


def _shown(event: str, letter: Any, sent: Sent, agent: str, copy: Any) -> dict[str, Any]:
    """One copy for display."""
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
        "created_at": messages.sent_at(letter),
        "read_at": read_at,
        "acked_at": acked_at,
        "scope": sent.scope,
        "payload": sent.payload,
        **({} if sent.cbcl is None else {"content_type": CBCL}),
    }
