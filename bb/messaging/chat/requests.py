"""Messages that request a reply, and messages in mail mode: the later dialect of CCCC (from 0.4.40 on)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.kernel.errors import PermissionDenied, Refused
from bb.messaging.chat.acks import EventNotFound, InvalidEventKind
from bb.messaging.chat.message import MAIL, MESSAGE, REQUEST_REPLY, mode_of
from bb.messaging.chat.principals import USER

CANCELLED_KIND, MAIL_READ = "chat.reply_request.cancelled", "mail.read"

NotAReplyRequest = Refused.declare(
    "NOT_A_REPLY_REQUEST",
    "The message does not request a reply",
    hint="only a message with message_mode request_reply can be cancelled",
)


def is_request(data: Any) -> bool:
    """Whether a recorded message requests a reply. The first dialect has a flag for it."""
    return mode_of(data) == REQUEST_REPLY or (isinstance(data, dict) and data.get("reply_required") is True)


def is_mail(data: Any) -> bool:
    """Whether a recorded message stays in the inbox instead of being delivered."""
    return mode_of(data) == MAIL


def may_cancel(*, by: Any, event: Mapping[str, Any] | None) -> None:
    """Refuse unless BY may cancel the request for a reply."""
    if event is None:
        raise EventNotFound(path="$.source_event_id")
    if event.get("kind") != MESSAGE:
        raise InvalidEventKind(f"only a {MESSAGE} can request a reply", path="$.source_event_id")
    if not is_request(event.get("data")):
        raise NotAReplyRequest(path="$.source_event_id")
    if by not in (event.get("by"), USER):
        raise PermissionDenied("only the sender or the person may cancel a request", path="$.by")


def cancellation(source_event_id: str, by: str) -> dict[str, str]:
    """The data of a `chat.reply_request.cancelled`."""
    return {"source_event_id": source_event_id, "by": by}
