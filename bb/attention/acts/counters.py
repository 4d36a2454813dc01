"""What went wrong with attention: too little was answered (over-silence), or too much (over-talk).

    over-silence   unanswered     an answer was owed, and its time ended without one
                   late           it came after its time
                   failed         the message could not be given to the agent
                   declined       the agent refused
                   not_taken_up   a person asked agents, none of which owed an answer, and none answered
    over-talk      refused        an agent tried to answer or to claim what it may not, and was refused
                   forbidden      such an answer got out, for example because another clone did not know better
                   second_answer  another agent had answered before
                   duplicate      an agent sent the same answer again

The host counts by its own decisions. It cannot know that a message which names no agent was meant for one, that an
answer is beside the point, or that a message which an agent sends of its own accord interests nobody.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.acts.sending import LONGEST_RECEIPT
from bb.attention.judging.cases import bystander_delivery, current_message
from bb.attention.judging.current_decision import due_at
from bb.attention.messages.outbox_states import FAILED as UNPOSTED
from bb.attention.state import activity, claims, deliveries
from bb.attention.words import (
    ACK_ONLY,
    ACKNOWLEDGED,
    FAILED,
    HUMAN,
    MUST,
    MUST_NOT,
    QUESTION,
    RESPONDED,
    SUPERSEDED,
)
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.deliveries import Delivery

UNANSWERED, LATE, FAILED_DELIVERY = "unanswered", "late", "failed"
DECLINED, NOT_TAKEN_UP = "declined", "not_taken_up"
REFUSED, FORBIDDEN, SECOND, DUPLICATE = "refused", "forbidden", "second_answer", "duplicate"
ANSWERED = (RESPONDED, ACKNOWLEDGED)
# Refusals of an attempt to say what is not wanted. Others are none: of an answer to a text that was edited meanwhile,
# of a message that needs a confirmation, of an unknown event.
OF_TALK = (
    "POLICY_FORBIDS",
    "CLAIMED_BY_OTHER",
    "CLAIM_REQUIRED",
    "CLAIM_EXPIRED",
    "ALREADY_RESPONDED",
    "RATE_LIMITED",
    "CONFIRM_REFUSED",
)
MOST_COUNTED = 10_000  # deliveries and messages of an agent, each, the newest
SHOWN, EVERY = 20, 1 << 30  # events of each counter: usually, and with --all


class Fault(Record):
    """One thing that went wrong."""

    place: str
    kind: str
    event: str
    agents: tuple[str, ...]
    at: int
    about: str = ""

    def row(self) -> dict[str, Any]:
        """The fault as people and programs see it."""
        about = {"code": self.about} if self.kind == REFUSED else {"answer": self.about} if self.about else {}
        agents = {"agent": self.agents[0]} if len(self.agents) == 1 else {"agents": list(self.agents)}
        return {"at": clock.text(self.at), "kind": self.kind, "eventId": self.event, **agents, **about}


def counted(book: AttentionState, now: int, most: int = SHOWN, cursor: str = "") -> dict[str, Any]:
    """Both counters. At most MOST events of each are listed, the newest first, older than CURSOR."""
    return {
        "overSilence": _summary(silences(book, now), most, cursor),
        "overTalk": _summary(talk(book), most, cursor),
    }


def _summary(faults: Iterable[Fault], most: int, cursor: str) -> dict[str, Any]:
    found = sorted(faults, key=lambda fault: (fault.place, fault.kind, fault.agents), reverse=True)
    kinds: dict[str, int] = {}
    agents: dict[str, int] = {}
    for fault in found:
        kinds[fault.kind] = kinds.get(fault.kind, 0) + 1
        for agent in fault.agents:
            agents[agent] = agents.get(agent, 0) + 1
    older = [fault for fault in found if not cursor or fault.place < cursor]
    shown = older[:most]
    return {
        "count": len(found),
        "kinds": dict(sorted(kinds.items())),
        "agents": dict(sorted(agents.items())),
        "events": [fault.row() for fault in shown],
        "cursor": shown[-1].place if len(older) > most else None,
    }


# -- too little


def silences(book: AttentionState, now: int) -> Iterator[Fault]:
    """What was owed, or asked, and not answered."""
    asked: dict[str, None] = {}
    for agent in book.agents:
        for delivery in _deliveries_to(book, agent):
            if delivery.decision.policy == MUST:
                if kind := _silence(book, delivery, now):
                    yield Fault(delivery.place, kind, delivery.event, (agent,), delivery.arrived)
            elif delivery.decision.policy not in (MUST_NOT, ACK_ONLY):
                asked[delivery.event] = None
    for event in asked:
        head = book.message(event)
        if head and (agents := _not_taken_up(book, head, now)):
            yield Fault(head.place, NOT_TAKEN_UP, event, agents, head.arrived)


def _deliveries_to(book: AttentionState, agent: str) -> Iterator[Delivery]:
    rows = islice(book.states.newest_first(deliveries.NAME, f"to {agent}"), MOST_COUNTED)
    return (deliveries.delivery_of_state(key, state) for _, key, state in rows)


def _silence(book: AttentionState, delivery: Delivery, now: int) -> str:
    """How an answer that was owed failed to come; empty if it came in time, or may still come."""
    if delivery.deviates:
        return DECLINED
    if delivery.disposition == SUPERSEDED:
        return ""
    if delivery.disposition == FAILED:
        return FAILED_DELIVERY
    if delivery.disposition in ANSWERED:
        return LATE if delivery.stale_at is not None else ""
    due = due_at(delivery, book.tuning)
    is_over = delivery.stale_at is not None or (due is not None and now >= due)
    return UNANSWERED if is_over and not _is_gone(book, delivery.event) else ""


def _is_gone(book: AttentionState, event: str) -> bool:
    head = book.message(event)
    return head is None or head.is_deleted


def _not_taken_up(book: AttentionState, head: MessageHead, now: int) -> tuple[str, ...]:
    """The agents that a person asked, if none of them owed an answer and the time for one has ended without it."""
    if head.author_kind != HUMAN or head.intent != QUESTION or head.is_deleted or head.reason:
        return ()
    if now < head.arrived + book.tuning.deadline_ms:
        return ()
    given = [delivery for agent in head.meant if (delivery := book.delivery(head.event, agent))]
    if any(one.decision.policy == MUST or one.disposition in ANSWERED for one in given):
        return ()
    return tuple(sorted(one.agent for one in given if one.decision.policy != MUST_NOT))


# -- too much


def talk(book: AttentionState) -> Iterator[Fault]:
    """The refused attempts to answer, and the answers that should not have got out."""
    yield from _refused(book)
    answered: dict[str, None] = {}
    for agent in book.agents:
        for head in islice(book.newest_messages(f"agent {agent}"), MOST_COUNTED):
            if head.in_reply_to and _counts(head):
                answered[head.in_reply_to] = None
    for event in answered:
        if asked := book.message(event):
            yield from _of_answers(book, asked)


def _refused(book: AttentionState) -> Iterator[Fault]:
    rows = islice(book.states.newest_first(activity.NAME, activity.REFUSED.strip()), MOST_COUNTED)
    for place, _, state in rows:
        by, code, about, ms = state["refused"][3]
        if code in OF_TALK:
            yield Fault(place, REFUSED, str(about.get("event_id", "")), (by,), ms, code)


def _counts(head: MessageHead) -> bool:
    return not head.is_deleted and head.state != UNPOSTED


def _of_answers(book: AttentionState, asked: MessageHead) -> Iterator[Fault]:
    """What is wrong with the answers to one message, in the order in which they came."""
    rows = [head for agent in book.agents for head in book.newest_messages(f"answer {asked.event} {agent}")]
    earlier: dict[str, set[str]] = {}  # agent -> the texts of its answers
    for answer in sorted((head for head in rows if _counts(head)), key=lambda head: head.place):
        agent, text = answer.agent, current_message(book, answer).text
        if kind := _wrong(book, asked, agent, text, earlier):
            yield Fault(answer.place, kind, asked.event, (agent,), answer.arrived, answer.event)
        earlier.setdefault(agent, set()).add(text)


def _wrong(book: AttentionState, asked: MessageHead, agent: str, text: str, earlier: dict[str, set[str]]) -> str:
    """What is wrong with an answer, given the answers before it; empty if nothing is."""
    if text in earlier.get(agent, ()):
        return DUPLICATE
    delivery = book.delivery(asked.event, agent) or bystander_delivery(book, asked, agent)
    others = earlier.keys() - {agent}
    is_lost = agent in book.claim_on(claims.EVENT + asked.event).lost
    if others and (is_lost or delivery.decision.policy != MUST):
        return SECOND
    is_too_long = delivery.decision.policy == ACK_ONLY and len(text.strip()) > LONGEST_RECEIPT
    return FORBIDDEN if delivery.decision.policy == MUST_NOT or is_too_long else ""
