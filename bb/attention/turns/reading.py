"""Reading: a thread, or the end of a conversation, oldest first.

That an agent has looked is noted down: an old event may be answered only by who has seen what came after it.
"""

from __future__ import annotations

from bb.attention.facts import Moved
from bb.attention.judging.cases import case, may_see, must_be_here, said_in
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import kept as message_kept
from bb.attention.messages.messages import place_of
from bb.attention.refusals import NoSuchEvent
from bb.attention.state import deliveries
from bb.attention.turns import knocks
from bb.attention.words import signal_in
from bb.kernel import clock
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book

    Answer = tuple[list[AttentionFact], dict[str, Any]]

USUAL, MOST = 50, 100


class Window(Record):
    """Which part of a conversation is to be read."""

    event: str = ""
    conversation: str = ""
    thread: str = ""
    before: str = ""
    after: str = ""
    limit: int = USUAL
    most_bytes: int = 64 * 1024


def read(book: Book, agent: str, window: Window, now: int) -> Answer:
    """A thread, or the window of a conversation, oldest first."""
    must_be_here(book, agent)
    conversation, thread = window.conversation, window.thread
    if window.event:
        around = case(book, window.event, agent, now).known
        conversation, thread = around.conversation, thread or around.thread
    if not book.conversation(conversation).admits(agent):
        raise NoSuchEvent(f"there is no conversation {conversation[:80]!r}")
    newest, is_cut = _newest(book, agent, f"in {conversation} {thread}".rstrip(), window)
    if not newest and not (window.event or window.before or window.after):
        raise NoSuchEvent(f"there is no conversation {conversation[:80]!r}")  # nor one that is private, by its answer
    items, is_cut = _within(book, newest, window.most_bytes, is_cut)
    read_to_the_end = "" if window.before else f"{conversation} {thread}"
    return _noted(book, agent, newest[: len(items)], read_to_the_end), {
        "conversation": conversation,
        "thread": thread or None,
        "items": items,
        "latestSequence": _latest_sequence(book, agent, f"in {conversation} {thread}".rstrip()),
        "truncated": is_cut,
    }


def _newest(book: Book, agent: str, term: str, window: Window) -> tuple[list[Kept], bool]:
    """The newest messages that are wanted, and whether there are more before them."""
    found: list[Kept] = []
    before, after = (_place(book, agent, name) for name in (window.before, window.after))
    for place, name, state in book.states.newest_first(MESSAGES, term):
        known = message_kept(name, state)
        if known is None or _is_about_another(known, agent) or not may_see(book, agent, known):
            continue
        if before and place >= before:
            continue
        if after and place <= after:
            break
        if len(found) == min(max(window.limit, 1), MOST):
            return found, True
        found.append(known)
    return found, False


def _is_about_another(known: Kept, agent: str) -> bool:
    """Whether an event is no word in a conversation: a reaction, or what the host has to tell somebody else."""
    return bool(signal_in(known.reason)) or (bool(known.reason) and agent not in known.meant)


def _place(book: Book, agent: str, event: str) -> str:
    """Where an event stands among those of its conversation; nowhere where none is named."""
    if not event:
        return ""
    state = book.states.state(MESSAGES, event)
    known = message_kept(event, state)
    if not (state and known and may_see(book, agent, known)):
        raise NoSuchEvent(f"there is no event {event[:80]!r}", event_id=event[:80])
    return place_of(state["said"][:3], state["said"][3])


def _latest_sequence(book: Book, agent: str, term: str) -> int | None:
    """How far the platform has counted there, as far as AGENT may know."""
    for _, event, state in book.states.newest_first(MESSAGES, term):
        known = message_kept(event, state)
        if known and known.sequence is not None and may_see(book, agent, known):
            return known.sequence
    return None


def _noted(book: Book, agent: str, seen: list[Kept], read_to_the_end: str) -> list[AttentionFact]:
    """That AGENT has seen these. Whoever has READ a thread TO THE END may answer what is old in it, however old."""
    facts: list[AttentionFact] = []
    checked: dict[str, None] = {}
    for each in seen:
        delivery = book.delivery(each.event, agent)
        if delivery and delivery.pulled_at is None:
            facts.append(Moved(agent, each.event, agent, deliveries.PULLED))
        if delivery and delivery.is_open and read_to_the_end:
            checked[each.event] = None
    if read_to_the_end:
        checked |= {each.event: None for each in book.open_for(agent) if each.window == read_to_the_end}
    return facts + [Moved(agent, event, agent, deliveries.CHECKED) for event in checked]


def _within(book: Book, newest: list[Kept], most_bytes: int, is_cut: bool) -> tuple[list[dict[str, Any]], bool]:
    """The newest messages that fit, oldest first."""
    items: list[dict[str, Any]] = []
    size = 0
    for known in newest:
        said = said_in(known, book.data(known.line))
        size += sum(len(str(part.get("text", ""))) for part in said.content) + 100
        if items and size > most_bytes:
            return items[::-1], True
        items.append(
            {
                "eventId": known.event,
                "author": knocks.author_of(known),
                **({"unverified": True} if said.is_unverified else {}),
                "at": clock.text(known.at),
                "parts": [] if known.is_deleted else said.content,
                "untrusted": True,
                **({"tombstone": True} if known.is_deleted else {}),
                **({"version": known.version} if known.version > 1 else {}),
            }
        )
    return items[::-1], is_cut
