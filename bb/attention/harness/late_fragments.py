"""Decides whether a late piece belongs to a message that a harness is already working on.

It does if neither another person nor the agent itself has written in the thread since, if it was written within the
merge time, and if the message is not answered yet. A turn is restarted only a few times for this; after that, a late
piece becomes a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bb.attention.harness.session import Handed
from bb.attention.messages.messages import in_window
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.turns.offers import CONTENT, Offer
from bb.attention.turns.pieces import is_whole, is_within
from bb.attention.words import BUFFERED, HUMAN, POLICIES

MOST_RESTARTS = 2


def fragments(
    book: AttentionState, running: Iterable[Handed], agent: str, made: Iterable[Offer]
) -> Iterator[tuple[Handed, Delivery, Offer]]:
    """The offers in MADE that belong to a RUNNING message, with that message and its delivery."""
    pieces = [offer for offer in made if offer.shape == CONTENT and _is_new(offer)]
    for handed in running if pieces else ():
        if handed.shape != CONTENT or handed.is_over or handed.restarts >= MOST_RESTARTS:
            continue
        delivery = book.delivery(handed.event, agent)
        if delivery is None or not delivery.attempt or not _may_grow(delivery):
            continue
        belonging = next((offer for offer in pieces if _belongs(book, delivery, offer)), None)
        if belonging:
            pieces.remove(belonging)
            yield handed, delivery, belonging


def _may_grow(delivery: Delivery) -> bool:
    is_unanswered = delivery.is_open and not delivery.has_spoken
    return is_unanswered and not is_whole(delivery) and delivery.decision.mode == BUFFERED


def _is_new(offer: Offer) -> bool:
    """Whether the offer is a new piece. An immediate message is never a piece."""
    deliveries = [item.standing.delivery for item in offer.items]
    return all(
        delivery.attempt == 0 and not is_whole(delivery) and delivery.decision.mode == BUFFERED
        for delivery in deliveries
    )


def _belongs(book: AttentionState, delivery: Delivery, offer: Offer) -> bool:
    first, last = offer.items[0].standing.delivery, offer.last.standing.delivery
    parts = [delivery, *(piece for event in delivery.merged_from if (piece := book.delivery(event, delivery.agent)))]
    return (
        (first.window, first.author) == (delivery.window, delivery.author)
        and first.place > delivery.place
        and is_within(book.tuning.merge_ms, parts, last)
        and POLICIES.index(offer.policy) >= POLICIES.index(delivery.decision.policy)
        and _wrote_last(book, delivery, last)
    )


def _wrote_last(book: AttentionState, delivery: Delivery, last: Delivery) -> bool:
    """Whether neither another person nor the agent itself has written in the thread since."""
    for head in book.newest_messages(in_window(delivery.window)):
        if head.event == delivery.event:
            return True
        is_by_a_person = head.author_kind == HUMAN and not head.agent and not head.reason
        if head.agent == delivery.agent or (is_by_a_person and head.author != last.author):
            return False
    return False
