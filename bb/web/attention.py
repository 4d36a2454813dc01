"""What waits for whom, and why: mail that is to be accepted, what C2A says an agent owes, what was asked in CBCL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bb.kernel import ids
from bb.ledger.views import mail as mails
from bb.messaging.mail import mail, mailbox
from bb.web.questions import answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ops.desk.desk import Desk

MOST = 20  # of each kind, for each agent

# Why a policy asks what it asks, and how far it has come, for people (C2A: response policy, reason, phase).
WHY = {
    "must_respond": "has to answer",
    "may_respond": "may answer",
    "must_not_respond": "is only to know",
    "direct_message": "it was written to it alone",
    "assignment": "it was given the work",
    "broadcast": "it went to everybody",
    "buffering": "not put before it yet",
    "held_for_boundary": "waits until it has finished what it does",
    "knocked": "it was told that there is something",
    "offered": "put before it",
    "delivered": "put before it",
}
AGENTS = 60  # whose attention stands on the page


def shown(desk: Desk) -> dict[str, Any]:
    """For each agent that anything waits for: what, and why."""
    agents = answer(desk, "status")["agents"]  # the liveliest first
    rows = [_for_an_agent(desk, agent) for agent in agents[:AGENTS]]
    waiting = [row for row in rows if row["letters"] or row["events"] or row["talk"]["owes"]]
    return {
        "waiting": sorted(waiting, key=lambda row: -len(row["letters"]) - len(row["events"])),
        "unseen_agents": max(len(agents) - AGENTS, 0),
        "why": WHY,
    }


def for_the_person(desk: Desk) -> list[dict[str, Any]]:
    """Messages to the person that are not settled: those to be accepted, then those not seen yet; oldest first."""
    index = desk.store.caught_up()
    owed = list(mails.owed(index, ids.PERSON))
    unread = [
        message for message in mails.inbox(index, ids.PERSON, mailbox.UNREAD) if message["state"] == mailbox.UNREAD
    ]
    known = {message["message_id"] for message in owed}
    found = [*owed, *(message for message in unread if message["message_id"] not in known)]
    return [_letter(message) for message in sorted(found, key=_urgency)]


def _urgency(message: dict[str, Any]) -> tuple[bool, bool, str]:
    is_question = message["category"] == mail.DECISION
    return (not message["requires_ack"], not is_question, message["created_at"])


def _for_an_agent(desk: Desk, agent: dict[str, Any]) -> dict[str, Any]:
    name = agent["agent_id"]
    owed = [_letter(message) for message in mails.unsettled(desk.store.caught_up(), name)]
    letters = {message["event_id"] for message in owed}
    oldest = sorted(owed, key=_urgency)[:MOST]
    events = answer(desk, "chat.list", agent=name, state="open", limit=str(MOST))["events"]
    return {
        "agent": agent,
        "letters": oldest,
        "left_out": len(owed) - len(oldest),
        "events": [event for event in events if event["eventId"] not in letters],
        "talk": answer(desk, "cbcl.pending", agent=name),
    }


def _letter(message: dict[str, Any]) -> dict[str, Any]:
    return message | {
        "label": mail.LABELS.get(message["category"], "Update"),
        "event_id": str(message["message_id"]).partition("_")[0],
        "actions": list(_actions(message)),
    }


def _actions(message: dict[str, Any]) -> Iterator[str]:
    """What the recipient can do about a message, in the words of Operative Protocol §6.3."""
    if message["state"] == mailbox.UNREAD:
        yield "Seen"
    if message["requires_ack"] and message["state"] != mailbox.ACKED:
        yield "Accepted"
