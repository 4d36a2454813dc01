"""One harness at the other end of a line: what was handed to it, and what becomes of that.

The ledger knows how far a message has come (`deliveries`). Known only here, and only for as long as the connection
lasts, is by which request it was handed over, and when that is to be tried again:

    handed ──accepted, duplicate──> taken
       ├──busy, error, silence──> waits ──> handed once more: the same event and key, one attempt more
       └──edited, another piece came, taken away──> cancelled ──> handed anew, or not at all
"""

from __future__ import annotations

from bb.attention.acts.escalation import escalate
from bb.attention.facts import Moved
from bb.attention.harness.capabilities import DIGESTS, INTERRUPT, REDELIVERY
from bb.attention.judging.cases import open_cases, said_in
from bb.attention.judging.standing import due_at
from bb.attention.state import deliveries
from bb.attention.turns.offers import Session as Side
from bb.attention.words import CLAIMED, DIGEST, MUST, OFFERED, SYSTEM
from bb.kernel.clock import HOUR, MINUTE
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.harness.capabilities import Capabilities
    from bb.attention.state.book import Book
    from bb.attention.state.deliveries import Delivery

DIGEST_EVERY = HOUR


class ResyncRequired(Conflict):
    """That event is not known here, so nothing can be resumed after it."""

    code = "RESYNC_REQUIRED"
    hint = "chat.list_events tells what there is; what was not taken is handed over again anyway"


class Handed(Record):
    """A message that was handed over by a request, and perhaps taken."""

    event: str
    request: str
    attempt: int
    version: int  # of what was handed over: whoever has it needs it again only when there is a higher one
    shape: str
    conversation: str
    events: tuple[str, ...]  # for which it stands: of several knocks in one thread, for all
    again_at: int  # when it is handed over once more, unless it was taken before
    is_taken: bool = False
    is_over: bool = False  # whether the turn it was for has ended
    restarts: int = 0  # how often a turn was broken off because another piece came
    facts: tuple[AttentionFact, ...] = ()  # what is recorded once it is taken, beside that


class Deliver(Record):
    """One message to be handed over."""

    handed: Handed
    envelope: dict[str, Any]
    interrupts: bool = False


class Plan(Record):
    """What is to be done now: recorded first, and then said."""

    facts: tuple[AttentionFact, ...] = ()
    cancels: tuple[tuple[Handed, str], ...] = ()
    delivers: tuple[Deliver, ...] = ()
    parked: tuple[Handed, ...] = ()  # what is handed over no more in this session
    due: int | None = None  # when there may be more to do, if nothing else happens
    rests_on: tuple[Delivery, ...] = ()  # what it takes for granted

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.facts or self.cancels or self.delivers or self.parked)

    def holds(self, book: Book) -> bool:
        """Whether all is still as it was when this was planned."""
        return all(book.delivery(each.event, each.agent) == each for each in self.rests_on)


class Harness:
    """One harness, for as long as it is connected."""

    def __init__(self, agent: str, can: Capabilities) -> None:
        self.agent = agent
        self.can = can
        self.handed: dict[str, Handed] = {}
        self.turns: set[str] = set()  # the events, or "", that it works at
        self.resumed: set[str] = set()  # what was handed over before it connected, and never taken
        self.own: set[str] = set()  # what it has delivered to us itself, and is not to be told
        self.digest_at: int | None = None  # when it is told next what went on around it
        self._attempts: dict[str, int] = {}
        self._count = 0
        self._interrupted_at = 0

    # -- what is done

    def has_done(self, plan: Plan, now: int) -> None:
        """What was planned is recorded, and on its way."""
        for handed in (*(each for each, _ in plan.cancels), *plan.parked):
            self.drop(handed.event)
            if handed.shape == DIGEST:
                self.digest_at = now + MINUTE
        for deliver in plan.delivers:
            handed = deliver.handed
            self._count += 1
            self._attempts[handed.event] = handed.attempt
            self.handed[handed.event] = handed
            self.resumed.difference_update(handed.events)
            if deliver.interrupts:
                self._interrupted_at = now

    def has_looked(self, now: int) -> None:
        """There was nothing more to tell NOW."""
        if self.digest_at is not None and now >= self.digest_at and not self.turns:
            self.digest_at = now + DIGEST_EVERY

    def drop(self, event: str) -> None:
        """Nobody is at it any more."""
        self.handed.pop(event, None)
        self.turns.discard(event)

    def next_request(self, ahead: int) -> str:
        """What the request is called that comes after so many others."""
        return f"deliver-{self._count + ahead + 1}"

    def next_attempt(self, event: str) -> int:
        """The number of the next attempt at an event, as far as this session knows: never one that was used."""
        return self._attempts.get(event, 0) + 1

    def side(self, again: Iterable[str], turns: set[str]) -> Side:
        """The harness, as far as offers depend on it: what it is handed AGAIN, and the TURNS that run."""
        return Side(bool(turns), self.can(INTERRUPT), self._interrupted_at, again=frozenset(again))

    # -- what it answers

    def by_request(self, request: Any) -> Handed | None:
        """What was handed over by a request, while that stands."""
        return next((each for each in self.handed.values() if each.request == request), None)

    def take(self, handed: Handed) -> None:
        """It has said that it has it."""
        self.handed[handed.event] = handed.but(is_taken=True)

    def wait(self, handed: Handed, until: int) -> None:
        """It has not taken it: later once more."""
        self.handed[handed.event] = handed.but(is_taken=False, again_at=until)

    def repeat(self, events: Iterable[str]) -> None:
        """Hand these over once more, whatever was said of them."""
        for event in events:
            self.handed.pop(event, None)
            self.resumed.add(event)


# -- beginning, and what becomes of what was handed over


def begun(book: Book, harness: Harness, last_taken: str, now: int) -> list[AttentionFact]:
    """What is to be recorded as a session begins: turns of the session before are over, and what the harness says it
    has taken last, it has. All else that it was handed and has not taken, it is handed again."""
    facts: list[AttentionFact] = []
    harness.digest_at = now + DIGEST_EVERY if harness.can(DIGESTS) else None
    for found in book.open_for(harness.agent):
        if found.turn == deliveries.STARTED:
            facts.append(Moved(SYSTEM, found.event, harness.agent, deliveries.ENDED, {"why": "session over"}))
        if found.event == last_taken and found.attempt and not found.accepted:
            facts.append(Moved(harness.agent, found.event, harness.agent, deliveries.ACCEPTED))
        elif is_untaken(found) and harness.can(REDELIVERY):
            harness.resumed.add(found.event)
    return facts


def is_untaken(found: Delivery) -> bool:
    """Whether something was handed over, and nobody has said that it arrived."""
    return found.attempt > 0 and not found.accepted and found.disposition in (None, CLAIMED)


def undelivered(book: Book, agent: str, now: int) -> int:
    """How much AGENT is still to be handed."""
    count = 0
    for _, stands in open_cases(book, agent, now):
        is_to_come = not stands.delivery.accepted and stands.delivery.disposition in (None, CLAIMED)
        count += is_to_come and stands.is_open and stands.decision.mode in OFFERED
    return count


def accepted(book: Book, harness: Harness, handed: Handed) -> list[AttentionFact]:
    """What follows when a harness has taken what it was handed. What has changed since, it has not."""
    every = [(event, book.delivery(event, harness.agent)) for event in handed.events]
    taken = [event for event, found in every if found and found.attempt and not found.accepted]
    return [*handed.facts, *(Moved(harness.agent, event, harness.agent, deliveries.ACCEPTED) for event in taken)]


def rejected(book: Book, harness: Harness, handed: Handed, why: Mapping[str, Any], now: int) -> list[AttentionFact]:
    """What follows when a harness can do nothing with it: it has failed, and where an answer is owed the next one is
    asked."""
    facts: list[AttentionFact] = []
    for event in handed.events:
        found, known = book.delivery(event, harness.agent), book.message(event)
        if found is None or known is None or not found.is_open:
            continue
        facts.append(Moved(harness.agent, event, harness.agent, deliveries.REJECTED, dict(why)))
        if found.decision.policy == MUST:
            facts += escalate(book, found, said_in(known, book.data(known.line)), now, "its harness refused it")
    return facts


def next_tick(book: Book, now: int) -> int | None:
    """When time alone will next change anything (`ticking`), as far as what is recorded tells."""
    moments: list[int] = []
    for found in book.every_open():
        due = due_at(found, book.tuning)
        if due is not None:
            allowed = due - (found.at or found.arrived)
            moments += [due, due - allowed // 2, found.arrived + allowed // 2]
        if found.until is not None:
            moments.append(found.until)
        if found.disposition == CLAIMED:
            moments.append(book.claim(found.event, found.window, now).until)
    return min((each for each in moments if each > now), default=None)
