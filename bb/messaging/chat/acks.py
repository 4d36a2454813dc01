"""The rules for acknowledging messages and marking them as read (CCCS §6.2, §6.3, §7; IPC §8.5, §8.6, §8.9).

Only the recipient may acknowledge a message; not even the person may do it for an agent. A read mark is a position in
an inbox; the person and the foreman may move it too. Acknowledging and marking as read are independent.

Rules are checked in a fixed order, so that a request with several mistakes is always refused for the same one: caller,
actor, event, kind of event, recipient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bb.kernel.errors import Forbidden, NotFound, PermissionDenied, Refused
from bb.messaging.chat import notifications, recipients
from bb.messaging.chat.message import MESSAGE, is_attention
from bb.messaging.chat.principals import USER
from bb.messaging.chat.recipients import FOREMAN

UnknownActor = NotFound.declare("UNKNOWN_ACTOR", "The group has no such actor", hint="list the actors: `bb actor list`")

EventNotFound = NotFound.declare(
    "EVENT_NOT_FOUND",
    "The group has no such event",
    hint="list the messages: `bb chat inbox`; list all events: `bb events`",
)

InvalidEventKind = Refused.declare(
    "INVALID_EVENT_KIND",
    "The event is of the wrong kind for that operation",
    hint="acknowledge messages with chat_ack, notifications with notify_ack",
)

CannotAckOwnMessage = Refused.declare(
    "CANNOT_ACK_OWN_MESSAGE", "A sender cannot acknowledge its own message", hint="the recipients acknowledge it"
)
NotAnAttentionMessage = Refused.declare(
    "NOT_AN_ATTENTION_MESSAGE", "The message does not require acknowledgement", hint="mark it as read instead"
)

EventNotForActor = Forbidden.declare(
    "EVENT_NOT_FOR_ACTOR",
    "The event is not addressed to that actor",
    hint="list the messages for that actor: `bb chat inbox`",
)


def may_ack(*, by: Any, actor_id: Any, event: Mapping[str, Any] | None, joined: bool, roles: Mapping[str, str]) -> None:
    """Refuse unless BY may acknowledge the message as ACTOR_ID.

    ROLES are the roles of the group's actors. JOINED: the actor was in the group when the message was sent.
    """
    _refuse_for_another(by, actor_id)
    _refuse_unknown(actor_id, roles)
    data = _data(event, (MESSAGE,))
    if event and event.get("by") == actor_id:
        raise CannotAckOwnMessage()
    if not is_attention(data):
        raise NotAnAttentionMessage()
    if not joined or is_record_of_crossing(data) or not is_for(actor_id, MESSAGE, data, roles):
        raise EventNotForActor(actor_id=actor_id)


def may_ack_notice(*, by: Any, actor_id: Any, event: Mapping[str, Any] | None, roles: Mapping[str, str]) -> None:
    """Refuse unless BY may acknowledge the notification as ACTOR_ID. It need not require acknowledgement."""
    _refuse_for_another(by, actor_id)
    _refuse_unknown(actor_id, roles)
    if not is_for(actor_id, notifications.NOTIFY, _data(event, (notifications.NOTIFY,)), roles):
        raise EventNotForActor(actor_id=actor_id)


def may_see_inbox(*, by: Any, by_role: str, actor_id: Any, roles: Mapping[str, str]) -> None:
    """Refuse unless BY may read ACTOR_ID's inbox: the actor itself, the person, the foreman."""
    if by not in (actor_id, USER) and by_role != FOREMAN:
        message = "only the actor itself, the person and the foreman may read an actor's inbox"
        raise PermissionDenied(message, path="$.actor_id")
    _refuse_unknown(actor_id, roles)


def may_mark_read(
    *, by: Any, by_role: str, actor_id: Any, event: Mapping[str, Any] | None, roles: Mapping[str, str]
) -> None:
    """Refuse unless BY may mark ACTOR_ID's inbox as read up to the event."""
    may_see_inbox(by=by, by_role=by_role, actor_id=actor_id, roles=roles)
    data = _data(event, (MESSAGE, notifications.NOTIFY))
    if not event or not is_for(actor_id, event["kind"], data, roles):
        raise EventNotForActor(actor_id=actor_id)


def owed_by(event: Mapping[str, Any], members: Sequence[recipients.Member]) -> tuple[str, ...]:
    """The recipients that must acknowledge a message: actors, and the person if named, but never the sender."""
    data = event.get("data")
    if event.get("kind") != MESSAGE or not is_attention(data) or is_record_of_crossing(data):
        return ()
    return recipients.concrete(recipients.stored(data), members, str(event.get("by", "")))


def is_for(who: str, kind: str, data: Any, roles: Mapping[str, str]) -> bool:
    """Whether a message or notification is addressed to WHO."""
    if kind == notifications.NOTIFY:
        return notifications.is_for(who, data)
    return recipients.is_addressed(who, recipients.stored(data), roles)


def is_record_of_crossing(data: Any) -> bool:
    """Whether a message is its group's copy of a message that was relayed to another group."""
    return isinstance(data, dict) and bool(data.get("dst_group_id"))


def ack_data(actor_id: str, event_id: str) -> dict[str, str]:
    """The data of a `chat.ack`, a `chat.read` and a `mail.read`."""
    return {"actor_id": actor_id, "event_id": event_id}


def notice_gesture(actor_id: str, notify_event_id: str) -> dict[str, str]:
    """The data of a `system.notify_ack`."""
    return {"notify_event_id": notify_event_id, "actor_id": actor_id}


def _refuse_for_another(by: Any, actor_id: Any) -> None:
    if by != actor_id:
        message = "an actor cannot acknowledge for another actor"
        raise PermissionDenied(message, path="$.by", hint="`by` must be the same as `actor_id`")


def _refuse_unknown(actor_id: Any, roles: Mapping[str, str]) -> None:
    if not isinstance(actor_id, str) or (actor_id != USER and actor_id not in roles):
        raise UnknownActor(f"the group has no actor {str(actor_id)[:60]!r}", path="$.actor_id")


def _data(event: Mapping[str, Any] | None, kinds: tuple[str, ...]) -> Any:
    if event is None:
        raise EventNotFound(path="$.event_id")
    if event.get("kind") not in kinds:
        message = f"the event must be a {' or '.join(kinds)}, not a {str(event.get('kind'))[:60]!r}"
        raise InvalidEventKind(message, path="$.event_id")
    return event.get("data")
