"""The messages that are to enter an agent's next turn, as content or as a knock, and the messages that still wait.

    immediate   offered now, or at the end of the turn if the model is in one
    buffered    offered when its author has stopped writing; consecutive messages of one author are merged into one turn
    notify      offered as a knock without content; several messages of one thread share a knock

A message is offered again only after a change: the agent claimed it, half of its time is over, the turn failed, or the
harness did not acknowledge it.
"""

from __future__ import annotations

from bb.attention.facts import Moved
from bb.attention.judging.claiming import default_responder
from bb.attention.judging.content_version import total_version, with_merged_pieces
from bb.attention.messages.message import in_sequence_order
from bb.attention.state import transitions
from bb.attention.turns import pieces
from bb.attention.turns.open_deliveries import open_deliveries
from bb.attention.words import (
    BUFFERED,
    CANCEL,
    DEFERRED,
    IMMEDIATE,
    MUST,
    NOTIFY,
    POLICIES,
    REACTION,
    ROLE_MENTION,
    URGENT,
)
from bb.kernel.clock import MINUTE, SECOND
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.attention.facts import AttentionFact
    from bb.attention.state.attention_state import AttentionState
    from bb.attention.state.tuning import Tuning
    from bb.attention.turns.open_deliveries import OpenDelivery

CONTENT, KNOCK = transitions.SHOWN, "knock"
RETRIES = tuple(seconds * SECOND for seconds in (1, 2, 4, 8, 16, 32, 60, 60))
MOST_TRIES = 8
MOST_TURNS = 3  # failed turns, after which the host gives up
INTERRUPTS = 5 * MINUTE  # at least, between two interruptions
TOGGLED = 5 * SECOND  # delay of a new reaction, which its author may still take back


class Offer(Record):
    """Messages that are offered together. The last of ITEMS gives the offer its event id."""

    items: tuple[OpenDelivery, ...]
    shape: str
    attempt: int
    policy: str

    @property
    def last(self) -> OpenDelivery:
        return self.items[-1]

    @property
    def event(self) -> str:
        return self.last.event


class Held(Record):
    """An event that waits, why it waits, and until when if that is known."""

    event: str
    why: str
    until: int | None = None


class Session(Record):
    """The state of the agent's harness, as far as offers depend on it."""

    in_turn: bool = False
    can_interrupt: bool = False
    last_interrupt: int = 0
    has_ack: bool = False  # whether the harness acknowledges deliveries; otherwise a handed-over message has arrived
    is_pull: bool = False  # whether the agent asks by itself; it then also gets what other sessions did not acknowledge
    again: frozenset[str] = frozenset()  # events to offer once more, whatever was tried before
    turn_until: int = 0  # when the lease of its turn is over, if that is judged here


def offers_for(
    book: AttentionState,
    agent: str,
    now: int,
    session: Session = Session(),  # noqa: B008
) -> tuple[list[Offer], list[Held]]:
    """The offers to make to AGENT now, and the events that still wait."""
    if 0 < session.turn_until <= now:
        session = session.replace(in_turn=False)
    open_items = in_sequence_order(
        [item for item in open_deliveries(book, agent, now) if _is_to_offer(item, now, session, book.tuning)],
        lambda each: each.known.counted,
    )
    ready: list[Offer] = []
    held: list[Held] = []
    open_items = [item for item in open_items if not _is_toggling(item, now, held)]
    _offer_at_once([item for item in open_items if _shape(item) == IMMEDIATE], now, session, ready, held)
    _offer_buffered(book, [item for item in open_items if _shape(item) == BUFFERED], now, session, ready, held)
    _offer_knocks([item for item in open_items if _shape(item) == NOTIFY], agent, book, now, ready, held)
    ready.sort(key=lambda offer: offer.last.standing.delivery.place)
    ready = in_sequence_order(ready, lambda offer: offer.last.known.counted)
    return sorted(ready, key=lambda offer: offer.last.standing.decision.reason != CANCEL), held  # orders to stop first


def retry_at(attempt: int, failed_at: int) -> int:
    """The time of the next attempt after ATTEMPT failed at FAILED_AT. A missing acknowledgement is a failure, too."""
    return failed_at + RETRIES[min(attempt, MOST_TRIES) - 1]


def _is_to_offer(waiting: OpenDelivery, now: int, session: Session, tuned: Tuning) -> bool:
    """Whether a delivery is to be offered, for the first time or again."""
    delivery = waiting.standing.delivery
    shape = KNOCK if waiting.standing.decision.mode == NOTIFY else CONTENT
    if waiting.standing.decision.mode not in (IMMEDIATE, BUFFERED, NOTIFY):
        return False
    if delivery.event in session.again:
        return True
    # An agent that asks by itself may have no harness any more that would end the turn.
    is_lapsed = session.is_pull and now >= (delivery.started_at or 0) + tuned.turn_lease_ms
    if delivery.disposition == DEFERRED or (delivery.turn == transitions.STARTED and not is_lapsed):
        return False
    if delivery.has_spoken and _shape(waiting) != NOTIFY:
        return False  # a turn that has sent a message is never repeated
    if delivery.attempt == 0 or delivery.offered_at is None:
        return delivery.pulled_at is None  # the agent has already read it
    if shape == CONTENT and delivery.offered_as == KNOCK and not delivery.is_shown:
        return True  # the agent has claimed it since the knock
    if delivery.reminded_at is not None and delivery.reminded_at > delivery.offered_at:
        return True
    if delivery.turn == transitions.TURN_FAILED and not delivery.has_spoken and delivery.turns < MOST_TURNS:
        return not delivery.accepted
    if delivery.accepted or now < retry_at(delivery.attempt, delivery.offered_at + tuned.ack_ms):
        return False
    return session.is_pull or (session.has_ack and not delivery.is_parked and delivery.attempt < MOST_TRIES)


def _is_toggling(waiting: OpenDelivery, now: int, held: list[Held]) -> bool:
    """Whether this is a reaction made just now, which may still be taken back. It is then added to HELD."""
    until = waiting.standing.delivery.arrived + TOGGLED
    if waiting.standing.delivery.decision.reason != REACTION or now >= until:
        return False
    held.append(Held(waiting.event, "may be taken back", until))
    return True


def _shape(waiting: OpenDelivery) -> str:
    delivery = waiting.standing.delivery
    if (
        delivery.reminded_at is not None
        and delivery.offered_at is not None
        and delivery.reminded_at > delivery.offered_at
    ):
        return NOTIFY  # a reminder is only a knock
    return waiting.standing.decision.mode


def _offer(items: Iterable[OpenDelivery], shape: str) -> Offer:
    items = tuple(items)
    policies = [item.standing.decision.policy for item in items]
    strictest = min(policies, key=POLICIES.index)
    return Offer(items, shape, items[-1].standing.delivery.attempt + 1, strictest)


def _offer_at_once(
    waiting: list[OpenDelivery], now: int, session: Session, ready: list[Offer], held: list[Held]
) -> None:
    for item in waiting:
        is_urgent = item.standing.decision.priority == URGENT and now >= session.last_interrupt + INTERRUPTS
        may_interrupt = session.can_interrupt and (is_urgent or item.standing.decision.reason == CANCEL)
        if session.in_turn and not may_interrupt:
            held.append(Held(item.event, "held_for_boundary"))
        else:
            ready.append(_offer([item], CONTENT))


# -- fragments


def _offer_buffered(
    book: AttentionState, waiting: list[OpenDelivery], now: int, session: Session, ready: list[Offer], held: list[Held]
) -> None:
    for group, is_closed in pieces.groups(book, waiting):
        due = 0 if is_closed else pieces.due_at(book, group, now)
        if now < due:
            held.append(Held(group[-1].event, "buffering", due))
        elif session.in_turn:
            held.append(Held(group[-1].event, "held_for_boundary"))
        else:
            ready.append(_offer(group, CONTENT))


# -- knocks


def _offer_knocks(
    waiting: list[OpenDelivery], agent: str, book: AttentionState, now: int, ready: list[Offer], held: list[Held]
) -> None:
    by_thread: dict[str, list[OpenDelivery]] = {}
    knocked = _knocked(book, agent)
    for item in waiting:
        delivery = item.standing.delivery
        until = delivery.arrived + book.tuning.slot_ms
        is_called = delivery.decision.reason == ROLE_MENTION and now < until and not delivery.decision.is_default
        first = default_responder(book, item.known) if is_called else ""
        if first in book.agents and book.agents[first].is_live:
            held.append(Held(item.event, f"{first} is asked first", until))
        elif delivery.window in knocked and item.standing.decision.policy != MUST and delivery.attempt == 0:
            held.append(Held(item.event, "already knocked"))
        else:
            by_thread.setdefault(delivery.window, []).append(item)
    ready += [_offer(group, KNOCK) for group in by_thread.values()]


def _knocked(book: AttentionState, agent: str) -> set[str]:
    """The threads for which the agent got a knock and has not read the messages yet."""
    return {
        delivery.window
        for delivery in book.open_for(agent)
        if delivery.attempt and delivery.offered_as == KNOCK and delivery.pulled_at is None and delivery.window.strip()
    }


# -- the facts of an offer


def offered_version(book: AttentionState, agent: str, offer: Offer) -> int:
    """The content version of an offer."""
    return total_version(book, with_merged_pieces(book, agent, [item.event for item in offer.items]))


def offer_facts(book: AttentionState, agent: str, made: Iterable[Offer], *, is_taken: bool) -> list[AttentionFact]:
    """The facts to record when these offers are handed over. IS_TAKEN: they arrive without an acknowledgement."""
    facts: list[AttentionFact] = []
    for offer in made:
        older = [item.event for item in offer.items[:-1]]
        if offer.shape == CONTENT:
            facts += [Moved("system", event, agent, transitions.MERGED, {"by": offer.event}) for event in older]
        else:
            about = {"attempt": 1, "as": KNOCK}
            facts += [Moved("system", event, agent, transitions.OFFERED, about) for event in older]
        about = {"attempt": offer.attempt, "as": offer.shape}
        if offer.shape == CONTENT:
            about["version"] = offered_version(book, agent, offer)
        if older and offer.shape == CONTENT:
            about["merged_from"] = older
        facts.append(Moved("system", offer.event, agent, transitions.OFFERED, about))
        if is_taken:
            taken = [*older, offer.event] if offer.shape == KNOCK else [offer.event]
            facts += [Moved(agent, event, agent, transitions.ACCEPTED) for event in taken]
    return facts
