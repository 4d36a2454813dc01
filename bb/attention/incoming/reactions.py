"""Reactions to an agent's message: a signal to the agent. It costs no turn unless the agent waits for an answer.

There is one event for each message, author and signal. Removing the reaction deletes the event; adding it again makes a
new one. A new reaction is shown only after a short delay, so toggling it causes at most one notification.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.judging.decide import Decisions
from bb.attention.messages.message import Message
from bb.attention.messages.messages import MessageHead
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import (
    APPROVAL,
    ASSIGNMENT,
    BUFFERED,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NORMAL,
    NOTIFY,
    QUESTION,
    REACTED,
    REACTION,
    SILENT,
    TO_ME,
)

# The signals that tell the author of a message more than that it was seen.
TELLING = ("agree", "declined", "done", "unclear", "blocked")
MOST_TOGGLES = 20  # of one signal by one author on one message; further ones change nothing


def latest_reaction(book: AttentionState, event: str, who: str, signal: str) -> tuple[str, MessageHead | None, str]:
    """The event id of WHO's latest reaction with SIGNAL, that event if it exists, and the id of the next one."""
    name = first = f"{event}~{who}~{signal}"
    latest = book.message(name)
    for count in range(2, MOST_TOGGLES + 1):
        following = f"{first}~{count}"
        later = book.message(following) if latest is not None else None
        if later is None:
            return name, latest, following if latest is not None else first
        name, latest = following, later
    return name, latest, ""


def reaction_message(known: MessageHead, signal: str, said: Message) -> Message:
    """The message for a reaction to KNOWN. SAID holds its author and time."""
    return said.replace(
        conversation=known.conversation,
        kind=known.kind,
        thread=known.thread,
        stream=known.stream,
        reason=f"{REACTED}{signal}",
        linked=known.event,
    )


def decisions_for_reaction(book: AttentionState, known: MessageHead, signal: str, who: str) -> Decisions:
    """The decision: a reaction is for the agent that wrote the message, unless the agent itself reacts."""
    author = known.agent
    decisions = {author: _to_author(book, known, signal)} if author and author != who else {}
    return Decisions(decisions, Decision(mode=SILENT, reason=REACTION))


def _to_author(book: AttentionState, known: MessageHead, signal: str) -> Decision:
    """The decision for the agent that wrote the message: a notice, unless the reaction changes what the agent owes."""
    if signal not in TELLING:
        return Decision(TO_ME, MUST_NOT, MAILBOX, REACTION, NORMAL)
    answered = book.delivery(known.in_reply_to, known.agent) if known.in_reply_to else None
    if signal == "declined" and answered and answered.decision.policy == MUST:
        return Decision(TO_ME, MUST, BUFFERED, REACTION, NORMAL, book.tuning.time_for(MUST))
    is_asked = known.intent in (APPROVAL, QUESTION, ASSIGNMENT)
    return Decision(TO_ME, MAY, BUFFERED if is_asked else NOTIFY, REACTION, NORMAL, book.tuning.time_for(MAY))
