"""The effects of time: reminders, stale events, deferred events that come back, and claims that expire.

Each effect is recorded once, by the first process that ticks. A late or missing tick changes no answer, because every
rule compares times with the clock.

    open for half of its time     the same agent gets one more knock
    open when its time is over    stale: the agent may answer after it has read the thread, and the next one is asked
    window over, no answer owed   ignored, without a notice
"""

from __future__ import annotations

from bb.attention.acts import notices
from bb.attention.acts.escalation import escalate
from bb.attention.facts import Moved
from bb.attention.judging import claiming
from bb.attention.judging.cases import said_in
from bb.attention.judging.standing import due_at, standing
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import kept as message_kept
from bb.attention.state import claims, deliveries
from bb.attention.turns.offers import MOST_TRIES, MOST_TURNS
from bb.attention.words import CLAIM_LOST, CLAIMED, DEFERRED, MUST, MUST_NOT, SYSTEM
from bb.kernel.ids import PERSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book
    from bb.attention.state.claims import Claim
    from bb.attention.state.deliveries import Delivery

    Act = tuple[str, Delivery, list[AttentionFact]]


def tick(book: Book, now: int) -> tuple[list[AttentionFact], list[dict[str, Any]]]:
    """The facts that are due by NOW, and a row about each."""
    facts: list[AttentionFact] = []
    rows: list[dict[str, Any]] = []
    escalated: set[str] = set()
    opened = book.every_open()
    at_hand = book.with_messages_of(opened)
    for found in opened:
        known = at_hand.message(found.event)
        if known is None or known.is_deleted or found.agent == PERSON:
            continue
        for what, then in _due(at_hand, found, known, now):
            # If two agents leave one event unanswered at the same time, it is escalated once.
            if what == "escalated" and found.event in escalated:
                continue
            if what == "escalated":
                escalated.add(found.event)
            facts += then
            rows.append({"eventId": found.event, "agent": found.agent, "what": what} | _whom(then))
    for event, agent, then in _threads_lost(book, now):
        facts += then
        rows.append({"eventId": event, "agent": agent, "what": CLAIM_LOST})
    return facts, rows


def _whom(facts: list[AttentionFact]) -> dict[str, str]:
    found = [each.about["to"] for each in facts if isinstance(each, Moved) and each.about and "to" in each.about]
    return {"to": found[0]} if found else {}


def _due(book: Book, found: Delivery, known: Kept, now: int) -> Iterator[tuple[str, list[AttentionFact]]]:
    if found.disposition == DEFERRED:
        if found.until is not None and now >= found.until:
            back: list[AttentionFact] = [_step(found, deliveries.RESURFACED), _step(found, deliveries.REMINDED)]
            yield "resurfaced", back
        return
    if found.disposition == CLAIMED:
        yield from _claim_over(book, found, known, now)
        return
    if found.turns >= MOST_TURNS and not found.has_spoken:
        yield from _given_up(book, found, known, now)
        return
    if found.attempt >= MOST_TRIES and not found.accepted and not found.is_parked:
        yield "parked", [_step(found, deliveries.PARKED)]
    claim = book.claim(found.event, found.window, now)
    as_it_stands = standing(found, claim, now, book.tuning)
    if as_it_stands.decision.policy == MUST_NOT:
        return
    if found.decision.policy == MUST:
        yield from _owed(book, found, known, now)
    elif as_it_stands.due is not None and now >= as_it_stands.due:
        yield "ignored", [_step(found, deliveries.LAPSED)]


def _owed(book: Book, found: Delivery, known: Kept, now: int) -> Iterator[tuple[str, list[AttentionFact]]]:
    """What time does to an event that is owed an answer."""
    due = due_at(found, book.tuning)
    if due is None:
        return
    if found.awaits_clarification and not found.clarified_at and (said_at := _said_more(book, found, known)):
        yield "clarified", [_step(found, deliveries.CLARIFIED, {"at": said_at})]
        return
    allowed = due - (found.at or found.arrived)
    if now >= due:
        if found.stale_at is None:
            yield "stale", [_step(found, deliveries.STALE)]
        # A message that arrived after its deadline gets half of its time before it is escalated.
        came_late = found.arrived >= due
        is_asked_for = not found.escalated_to and (not came_late or now >= found.arrived + allowed // 2)
        said = said_in(known, book.data(known.line))
        if is_asked_for and (asked := escalate(book, found, said, now, "no answer in time")):
            yield "escalated", asked
    elif now >= due - allowed // 2 and found.reminded_at is None and found.attempt:
        yield "reminded", [_step(found, deliveries.REMINDED)]


def _said_more(book: Book, found: Delivery, known: Kept) -> int | None:
    """When the author, who was asked for clarification, wrote again in the same thread; None if not yet."""
    for _, event, state in book.states.newest_first(MESSAGES, f"in {known.window}".rstrip()):
        other = message_kept(event, state)
        if other is None or event == found.event or other.arrived < (found.awaits_clarification or 0):
            return None
        if other.author == known.author and not other.reason:
            return other.arrived
    return None


def _claim_over(book: Book, found: Delivery, known: Kept, now: int) -> Iterator[tuple[str, list[AttentionFact]]]:
    """The end of a claim.

    It expired, so another agent that could answer is reminded. Or another agent holds it: that agent claimed it earlier
    in another clone, or took it over.
    """
    claim = book.claim(found.event, found.window, now)
    holder = claim.held_by(now) or claim.settled_by
    if holder == found.agent and claim.held_by(now):
        return
    if holder and holder != found.agent:
        lost = _lost(book, claim, known, found.agent, holder, now)
        yield CLAIM_LOST, [_step(found, deliveries.GAVE_BACK, {"why": "claim lost"}), *lost]
    else:
        again = claiming.asked_again(book, known, found.agent, "claim over")
        yield "claim_over", [_step(found, deliveries.GAVE_BACK, {"why": "claim over"}), *again]


def _threads_lost(book: Book, now: int) -> Iterator[tuple[str, str, list[AttentionFact]]]:
    """Notices to agents that lost a claim on a thread, because another clone had an earlier claim."""
    for subject, state in book.states.found(claims.NAME, claims.HELD):
        claim = claims.claim(subject, state)
        holder = claim.held_by(now) if subject.startswith(claims.THREAD) else ""
        for agent in claim.lost if holder else ():
            thread = subject.removeprefix(claims.THREAD)
            newest = next(iter(book.states.newest_first(MESSAGES, f"in {thread}")), None)
            known = message_kept(newest[1], newest[2]) if newest else None
            if known and (facts := _lost(book, claim, known, agent, holder, now)):
                yield known.event, agent, facts


def _lost(book: Book, claim: Claim, known: Kept, agent: str, holder: str, now: int) -> list[AttentionFact]:
    """The notice to AGENT that another agent holds the claim. It is sent once."""
    text = f"{holder} claimed {known.event} before you. Let that agent answer it."
    return [*notices.once(book, f"lost:{claim.token}:{agent}", known, agent, CLAIM_LOST, text, now)]


def _given_up(book: Book, found: Delivery, known: Kept, now: int) -> Iterator[tuple[str, list[AttentionFact]]]:
    yield "failed", [_step(found, deliveries.GAVE_UP, {"reason": f"{found.turns} turns failed"})]
    if found.decision.policy == MUST:
        asked = escalate(book, found, said_in(known, book.data(known.line)), now, "its turns failed")
        if asked:
            yield "escalated", asked


def _step(found: Delivery, to: str, about: dict[str, Any] | None = None) -> Moved:
    return Moved(SYSTEM, found.event, found.agent, to, about)
