"""What a message says (CCCS §6.1): the `data` of a `chat.message`, in the order of the specification.

What is absent is left out, so a reader finds the specification's defaults, never a null. No text is cut: the length of
a message is bounded by the line that carries it. Members of a request that are not known here are ignored.
"""

from __future__ import annotations

from bb.kernel.errors import Usage
from bb.messaging.chat import fields, recipients, references
from bb.messaging.chat.principals import SERVICE, SYSTEM, USER, principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.messaging.chat.recipients import Member

MESSAGE, ACK, READ = "chat.message", "chat.ack", "chat.read"
FORMATS = ("plain", "markdown")
NORMAL, ATTENTION = "normal", "attention"
PRIORITIES = (NORMAL, ATTENTION)
SEND, REQUEST_REPLY, MAIL = "send", "request_reply", "mail"
MODES = (SEND, REQUEST_REPLY, MAIL)

QUOTE_LENGTH = 100
CLIENT_TIME_LENGTH = 64


class MissingText(Usage):
    """A message says something, or has attachments that do."""

    code = "MISSING_TEXT"
    hint = "pass a text that is not blank"


class InvalidFormat(Usage):
    """A format is plain or markdown."""

    code = "INVALID_FORMAT"
    hint = "leave it out for plain"


class InvalidPriority(Usage):
    """A priority is normal or attention."""

    code = "INVALID_PRIORITY"
    hint = "leave it out for normal"


class InvalidMessageMode(Usage):
    """A message's mode is send, request_reply or mail."""

    code = "INVALID_MESSAGE_MODE"
    hint = "leave it out to send"


class IncompleteSource(Usage):
    """Where a relayed message comes from is a group and an event in it, both or neither."""

    code = "INCOMPLETE_SOURCE"
    hint = "pass src_group_id and src_event_id together"


def compose(
    *,
    by: Any,
    to: tuple[str, ...],
    members: Sequence[Member],
    text: Any = None,
    format: Any = None,  # noqa: A002  (the specification's name)
    priority: Any = None,
    mode: Any = None,
    reply_to: Any = None,
    quote_text: Any = None,
    src_group_id: Any = None,
    src_event_id: Any = None,
    dst_group_id: Any = None,
    dst_to: Any = None,
    attachments: Any = None,
    refs: Any = None,
    thread: Any = None,
    client_id: Any = None,
    client_ts: Any = None,
    reply_required: Any = None,
    insight: Any = None,
    suggested_user_message: Any = None,
    **_unknown: Any,
) -> dict[str, Any]:
    """What a message says, if it may be sent TO these, already resolved; all else is as a client sent it."""
    sender = principal(by, [member.id for member in members])
    attached = references.attachments(attachments)
    said = {
        "text": _text(text, is_alone=not attached),
        "format": fields.one_of(format, "$.format", InvalidFormat, FORMATS),
        "priority": fields.one_of(priority, "$.priority", InvalidPriority, PRIORITIES),
        "to": list(to) or None,
        "reply_to": fields.name(reply_to, "$.reply_to"),
        "quote_text": fields.text(quote_text, "$.quote_text"),
        **_source(src_group_id, src_event_id),
        **_destination(dst_group_id, dst_to),
        "attachments": attached or None,
        "refs": references.references(refs) or None,
        "thread": fields.text(thread, "$.thread"),  # CCCS reserves it: it is kept, and means nothing
        "client_id": fields.name(client_id, "$.client_id"),
        "client_ts": fields.name(client_ts, "$.client_ts", longest=CLIENT_TIME_LENGTH),
        "message_mode": fields.one_of(mode, "$.message_mode", InvalidMessageMode, MODES),
        "reply_required": fields.flag(reply_required, "$.reply_required") or None,
        "insight": fields.text(insight, "$.insight"),
        "suggested_user_message": fields.text(suggested_user_message, "$.suggested_user_message"),
    }
    recipients.must_reach(to, members, sender)
    return fields.present(said)


def _text(value: Any, *, is_alone: bool) -> str:
    """A text may be blank if, and only if, attachments convey the message."""
    said = fields.text(value, "$.text") or ""
    if is_alone and not said.strip():
        raise MissingText(path="$.text")
    return said


def _source(group: Any, event: Any) -> dict[str, str | None]:
    """Where it was relayed from."""
    source = {
        "src_group_id": fields.name(group, "$.src_group_id"),
        "src_event_id": fields.name(event, "$.src_event_id"),
    }
    lacking = [member for member, value in source.items() if value is None]
    if len(lacking) == 1:
        raise IncompleteSource(f"{lacking[0]} is missing: {IncompleteSource.__doc__}", path=f"$.{lacking[0]}")
    return source


def _destination(group: Any, to: Any) -> dict[str, Any]:
    """Where it was sent on to: a group, and whom there."""
    named = [fields.name(token, f"$.dst_to[{at}]") for at, token in enumerate(fields.items(to, "$.dst_to"))]
    if None in named:
        raise fields.InvalidRequest("$.dst_to has a recipient without a name", path=f"$.dst_to[{named.index(None)}]")
    where = fields.name(group, "$.dst_group_id")
    if named and where is None:
        raise fields.InvalidRequest("dst_to needs a dst_group_id", path="$.dst_group_id")
    return {"dst_group_id": where, "dst_to": None if where is None or to is None else named}


def quote_of(text: Any) -> str:
    """What a reply shows of the message it answers."""
    if not isinstance(text, str):
        return ""
    return text if len(text) <= QUOTE_LENGTH else text[:QUOTE_LENGTH] + "..."


def reply_recipients(original_by: str, original_to: Sequence[str], by: str) -> tuple[str, ...]:
    """To whom BY's reply goes when it does not say: to who wrote; from oneself, to whom one wrote before."""
    if original_by == by:
        return tuple(original_to)
    if original_by == SYSTEM or original_by.startswith(SERVICE):
        # Nobody can write to those: the reply goes to who was told, and when that is nobody else, to the person.
        others = tuple(token for token in original_to if token != by)
        return others if others or not original_to else (USER,)
    return (original_by,) if original_by else ()


def is_attention(data: Any) -> bool:
    """Whether a message on a line of history asks to be acknowledged."""
    return isinstance(data, dict) and data.get("priority") == ATTENTION


def mode_of(data: Any) -> str:
    """How a message on a line of history is to be delivered; `send`, unless it says otherwise."""
    mode = data.get("message_mode") if isinstance(data, dict) else None
    return mode if isinstance(mode, str) and mode in MODES else SEND
