"""A knock: a notification that a message exists, with its author, place and response policy, but without its content.

The topic of a knock is built from a closed set of words and from names that cannot carry a sentence: the kind of the
message, its stream, and how long it is. Display names and titles are free text, so a knock contains neither.
"""

from __future__ import annotations

from bb.attention.words import (
    ANSWER,
    APPROVAL,
    ASSIGNMENT,
    BLOCKER,
    CANCEL,
    PLAIN,
    QUESTION,
    RECEIPT,
    SIGNALS,
    STATUS,
    THANKS,
    TO_MY_ROLE,
    signal_in,
)
from bb.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.attention.decision import Decision
    from bb.attention.messages.message import Message
    from bb.attention.messages.messages import MessageHead
    from bb.attention.state.attention_state import AttentionState

LABELS = {
    PLAIN: "message",
    QUESTION: "question",
    ANSWER: "answer",
    ASSIGNMENT: "assignment",
    APPROVAL: "request for approval",
    BLOCKER: "blocker",
    STATUS: "status",
    THANKS: "thanks",
    RECEIPT: "receipt",
    CANCEL: "order to stop",
}
REASONS = {
    "role_mention": "for your role",
    "before_bind": "that named you before you were bound",
    "thread_participation": "in a thread you take part in",
    "owned_thread": "in your thread",
    "owned_stream": "in your stream",
    "owned_work_changed": "about your work",
    "edited_after_response": "edited after you answered",
    "escalated": "that is still unanswered",
    "claim_lost": "about a claim that another agent holds",
    "send_failed": "about your message, which was refused",
    "confirmation": "with the person's answer to your request",
    "reaction": "on your message",
    "broadcast": "to several agents",
    "incursion": "about an incursion in your scope",
}
SIZES = ((200, "short"), (2000, "a few paragraphs"), (1 << 60, "long"))
MOST_TOPIC = 80
PULL_THREAD, PULL_EVENTS = "chat.read_thread", "chat.list_events"
IN_SLUG = "abcdefghijklmnopqrstuvwxyz0123456789-_#./"
LONGEST_SLUG = 24


def knock(book: AttentionState, said: Sequence[Message], decision: Decision) -> dict[str, Any]:
    """One knock for several messages of a thread. It describes the last of them."""
    last = said[-1]
    is_thread = bool(last.thread)
    result = {
        "from": author_of(last),
        "where": f"thread:{last.thread}" if is_thread else f"{last.kind}:{last.conversation}",
        "directedness": decision.directedness,
        "policy": decision.policy,
        "priority": decision.priority,
        "topic": topic(book, last, decision),
        "pullWith": PULL_THREAD if is_thread or decision.directedness == TO_MY_ROLE else PULL_EVENTS,
        "conversation": last.conversation,
        **({"unverified": True} if last.is_unverified else {}),
    }
    return result | ({"count": len(said)} if len(said) > 1 else {})


def author_of(said: Message | MessageHead) -> str:
    """The author of a message: their kind and id. Never a display name, which is free text."""
    return f"agent:{said.agent}" if said.agent else f"{said.author_kind}:{said.author}"


def topic(book: AttentionState, said: Message, decision: Decision) -> str:
    """What the message is about, in words chosen by the host."""
    if book.conversation(said.conversation).is_private:
        return LABELS[PLAIN]
    size = next(label for most, label in SIZES if len(said.text) < most)
    about = _label(said)
    why = REASONS.get(decision.reason, "")
    where = f" ({_slug(said.stream)})" if said.stream and _slug(said.stream) else ""
    return f"{about}{' ' + why if why else ''}{where}, {size}"[:MOST_TOPIC]


def _label(said: Message) -> str:
    """The kind of a message; for a reaction, its signal."""
    signal = signal_in(said.reason)
    if signal in SIGNALS:
        meaning = SIGNALS[signal].answers
        return f"{signal} ({meaning})" if meaning else signal
    return LABELS.get(said.intent, LABELS[PLAIN])


def _slug(stream: str) -> str:
    """The name of a stream if it is too short and plain to carry a sentence; otherwise a hash of the name."""
    is_plain = len(stream) <= LONGEST_SLUG and not stream.strip(IN_SLUG) and _words(stream) < 3
    return stream if is_plain else f"stream {digest(stream.encode())[:6]}"


def _words(stream: str) -> int:
    for mark in "-_./#":
        stream = stream.replace(mark, " ")
    return len(stream.split())
