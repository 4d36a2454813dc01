"""The message of an agent that a message answers. It is shown together with the answer: "yes" alone means nothing."""

from __future__ import annotations

from bb.attention.judging.cases import current_message, may_see
from bb.attention.messages.message import HERE, Message
from bb.attention.words import REPLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.attention.state.attention_state import AttentionState

MOST = 4096  # characters that are shown; those at its end, because a question comes last


def asked_message(book: AttentionState, agent: str, said: Sequence[Message], reason: str) -> Message | None:
    """The message that SAID answer for the REASON of their decision, with the end of its text; or None."""
    answered = next((message.answers for message in said if message.answers), "")
    answered = answered or (said[0].in_reply_to if reason == REPLY else "")
    head = book.message(answered) if answered else None
    asked = current_message(book, head) if head else _outside_c2a(book, agent, answered, said[0])
    if asked is None or (head and (head.is_deleted or not may_see(book, agent, head))):
        return None
    cut = len(asked.text) - MOST
    return asked if cut <= 0 else asked.replace(text=f"[{cut} earlier characters]\n{asked.text[cut:]}", parts=())


def _outside_c2a(book: AttentionState, agent: str, line: str, said: Message) -> Message | None:
    """A message of the agent to people in the chat of bb. It is for no agent, so it is no message of C2A."""
    text = book.data(line).get("text") if line and said.platform == HERE else None
    return Message(line, HERE, said.conversation, agent, text, 0, agent=agent) if isinstance(text, str) else None


def answers_member(asked: Message | None) -> dict[str, Any]:
    """The member `answers` of an envelope or a block: the answered message, with its content."""
    return {"answers": {"eventId": asked.event, "content": asked.content}} if asked else {}
