"""The effects of time: reminders, stale events, deferred events that come back, and claims that expire.

Each effect is recorded once, by the first process that ticks. A late or missing tick changes no answer, because every
rule compares times with the clock.

    open for half of its time     the same agent gets one more knock
    open when its time is over    stale: the agent may answer after it has read the thread, and the next one is asked
    window over, no answer owed   ignored, without a notice
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.attention.acts import notices
from bb.attention.acts.escalation import escalate
from bb.attention.facts import AttentionFact, Moved
from bb.attention.judging import claiming
from bb.attention.judging.cases import current_message
from bb.attention.judging.current_decision import due_at, standing
from bb.attention.messages.messages import MessageHead, in_window
from bb.attention.state import claims, transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.claims import Claim
from bb.attention.state.deliveries import Delivery
from bb.attention.turns.offers import MOST_TRIES, MOST_TURNS
from bb.attention.words import CLAIM_LOST, CLAIMED, DEFERRED, MUST, MUST_NOT, SYSTEM
from bb.kernel.ids import PERSON

Act = tuple[str, Delivery, list[AttentionFact]]


def tick(book: AttentionState, now: int) -> tuple[list[AttentionFact], list[dict[str, Any]]]:
    """The facts that are due by NOW, and a row about each."""
    facts: list[AttentionFact] = []
    rows: list[dict[str, Any]] = []
    escalated: set[str] = set()
    opened = book.every_open()
    at_hand = book.with_messages_of(opened)
    for delivery in opened:
        head = at_hand.message(delivery.event)
        if head is None or head.is_deleted or delivery.agent == PERSON:
            continue
        for what, then in _due(at_hand, delivery, head, now):
            # If two agents leave one event unanswered at the same time, it is escalated once.
            if what == "escalated" and delivery.event in escalated:
                continue
            if what == "escalated":
                escalated.add(delivery.event)
            facts += then
            rows.append({"eventId": delivery.event, "agent": delivery.agent, "what": what} | _recipient(then))
    for event, agent, then in _threads_lost(book, now):
        facts += then
        rows.append({"eventId": event, "agent": agent, "what": CLAIM_LOST})
    return facts, rows


def _recipient(facts: list[AttentionFact]) -> dict[str, str]:
    recipients = [fact.about["to"] for fact in facts if isinstance(fact, Moved) and fact.about and "to" in fact.about]
    return {"to": recipients[0]} if recipients else {}


def _due(
    book: AttentionState, delivery: Delivery, known: MessageHead, now: int
) -> Iterator[tuple[str, list[AttentionFact]]]:
    if delivery.disposition == DEFERRED:
        if delivery.until is not None and now >= delivery.until:
            back: list[AttentionFact] = [_step(delivery, transitions.RESURFACED), _step(delivery, transitions.REMINDED)]
            yield "resurfaced", back
        return
    if delivery.disposition == CLAIMED:
        yield from _claim_over(book, delivery, known, now)
        return
    if delivery.turns >= MOST_TURNS and not delivery.has_spoken:
        yield from _given_up(book, delivery, known, now)
        return
    if delivery.attempt >= MOST_TRIES and not delivery.accepted and not delivery.is_parked:
        yield "parked", [_step(delivery, transitions.PARKED)]
    claim = book.claim(delivery.event, known.thread_window, now)
    as_it_stands = standing(delivery, claim, now, book.tuning)
    if as_it_stands.decision.policy == MUST_NOT:
        return
    if delivery.decision.policy == MUST:
        yield from _owed(book, delivery, known, now)
    elif as_it_stands.due is not None and now >= as_it_stands.due:
        yield "ignored", [_step(delivery, transitions.LAPSED)]


def _owed(
    book: AttentionState, delivery: Delivery, known: MessageHead, now: int
) -> Iterator[tuple[str, list[AttentionFact]]]:
    """What time does to an event that is owed an answer."""
    due = due_at(delivery, book.tuning)
    if due is None:
        return
    if (
        delivery.awaits_clarification
        and not delivery.clarified_at
        and (said_at := _clarified_at(book, delivery, known))
    ):
        yield "clarified", [_step(delivery, transitions.CLARIFIED, {"at": said_at})]
        return
    allowed = due - (delivery.at or delivery.arrived)
    if now >= due:
        if delivery.stale_at is None:
            yield "stale", [_step(delivery, transitions.STALE)]
        # A message that arrived after its deadline gets half of its time before it is escalated.
        came_late = delivery.arrived >= due
        is_asked_for = not delivery.escalated_to and (not came_late or now >= delivery.arrived + allowed // 2)
        message = current_message(book, known)
        if is_asked_for and (facts := escalate(book, delivery, message, now, "no answer in time")):
            yield "escalated", facts
    elif now >= due - allowed // 2 and delivery.reminded_at is None and delivery.attempt:
        yield "reminded", [_step(delivery, transitions.REMINDED)]


def _clarified_at(book: AttentionState, delivery: Delivery, known: MessageHead) -> int | None:
    """When the author, who was asked for clarification, wrote again in the same thread; None if not yet."""
    for other in book.newest_messages(in_window(known.window)):
        if other.event == delivery.event or other.arrived < (delivery.awaits_clarification or 0):
            return None
        if other.author == known.author and not other.reason:
            return other.arrived
    return None


def _claim_over(
    book: AttentionState, delivery: Delivery, known: MessageHead, now: int
) -> Iterator[tuple[str, list[AttentionFact]]]:
    """The end of a claim.

    It expired, so another agent that could answer is reminded. Or another agent holds it: that agent claimed it earlier
    in another clone, or took it over.
    """
    claim = book.claim(delivery.event, known.thread_window, now)
    holder = claim.held_by(now) or claim.settled_by
    if holder == delivery.agent and claim.held_by(now):
        return
    if holder and holder != delivery.agent:
        lost = _claim_lost_notice(book, claim, known, delivery.agent, holder, now)
        yield CLAIM_LOST, [_step(delivery, transitions.GAVE_BACK, {"why": "claim lost"}), *lost]
    else:
        again = claiming.remind_another(book, known, delivery.agent, "claim over")
        yield "claim_over", [_step(delivery, transitions.GAVE_BACK, {"why": "claim over"}), *again]


def _threads_lost(book: AttentionState, now: int) -> Iterator[tuple[str, str, list[AttentionFact]]]:
    """Notices to agents that lost a claim on a thread, because another clone had an earlier claim."""
    for subject, state in book.states.entries_by_term(claims.NAME, claims.HELD):
        claim = claims.claim_of_state(subject, state)
        holder = claim.held_by(now) if subject.startswith(claims.THREAD) else ""
        for agent in claim.lost if holder else ():
            thread = subject.removeprefix(claims.THREAD)
            head = next(book.newest_messages(f"in {thread}"), None)
            if head and (facts := _claim_lost_notice(book, claim, head, agent, holder, now)):
                yield head.event, agent, facts


def _claim_lost_notice(
    book: AttentionState, claim: Claim, known: MessageHead, agent: str, holder: str, now: int
) -> list[AttentionFact]:
    """The notice to AGENT that another agent holds the claim. It is sent once."""
    text = f"{holder} claimed {known.event} before you. Let that agent answer it."
    return [*notices.notice_once(book, f"lost:{claim.token}:{agent}", known, agent, CLAIM_LOST, text, now)]


def _given_up(
    book: AttentionState, delivery: Delivery, known: MessageHead, now: int
) -> Iterator[tuple[str, list[AttentionFact]]]:
    yield "failed", [_step(delivery, transitions.GAVE_UP, {"reason": f"{delivery.turns} turns failed"})]
    if delivery.decision.policy == MUST:
        facts = escalate(book, delivery, current_message(book, known), now, "its turns failed")
        if facts:
            yield "escalated", facts


def _step(delivery: Delivery, to: str, about: dict[str, Any] | None = None) -> Moved:
    return Moved(SYSTEM, delivery.event, delivery.agent, to, about)
