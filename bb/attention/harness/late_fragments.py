"""Decides whether a late piece belongs to a message that a harness is already working on.

It does if no one else has written in the thread since, if it comes within the merge time, and if the message is not
answered yet. A turn is restarted only a few times for this; after that, a late piece becomes a message of its own.
"""

from __future__ import annotations

from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.turns.offers import CONTENT
from bb.attention.words import BUFFERED, POLICIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bb.attention.harness.session import Handed
    from bb.attention.state.book import Book
    from bb.attention.state.deliveries import Delivery
    from bb.attention.turns.offers import Offer

MOST_RESTARTS = 2


def fragments(
    book: Book, running: Iterable[Handed], agent: str, made: Iterable[Offer]
) -> Iterator[tuple[Handed, Delivery, Offer]]:
    """The offers in MADE that belong to a RUNNING message, with that message and its delivery."""
    pieces = [each for each in made if each.shape == CONTENT and _is_new(each)]
    for handed in running if pieces else ():
        if handed.shape != CONTENT or handed.is_over or handed.restarts >= MOST_RESTARTS:
            continue
        found = book.delivery(handed.event, agent)
        if found is None or not found.attempt or not _may_grow(found):
            continue
        belonging = next((each for each in pieces if _belongs(book, found, each)), None)
        if belonging:
            pieces.remove(belonging)
            yield handed, found, belonging


def _may_grow(found: Delivery) -> bool:
    is_unanswered = found.is_open and not found.has_spoken
    return is_unanswered and not found.is_whole and found.decision.mode == BUFFERED


def _is_new(offer: Offer) -> bool:
    """Whether the offer is a new piece. An immediate message is never a piece."""
    found = [each.standing.delivery for each in offer.items]
    return all(each.attempt == 0 and not each.is_whole and each.decision.mode == BUFFERED for each in found)


def _belongs(book: Book, found: Delivery, offer: Offer) -> bool:
    first, last = offer.items[0].standing.delivery, offer.last.standing.delivery
    began = min([found.arrived, *(each.arrived for event in found.merged_from if (each := book.message(event)))])
    return (
        (first.window, first.author) == (found.window, found.author)
        and first.place > found.place
        and last.arrived < began + book.tuning.merge_ms
        and POLICIES.index(offer.policy) >= POLICIES.index(found.decision.policy)
        and _has_the_floor(book, found, last)
    )


def _has_the_floor(book: Book, found: Delivery, last: Delivery) -> bool:
    """Whether no other author has written in the thread since."""
    for _, event, state in book.states.newest_first(MESSAGES, f"in {found.window}".rstrip()):
        if event == found.event:
            return True
        if state["said"][3].get("author") != last.author:
            return False
    return False
