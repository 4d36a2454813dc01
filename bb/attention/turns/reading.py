"""Reading a thread, or the newest messages of a conversation, oldest first.

It is recorded that an agent has read a message, because it may answer a stale event only after it has seen the later
messages.
"""

from __future__ import annotations

from typing import Any

from bb.attention.facts import Answer, AttentionFact, Moved
from bb.attention.judging.cases import (
    case_for_agent,
    current_message,
    find_message_or_none,
    may_join,
    may_see,
    require_registered,
)
from bb.attention.judging.content_version import content_version
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import MessageHead, conversation_sort_key, in_window
from bb.attention.messages.messages import message_of_state as message_kept
from bb.attention.refusals import NoSuchEvent, no_event
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import knocks
from bb.attention.turns.queries import pulled_facts
from bb.attention.words import signal_in
from bb.kernel import clock
from bb.kernel.record import Record

USUAL, MOST = 50, 100


class Window(Record):
    """The part of a conversation to read."""

    event: str = ""
    conversation: str = ""
    thread: str = ""
    before: str = ""
    after: str = ""
    limit: int = USUAL
    most_bytes: int = 64 * 1024


def read(book: AttentionState, agent: str, window: Window, now: int) -> Answer:
    """The messages of a thread, or of a part of a conversation, oldest first."""
    require_registered(book, agent)
    conversation, thread = window.conversation, window.thread
    if window.event:
        around = case_for_agent(book, window.event, agent, now).known
        conversation, thread = around.conversation, thread or around.thread
    if not may_join(book, agent, book.conversation(conversation)):
        raise NoSuchEvent(f"there is no conversation {conversation[:80]!r}, or you may not see it")
    newest, is_cut = _newest(book, agent, in_window(f"{conversation} {thread}"), window)
    newest += [] if is_cut or window.before or window.after else _opening(book, agent, f"{conversation} {thread}")
    if not newest and not (window.event or window.before or window.after):
        raise NoSuchEvent(
            f"there is no conversation {conversation[:80]!r}, or you may not see it"
        )  # the same answer as for a private one
    items, is_cut = _within(book, agent, newest, window.most_bytes, is_cut)
    read_to_the_end = "" if window.before else f"{conversation} {thread}"
    return _noted(book, agent, newest[: len(items)], read_to_the_end), {
        "conversation": conversation,
        "thread": thread or None,
        "items": items,
        "latestSequence": _latest_sequence(book, agent, in_window(f"{conversation} {thread}")),
        "truncated": is_cut,
    }


def _newest(book: AttentionState, agent: str, term: str, window: Window) -> tuple[list[MessageHead], bool]:
    """The newest messages in the window, and whether there are earlier ones."""
    newest: list[MessageHead] = []
    before, after = (_place(book, agent, name) for name in (window.before, window.after))
    for place, name, state in book.states.newest_first(MESSAGES, term):
        head = message_kept(name, state)
        if head is None or _is_about_another(head, agent) or not may_see(book, agent, head):
            continue
        if before and place >= before:
            continue
        if after and place <= after:
            break
        if len(newest) == min(max(window.limit, 1), MOST):
            return newest, True
        newest.append(head)
    return newest, False


def _opening(book: AttentionState, agent: str, thread: str) -> list[MessageHead]:
    """The top-level message that opened a thread, if there is one and AGENT may see it."""
    head = book.message(book.thread(thread).opened_by)
    return [head] if head and head.window != thread and may_see(book, agent, head) else []


def _is_about_another(known: MessageHead, agent: str) -> bool:
    """Whether an event is not part of the conversation: a reaction, or a notice of the host to another agent."""
    return bool(signal_in(known.reason)) or (bool(known.reason) and agent not in known.meant)


def _place(book: AttentionState, agent: str, event: str) -> str:
    """The place of an event among those of its conversation; empty if EVENT is empty."""
    if not event:
        return ""
    head = find_message_or_none(book, event)
    state = book.states.state(MESSAGES, head.event) if head else None
    if not (state and head and may_see(book, agent, head)):
        raise no_event(event)
    return conversation_sort_key(state["said"][:3], state["said"][3])


def _latest_sequence(book: AttentionState, agent: str, term: str) -> int | None:
    """The platform's highest sequence number among the messages that AGENT may see."""
    messages = book.newest_messages(term)
    return next((head.sequence for head in messages if head.sequence is not None and may_see(book, agent, head)), None)


def _noted(book: AttentionState, agent: str, seen: list[MessageHead], read_to_the_end: str) -> list[AttentionFact]:
    """The facts that AGENT has seen these messages. After READING TO THE END of a thread it may answer stale events."""
    facts = pulled_facts(book, agent, {head.event: content_version(book, agent, head) for head in seen})
    checked: dict[str, None] = {}
    for head in seen:
        delivery = book.delivery(head.event, agent)
        if delivery and delivery.is_open and read_to_the_end:
            checked[head.event] = None
    if read_to_the_end:
        checked |= {opened.event: None for opened in book.open_for(agent) if opened.window == read_to_the_end}
    return facts + [Moved(agent, event, agent, transitions.CHECKED) for event in checked]


def _within(
    book: AttentionState, agent: str, newest: list[MessageHead], most_bytes: int, is_cut: bool
) -> tuple[list[dict[str, Any]], bool]:
    """The newest messages that fit into MOST_BYTES, oldest first."""
    items: list[dict[str, Any]] = []
    size = 0
    for head in newest:
        message = current_message(book, head)
        size += sum(len(str(part.get("text", ""))) for part in message.content) + 100
        if items and size > most_bytes:
            return items[::-1], True
        items.append(
            {
                "eventId": head.event,
                "author": knocks.author_of(head),
                **({"unverified": True} if message.is_unverified else {}),
                "at": clock.text(head.at),
                "contentVersion": content_version(book, agent, head),
                "parts": [] if head.is_deleted else message.content,
                "untrusted": True,
                **({"tombstone": True} if head.is_deleted else {}),
                **({"version": head.version} if head.version > 1 else {}),
            }
        )
    return items[::-1], is_cut
