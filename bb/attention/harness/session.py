"""The session with one connected harness: the messages handed to it, and their acknowledgements.

The ledger records how far a message has come (`deliveries`). The request that handed it over, and the time of the next
attempt, are known only here, for as long as the connection lasts:

    handed ──accepted, duplicate──> taken
       ├──busy, error, no answer──> waits ──> handed again: the same event and key, the next attempt
       └──edited, new piece, deleted──> cancelled ──> handed in its new form, or not at all
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bb.attention.acts.escalation import escalate
from bb.attention.facts import AttentionFact, Moved
from bb.attention.harness.capabilities import DIGESTS, INTERRUPT, REDELIVERY, Capabilities
from bb.attention.harness.turn_leases import TurnLeases
from bb.attention.judging.cases import current_message, open_cases
from bb.attention.judging.current_decision import due_at
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.turns.offers import Session as Side
from bb.attention.words import CLAIMED, DIGEST, MUST, OFFERED, SYSTEM
from bb.kernel.clock import HOUR, MINUTE
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

DIGEST_EVERY = HOUR

ResyncRequired = Conflict.declare(
    "RESYNC_REQUIRED",
    "The session cannot resume after that event, because it is unknown here",
    hint="call chat.list_events for the current events; unacknowledged events are delivered again anyway",
)


class Handed(Record):
    """A message that was handed over in a request, and perhaps taken."""

    event: str
    request: str
    attempt: int
    version: int  # the content version; the harness needs the message again only if this increases
    shape: str
    conversation: str
    events: tuple[str, ...]  # the events in it; a knock can stand for several events of a thread
    again_at: int  # when it is handed over again if it is not taken by then
    is_taken: bool = False
    is_over: bool = False  # whether its turn has ended
    restarts: int = 0  # how often its turn was restarted because of a late piece
    facts: tuple[AttentionFact, ...] = ()  # further facts to record when it is taken


class Deliver(Record):
    """One message to hand over."""

    handed: Handed
    envelope: dict[str, Any]
    interrupts: bool = False


class Plan(Record):
    """The work to do now: record the facts first, then send."""

    facts: tuple[AttentionFact, ...] = ()
    cancels: tuple[tuple[Handed, str], ...] = ()
    delivers: tuple[Deliver, ...] = ()
    parked: tuple[Handed, ...] = ()  # not handed over again in this session
    lapsed: tuple[str, ...] = ()  # events of turns whose lease is over
    settled: tuple[str, ...] = ()  # taken and closed, so the session can forget them
    due: int | None = None  # when to look again if nothing else happens
    rests_on: tuple[Delivery, ...] = ()  # the deliveries as they were when this was planned

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.facts or self.cancels or self.delivers or self.parked or self.lapsed)

    def holds(self, book: AttentionState) -> bool:
        """Whether the deliveries that the plan rests on are unchanged."""
        return all(book.delivery(delivery.event, delivery.agent) == delivery for delivery in self.rests_on)


class Harness:
    """One harness, for as long as it is connected."""

    def __init__(self, agent: str, can: Capabilities) -> None:
        self.agent = agent
        self.can = can
        self.handed: dict[str, Handed] = {}
        self.leases = TurnLeases()
        self.resumed: set[str] = set()  # events that an earlier session was handed and did not take
        self.own: set[str] = set()  # events that the harness itself delivered to us
        self.digest_at: int | None = None  # when the next digest is due
        self._attempts: dict[str, int] = {}
        self._count = 0
        self._interrupted_at = 0

    @property
    def turns(self) -> set[str]:
        """The events (or "") of running turns."""
        return self.leases.events

    # -- carrying out a plan

    def note_sent(self, plan: Plan, now: int) -> None:
        """Note that PLAN was recorded and sent."""
        for handed in (*(cancelled for cancelled, _ in plan.cancels), *plan.parked):
            self.drop(handed.event)
            if handed.shape == DIGEST:
                self.digest_at = now + MINUTE
        for event in plan.lapsed:
            self.end_turn(event)
        for deliver in plan.delivers:
            handed = deliver.handed
            self._count += 1
            self._attempts[handed.event] = handed.attempt
            self.handed[handed.event] = handed
            self.resumed.difference_update(handed.events)
            if deliver.interrupts:
                self._interrupted_at = now

    def forget(self, settled: Iterable[str]) -> None:
        """Forget events that are taken and closed. Otherwise each look would take longer than the last one."""
        for event in settled:
            self.handed.pop(event, None)

    def note_nothing_due(self, now: int) -> None:
        """Note that there was nothing more to hand over NOW."""
        if self.digest_at is not None and now >= self.digest_at and not self.turns:
            self.digest_at = now + DIGEST_EVERY

    def drop(self, event: str) -> None:
        """Forget an event: it is no longer handed over, and its turn is over."""
        self.handed.pop(event, None)
        self.leases.end(event)

    def end_turn(self, event: str) -> None:
        """Note that the turn of an event is over."""
        self.leases.end(event)
        if event in self.handed:
            self.handed[event] = self.handed[event].replace(is_over=True)

    def begin_turn(self, event: str, now: int) -> None:
        """Note that a turn has started."""
        self.leases.begin(event, now)
        if event in self.handed:
            self.handed[event] = self.handed[event].replace(is_over=False)

    def next_request(self, ahead: int) -> str:
        """The id of the request that follows AHEAD other new ones."""
        return f"deliver-{self._count + ahead + 1}"

    def next_attempt(self, event: str) -> int:
        """The next unused attempt number of an event in this session."""
        return self._attempts.get(event, 0) + 1

    def offer_session(self, again: Iterable[str], turns: set[str]) -> Side:
        """The state of the harness for `offers`: the events to hand over AGAIN, and its running TURNS."""
        return Side(bool(turns), self.can(INTERRUPT), self._interrupted_at, again=frozenset(again))

    # -- answers of the harness

    def by_request(self, request: Any) -> Handed | None:
        """The message that a request handed over; None if it is no longer current."""
        return next((handed for handed in self.handed.values() if handed.request == request), None)

    def take(self, handed: Handed) -> None:
        """Note that the harness has acknowledged a message."""
        self.handed[handed.event] = handed.replace(is_taken=True)

    def wait(self, handed: Handed, until: int) -> None:
        """Note that the harness has not taken a message, and when to try again."""
        self.handed[handed.event] = handed.replace(is_taken=False, again_at=until)

    def repeat(self, events: Iterable[str]) -> None:
        """Hand these events over again, whatever the harness answered before."""
        for event in events:
            self.handed.pop(event, None)
            self.resumed.add(event)


# -- facts of a session


def begin_facts(book: AttentionState, harness: Harness, last_taken: str, now: int) -> list[AttentionFact]:
    """The facts to record when a session begins.

    Turns of the previous session are over, and LAST_TAKEN counts as taken. All other events that were handed over and
    not taken are handed over again.
    """
    facts: list[AttentionFact] = []
    harness.digest_at = now + DIGEST_EVERY if harness.can(DIGESTS) else None
    for delivery in book.open_for(harness.agent):
        if delivery.turn == transitions.STARTED:
            facts.append(Moved(SYSTEM, delivery.event, harness.agent, transitions.ENDED, {"why": "session over"}))
        if delivery.event == last_taken and delivery.attempt and not delivery.accepted:
            facts.append(Moved(harness.agent, delivery.event, harness.agent, transitions.ACCEPTED))
        elif is_untaken(delivery) and harness.can(REDELIVERY):
            harness.resumed.add(delivery.event)
    return facts


def is_untaken(delivery: Delivery) -> bool:
    """Whether an event was handed over and not acknowledged."""
    return delivery.attempt > 0 and not delivery.accepted and delivery.disposition in (None, CLAIMED)


def count_undelivered(book: AttentionState, agent: str, now: int) -> int:
    """The number of events that are still to be handed to AGENT."""
    count = 0
    for _, stands in open_cases(book, agent, now):
        is_to_come = not stands.delivery.accepted and stands.delivery.disposition in (None, CLAIMED)
        count += is_to_come and stands.is_open and stands.decision.mode in OFFERED
    return count


def acceptance_facts(book: AttentionState, harness: Harness, handed: Handed) -> list[AttentionFact]:
    """The facts when a harness has taken a message. Events that have changed since do not count as taken."""
    every = [(event, book.delivery(event, harness.agent)) for event in handed.events]
    taken = [event for event, delivery in every if delivery and delivery.attempt and not delivery.accepted]
    return [*handed.facts, *(Moved(harness.agent, event, harness.agent, transitions.ACCEPTED) for event in taken)]


def rejection_facts(
    book: AttentionState, harness: Harness, handed: Handed, why: Mapping[str, Any], now: int
) -> list[AttentionFact]:
    """The facts when a harness rejects a message: its events failed. Those that are owed an answer are escalated."""
    facts: list[AttentionFact] = []
    for event in handed.events:
        delivery, head = book.delivery(event, harness.agent), book.message(event)
        if delivery is None or head is None or not delivery.is_open:
            continue
        facts.append(Moved(harness.agent, event, harness.agent, transitions.REJECTED, dict(why)))
        if delivery.decision.policy == MUST:
            facts += escalate(book, delivery, current_message(book, head), now, "its harness refused it")
    return facts


def next_tick(book: AttentionState, now: int) -> int | None:
    """The next time at which a tick (`acts/timers.py`) may have an effect; None if there is none."""
    moments: list[int] = []
    for delivery in book.every_open():
        due = due_at(delivery, book.tuning)
        if due is not None:
            allowed = due - (delivery.at or delivery.arrived)
            moments += [due, due - allowed // 2, delivery.arrived + allowed // 2]
        if delivery.until is not None:
            moments.append(delivery.until)
        if delivery.disposition == CLAIMED and (head := book.message(delivery.event)):
            moments.append(book.claim(delivery.event, head.thread_window, now).until)
    return min((moment for moment in moments if moment > now), default=None)
