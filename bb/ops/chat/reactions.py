"""Acknowledgements, reactions and notifications (CCCS §6.2, §6.4, §7; CCCC daemon IPC §8.5, §8.9).

An actor acknowledges and reacts only for itself. Neither wakes another actor.
"""

from __future__ import annotations

from typing import Any

from bb.attention.messages import system_messages
from bb.attention.words import SIGNALS
from bb.kernel.errors import Usage
from bb.kernel.event import Event
from bb.ledger.views.chat_tables import ACK
from bb.messaging.chat import acks, notifications
from bb.messaging.chat.principals import SYSTEM, USER
from bb.messaging.facts import Acked, Said
from bb.ops.catalogue import op
from bb.ops.chat.chat import MissingEventId, event_of, message
from bb.ops.chat.parameters import ContentVersion, EventId, Text
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.groups.actors import MissingActorId
from bb.ops.json_params import ActorId, By, GroupId, Json, JsonText
from bb.ops.params import AllowSecretReason, invalid


class Urgency(JsonText):
    """The priority: low, normal, high or urgent."""

    offered = notifications.PRIORITIES


@op("chat_ack", screen="chat", words="chat ack", examples=("bb chat ack k7q2mzp4x3ab.17",))
def ack(
    desk: Desk,
    event_id: EventId | None = None,
    *,
    actor_id: ActorId | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Acknowledge a message with priority attention. Only its recipients can, each for itself."""
    group = group_desk.open_group(desk, group_id)
    who, actor = _for_itself(group, actor_id, by)
    event = event_of(group, event_id)

    def facts(_: Any) -> list[Any]:
        acks.may_ack(
            by=who,
            actor_id=actor,
            event=_plain(event),
            joined=_had_joined(group, actor, event),
            roles=group.roles(),
        )
        return [] if group.messages().entries_about(str(event_id), ACK, actor) else [Acked(actor, str(event_id))]

    events = group.record(facts, who)
    return {"acked": True, "already": not events, "event": events[0] if events else None}


@op("notify_ack", screen="chat", words="chat notify-ack", examples=("bb chat notify-ack k7q2mzp4x3ab.18",))
def notify_ack(
    desk: Desk,
    notify_event_id: EventId | None = None,
    *,
    actor_id: ActorId | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Acknowledge a notification. Only its recipients can, each for itself. A repetition changes nothing."""
    group = group_desk.open_group(desk, group_id)
    who, actor = _for_itself(group, actor_id, by)
    event = event_of(group, notify_event_id)

    def facts(_: Any) -> list[Any]:
        acks.may_ack_notice(by=who, actor_id=actor, event=_plain(event), roles=group.roles())
        fact = Said(notifications.ACK, acks.notice_gesture(actor, str(notify_event_id)))
        return [] if group.messages().entries_about(str(notify_event_id), ACK, actor) else [fact]

    events = group.record(facts, who)
    if events:
        return {"event": events[0], "already": False}
    ((_, seq), *_) = group.messages().entries_about(str(notify_event_id), ACK, actor)
    return {"event": group.shown(group.event_at(seq)), "already": True}


@op(
    "system_notify",
    screen="chat",
    words="chat notify",
    examples=("bb chat notify --title 'Build failed' --priority high",),
)
def system_notify(
    desk: Desk,
    message: Text | None = None,
    *,
    title: JsonText | None = None,
    kind: JsonText | None = None,
    priority: Urgency | None = None,
    target_actor_id: ActorId | None = None,
    requires_ack: bool = False,
    context: Json | None = None,
    related_event_id: EventId | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a notification to an actor, or to all members. A notification is not part of a conversation.

    Parameters:
        title: The subject, in one line.
        kind: The kind of notification, in one word; info unless given.
        requires_ack: The recipient must acknowledge it.
        context: More details for programs: a JSON object, recorded unchanged.
    """
    group = group_desk.open_group(desk, group_id)
    who = group.by(by, SYSTEM if desk.is_served else USER)
    data = notifications.compose(
        members=group.members(),
        by=who,
        kind=kind,
        priority=priority,
        title=title,
        message=message,
        target_actor_id=target_actor_id,
        requires_ack=requires_ack,
        context=context,
        related_event_id=related_event_id,
    )
    if c2a := system_messages.c2a_of_notification(data, who, group.id):
        data["c2a"] = c2a
    (event,) = group.record(
        [Said(notifications.NOTIFY, data, group.group().active_scope)], who, allow_secret=allow_secret
    )
    return {"event": event}


class SignalName(JsonText):
    """C2A: the signal: seen, agree, working, queued, claimed, done, declined, blocked or unclear."""

    offered = tuple(SIGNALS)


@op(
    "chat.react",
    screen="chat",
    examples=("bb chat react k7q2mzp4x3ab.17 '👍'", "bb chat react EVENT --signal queued --eta 'after the deploy'"),
)
def react(
    desk: Desk,
    event_id: EventId | None = None,
    emoji: JsonText | None = None,
    *,
    signal: SignalName | None = None,
    eta: JsonText | None = None,
    until: JsonText | None = None,
    note: JsonText | None = None,
    remove: bool = False,
    content_version: ContentVersion | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """React to a message with an emoji or a C2A signal.

    An emoji wakes no actor. A signal also changes the state of the message for the agent, as C2A defines it.

    Parameters:
        emoji: The emoji, or a printable word of at most 32 characters.
        eta: The expected time of completion, in words; with --signal.
        until (TIME): The time at which to be reminded of the message; with --signal queued or blocked.
        note: A short remark; with --signal.
        remove: Remove the signal; with --signal.
    """
    if signal is not None:
        if emoji:
            raise invalid("a reaction is either an emoji or a signal: remove EMOJI or --signal", "emoji")
        from bb.ops.chat import saying  # noqa: PLC0415  (a plain emoji needs none of the C2A rules)

        if not event_id:
            raise MissingEventId()
        how = {"eta": eta, "until": until, "note": note, "remove": remove, "content_version": content_version}
        answer: dict[str, Any] = saying.react(desk, by, str(event_id), str(signal), how, group_id)
        return answer
    of_signals = {"eta": eta, "until": until, "note": note, "remove": remove, "content-version": content_version}
    for name, value in of_signals.items():
        if value:
            raise invalid(f"--{name} can only be used with --signal", name)
    group = group_desk.open_group(desk, group_id)
    who = group.by(by)
    original = message(group, event_id, MissingEventId)
    if not isinstance(emoji, str) or not 0 < len(emoji.strip()) <= LONGEST_EMOJI or not emoji.isprintable():
        raise InvalidEmoji(path="$.emoji")
    data = {"event_id": original.id, "actor_id": who, "emoji": emoji.strip()}
    (event,) = group.record([Said("chat.reaction", data)], who)
    return {"event": event}


LONGEST_EMOJI = 32

InvalidEmoji = Usage.declare(
    "INVALID_EMOJI", "The reaction is not an emoji or a printable word of at most 32 characters"
)


def _for_itself(group: GroupDesk, actor_id: Any, by: Any) -> tuple[str, str]:
    """The caller and the actor to acknowledge for. At a terminal they are the same unless ACTOR_ID is given."""
    if not actor_id and group.desk.is_served:
        raise MissingActorId()
    who = group.by(by)
    return who, str(actor_id) if actor_id else who


def _plain(event: Event | None) -> dict[str, Any] | None:
    return None if event is None else {"kind": event.kind, "by": event.by, "data": event.data}


def _had_joined(group: GroupDesk, actor: str, event: Event | None) -> bool:
    """Whether ACTOR was already a member when the message was sent."""
    joined = {member.id: member.agent.since for member in group.actors()}
    return event is None or actor not in joined or joined[actor] <= event.order
