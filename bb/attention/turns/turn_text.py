"""The text that enters an agent's turn: the offered messages, and the first time also the standing response rules."""

from __future__ import annotations

from itertools import islice

from bb.attention.judging.cases import current_message, may_see, require_registered
from bb.attention.messages.messages import in_window
from bb.attention.state import deliveries
from bb.attention.turns import knocks, rendering
from bb.attention.turns.asked_messages import answers_member, asked_message
from bb.attention.turns.offers import (
    CONTENT,
    KNOCK,
    Offer,
    Session,
    offer_facts,
    offered_version,
    offers_for,
)
from bb.attention.turns.open_deliveries import open_deliveries
from bb.attention.words import ANSWER, DIRECT_MENTION, FOLLOW_UP, NOTIFY, OFFERED, REPLY, THREAD_QUESTION, signal_shown
from bb.kernel import escaping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from bb.attention.facts import Answer
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState


WITH_CONTEXT = (DIRECT_MENTION, THREAD_QUESTION, REPLY, FOLLOW_UP, ANSWER)
MOST_CONTEXT, CONTEXT_BYTES = 6, 4096
MOST_LOOKED_THROUGH = 200  # messages that are searched for context
MOST_BLOCKS = 20  # in one turn; the rest waits for the next turn
RULES = "rules"


def inject(
    book: AttentionState,
    agent: str,
    now: int,
    seed: str,
    *,
    told: Collection[str] | None = None,
    most: int = MOST_BLOCKS,
) -> Answer:
    """What AGENT is to see in its next turn. It counts as delivered once it is handed over.

    Without a SEED the blocks have no boundary marks. TOLD names what this session has already been given. If it is
    passed, open messages that only other sessions were given are repeated, because this session's model has not seen
    them.
    """
    require_registered(book, agent)
    offers, held = offers_for(book, agent, now, Session(is_pull=True))
    again = _repeated(book, agent, now, offers, told) if told is not None else []
    fresh = [offer for offer in offers if told is None or not _is_known(offer, told)]
    chosen = [*again, *fresh][:most]
    quoted: set[str] = set()
    blocks = [block(book, agent, offer, f"{seed} {offer.event}" if seed else "", quoted) for offer in chosen]
    knows_rules = _has_rules(book, agent) if told is None else RULES in told
    rules = rendering.STANDING_RULES if chosen and not knows_rules else None
    texts = [*([rules] if rules else []), *(entry["text"] for entry in blocks)]
    return offer_facts(book, agent, [offer for offer in chosen if offer not in again], is_taken=True), {
        "agent": agent,
        "rules": rules,
        "blocks": blocks,
        "held": [{"eventId": entry.event, "why": entry.why, "until": entry.until} for entry in held],
        "more": len(again) + len(fresh) - len(chosen),
        "text": "\n\n".join(texts),
        **({"told": _names(chosen)} if told is not None else {}),
    }


def offer_name(offer: Offer) -> str:
    """The name under which a session remembers that it was given OFFER."""
    return name_of(offer.event, offer.shape, offer.last.standing.delivery.reminded_at)


def name_of(event: str, shape: str, reminded_at: int | None) -> str:
    """The name of an offer, by its event, its shape, and the time of the last reminder."""
    return f"{event} {shape}{'' if reminded_at is None else f' {reminded_at}'}"


def _names(chosen: Sequence[Offer]) -> list[str]:
    """What a session that is given these offers remembers: each offer, and each of its messages."""
    return [RULES, *map(offer_name, chosen), *(item.event for offer in chosen for item in offer.items)]


def _is_known(offer: Offer, told: Collection[str]) -> bool:
    """Whether the session was given OFFER, or was told of its message in another way and not reminded since."""
    delivery = offer.last.standing.delivery
    is_new_to_agent = delivery.attempt == 0 and delivery.reminded_at is None
    return offer_name(offer) in told or (is_new_to_agent and offer.event in told)


def _repeated(book: AttentionState, agent: str, now: int, made: Sequence[Offer], told: Collection[str]) -> list[Offer]:
    """Offers of open messages that only other sessions were given so far."""
    fresh = {item.event for offer in made for item in offer.items}
    repeated = []
    for item in open_deliveries(book, agent, now):
        delivery = item.standing.delivery
        is_open = delivery.attempt > 0 and delivery.disposition is None and delivery.pulled_at is None
        if is_open and item.event not in fresh and item.standing.decision.mode in OFFERED:
            shape = KNOCK if item.standing.decision.mode == NOTIFY else CONTENT
            offer = Offer((item,), shape, delivery.attempt, item.standing.decision.policy)
            if offer_name(offer) not in told and (item.event not in told or delivery.reminded_at is not None):
                repeated.append(offer)
    return repeated


def _has_rules(book: AttentionState, agent: str) -> bool:
    """Whether the agent was ever handed a message, and so has the response rules."""
    for _, key, state in book.states.newest_first(deliveries.NAME, f"to {agent}"):
        if deliveries.delivery_of_state(key, state).attempt:
            return True
    return False


def block(book: AttentionState, agent: str, offer: Offer, seed: str, quoted: set[str] | None = None) -> dict[str, Any]:
    """One offer, as data and as text. Events in QUOTED are not quoted again as context."""
    decision = offer.last.standing.decision.replace(policy=offer.policy)
    messages = _pieces(book, agent, offer)
    result: dict[str, Any] = {"eventId": offer.event, "mode": decision.mode, **decision.details()}
    result |= {"attempt": offer.attempt, **signal_shown(messages[-1].reason, messages[-1].linked)}
    version = offered_version(book, agent, offer)
    result["contentVersion"] = version - (offer.shape == KNOCK)
    if offer.shape == KNOCK:
        knock = knocks.knock(book, messages, decision)
        return result | {
            "mode": "notify",
            "injection": "notify",
            "knock": knock,
            "text": rendering.knock(knock, offer.event),
        }
    asked = asked_message(book, agent, messages, decision.reason)
    before = context(book, agent, messages[0], offer) if decision.reason in WITH_CONTEXT else []
    if quoted is not None:
        before = [pair for pair in before if pair[0].event not in quoted]
        quoted.update(message.event for message in [*messages, *(earlier for earlier, _ in before)])
    text = rendering.event(
        messages,
        decision,
        boundary=escaping.boundary(seed) if seed else "",
        context=before,
        asked=asked,
        is_stale=offer.last.standing.is_stale,
        version=version,
    )
    merged = [message.event for message in messages[:-1]]
    parts = [part for message in messages for part in message.content]
    result |= {"mergedFrom": merged, "content": parts, "context": _named(before), "text": text}
    return result | answers_member(asked)


def _pieces(book: AttentionState, agent: str, offer: Offer) -> list[Message]:
    """The messages that are offered together, including pieces that were merged in an earlier offer."""
    heads = [item.known for item in offer.items]
    if len(heads) == 1 and offer.shape == CONTENT:
        earlier = [book.message(piece) for piece in offer.last.standing.delivery.merged_from]
        heads = [*(head for head in earlier if head and not head.is_deleted and may_see(book, agent, head)), *heads]
    return [current_message(book, head) for head in heads]


def _named(before: list[tuple[Message, str]]) -> str | None:
    return "thread_window" if before else None


def context(book: AttentionState, agent: str, first: Message, offer: Offer) -> list[tuple[Message, str]]:
    """The newest earlier messages of the thread and its first message, as far as the agent has not seen them."""
    messages: list[MessageHead] = []
    size = 0
    own = {item.event for item in offer.items}
    start = offer.items[0].known.order
    for head in islice(book.newest_messages(in_window(first.window)), MOST_LOOKED_THROUGH):
        if head.event in own or head.order > start or head.thread != first.thread:
            continue
        if _has_seen(book, agent, head.event):
            return _with_authors(book, messages)  # the agent has seen the messages before it, too
        if not _is_context(book, agent, head):
            continue
        size += len(_text(book, head))
        if len(messages) == MOST_CONTEXT or size > CONTEXT_BYTES:
            break
        messages.append(head)
    return _with_authors(book, [*messages, *_root(book, agent, first, [*own, *(head.event for head in messages)])])


def _with_authors(book: AttentionState, messages: Sequence[MessageHead]) -> list[tuple[Message, str]]:
    pairs = [(current_message(book, head), knocks.author_of(head)) for head in reversed(messages)]
    return [(message, f"{who}{rendering.UNVERIFIED if message.is_unverified else ''}") for message, who in pairs]


def _is_context(book: AttentionState, agent: str, known: MessageHead) -> bool:
    """Whether a message by another author, which the agent may see, can serve as context."""
    return not known.reason and not known.is_deleted and known.agent != agent and may_see(book, agent, known)


def _root(book: AttentionState, agent: str, first: Message, told: Collection[str]) -> list[MessageHead]:
    """The message that opened the thread of FIRST, or that FIRST answers, unless it is in TOLD."""
    line = book.thread(first.window).root if first.thread else ""
    c2a = book.data(line).get("c2a") if line else None
    event = first.root or first.in_reply_to or (str(c2a.get("event") or line) if isinstance(c2a, dict) else "")
    head = book.message(event) if event else None
    if head is None or head.event in told or _has_seen(book, agent, head.event):
        return []
    return [head] if _is_context(book, agent, head) and len(_text(book, head)) <= CONTEXT_BYTES else []


def _text(book: AttentionState, known: MessageHead) -> str:
    return current_message(book, known).text


def _has_seen(book: AttentionState, agent: str, event: str) -> bool:
    delivery = book.delivery(event, agent)
    return delivery is not None and (delivery.pulled_at is not None or delivery.is_shown)
