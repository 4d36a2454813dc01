"""Follow-ups: if a person names an agent and goes on writing, the next messages in the thread are aimed at it too.

This holds for the time in which more pieces are expected, and until the agent has answered the first message. A message
that only calls the agent ("@bo"), or after which its author was seen to type, is continued for as long as pieces are
merged at all. A message that itself names someone, or has parts besides words, starts anew. In a private conversation
only an answer to a question is continued: every other message there is for the agent by itself.
"""

from __future__ import annotations

from bb.attention.judging.directedness import Aimed
from bb.attention.messages.message import Message
from bb.attention.messages.spoken_parts import has_more_than_words
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns.pieces import AT_ONCE, is_still_composing
from bb.attention.words import BUFFERED, DM, HUMAN, TO_ME


def continued_message(book: AttentionState, said: Message) -> str:
    """The message that SAID continues; empty if there is none."""
    event, author, at = book.thread(said.window).last
    after = said.at - at
    if author != said.author or not 0 <= after < book.tuning.merge_ms or _begins_anew(said):
        return ""
    head = book.message(event)
    if head is None or head.is_deleted or (said.kind == DM and not head.answers):
        return ""
    if said.in_reply_to != head.in_reply_to and (said.in_reply_to or not head.answers):
        return ""
    if after >= book.tuning.compose_ms and not is_still_composing(book, [head]):
        return ""
    deliveries = [book.delivery(event, agent) for agent in head.meant]
    waits = any(
        delivery and delivery.is_open and not delivery.has_spoken and delivery.decision.mode == BUFFERED
        for delivery in deliveries
    )
    return event if waits else ""


def _begins_anew(said: Message) -> bool:
    is_named = bool(said.mentions or (said.recipient and said.kind != DM))
    return is_named or has_more_than_words(said.parts) or said.author_kind != HUMAN or said.platform in AT_ONCE


def continued_aim(book: AttentionState, said: Message) -> Aimed:
    """The agents that were asked by the message that SAID continues, and why."""
    head = book.message(said.piece_of) if said.piece_of else None
    deliveries = {agent: book.delivery(said.piece_of, agent) for agent in (head.meant if head else ())}
    return {
        agent: (TO_ME, delivery.decision.reason)
        for agent, delivery in deliveries.items()
        if delivery and delivery.decision.directedness == TO_ME
    }
