"""The `data` of a `system.notify` (CCCS §7; IPC §8.9).

The kind of a notification is any word. A notification has one recipient, or without a target it is for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.kernel.errors import Usage
from bb.messaging.chat import fields, recipients
from bb.messaging.chat.fields import Fields
from bb.messaging.chat.message import InvalidPriority
from bb.messaging.chat.principals import SYSTEM, USER, principal
from bb.messaging.chat.recipients import ALL, InvalidRecipient, Member

NOTIFY, ACK = "system.notify", "system.notify_ack"
INFO = "info"
PRIORITIES = ("low", "normal", "high", "urgent")
KIND_LENGTH, TITLE_LENGTH = 64, 500
IN_KIND = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

InvalidNotifyKind = Usage.declare(
    "INVALID_NOTIFY_KIND",
    "A notification's kind is one word of at most 64 letters, digits and the characters . _ : / -",
    hint="for example nudge, error or status_change; omit it for info",
)

EmptyNotification = Usage.declare(
    "EMPTY_NOTIFICATION",
    "A notification needs a title or a message",
    hint="pass a `title` or `message` that is not blank",
)


def compose(*, members: Sequence[Member], by: Any = None, **given: Any) -> dict[str, Any]:
    """The data of a notification, if it may be sent. All arguments but MEMBERS are as the client sent them."""
    principal(by, [member.id for member in members], SYSTEM)
    request = Fields(given)
    data: dict[str, Any] = {
        "kind": _kind(request.refusing(InvalidNotifyKind)),
        "priority": request.refusing(InvalidPriority).maybe_one_of("priority", PRIORITIES),
        "title": request.text("title", TITLE_LENGTH) or None,
        "message": request.text("message") or None,
        "target_actor_id": _target(given.get("target_actor_id"), members),
        "context": request.record("context"),
        "requires_ack": request.maybe_flag("requires_ack"),
        "related_event_id": request.name("related_event_id"),
    }
    if not (data["title"] or "").strip() and not (data["message"] or "").strip():
        raise EmptyNotification(path="$.message")
    return fields.present(data)


def _kind(request: Fields) -> str:
    kind = request.text("kind", KIND_LENGTH) or INFO
    if kind.strip(IN_KIND):
        raise InvalidNotifyKind(path="$.kind")
    return kind


def _target(value: Any, members: Sequence[Member]) -> str | None:
    """The recipient; None for all."""
    path = "$.target_actor_id"
    if value is None or value == "":
        return None
    target = recipients.recipient(value, members, path)
    if target == ALL:
        return None
    if target != USER and target not in {member.id for member in members}:
        raise InvalidRecipient("a notification goes to one actor, to user, or to @all", path=path, to=target)
    return target


def is_for(who: str, data: Any) -> bool:
    """Whether a recorded notification is for WHO."""
    target = data.get("target_actor_id") if isinstance(data, dict) else None
    return target in (None, "", who)
