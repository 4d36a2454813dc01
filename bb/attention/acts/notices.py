"""Notices of the host to one agent about a message. Each is an event by the host in the conversation of the message.

Other agents never see it.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.facts import Posted
from bb.attention.messages import message
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.messages import MessageHead
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import ACK_ONLY, BUFFERED, NOTIFY, SILENT, SYSTEM, TO_ME
from bb.messaging.chat.recipients import NOBODY


def notice(name: str, about: Message | MessageHead, to: str, decision: Decision, text: str, now: int) -> Posted:
    """The notice to TO about a message."""
    posted = message.Message(
        event=name,
        platform=about.platform,
        workspace=about.workspace,
        conversation=about.conversation,
        kind=about.kind,
        thread=about.thread,
        stream=about.stream,
        author=HERE,
        author_kind=SYSTEM,
        at=now,
        sequence=about.sequence,
        text="",
        reason=decision.reason,
        linked=about.linked if about.reason == decision.reason else about.event,
    )
    others = Decision(mode=SILENT, reason=decision.reason)
    c2a = message.c2a_member(posted) | {"for": {to: decision.to_json()}, "else": others.to_json()[:4]}
    return Posted(SYSTEM, c2a, text, (to,) if decision.mode == BUFFERED else NOBODY)


def notice_once(
    book: AttentionState, name: str, about: MessageHead, to: str, reason: str, text: str, now: int
) -> list[Posted]:
    """A knock for TO that asks for no answer; nothing if TO already got this notice."""
    if book.message(name) is not None:
        return []
    decision = Decision(TO_ME, ACK_ONLY, NOTIFY, reason, deadline=book.tuning.time_for(ACK_ONLY))
    return [notice(name, about, to, decision, text, now)]
