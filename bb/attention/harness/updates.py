"""Plans the next updates for a harness: changed or deleted messages, new messages, and digests.

The next message of a conversation is handed over only after the previous one was taken, so a retry is never overtaken.
Immediate messages do not wait. If a harness lacks a capability, a message takes another form or stays in the mailbox:

    no notify       an obliging knock becomes a text by the host; any other knock stays in the mailbox
    no buffered     the content is sent as `immediate`, but still only between turns
    no interrupt    nothing is sent in the middle of a turn
    no digest       no digest is sent
"""

from __future__ import annotations

from collections.abc import Iterable

from bb.attention.facts import AttentionFact, Moved
from bb.attention.harness import delivery
from bb.attention.harness.capabilities import (
    ACK,
    BUFFERING,
    CANCELLATION,
    DIGESTS,
    IMMEDIATELY,
    NOTIFYING,
    REDELIVERY,
    Capabilities,
)
from bb.attention.harness.delivery import Parcel
from bb.attention.harness.late_fragments import fragments
from bb.attention.harness.session import Deliver, Handed, Harness, Plan
from bb.attention.judging.cases import may_see
from bb.attention.judging.content_version import with_merged_pieces
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.turns import digests
from bb.attention.turns.offers import CONTENT, KNOCK, MOST_TRIES, Offer, offer_facts, offers_for, retry_at
from bb.attention.words import BUFFERED, CANCEL, DIGEST, FINAL, IMMEDIATE, MUST, NOTIFY, SUPERSEDED, SYSTEM

MOST_HANDED = 32  # messages that are handed over and not taken yet
STOPPED = "its author or the person has stopped this work"
WITHDRAWN = {transitions.DELETED: "the message was deleted", transitions.SETTLED: "the message was settled elsewhere"}
EDITED, ADDED = "the message was edited", "another piece of the message arrived"
HIDDEN = "the conversation is not open to the agent any more"


def plan(harness: Harness, book: AttentionState, now: int, seed: str) -> Plan:
    """The facts to record and the messages to send NOW. SEED is random. The harness changes only in `has_done`."""
    return _Look(harness, book, now, seed).plan()


class _Look:
    """One computation of a plan."""

    def __init__(self, harness: Harness, book: AttentionState, now: int, seed: str) -> None:
        self._harness, self._book, self._now, self._seed = harness, book, now, seed
        self._agent, self._can = harness.agent, harness.can
        self._facts: list[AttentionFact] = []
        self._cancels: dict[str, tuple[Handed, str]] = {}
        self._delivers: list[Deliver] = []
        self._altered: set[str] = set()
        self._parked: list[Handed] = []
        self._settled: list[str] = []
        self._events: list[str] = []  # all events that are handed over, including pieces
        self._busy: dict[str, int] = {}  # conversation -> number of messages handed over and not taken

    def plan(self) -> Plan:
        self._look_for_changes()
        lease = self._book.tuning.turn_lease_ms
        lapsed = self._harness.leases.lapsed(self._now, lease)
        self._end_lapsed(lapsed)
        turns = self._harness.turns - self._cancels.keys() - lapsed
        again = self._harness.resumed | self._due_again() | self._altered
        side = self._harness.offer_session(again, turns)
        offers, held = offers_for(self._book, self._agent, self._now, side)
        at_rest = offers_for(self._book, self._agent, self._now, side.replace(in_turn=False))[0] if turns else offers
        offered_again = again & {offer.event for offer in offers}
        for handed in self._waiting():
            if handed.event not in offered_again:
                self._busy[handed.conversation] = self._busy.get(handed.conversation, 0) + 1
        merged = self._restart(at_rest)
        for offer in offers:
            if offer.event not in merged:
                self._offer(offer, again, turns)
        self._digest(turns)
        moments = [entry.until for entry in held if entry.until is not None]
        moments += [self._harness.digest_at] if self._harness.digest_at is not None else []
        moments += [handed.again_at for handed in (*self._waiting(), *(new.handed for new in self._delivers))]
        moments += [lapse] if (lapse := self._harness.leases.next_lapse(self._now, lease)) is not None else []
        later = min((moment for moment in moments if moment > self._now), default=None)
        cancels, parked = tuple(self._cancels.values()), tuple(self._parked)
        events = [*(handed.event for handed, _ in cancels), *(handed.event for handed in parked), *self._events]
        rests_on = tuple(current for event in events if (current := self._book.delivery(event, self._agent)))
        return Plan(
            facts=tuple(self._facts),
            cancels=cancels,
            delivers=tuple(self._delivers),
            parked=parked,
            lapsed=tuple(sorted(lapsed)),
            settled=tuple(self._settled),
            due=later,
            rests_on=rests_on,
        )

    def _end_lapsed(self, lapsed: Iterable[str]) -> None:
        """Record that the turns of these events are over, because nothing was heard of them for too long."""
        for event in sorted(lapsed):
            current = self._book.delivery(event, self._agent) if event else None
            if current is not None and event not in self._cancels:
                self._begin_anew(current, "lease over")
                self._events.append(event)

    def _waiting(self) -> list[Handed]:
        """The messages that were handed over and are neither taken nor given up."""
        gone = self._cancels.keys() | {handed.event for handed in self._parked}
        return [handed for handed in self._harness.handed.values() if not handed.is_taken and handed.event not in gone]

    def _due_again(self) -> set[str]:
        """The events to hand over again. Those without attempts left are parked until the next session."""
        due = [handed for handed in self._waiting() if self._now >= handed.again_at]
        self._parked += [handed for handed in due if handed.shape == DIGEST or not self._may_repeat(handed)]
        for handed in self._parked:
            steps = [Moved(SYSTEM, event, self._agent, transitions.PARKED) for event in handed.events]
            self._facts += [step for step in steps if self._is_waited_for(step.event)]
        return {handed.event for handed in due if self._may_repeat(handed)}

    def _may_repeat(self, handed: Handed) -> bool:
        return handed.attempt < MOST_TRIES and self._can(REDELIVERY)

    def _is_waited_for(self, event: str) -> bool:
        current = self._book.delivery(event, self._agent)
        return current is not None and current.is_open and not current.is_parked and not current.accepted

    # -- what has changed since it was handed over

    def _look_for_changes(self) -> None:
        for handed in list(self._harness.handed.values()):
            current = self._book.delivery(handed.event, self._agent)
            if current is None:
                continue
            head = None if handed.is_taken else self._book.message(handed.event)
            if head is not None and not may_see(self._book, self._agent, head):
                self._cancels[handed.event] = (handed, HIDDEN)
            elif current.disposition == SUPERSEDED and current.cause in WITHDRAWN:
                self._cancels[handed.event] = (handed, WITHDRAWN[current.cause])
            elif current.stopped_by:
                self._stop(handed, current)
            elif _is_settled(handed, current) and handed.event not in self._harness.turns:
                self._settled.append(handed.event)
            elif (
                not current.has_spoken
                and _needs_anything(current)
                and self._version(current, handed.shape) > handed.version
            ):
                self._cancels[handed.event] = (handed, EDITED)
                if (
                    current.is_open and current.attempt
                ):  # a merged piece was edited, which does not change this delivery
                    self._begin_anew(current, "edited")
                    self._altered.add(handed.event)

    def _stop(self, handed: Handed, current: Delivery) -> None:
        """Cancel work that was stopped. A harness that cannot cancel goes on until its turn ends."""
        is_to_come = not handed.is_taken and current.disposition == SUPERSEDED
        if self._can(CANCELLATION) and (is_to_come or handed.event in self._harness.turns or not handed.is_over):
            self._cancels[handed.event] = (handed, STOPPED)
            self._begin_anew(current, "stopped")

    def _version(self, current: Delivery, shape: str) -> int:
        pieces = with_merged_pieces(self._book, self._agent, [current.event]) if shape == CONTENT else [current.event]
        return delivery.version_of(self._book, pieces, shape)

    def _begin_anew(self, current: Delivery, why: str) -> None:
        if current.turn == transitions.STARTED:
            self._facts.append(Moved(SYSTEM, current.event, self._agent, transitions.ENDED, {"why": why}))

    def _restart(self, made: Iterable[Offer]) -> set[str]:
        """Cancel messages that got a late piece, and hand them over with it; the offers that are now part of them."""
        if not (self._can(CANCELLATION) and self._can(ACK)):
            return set()
        merged: set[str] = set()
        running = [handed for handed in self._harness.handed.values() if handed.event not in self._cancels]
        for handed, current, offer in fragments(self._book, running, self._agent, made):
            new = [item.event for item in offer.items]
            merged.add(offer.event)
            self._cancels[handed.event] = (handed, ADDED)
            self._begin_anew(current, "fragment")
            attempt = self._harness.next_attempt(current.event)
            self._facts += [
                Moved(SYSTEM, event, self._agent, transitions.MERGED, {"by": current.event}) for event in new
            ]
            parcel = delivery.parcel(self._book, self._agent, current.event, [current.event, *new], CONTENT, self._now)
            about = {"attempt": attempt, "as": CONTENT, "version": parcel.version}
            about["merged_from"] = [*current.merged_from, *new]
            self._facts.append(Moved(SYSTEM, current.event, self._agent, transitions.OFFERED, about))
            form = _form(CONTENT, parcel.decision.mode, parcel.decision.policy, self._can)
            self._hand_over(parcel.replace(attempt=attempt), form or BUFFERED, restarts=handed.restarts + 1)
        return merged

    # -- offers

    def _offer(self, offer: Offer, again: set[str], turns: set[str]) -> None:
        handed = self._harness.handed.get(offer.event)
        is_on_its_way = handed is not None and not handed.is_taken and handed.event not in self._cancels
        if (is_on_its_way and offer.event not in again) or offer.event in self._harness.own:
            return
        decision = offer.last.standing.decision.replace(policy=offer.policy)
        form = _form(offer.shape, decision.mode, offer.policy, self._can)
        if form is None or not self._has_room(offer):
            return
        attempt = max(offer.attempt, self._harness.next_attempt(offer.event))
        offer = offer.replace(attempt=attempt)
        self._begin_anew(offer.last.standing.delivery, "handed over once more")
        self._facts += offer_facts(self._book, self._agent, [offer], is_taken=not self._can(ACK))
        events = [item.event for item in offer.items]
        parcel = delivery.parcel(self._book, self._agent, offer.event, events, offer.shape, self._now)
        parcel = parcel.replace(attempt=attempt, decision=decision)
        restarts = handed.restarts if handed else 0
        running = self._harness.turns if decision.reason == CANCEL else turns  # also one that was cancelled just now
        self._hand_over(parcel, form, restarts=restarts, interrupts=bool(running) and decision.mode == IMMEDIATE)

    def _has_room(self, offer: Offer) -> bool:
        """Whether it may be handed over now: no earlier message of its conversation is still waiting."""
        is_at_once = offer.last.standing.decision.mode == IMMEDIATE and offer.shape == CONTENT
        is_next = is_at_once or not self._busy.get(offer.last.known.conversation)
        return is_next and sum(self._busy.values()) < MOST_HANDED

    def _hand_over(self, parcel: Parcel, mode: str, *, restarts: int = 0, interrupts: bool = False) -> None:
        parcel = parcel.replace(mode=mode, interrupts=interrupts)
        must_wait = self._can(ACK)
        conversation = parcel.items[-1].known.conversation
        if must_wait:
            self._busy[conversation] = self._busy.get(conversation, 0) + 1
        self._events += [item.event for item in parcel.items]
        events = tuple(item.event for item in parcel.items) if parcel.shape == KNOCK else (parcel.event,)
        again_at = retry_at(parcel.attempt, self._now + self._book.tuning.ack_ms)
        handed = Handed(
            parcel.event,
            self._harness.next_request(len(self._delivers)),
            parcel.attempt,
            parcel.version,
            parcel.shape,
            conversation,
            events,
            again_at,
            is_taken=not must_wait,
            restarts=restarts,
        )
        envelope = delivery.envelope(self._book, self._agent, parcel, f"{self._seed} {parcel.event}")
        counts = interrupts and parcel.decision.reason != CANCEL  # an order to stop leaves other interruptions possible
        self._delivers.append(Deliver(handed, envelope, counts))

    # -- digests

    def _digest(self, turns: set[str]) -> None:
        """Hand over a digest if one is due. It is recorded when the harness has taken it."""
        due = self._harness.digest_at
        if not self._can(DIGESTS) or turns or due is None or self._now < due:
            return
        facts, digest = digests.make_digest(self._book, self._agent, self._now)
        if not digest["text"]:
            return
        if not self._can(ACK):
            self._facts += facts
        event = delivery.digest_name(self._agent, facts)
        request = self._harness.next_request(len(self._delivers))
        attempt = self._harness.next_attempt(event)
        until = retry_at(attempt, self._now + self._book.tuning.ack_ms)
        is_taken = not self._can(ACK)
        handed = Handed(event, request, attempt, 1, DIGEST, "", (), until, is_taken, facts=tuple(facts))
        self._delivers.append(Deliver(handed, delivery.digest_envelope(self._agent, event, digest, attempt)))


def _is_settled(handed: Handed, current: Delivery) -> bool:
    """Whether a message was taken and is closed, so that nothing about it will be sent any more. If an edit opens it
    again, it is offered like a new one."""
    is_withdrawn = current.disposition == SUPERSEDED and current.cause in WITHDRAWN
    return handed.is_taken and current.disposition in FINAL and current.attempt > 0 and not is_withdrawn


def _needs_anything(current: Delivery) -> bool:
    """Whether the message still needs something, or did until an edit withdrew that."""
    return current.is_open or current.attempt == 0


def _form(shape: str, mode: str, policy: str, can: Capabilities) -> str | None:
    """The injection mode in which a harness gets a message; None if it stays in the mailbox.

    Without the capability for knocks, an obliging knock is sent as a text by the host, never as the content.
    """
    if shape == KNOCK and can(NOTIFYING):
        return NOTIFY
    if shape == KNOCK and policy != MUST:
        return None
    possible = {IMMEDIATE: can(IMMEDIATELY), BUFFERED: can(BUFFERING)}
    return next((candidate for candidate in (mode, BUFFERED, IMMEDIATE) if possible.get(candidate)), None)
