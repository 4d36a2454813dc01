"""The `data` of a `chat.message` (CCCS §6.1), in the order of the specification.

Absent members are omitted, so that readers use the specification's defaults and never find a null. Texts are not
truncated; the length of a message is limited by the length of a ledger line. Unknown members of a request are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.kernel.errors import Usage
from bb.messaging.chat import fields, recipients, references
from bb.messaging.chat.fields import Fields
from bb.messaging.chat.principals import SERVICE, SYSTEM, USER, principal
from bb.messaging.chat.recipients import Member

MESSAGE, ACK, READ = "chat.message", "chat.ack", "chat.read"
FORMATS = ("plain", "markdown")
NORMAL, ATTENTION = "normal", "attention"
PRIORITIES = (NORMAL, ATTENTION)
SEND, REQUEST_REPLY, MAIL = "send", "request_reply", "mail"
MODES = (SEND, REQUEST_REPLY, MAIL)

QUOTE_LENGTH = 100
CLIENT_TIME_LENGTH = 64

MissingText = Usage.declare(
    "MISSING_TEXT", "A message needs a text or attachments", hint="pass a `text` that is not blank"
)
InvalidFormat = Usage.declare("INVALID_FORMAT", "The format must be plain or markdown", hint="omit it for plain")

InvalidPriority = Usage.declare(
    "INVALID_PRIORITY",
    "The priority must be normal or attention; of a notification low, normal, high or urgent",
    hint="omit it for normal",
)

InvalidMessageMode = Usage.declare(
    "INVALID_MESSAGE_MODE", "The message mode must be send, request_reply or mail", hint="omit it for send"
)

IncompleteSource = Usage.declare(
    "INCOMPLETE_SOURCE",
    "The source of a relayed message needs both a group and an event",
    hint="pass `src_group_id` and `src_event_id` together",
)


def compose(*, by: Any, to: tuple[str, ...], members: Sequence[Member], **given: Any) -> dict[str, Any]:
    """The data of a message, if it may be sent. TO is resolved; all other members are as the client sent them."""
    sender = principal(by, [member.id for member in members])
    request = Fields(given)
    attached = references.attachments(given.get("attachments"))
    data = {
        "text": _text(request, is_alone=not attached),
        "format": request.refusing(InvalidFormat).maybe_one_of("format", FORMATS),
        "priority": request.refusing(InvalidPriority).maybe_one_of("priority", PRIORITIES),
        "to": list(to) or None,
        "reply_to": request.name("reply_to"),
        "quote_text": request.text("quote_text") or None,
        **_source(request),
        **_destination(request),
        "attachments": attached or None,
        "refs": references.references(given.get("refs")) or None,
        "thread": request.text("thread") or None,  # reserved by CCCS: stored without meaning
        "client_id": request.name("client_id"),
        "client_ts": request.name("client_ts", CLIENT_TIME_LENGTH),
        "message_mode": request.refusing(InvalidMessageMode).maybe_one_of("message_mode", MODES),
        "reply_required": request.flag("reply_required") or None,
        "insight": request.text("insight") or None,
        "suggested_user_message": request.text("suggested_user_message") or None,
    }
    recipients.must_reach(to, members, sender)
    return fields.present(data)


def _text(request: Fields, *, is_alone: bool) -> str:
    """The text, which may be blank only if there are attachments."""
    text = request.text("text")
    if is_alone and not text.strip():
        raise MissingText(path="$.text")
    return text


def _source(request: Fields) -> dict[str, str | None]:
    """The source of a relayed message."""
    source = {member: request.name(member) for member in ("src_group_id", "src_event_id")}
    lacking = [member for member, value in source.items() if value is None]
    if len(lacking) == 1:
        message = f"{lacking[0]} is missing: the source of a relayed message needs both a group and an event"
        raise IncompleteSource(message, path=f"$.{lacking[0]}")
    return source


def _destination(request: Fields) -> dict[str, Any]:
    """The destination of a relayed message: a group, and recipients in it."""
    listed = request.items("dst_to")
    named = [listed.name(at) for at in listed]
    if None in named:
        raise fields.InvalidRequest("$.dst_to has a recipient without a name", path=f"$.dst_to[{named.index(None)}]")
    where = request.name("dst_group_id")
    if named and where is None:
        raise fields.InvalidRequest("dst_to needs a dst_group_id", path="$.dst_group_id")
    return {"dst_group_id": where, "dst_to": None if where is None or "dst_to" not in request else named}


def quote_of(text: Any) -> str:
    """The beginning of a message, as quoted in a reply."""
    if not isinstance(text, str):
        return ""
    return text if len(text) <= QUOTE_LENGTH else text[:QUOTE_LENGTH] + "..."


def reply_recipients(original_by: str, original_to: Sequence[str], by: str) -> tuple[str, ...]:
    """The default recipients of BY's reply: the author of the original, or its recipients if BY is the author."""
    if original_by == by:
        return tuple(original_to)
    if original_by == SYSTEM or original_by.startswith(SERVICE):
        # These cannot receive messages. The reply goes to the other recipients; without any, to the person.
        others = tuple(token for token in original_to if token != by)
        return others if others or not original_to else (USER,)
    return (original_by,) if original_by else ()


def is_attention(data: Any) -> bool:
    """Whether a recorded message requires acknowledgement."""
    return isinstance(data, dict) and data.get("priority") == ATTENTION


def mode_of(data: Any) -> str:
    """The delivery mode of a recorded message; `send` by default."""
    mode = data.get("message_mode") if isinstance(data, dict) else None
    return mode if isinstance(mode, str) and mode in MODES else SEND
