"""The attention page: mail to accept, C2A obligations and open CBCL questions of each agent, with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.kernel import ids
from bb.ledger.views import mail as mails
from bb.messaging.mail import mail, mailbox
from bb.ops.desk.desk import Desk
from bb.web.queries import answer

MOST = 20  # of each kind, for each agent

# C2A response policies, reasons and phases in words.
WHY = {
    "must_respond": "must respond",
    "may_respond": "may respond",
    "must_not_respond": "must not respond",
    "direct_message": "the message is addressed only to this agent",
    "assignment": "the work was assigned to this agent",
    "broadcast": "the message went to all agents",
    "buffering": "not delivered yet",
    "held_for_boundary": "held until the agent has finished its current work",
    "knocked": "the agent was notified",
    "offered": "offered to the agent",
    "delivered": "delivered",
}
AGENTS = 60  # agents on the page


def page_content(desk: Desk) -> dict[str, Any]:
    """The open items of each agent that has any."""
    agents = answer(desk, "status")["agents"]  # the most recently active first
    rows = [_for_an_agent(desk, agent) for agent in agents[:AGENTS]]
    waiting = [row for row in rows if row["letters"] or row["events"] or row["talk"]["owes"]]
    return {
        "waiting": sorted(waiting, key=lambda row: -len(row["letters"]) - len(row["events"])),
        "unseen_agents": max(len(agents) - AGENTS, 0),
        "why": WHY,
    }


def for_the_person(desk: Desk) -> list[dict[str, Any]]:
    """The person's open messages: first those to accept, then questions, then other unread ones; oldest first."""
    index = desk.store.caught_up()
    owed = list(mails.unacknowledged(index, ids.PERSON))
    unread = [
        message for message in mails.inbox(index, ids.PERSON, mailbox.UNREAD) if message["state"] == mailbox.UNREAD
    ]
    owed_ids = {message["message_id"] for message in owed}
    messages = [*owed, *(message for message in unread if message["message_id"] not in owed_ids)]
    return [_letter(message) for message in sorted(messages, key=_urgency)]


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
    """The recipient's possible actions, with the labels of Operative Protocol §6.3."""
    if message["state"] == mailbox.UNREAD:
        yield "Seen"
    if message["requires_ack"] and message["state"] != mailbox.ACKED:
        yield "Accepted"
