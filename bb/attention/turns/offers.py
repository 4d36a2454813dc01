"""What is to enter an agent's next turn: which messages, merged how, as content or as a knock, and what still waits.

    immediate   now, unless the model is in the middle of an answer: then at its end
    buffered    once its author has stopped: what one person says in pieces is one turn
    notify      a knock without content; of several in one thread, one

What was offered is not offered again until something has changed: it was claimed, the half of its time is over, the
turn failed, or nobody said that it had arrived.
"""

from __future__ import annotations

from bb.attention.facts import Moved
from bb.attention.judging.cases import open_cases
from bb.attention.judging.claiming import default_of
from bb.attention.messages.message import in_order
from bb.attention.state import activity, deliveries
from bb.attention.words import (
    AGENT,
    BUFFERED,
    DEFERRED,
    IMMEDIATE,
    MUST,
    MUST_NOT,
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
    from bb.attention.judging.standing import Standing
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book
    from bb.attention.state.deliveries import Delivery

CONTENT, KNOCK = deliveries.SHOWN, "knock"
AT_ONCE = ("bb", "github")  # platforms where people send whole messages
RETRIES = tuple(each * SECOND for each in (1, 2, 4, 8, 16, 32, 60, 60))
MOST_TRIES = 8
MOST_TURNS = 3  # that may fail
INTERRUPTS = 5 * MINUTE  # between two interruptions
TOGGLED = 5 * SECOND  # within which a reaction may come and go


class Waiting(Record):
    """A delivery that may be offered, as it stands."""

    standing: Standing
    known: Kept

    @property
    def event(self) -> str:
        return self.standing.delivery.event


class Offer(Record):
    """What is offered at once: ITEMS in their order, of which the last is the event that stands for all."""

    items: tuple[Waiting, ...]
    shape: str
    attempt: int
    policy: str

    @property
    def last(self) -> Waiting:
        return self.items[-1]

    @property
    def event(self) -> str:
        return self.last.event


class Held(Record):
    """What waits, why, and until when that is known."""

    event: str
    why: str
    until: int | None = None


class Session(Record):
    """The agent's side, as far as offers depend on it."""

    in_turn: bool = False
    can_interrupt: bool = False
    last_interrupt: int = 0
    has_ack: bool = False  # whether it says that something has arrived; else what is handed over has
    is_pull: bool = False  # whether it asks of itself: then it is given what nobody has taken from another session, too
    again: frozenset[str] = frozenset()  # what it is to be offered once more, however often and how long ago it was


def offers(book: Book, agent: str, now: int, session: Session = Session()) -> tuple[list[Offer], list[Held]]:  # noqa: B008
    """What is to be offered to AGENT now, and what still waits."""
    wanted = in_order(
        [each for each in waiting(book, agent, now) if _wants(each, now, session, book.tuning.ack_ms)],
        lambda each: each.known.counted,
    )
    found: list[Offer] = []
    held: list[Held] = []
    wanted = [each for each in wanted if not _toggles(each, now, held)]
    _offer_at_once([each for each in wanted if _shape(each) == IMMEDIATE], now, session, found, held)
    _offer_buffered(book, [each for each in wanted if _shape(each) == BUFFERED], now, session, found, held)
    _offer_knocks([each for each in wanted if _shape(each) == NOTIFY], agent, book, now, found, held)
    found.sort(key=lambda offer: offer.last.standing.delivery.place)
    return in_order(found, lambda offer: offer.last.known.counted), held


def waiting(book: Book, agent: str, now: int) -> Iterable[Waiting]:
    """What is open for AGENT, as far as it may see it and be concerned with it at this moment."""
    for known, stands in open_cases(book, agent, now):
        if stands.decision.policy != MUST_NOT:
            yield Waiting(stands, known)


def retry_at(attempt: int, failed_at: int) -> int:
    """When the next attempt is due after one that has failed; silence has failed once it was waited for long enough."""
    return failed_at + RETRIES[min(attempt, MOST_TRIES) - 1]


def _wants(waiting: Waiting, now: int, session: Session, ack_ms: int) -> bool:
    """Whether it is to be offered, for the first time or once more."""
    found = waiting.standing.delivery
    shape = KNOCK if waiting.standing.decision.mode == NOTIFY else CONTENT
    if waiting.standing.decision.mode not in (IMMEDIATE, BUFFERED, NOTIFY):
        return False
    if found.event in session.again:
        return True
    if found.disposition == DEFERRED or found.turn == deliveries.STARTED:
        return False
    if found.has_spoken and _shape(waiting) != NOTIFY:
        return False  # a turn that has spoken is never run again
    if found.attempt == 0 or found.offered_at is None:
        return found.pulled_at is None  # who has read it already needs not be shown it
    if shape == CONTENT and found.offered_as == KNOCK and not found.is_shown:
        return True  # it was claimed meanwhile
    if found.reminded_at is not None and found.reminded_at > found.offered_at:
        return True
    if found.turn == deliveries.TURN_FAILED and not found.has_spoken and found.turns < MOST_TURNS:
        return not found.accepted
    if found.accepted or now < retry_at(found.attempt, found.offered_at + ack_ms):
        return False
    return session.is_pull or (session.has_ack and not found.is_parked and found.attempt < MOST_TRIES)


def _toggles(waiting: Waiting, now: int, held: list[Held]) -> bool:
    """Whether a reaction was only just made, and may be taken back at once; then it is HELD."""
    until = waiting.standing.delivery.arrived + TOGGLED
    if waiting.standing.delivery.decision.reason != REACTION or now >= until:
        return False
    held.append(Held(waiting.event, "may be taken back", until))
    return True


def _shape(waiting: Waiting) -> str:
    found = waiting.standing.delivery
    if found.reminded_at is not None and found.offered_at is not None and found.reminded_at > found.offered_at:
        return NOTIFY  # the second time it only knocks
    return waiting.standing.decision.mode


def _offer(items: Iterable[Waiting], shape: str) -> Offer:
    items = tuple(items)
    policies = [each.standing.decision.policy for each in items]
    strictest = min(policies, key=POLICIES.index)
    return Offer(items, shape, items[-1].standing.delivery.attempt + 1, strictest)


def _offer_at_once(waiting: list[Waiting], now: int, session: Session, found: list[Offer], held: list[Held]) -> None:
    for each in waiting:
        is_urgent = each.standing.decision.priority == URGENT
        may_interrupt = session.can_interrupt and is_urgent and now >= session.last_interrupt + INTERRUPTS
        if session.in_turn and not may_interrupt:
            held.append(Held(each.event, "held_for_boundary"))
        else:
            found.append(_offer([each], CONTENT))


# -- fragments


def _offer_buffered(
    book: Book, waiting: list[Waiting], now: int, session: Session, found: list[Offer], held: list[Held]
) -> None:
    for group, is_closed in _groups(book, waiting):
        due = 0 if is_closed else _due(book, group)
        if now < due:
            held.append(Held(group[-1].event, "buffering", due))
        elif session.in_turn:
            held.append(Held(group[-1].event, "held_for_boundary"))
        else:
            found.append(_offer(group, CONTENT))


def _groups(book: Book, waiting: list[Waiting]) -> Iterable[tuple[list[Waiting], bool]]:
    """What belongs to one turn: what one author says in one thread, for as long as pieces are merged; and whether
    anything has closed it since."""
    open_groups: dict[tuple[str, str], list[Waiting]] = {}
    speaking: dict[str, str] = {}
    for each in waiting:
        found = each.standing.delivery
        key = (found.window, found.author)
        group = open_groups.get(key)
        is_alone = _is_whole(found) or found.attempt > 0 or each.standing.holder == found.agent
        spoke_before = speaking.get(found.window, found.author)
        if spoke_before != found.author and (closed := open_groups.pop((found.window, spoke_before), None)):
            yield closed, True
        speaking[found.window] = found.author
        if group and (is_alone or found.arrived >= _began(group) + book.tuning.merge_ms):
            yield open_groups.pop(key), True
            group = None
        if is_alone:
            yield [each], True
        elif group:
            group.append(each)
        else:
            open_groups[key] = [each]
    for group in open_groups.values():
        yield group, False


def _is_whole(found: Delivery) -> bool:
    """Whether a message is no piece of one: agents, and people on some platforms, send whole messages."""
    return found.is_whole or found.author_kind == AGENT or found.platform in ("", *AT_ONCE)


def _began(group: list[Waiting]) -> int:
    """When the first piece came: the platform may count them in another order than they came in."""
    return min(each.standing.delivery.arrived for each in group)


def _due(book: Book, group: list[Waiting]) -> int:
    """When a group is whole: some time after its last piece, or after typing has stopped, and soon enough anyway."""
    last = max((each.standing.delivery for each in group), key=lambda each: each.arrived)
    if _is_whole(last):
        return 0
    is_typing, since = activity.typing(book.states.state(activity.NAME, f"{activity.TYPES}{last.window} {last.author}"))
    at_most = _began(group) + book.tuning.merge_ms
    if is_typing:
        return at_most
    if since >= last.arrived:
        return min(since + book.tuning.typing_ms, at_most)
    latest = max(max(each.standing.delivery.arrived, each.standing.delivery.changed_at) for each in group)
    return min(latest + book.tuning.compose_ms, at_most)


# -- knocks


def _offer_knocks(
    waiting: list[Waiting], agent: str, book: Book, now: int, found: list[Offer], held: list[Held]
) -> None:
    by_thread: dict[str, list[Waiting]] = {}
    knocked = _knocked(book, agent)
    for each in waiting:
        delivery = each.standing.delivery
        until = delivery.arrived + book.tuning.slot_ms
        is_called = delivery.decision.reason == ROLE_MENTION and now < until and not delivery.decision.is_default
        first = default_of(book, each.known) if is_called else ""
        if first in book.agents and book.agents[first].is_live:
            held.append(Held(each.event, f"{first} is asked first", until))
        elif delivery.window in knocked and each.standing.decision.policy != MUST and delivery.attempt == 0:
            held.append(Held(each.event, "knocked already"))
        else:
            by_thread.setdefault(delivery.window, []).append(each)
    found += [_offer(group, KNOCK) for group in by_thread.values()]


def _knocked(book: Book, agent: str) -> set[str]:
    """The threads of which the agent knows that there is something, and has not looked."""
    return {
        each.window
        for each in book.open_for(agent)
        if each.attempt and each.offered_as == KNOCK and each.pulled_at is None and each.window.strip()
    }


# -- what is recorded of it


def offered(agent: str, made: Iterable[Offer], *, is_taken: bool) -> list[AttentionFact]:
    """What follows when these are handed over; IS_TAKEN where nobody has to say that they arrived."""
    facts: list[AttentionFact] = []
    for offer in made:
        older = [each.event for each in offer.items[:-1]]
        if offer.shape == CONTENT:
            facts += [Moved("system", event, agent, deliveries.MERGED, {"by": offer.event}) for event in older]
        else:
            about = {"attempt": 1, "as": KNOCK}
            facts += [Moved("system", event, agent, deliveries.OFFERED, about) for event in older]
        about = {"attempt": offer.attempt, "as": offer.shape}
        if older and offer.shape == CONTENT:
            about["merged_from"] = older
        facts.append(Moved("system", offer.event, agent, deliveries.OFFERED, about))
        if is_taken:
            taken = [*older, offer.event] if offer.shape == KNOCK else [offer.event]
            facts += [Moved(agent, event, agent, deliveries.ACCEPTED) for event in taken]
    return facts
