"""Who may acknowledge what, and who may say what was read (CCCS §6.2, §6.3, §7; IPC §8.5, §8.6, §8.9).

An acknowledgement is a word given: nobody gives it for another, not even the person. A read mark is a place in a list:
who looks after an actor may move it. Neither stands in for the other.

Rules are asked in a fixed order, so that a request with several mistakes is always refused for the same one: who asks,
for whom, about which event, of which kind, and whether it is theirs.
"""

from __future__ import annotations

from bb.groups.permissions import PermissionDenied
from bb.kernel.errors import Forbidden, NotFound, Refused
from bb.messaging.chat import notifications, recipients
from bb.messaging.chat.message import MESSAGE, is_attention
from bb.messaging.chat.principals import USER
from bb.messaging.chat.recipients import FOREMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class UnknownActor(NotFound):
    """No such actor is in the group."""

    code = "UNKNOWN_ACTOR"
    hint = "`bb actor list` shows who is"


class EventNotFound(NotFound):
    """There is no such event in the group."""

    code = "EVENT_NOT_FOUND"
    hint = "`bb chat inbox` shows what there is to read, `bb events` everything"


class InvalidEventKind(Refused):
    """That cannot be done with an event of that kind."""

    code = "INVALID_EVENT_KIND"
    hint = "messages are acknowledged with chat_ack, notifications with notify_ack"


class CannotAckOwnMessage(Refused):
    """Nobody acknowledges their own message."""

    code = "CANNOT_ACK_OWN_MESSAGE"
    hint = "its recipients do"


class NotAnAttentionMessage(Refused):
    """The message does not ask to be acknowledged."""

    code = "NOT_AN_ATTENTION_MESSAGE"
    hint = "mark it as read instead"


class EventNotForActor(Forbidden):
    """The event is not addressed to that actor."""

    code = "EVENT_NOT_FOR_ACTOR"
    hint = "`bb chat inbox` shows what is"


def may_ack(*, by: Any, actor_id: Any, event: Mapping[str, Any] | None, joined: bool, roles: Mapping[str, str]) -> None:
    """Refuse, unless BY may acknowledge the message as ACTOR_ID.

    ROLES are those of the actors there are; JOINED says whether this one was there when the message was sent.
    """
    _refuse_for_another(by, actor_id)
    _refuse_unknown(actor_id, roles)
    data = _data(event, (MESSAGE,))
    if event and event.get("by") == actor_id:
        raise CannotAckOwnMessage
    if not is_attention(data):
        raise NotAnAttentionMessage
    if not joined or is_record_of_crossing(data) or not is_for(actor_id, MESSAGE, data, roles):
        raise EventNotForActor(actor_id=actor_id)


def may_ack_notice(*, by: Any, actor_id: Any, event: Mapping[str, Any] | None, roles: Mapping[str, str]) -> None:
    """Refuse, unless BY may acknowledge the notification as ACTOR_ID. One that does not ask for it may be, too."""
    _refuse_for_another(by, actor_id)
    _refuse_unknown(actor_id, roles)
    if not is_for(actor_id, notifications.NOTIFY, _data(event, (notifications.NOTIFY,)), roles):
        raise EventNotForActor(actor_id=actor_id)


def may_see_inbox(*, by: Any, by_role: str, actor_id: Any, roles: Mapping[str, str]) -> None:
    """Refuse, unless BY may look into ACTOR_ID's inbox: its owner, the person, the foreman."""
    if by not in (actor_id, USER) and by_role != FOREMAN:
        raise PermissionDenied("an inbox is its owner's, the person's and the foreman's", path="$.actor_id")
    _refuse_unknown(actor_id, roles)


def may_mark_read(
    *, by: Any, by_role: str, actor_id: Any, event: Mapping[str, Any] | None, roles: Mapping[str, str]
) -> None:
    """Refuse, unless BY may say that ACTOR_ID has read as far as the event."""
    may_see_inbox(by=by, by_role=by_role, actor_id=actor_id, roles=roles)
    data = _data(event, (MESSAGE, notifications.NOTIFY))
    if not event or not is_for(actor_id, event["kind"], data, roles):
        raise EventNotForActor(actor_id=actor_id)


def owed_by(event: Mapping[str, Any], members: Sequence[recipients.Member]) -> tuple[str, ...]:
    """Who is asked to acknowledge a message: its actors, and the person when named, but never its sender."""
    data = event.get("data")
    if event.get("kind") != MESSAGE or not is_attention(data) or is_record_of_crossing(data):
        return ()
    return recipients.concrete(recipients.stored(data), members, str(event.get("by", "")))


def is_for(who: str, kind: str, data: Any, roles: Mapping[str, str]) -> bool:
    """Whether an event that may be addressed is addressed to WHO."""
    if kind == notifications.NOTIFY:
        return notifications.is_for(who, data)
    return recipients.is_addressed(who, recipients.stored(data), roles)


def is_record_of_crossing(data: Any) -> bool:
    """Whether a message is what its group keeps of one that went to another."""
    return isinstance(data, dict) and bool(data.get("dst_group_id"))


def gesture(actor_id: str, event_id: str) -> dict[str, str]:
    """What a `chat.ack` says, and a `chat.read`, and a `mail.read`."""
    return {"actor_id": actor_id, "event_id": event_id}


def notice_gesture(actor_id: str, notify_event_id: str) -> dict[str, str]:
    """What a `system.notify_ack` says."""
    return {"notify_event_id": notify_event_id, "actor_id": actor_id}


def _refuse_for_another(by: Any, actor_id: Any) -> None:
    if by != actor_id:
        raise PermissionDenied("nobody acknowledges for another", path="$.by", hint="`by` is the same as `actor_id`")


def _refuse_unknown(actor_id: Any, roles: Mapping[str, str]) -> None:
    if not isinstance(actor_id, str) or (actor_id != USER and actor_id not in roles):
        raise UnknownActor(f"no actor {str(actor_id)[:60]!r} is in the group", path="$.actor_id")


def _data(event: Mapping[str, Any] | None, kinds: tuple[str, ...]) -> Any:
    if event is None:
        raise EventNotFound(path="$.event_id")
    if event.get("kind") not in kinds:
        raise InvalidEventKind(f"{' and '.join(kinds)} can be, not {str(event.get('kind'))[:60]!r}", path="$.event_id")
    return event.get("data")
