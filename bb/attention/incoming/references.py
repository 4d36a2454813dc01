"""What a new message refers to: the message that opened its thread, the message that it continues, and questions.

It is found once, when the message arrives or is sent, and recorded with it.
"""

from __future__ import annotations

from bb.attention.incoming.follow_ups import continued_message
from bb.attention.judging import questions, replies
from bb.attention.messages.message import Message
from bb.attention.state.attention_state import AttentionState
from bb.kernel.ids import PERSON


def with_references(book: AttentionState, said: Message, intent: str = "") -> Message:
    """SAID with everything that it refers to. INTENT is what an agent that sends it has declared."""
    said = replies.with_root(book, said)
    is_by_agent = book.directory.agent(said.author, said.platform) if not intent else said.author != PERSON
    if is_by_agent:
        asks = questions.people_asked(book.directory, said, intent or said.intent)
        said = said if asks is None else said.replace(asks=asks)
    if piece := continued_message(book, said):
        head = book.message(piece)
        return said.replace(piece_of=piece, answers=head.answers if head else "")
    question = questions.answered_question(book, said)
    return said.replace(answers=question) if question else said
