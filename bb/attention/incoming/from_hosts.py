"""Messages that another host delivers for one of our agents. That host's decision is kept.

A message is identified by its event id. A delivery may only add or acknowledge; this is what it does:

    an unknown message                                      it is recorded
    known from the same harness, a higher `contentVersion`  an edit; after a knock, the announced content
    known from the harness of another agent, the same text  it is also for this agent, with this decision
    known from there, with another text                     a message of its own, with an id of its own
    known from a platform, and visible                      a duplicate; our own decision counts
    known from a platform, and not visible                  a message of its own, as if it were unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.decision import Decision
from bb.attention.facts import Answer, Edited, Posted
from bb.attention.incoming.receiving import conversation_facts
from bb.attention.incoming.sources import conversation_here
from bb.attention.judging.cases import current_message, may_join, may_see
from bb.attention.messages import envelopes, message
from bb.attention.messages.message import Message
from bb.attention.messages.messages import MessageHead
from bb.attention.refusals import NoSuchEvent
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
    handing = _read(given, agent, now)
    place = conversation_here(book, handing.said.platform, handing.said.conversation)
    handing = handing.replace(said=handing.said.replace(conversation=place))
    where = book.conversation(handing.said.conversation)
    if not where.admits(agent) and not may_join(book, agent, where):
        raise NoSuchEvent(f"there is no conversation {where.id[:80]!r}, or {agent} may not see it")
    head = _known(book, agent, handing)
    if head is None:
        return _record(book, agent, handing, by)
    delivered = (book.data(head.first_line).get("c2a") or {}).get("delivered")
    is_visible = may_see(book, agent, head)
    if head.is_deleted and is_visible:
        return [], DUPLICATE
    if delivered and delivered.get("by", agent) == agent and is_visible:
        return _again(book, agent, head, handing, by)
    if is_visible and (not delivered or book.delivery(head.event, agent) is not None):
        return [], DUPLICATE
    # A harness that has the whole text of another delivery learns nothing when its agent is added to it.
    is_same = bool(delivered) and not head.is_deleted and _has_text_of(book, head, handing, is_visible=is_visible)
    return _add(book, agent, head, handing, by) if is_same else _record(book, agent, handing, by)


def _has_text_of(book: AttentionState, known: MessageHead, handing: Handing, *, is_visible: bool) -> bool:
    """Whether a delivery has the text of a known message. A knock has no text."""
    text = handing.said.text
    return _same(current_message(book, known).text, text) if text else is_visible


def _add(book: AttentionState, agent: str, known: MessageHead, handing: Handing, by: str) -> Answer:
    """The message is for this agent too. Nothing else of it changes."""
    line = book.data(known.line)
    c2a = {**line.get("c2a", {}), "for": {agent: handing.decision.to_json()}}
    return [Edited(by, known.event, known.version, c2a, str(line.get("text", "")))], ACCEPTED


def _known(book: AttentionState, agent: str, handing: Handing) -> MessageHead | None:
    """The message that is delivered, if it is known: first as one that only this harness has brought."""
    return book.message(_own_id(agent, handing.said.event)) or book.message(handing.said.event)


def _own_id(agent: str, event: str) -> str:
    """The id of a message that differs from the one that has the id EVENT, or that AGENT cannot see."""
    return envelopes.as_single_word(f"host:{agent}:{event}")


def ids_here(agent: str, given: Any) -> set[str]:
    """The ids that a delivery for AGENT may have here."""
    members = envelopes.EnvelopeMembers(given)
    event = envelopes.scoped(members.object("source").id("platform") or message.HERE, members.id("eventId"))
    return {event, _own_id(agent, event)}


def _record(book: AttentionState, agent: str, handing: Handing, by: str) -> Answer:
    """Record a new message; under an id of its own if another message has its id."""
    said = handing.said
    if book.message(said.event) is not None:
        said = said.replace(event=_own_id(agent, said.event))
    c2a = _c2a(book, handing.replace(said=said), {agent: handing.decision})
    return [*conversation_facts(book, said), Posted(by, c2a, said.text, _recipients(agent, handing))], ACCEPTED


def _again(book: AttentionState, agent: str, known: MessageHead, handing: Handing, by: str) -> Answer:
    """The harness that brought the message delivers it again: a duplicate, or an edit."""
    has = (book.data(known.line).get("c2a") or {}).get("delivered") or {}
    if handing.version <= has.get("version", known.version):
        return [], DUPLICATE
    each = {**_earlier_decisions(book, known), agent: handing.decision}
    c2a = _c2a(book, handing.replace(said=handing.said.replace(event=known.event)), each)
    return [Edited(by, known.event, known.version + 1, c2a, handing.said.text)], ACCEPTED


def _same(one: str, other: str) -> bool:
    """Whether two texts differ only in white space."""
    return one.split() == other.split()


def _read(given: Any, agent: str, now: int) -> Handing:
    parsed, members = envelopes.parse_delivery(given, now), envelopes.EnvelopeMembers(given)
    version = members.number("contentVersion")
    if version is None:
        version = 0 if parsed.knock is not None else 1  # a knock has no content yet
    directedness, policy, mode, reason, priority, deadline = parsed.decision
    injection = {name: members.object("injection").id(name) for name in ("context", "role")}
    more = {
        "delivered": {"by": agent, "version": version, "key": parsed.key, "attempt": parsed.attempt},
        "injection": _present(injection),
    }
    decision = Decision(directedness, policy, mode, reason[:60], priority, deadline)
    return Handing(parsed.message.replace(version=1), decision, version, more)


def _earlier_decisions(book: AttentionState, known: MessageHead) -> dict[str, Decision]:
    """The decisions for the agents that it was delivered for before; they also get a new version."""
    deliveries = [book.delivery(known.event, agent) for agent in known.meant]
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
