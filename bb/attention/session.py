"""One harness at the other end of a line: what it can do, what was handed to it, and what it is to be handed next.

The ledger knows how far a message has come (`deliveries`). Known only here, and only for as long as the connection
lasts, is by which request it was handed over, and when that is to be tried again:

    handed ──accepted, duplicate──> taken
       ├──busy, error, silence──> waits ──> handed once more: the same event and key, one attempt more
       └──edited, another piece came, taken away──> cancelled ──> handed anew, or not at all

Of one conversation the next message is handed over when the one before was taken, so that a second attempt never lets a
later one overtake it. Only what is immediate does not stand in line.
"""

from __future__ import annotations

from bb.attention import deliveries, delivering
from bb.attention.capabilities import ACK, BUFFERING, CANCELLATION, IMMEDIATELY, INTERRUPT, NOTIFYING, REDELIVERY
from bb.attention.cases import may_see, said_in
from bb.attention.delivering import Parcel
from bb.attention.escalating import escalate
from bb.attention.facts import Moved
from bb.attention.fragments import fragments
from bb.attention.offering import CONTENT, KNOCK, MOST_TRIES, RETRIES, offered, offers
from bb.attention.offering import Session as Side
from bb.attention.standing import due_at, standing
from bb.attention.words import BUFFERED, CLAIMED, IMMEDIATE, MUST, NOTIFY, OFFERED, SUPERSEDED, SYSTEM
from bb.kernel.errors import Conflict
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bb.attention.book import Book
    from bb.attention.capabilities import Capabilities
    from bb.attention.deliveries import Delivery
    from bb.attention.facts import AttentionFact
    from bb.attention.offering import Offer


class ResyncRequired(Conflict):
    """That event is not known here, so nothing can be resumed after it."""

    code = "RESYNC_REQUIRED"
    hint = "chat.list_events tells what there is; what was not taken is handed over again anyway"


MOST_HANDED = 32  # that are not taken yet
WITHDRAWN = {deliveries.DELETED: "the message was deleted", deliveries.SETTLED: "it was settled elsewhere"}
EDITED, ADDED = "the message was edited", "another piece of the message came"


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


class Harness:
    """One harness, for as long as it is connected."""

    def __init__(self, agent: str, can: Capabilities) -> None:
        self.agent = agent
        self.can = can
        self.handed: dict[str, Handed] = {}
        self.turns: set[str] = set()  # the events, or "", that it works at
        self.resumed: set[str] = set()  # what was handed over before it connected, and never taken
        self.own: set[str] = set()  # what it has delivered to us itself, and is not to be told
        self._attempts: dict[str, int] = {}
        self._count = 0
        self._interrupted_at = 0

    # -- what is to be done now

    def plan(self, book: Book, now: int, seed: str) -> Plan:
        """What is to be recorded and said NOW. The SEED is random; nothing changes before it `has_done` so."""
        return _Planning(self, book, now, seed).plan()

    def has_done(self, plan: Plan, now: int) -> None:
        """What was planned is recorded, and on its way."""
        for handed in (*(each for each, _ in plan.cancels), *plan.parked):
            self.drop(handed.event)
        for deliver in plan.delivers:
            handed = deliver.handed
            self._count += 1
            self._attempts[handed.event] = handed.attempt
            self.handed[handed.event] = handed
            self.resumed.difference_update(handed.events)
            if deliver.interrupts:
                self._interrupted_at = now

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
        """The harness, as far as offers depend on it."""
        can_interrupt = self.can(INTERRUPT)
        return Side(bool(turns), can_interrupt, self._interrupted_at, again=frozenset(again))

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


def retry_at(attempt: int, now: int) -> int:
    """When the next attempt is due after one that failed NOW."""
    return now + RETRIES[min(attempt, MOST_TRIES) - 1]


class _Planning:
    """One look at what is to be done."""

    def __init__(self, harness: Harness, book: Book, now: int, seed: str) -> None:
        self._harness, self._book, self._now, self._seed = harness, book, now, seed
        self._agent, self._can = harness.agent, harness.can
        self._facts: list[AttentionFact] = []
        self._cancels: dict[str, tuple[Handed, str]] = {}
        self._delivers: list[Deliver] = []
        self._altered: set[str] = set()
        self._parked: list[Handed] = []

    def plan(self) -> Plan:
        self._look_for_changes()
        turns = self._harness.turns - self._cancels.keys()
        again = self._harness.resumed | self._due_again() | self._altered
        side = self._harness.side(again, turns)
        made, held = offers(self._book, self._agent, self._now, side)
        at_rest = offers(self._book, self._agent, self._now, side.but(in_turn=False))[0] if turns else made
        merged = self._restart(at_rest)
        for offer in made:
            if offer.event not in merged:
                self._offer(offer, again, turns)
        moments = [each.until for each in held if each.until is not None]
        moments += [each.again_at for each in (*self._waiting(), *(new.handed for new in self._delivers))]
        later = min((each for each in moments if each > self._now), default=None)
        cancels = tuple(self._cancels.values())
        return Plan(tuple(self._facts), cancels, tuple(self._delivers), tuple(self._parked), later)

    def _waiting(self) -> list[Handed]:
        """What was handed over, and neither taken nor given up."""
        gone = self._cancels.keys() | {each.event for each in self._parked}
        return [each for each in self._harness.handed.values() if not each.is_taken and each.event not in gone]

    def _due_again(self) -> set[str]:
        """What is handed over once more; what was too often, or must not be, waits until the next session."""
        due = [each for each in self._waiting() if self._now >= each.again_at]
        self._parked += [each for each in due if not self._may_repeat(each)]
        for each in self._parked:
            steps = [Moved(SYSTEM, event, self._agent, deliveries.PARKED) for event in each.events]
            self._facts += [step for step in steps if self._is_waited_for(step.event)]
        return {each.event for each in due if self._may_repeat(each)}

    def _may_repeat(self, handed: Handed) -> bool:
        return handed.attempt < MOST_TRIES and self._can(REDELIVERY)

    def _is_waited_for(self, event: str) -> bool:
        found = self._book.delivery(event, self._agent)
        return found is not None and found.is_open and not found.is_parked and not found.accepted

    # -- what has changed since it was handed over

    def _look_for_changes(self) -> None:
        for handed in list(self._harness.handed.values()):
            found = self._book.delivery(handed.event, self._agent)
            if found is None:
                continue
            if found.disposition == SUPERSEDED and found.cause in WITHDRAWN:
                self._cancels[handed.event] = (handed, WITHDRAWN[found.cause])
            elif not found.has_spoken and _is_undone(found) and self._version(found, handed.shape) > handed.version:
                self._cancels[handed.event] = (handed, EDITED)
                if (
                    found.is_open and found.attempt
                ):  # it was a piece of it that changed, of which the fold knows nothing
                    self._begin_anew(found, "edited")
                    self._altered.add(handed.event)

    def _version(self, found: Delivery, shape: str) -> int:
        pieces = delivering.expanded(self._book, self._agent, [found.event]) if shape == CONTENT else [found.event]
        return delivering.version_of(self._book, pieces, shape)

    def _begin_anew(self, found: Delivery, why: str) -> None:
        if found.turn == deliveries.STARTED:
            self._facts.append(Moved(SYSTEM, found.event, self._agent, deliveries.ENDED, {"why": why}))

    def _restart(self, made: Iterable[Offer]) -> set[str]:
        """Break off what another piece belongs to, and hand over all of it; the offers that are part of it now."""
        if not (self._can(CANCELLATION) and self._can(ACK)):
            return set()
        merged: set[str] = set()
        running = [each for each in self._harness.handed.values() if each.event not in self._cancels]
        for handed, found, offer in fragments(self._book, running, self._agent, made):
            new = [each.event for each in offer.items]
            merged.add(offer.event)
            self._cancels[handed.event] = (handed, ADDED)
            self._begin_anew(found, "fragment")
            attempt = self._harness.next_attempt(found.event)
            self._facts += [Moved(SYSTEM, each, self._agent, deliveries.MERGED, {"by": found.event}) for each in new]
            about = {"attempt": attempt, "as": CONTENT, "merged_from": [*found.merged_from, *new]}
            self._facts.append(Moved(SYSTEM, found.event, self._agent, deliveries.OFFERED, about))
            parcel = delivering.parcel(self._book, self._agent, found.event, [found.event, *new], CONTENT, self._now)
            form = _form(CONTENT, parcel.decision.mode, parcel.decision.policy, self._can)
            self._hand_over(parcel.but(attempt=attempt), form or BUFFERED, restarts=handed.restarts + 1)
        return merged

    # -- what is offered

    def _offer(self, offer: Offer, again: set[str], turns: set[str]) -> None:
        handed = self._harness.handed.get(offer.event)
        is_on_its_way = handed is not None and not handed.is_taken and handed.event not in self._cancels
        if (is_on_its_way and offer.event not in again) or offer.event in self._harness.own:
            return
        decision = offer.last.standing.decision.but(policy=offer.policy)
        form = _form(offer.shape, decision.mode, offer.policy, self._can)
        if form is None or not self._has_room(offer):
            return
        attempt = max(offer.attempt, self._harness.next_attempt(offer.event))
        offer = offer.but(attempt=attempt)
        self._facts += offered(self._agent, [offer], is_taken=not self._can(ACK))
        events = [each.event for each in offer.items]
        parcel = delivering.parcel(self._book, self._agent, offer.event, events, offer.shape, self._now)
        parcel = parcel.but(attempt=attempt, decision=decision)
        restarts = handed.restarts if handed else 0
        self._hand_over(parcel, form, restarts=restarts, interrupts=bool(turns) and decision.mode == IMMEDIATE)

    def _has_room(self, offer: Offer) -> bool:
        """Whether its turn has come: nothing before it in its conversation is still on its way."""
        waiting = [each for each in self._waiting() if each.event != offer.event]
        waiting += [each.handed for each in self._delivers if not each.handed.is_taken]
        if len(waiting) >= MOST_HANDED:
            return False
        conversation = offer.last.known.conversation
        is_at_once = offer.last.standing.decision.mode == IMMEDIATE and offer.shape == CONTENT
        return is_at_once or all(each.conversation != conversation for each in waiting)

    def _hand_over(self, parcel: Parcel, mode: str, *, restarts: int = 0, interrupts: bool = False) -> None:
        parcel = parcel.but(mode=mode, interrupts=interrupts)
        must_wait = self._can(ACK)
        events = tuple(each.event for each in parcel.items) if parcel.shape == KNOCK else (parcel.event,)
        again_at = retry_at(parcel.attempt, self._now + self._book.tuning.ack_ms)
        handed = Handed(
            parcel.event,
            self._harness.next_request(len(self._delivers)),
            parcel.attempt,
            parcel.version,
            parcel.shape,
            parcel.items[-1].known.conversation,
            events,
            again_at,
            is_taken=not must_wait,
            restarts=restarts,
        )
        envelope = delivering.envelope(self._book, self._agent, parcel, f"{self._seed} {parcel.event}")
        self._delivers.append(Deliver(handed, envelope, interrupts))


def _is_undone(found: Delivery) -> bool:
    """Whether anything is still to be done about it, or was until an edit took that back."""
    return found.is_open or found.attempt == 0


def _form(shape: str, mode: str, policy: str, can: Capabilities) -> str | None:
    """As what a harness is shown something that it may be unable to take in the usual way; None: it stays in the
    mailbox. A knock that obliges is told as a text of the host's; never does it become what was said."""
    if shape == KNOCK and can(NOTIFYING):
        return NOTIFY
    if shape == KNOCK and policy != MUST:
        return None
    modes = ((IMMEDIATE, IMMEDIATELY), (BUFFERED, BUFFERING))
    usual = [each for each, capability in modes if can(capability)]
    return mode if mode in usual else next(iter(usual), None)


# -- beginning, and what becomes of what was handed over


def begun(book: Book, harness: Harness, last_taken: str) -> list[AttentionFact]:
    """What is to be recorded as a session begins: turns of the session before are over, and what the harness says it
    has taken last, it has. All else that it was handed and has not taken, it is handed again."""
    facts: list[AttentionFact] = []
    for found in book.open_for(harness.agent):
        if found.turn == deliveries.STARTED:
            facts.append(Moved(SYSTEM, found.event, harness.agent, deliveries.ENDED, {"why": "session over"}))
        if found.event == last_taken and found.attempt and not found.accepted:
            facts.append(Moved(harness.agent, found.event, harness.agent, deliveries.ACCEPTED))
        elif is_untaken(found):
            harness.resumed.add(found.event)
    return facts


def is_untaken(found: Delivery) -> bool:
    """Whether something was handed over, and nobody has said that it arrived."""
    return found.attempt > 0 and not found.accepted and found.disposition in (None, CLAIMED)


def undelivered(book: Book, agent: str, now: int) -> int:
    """How much AGENT is still to be handed."""
    count = 0
    for found in book.open_for(agent):
        known = book.message(found.event)
        if known is None or known.is_deleted or found.accepted or found.disposition not in (None, CLAIMED):
            continue
        stands = standing(found, book.claim(found.event, found.window, now), now, book.tuning)
        count += stands.decision.mode in OFFERED and stands.is_open and may_see(book, agent, known)
    return count


def accepted(book: Book, harness: Harness, handed: Handed) -> list[AttentionFact]:
    """What follows when a harness has taken what it was handed. What has changed since, it has not."""
    every = [(event, book.delivery(event, harness.agent)) for event in handed.events]
    return [
        Moved(harness.agent, event, harness.agent, deliveries.ACCEPTED)
        for event, found in every
        if found and found.attempt and not found.accepted
    ]


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
