"""What a notification says (CCCS §7; IPC §8.9): the `data` of a `system.notify`.

Its kind is an open word, kept as it was given. A notification goes to one recipient, or without a target to everybody.
"""

from __future__ import annotations

from bb.kernel.errors import Usage
from bb.messaging.chat import fields, recipients
from bb.messaging.chat.principals import SYSTEM, USER, principal
from bb.messaging.chat.recipients import ALL, InvalidRecipient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.messaging.chat.recipients import Member

NOTIFY, ACK = "system.notify", "system.notify_ack"
INFO = "info"
PRIORITIES = ("low", "normal", "high", "urgent")
KIND_LENGTH, TITLE_LENGTH = 64, 500
IN_KIND = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"


class InvalidNotifyKind(Usage):
    """A notification's kind is one word of at most 64 letters, digits and marks."""

    code = "INVALID_NOTIFY_KIND"
    hint = "for example nudge, error or status_change, its marks among . _ : / -; leave it out for info"


class InvalidPriority(Usage):
    """A notification's priority is low, normal, high or urgent."""

    code = "INVALID_PRIORITY"
    hint = "leave it out for normal"


class EmptyNotification(Usage):
    """A notification has a title or a message."""

    code = "EMPTY_NOTIFICATION"
    hint = "pass one that is not blank"


def compose(
    *,
    members: Sequence[Member],
    by: Any = None,
    kind: Any = None,
    priority: Any = None,
    title: Any = None,
    message: Any = None,
    target_actor_id: Any = None,
    requires_ack: Any = None,
    context: Any = None,
    related_event_id: Any = None,
    **_unknown: Any,
) -> dict[str, Any]:
    """What a notification says, if it may be sent; every argument but MEMBERS is as a client sent it."""
    principal(by, [member.id for member in members], SYSTEM)
    said: dict[str, Any] = {
        "kind": _kind(kind),
        "priority": fields.one_of(priority, "$.priority", InvalidPriority, PRIORITIES),
        "title": fields.text(title, "$.title", longest=TITLE_LENGTH),
        "message": fields.text(message, "$.message"),
        "target_actor_id": _target(target_actor_id, members),
        "context": fields.record(context, "$.context"),
        "requires_ack": fields.flag(requires_ack, "$.requires_ack"),
        "related_event_id": fields.name(related_event_id, "$.related_event_id"),
    }
    if not (said["title"] or "").strip() and not (said["message"] or "").strip():
        raise EmptyNotification(path="$.message")
    return fields.present(said)


def _kind(value: Any) -> str:
    kind = fields.text(value, "$.kind", InvalidNotifyKind, longest=KIND_LENGTH) or INFO
    if kind.strip(IN_KIND):
        raise InvalidNotifyKind(path="$.kind")
    return kind


def _target(value: Any, members: Sequence[Member]) -> str | None:
    """The one whom it is for; None for everybody."""
    path = "$.target_actor_id"
    if value is None or value == "":
        return None
    target = recipients.recipient(value, members, path)
    if target == ALL:
        return None
    if target != USER and target not in {member.id for member in members}:
        raise InvalidRecipient("a notification goes to one actor, to user, or to everybody", path=path, to=target)
    return target


def is_for(who: str, data: Any) -> bool:
    """Whether a notification on a line of history is for WHO."""
    target = data.get("target_actor_id") if isinstance(data, dict) else None
    return target in (None, "", who)
