"""The reply to a message of a chat, in the form of that chat: CCCS, or C2A with what a plain reply needs."""

from __future__ import annotations

from typing import Any

from bb.attention.judging.cases import find_message_or_none
from bb.attention.words import DM, THREAD, TO_ME
from bb.kernel.digest import digest
from bb.messaging.chat.message import MESSAGE
from bb.messaging.mail import mail
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.chat import chat, saying
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk


def reply(desk: Desk, who: str, message: str, text: str, key: str | None, allow_secret: str | None) -> dict[str, Any]:
    """Answer MESSAGE as WHO. A message of C2A is answered in its thread, a private one privately."""
    if _is_of_cccs(desk, message):
        given: dict[str, Any] = {"reply_to": message, "text": text, "by": who}
        return chat.reply(desk, **given, client_id=key, allow_secret=allow_secret)  # type: ignore[arg-type]
    if allow_secret:
        raise chat.NotOfC2A("a C2A message cannot have --allow-secret", hint=chat.MASKED, path="$.allow_secret")
    head = find_message_or_none(C2aDesk(desk, who).book(), message)
    if head is None:
        raise mail.MessageNotFound(f"there is no message {message[:80]}")
    draft = {
        "content": text,
        "inReplyTo": head.event,
        "visibility": DM if head.kind == DM else THREAD,
        "directedness": TO_ME,
        "idempotencyKey": key or f"reply:{digest(f'{head.event} {text}'.encode())[:32]}",
    }
    return saying.send(desk, who, draft)


def _is_of_cccs(desk: Desk, message: str) -> bool:
    """Whether MESSAGE is the id of an event that CCCS clients wrote: its C2A member has no id of its own."""
    event = group_desk.open_group(desk, None).event(message)
    if event is None or event.kind != MESSAGE:
        return False
    c2a = event.data.get("c2a")
    return not (isinstance(c2a, dict) and c2a.get("event"))
