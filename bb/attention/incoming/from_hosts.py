"""Messages that another host delivers for one of our agents. That host's decision is kept.

A message is identified by its event id. A second delivery is a duplicate; one with a higher `contentVersion` is an
edit. After a knock, the announced content may follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.decision import Decision
from bb.attention.facts import Answer, Edited, Posted
from bb.attention.incoming.receiving import conversation_facts
from bb.attention.messages import envelopes, message
from bb.attention.messages.message import Message
from bb.attention.messages.messages import MessageHead
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import BUFFERED, HUMAN, IMMEDIATE
from bb.kernel.record import Record
from bb.messaging.chat.recipients import NOBODY

ACCEPTED, DUPLICATE = {"status": "accepted"}, {"status": "duplicate"}


class Handing(Record):
    """One delivered event: the message, the decision for the agent, and further members to keep."""

    said: Message
    decision: Decision
    version: int
    more: dict[str, Any]


def receive_delivery(book: AttentionState, agent: str, given: Any, by: str, now: int) -> Answer:
    """Record a message that a host has delivered for AGENT."""
    handing = _read(given, now)
    head = book.message(handing.said.event)
    if head is None:
        posted = Posted(
            by, _c2a(book, handing, {agent: handing.decision}), handing.said.text, _recipients(agent, handing)
        )
        return [*conversation_facts(book, handing.said), posted], ACCEPTED
    has = (book.data(head.line).get("c2a") or {}).get("delivered") or {}
    is_newer = handing.version > has.get("version", head.version)
    is_for_us = book.delivery(handing.said.event, agent) is not None
    if head.is_deleted or (is_for_us and not is_newer):
        return [], DUPLICATE
    c2a = _c2a(book, handing, _earlier_decisions(book, head, is_newer=is_newer) | {agent: handing.decision})
    return [Edited(by, handing.said.event, head.version + is_newer, c2a, handing.said.text)], ACCEPTED


def _read(given: Any, now: int) -> Handing:
    parsed, members = envelopes.parse_delivery(given, now), envelopes.EnvelopeMembers(given)
    version = members.number("contentVersion")
    if version is None:
        version = 0 if parsed.knock is not None else 1  # a knock has no content yet
    directedness, policy, mode, reason, priority, deadline = parsed.decision
    injection = {name: members.object("injection").id(name) for name in ("context", "role")}
    more = {
        "delivered": {"version": version, "key": parsed.key, "attempt": parsed.attempt},
        "injection": _present(injection),
    }
    decision = Decision(directedness, policy, mode, reason[:60], priority, deadline)
    return Handing(parsed.message.replace(version=1), decision, version, more)


def _earlier_decisions(book: AttentionState, known: MessageHead, *, is_newer: bool) -> dict[str, Decision]:
    """The decisions for the agents that it was delivered for before; they also get a new version."""
    deliveries = [book.delivery(known.event, agent) for agent in known.meant if is_newer]
    return {delivery.agent: delivery.decision for delivery in deliveries if delivery}


def _c2a(book: AttentionState, handing: Handing, each: Mapping[str, Decision]) -> dict[str, Any]:
    """The `c2a` member of its line."""
    posted = handing.said
    agent = book.directory.agent(posted.author, posted.platform) if posted.author_kind != HUMAN else None
    decided = {
        "for": {name: decision.to_json() for name, decision in each.items()},
        "else": Decision(reason="delivered").to_json()[:4],
    }
    return message.c2a_member(posted) | ({"agent": agent} if agent else {}) | decided | handing.more


def _recipients(agent: str, handing: Handing) -> tuple[str, ...]:
    """The CCCS recipients: the agents whose inbox contains it."""
    return (agent,) if handing.decision.mode in (IMMEDIATE, BUFFERED) else NOBODY


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
