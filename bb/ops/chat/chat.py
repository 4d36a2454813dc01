"""Messages of a group (CCCS §6; CCCC daemon IPC §8.5, §8.9)."""

from __future__ import annotations

from typing import Any

from bb.attention.messages import intents, system_messages
from bb.groups.facts import ACTIVE, IDLE, StateSet
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.errors import Refusal, Usage
from bb.kernel.event import Event
from bb.ledger.index import counting
from bb.ledger.local import blobs as stored_blobs
from bb.messaging.chat import acks, recipients, relays
from bb.messaging.chat import message as chat_message
from bb.messaging.facts import Said
from bb.ops.catalogue import op
from bb.ops.chat.parameters import (
    Attachments,
    ClientId,
    ClientTime,
    ContentVersion,
    Directed,
    EventId,
    Format,
    Insight,
    Intent,
    Mode,
    Priority,
    Recipient,
    Refs,
    Suggestion,
    Text,
    Urgency,
    Visibility,
)
from bb.ops.desk import directories, group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import ActorId, By, GroupId, Json, JsonText
from bb.ops.params import AllowSecretReason

WINDOW = 10 * 60 * 1000  # milliseconds in which a client_id identifies one message; CCCS §6.1 recommends half of that
RELAY = "svc:relay"  # the author of a relayed message if its sender is not a member of the destination group
LONGEST_KEY = 100

MissingReplyTo = Usage.declare(
    "MISSING_REPLY_TO",
    "The request does not name the message to reply to",
    hint="pass `reply_to`, the id of a message; `bb chat inbox` shows it",
)

MissingEventId = Usage.declare(
    "MISSING_EVENT_ID", "The request does not name an event", hint="pass the event's id; `bb chat inbox` shows it"
)

NotOfC2A = Usage.declare(
    "NOT_OF_C2A",
    "A C2A message cannot have the options of a plain message",
    hint="remove the option, or remove all C2A options; `bb chat send --help` marks them with C2A",
)

MASKED = (
    "remove --allow-secret: in a C2A message, a suspected secret is replaced by the name of its type and not refused"
)


def send_to_group(
    desk: Desk,
    text: Text | None = None,
    *,
    to: list[Recipient] | None = None,
    priority: Priority | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
    path: JsonText | None = None,
    attachments: Attachments | None = None,
    refs: Refs | None = None,
    format: Format | None = None,  # noqa: A002  (the specification's name)
    message_mode: Mode | None = None,
    reply_required: bool = False,
    client_id: ClientId | None = None,
    client_ts: ClientTime | None = None,
    thread: JsonText | None = None,
    quote_text: JsonText | None = None,
    src_group_id: JsonText | None = None,
    src_event_id: JsonText | None = None,
    dst_group_id: JsonText | None = None,
    dst_to: Json | None = None,
    insight: Insight | None = None,
    suggested_user_message: Suggestion | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a message of CCCS to actors, to the person, or to all members.

    Parameters:
        path (PATH): A path in the directory that the message is about.
        reply_required: Each recipient must answer.
        thread: A thread name, recorded with the message. CCCS reserves it; it has no effect yet.
        quote_text: A quotation of the message that this message is about.
        src_group_id (GROUP): For a relayed message: the group it comes from; with --src-event-id.
        src_event_id (EVENT): For a relayed message: its id in the source group; with --src-group-id.
        dst_group_id (GROUP): The group the message was forwarded to; this group keeps a copy.
        dst_to: The list of recipients in the destination group.
    """
    message = {
        "text": text,
        "priority": priority,
        "attachments": attachments,
        "refs": refs,
        "format": format,
        "message_mode": message_mode,
        "reply_required": reply_required,
        "client_id": client_id,
        "client_ts": client_ts,
        "thread": thread,
        "quote_text": quote_text,
        "src_group_id": src_group_id,
        "src_event_id": src_event_id,
        "dst_group_id": dst_group_id,
        "dst_to": dst_to,
        "insight": insight,
        "suggested_user_message": suggested_user_message,
    }
    return {"event": _sent(group_desk.open_group(desk, group_id), by, to, path, message, allow_secret)}


def send_of_c2a(
    desk: Desk,
    text: Text | None = None,
    *,
    group_id: GroupId | None = None,
    by: By | None = None,
    thread: JsonText | None = None,
    in_reply_to: JsonText | None = None,
    conversation: JsonText | None = None,
    recipient: ActorId | None = None,
    visibility: Visibility | None = None,
    directedness: Directed | None = None,
    idempotency_key: JsonText | None = None,
    mention: list[ActorId] | None = None,
    intent: Intent | None = None,
    urgency: Urgency | None = None,
    deadline_ms: Json | None = None,
    followup: bool = False,
    confirm: JsonText | None = None,
    content_version: ContentVersion | None = None,
) -> dict[str, Any]:
    """Send a C2A message: `chat.send_message` in C2A's own terms.

    Parameters:
        in_reply_to (EVENT): C2A: the event that the message answers.
        conversation (CONVERSATION): C2A: the id of the conversation to send to.
        recipient (ID): C2A: the only recipient, an agent or a handle such as slack:U123.
        idempotency_key (KEY): C2A: an idempotency key chosen by the sender. A repetition with the same key sends
            nothing.
        mention (ID): C2A: a mentioned agent; the agents named in the text unless given. May be repeated.
        deadline_ms (MS): C2A: the number of milliseconds within which an answer is needed.
        followup: C2A: add to an answer that you have already given.
        confirm (ID): C2A: the id of the request that the person has allowed. It may be left out: the message itself
            identifies its request.
    """
    from bb.ops.chat import saying  # noqa: PLC0415  (the daemon's clients send messages without it)

    message = {
        "content": text,
        "inReplyTo": in_reply_to,
        "target": {"conversation": conversation, "recipient": recipient, "thread": thread},
        "visibility": visibility,
        "directedness": directedness,
        "idempotencyKey": idempotency_key,
        "mentions": mention,
        "intent": intent,
        "priority": urgency,
        "deadlineMs": deadline_ms,
        "followup": followup or None,
        "confirm": confirm,
        "contentVersion": content_version,
    }
    return saying.send(desk, by, message, group_id)


PLAIN_OPTIONS, C2A_OPTIONS = (tuple(form.__kwdefaults__ or ()) for form in (send_to_group, send_of_c2a))


@op(
    "send",
    screen="chat",
    words="chat send",
    examples=(
        "bb chat send 'Ready for review.' --to @foreman",
        "bb chat send 'Stop!' --priority attention",
        "bb chat send 'It is not.' --in-reply-to EVENT --visibility thread --directedness to_me --idempotency-key a1",
    ),
    forms=(send_to_group, send_of_c2a),
)
def send(desk: Desk, text: Any = None, **options: Any) -> dict[str, Any]:
    """Send a message to actors, to the person, or to all members. bb types it into the terminals of running actors.

    Any option marked C2A makes it a C2A message. The C2A policies then apply, and --visibility, --directedness and
    --idempotency-key are required: they have no defaults.
    """
    given_options = {name: value for name, value in options.items() if value}
    if not any(name in given_options for name in C2A_OPTIONS if name not in PLAIN_OPTIONS):
        return send_to_group(desk, text, **{name: options[name] for name in PLAIN_OPTIONS if name in options})
    for name in (name for name in PLAIN_OPTIONS if name in given_options and name not in C2A_OPTIONS):
        hint = MASKED if name == "allow_secret" else None
        raise NotOfC2A(f"a C2A message cannot have --{name.replace('_', '-')}", hint=hint, path=f"$.{name}")
    return send_of_c2a(desk, text, **given_options)


@op("reply", screen="chat", words="chat reply", examples=("bb chat reply k7q2mzp4x3ab.17 'On it.'",))
def reply(
    desk: Desk,
    reply_to: EventId | None = None,
    text: Text | None = None,
    *,
    to: list[Recipient] | None = None,
    priority: Priority | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
    attachments: Attachments | None = None,
    refs: Refs | None = None,
    format: Format | None = None,  # noqa: A002
    message_mode: Mode | None = None,
    reply_required: bool = False,
    client_id: ClientId | None = None,
    client_ts: ClientTime | None = None,
    insight: Insight | None = None,
    suggested_user_message: Suggestion | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Reply to a message. The reply goes to the message's author unless --to is given.

    Parameters:
        reply_required: Each recipient must answer.
    """
    group = group_desk.open_group(desk, group_id)
    original = message(group, reply_to, MissingReplyTo)
    if to is None:
        who = group.by(by)
        to = list(chat_message.reply_recipients(original.by, recipients.stored(original.data), who))  # type: ignore[arg-type]
    fields = {
        "text": text,
        "priority": priority,
        "attachments": attachments,
        "refs": refs,
        "format": format,
        "message_mode": message_mode,
        "reply_required": reply_required,
        "client_id": client_id,
        "client_ts": client_ts,
        "reply_to": original.id,
        "quote_text": chat_message.quote_of(original.data.get("text")),
        "insight": insight,
        "suggested_user_message": suggested_user_message,
    }
    return {"event": _sent(group, by, to, None, fields, allow_secret)}


def _sent(
    group: GroupDesk, by: Any, to: Any, path: Any, fields: dict[str, Any], allow_secret: str | None
) -> dict[str, Any]:
    index = group.index()
    who, members = group.by(by), group.members(index)
    resolved = recipients.resolve(to, members)
    data = chat_message.compose(by=who, to=resolved, members=members, **fields)
    for attachment in data.get("attachments", ()):
        stored_blobs.must_be_there(group.store.path, attachment)
    answered = _event_of(group, data.get("reply_to"))
    c2a = system_messages.c2a_of_cccs_message(
        who,
        resolved,
        members,
        data,
        conversation=group.id,
        answered=answered,
        is_asked=who == ids.PERSON and _asks(group, data.get("reply_to")),
    )
    if c2a:
        data["c2a"] = c2a
    scope = directories.scope_of(group, path)
    key = _key(data.get("client_id"))

    def facts(_: Any) -> list[Any]:
        # A message from the person sets an idle group to active (notes on CCCC: idle).
        is_woken = who not in group.roles() and group.group().state == IDLE
        return [Said(chat_message.MESSAGE, data, scope), *([StateSet(who, ACTIVE)] if is_woken else [])]

    events = group.record(facts, who, key=key, window=WINDOW if key else None, allow_secret=allow_secret)
    return next(event for event in events if event["kind"] == chat_message.MESSAGE)


def _event_of(group: GroupDesk, reply_to: Any) -> str:
    """The C2A event id of the answered message."""
    if not reply_to:
        return ""
    event = group.event(reply_to)
    c2a = event.data.get("c2a") if event else None
    return str(c2a.get("event") or reply_to) if isinstance(c2a, dict) else str(reply_to)


def _asks(group: GroupDesk, reply_to: Any) -> bool:
    """Whether the answered message is by an agent and asks something."""
    event = group.event(reply_to) if reply_to else None
    return event is not None and event.by in group.roles() and intents.asks(str(event.data.get("text", "")))


def _key(client_id: str | None) -> str | None:
    """The idempotency key for a client_id."""
    if not client_id:
        return None
    plain = len(client_id) <= LONGEST_KEY and client_id.isprintable()
    return f"client:{client_id if plain else digest(client_id.encode())}"


@op(
    "send_cross_group",
    screen="chat",
    words="chat cross",
    examples=("bb chat cross 'Release is out.' --dst-group-id g_3f2a91c07be4",),
)
def send_cross_group(
    desk: Desk,
    text: Text | None = None,
    *,
    dst_group_id: JsonText | None = None,
    to: list[Recipient] | None = None,
    priority: Priority | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
    attachments: Attachments | None = None,
    refs: Refs | None = None,
    format: Format | None = None,  # noqa: A002
    message_mode: Mode | None = None,
    reply_required: bool = False,
    insight: Insight | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a message to another group. It names its source group and event there; this group keeps a copy.

    Parameters:
        dst_group_id (GROUP): The destination group.
        reply_required: Each recipient must answer.
    """
    group = group_desk.open_group(desk, group_id)
    other = group_desk.open_group(desk, relays.crossing(group.id, dst_group_id, attachments))
    who, there = group.by(by), other.members()
    arriving = recipients.resolve(to, there)
    as_whom = who if who == ids.PERSON or who in {member.id for member in there} else RELAY
    fields: dict[str, Any] = {
        "text": text,
        "priority": priority,
        "format": format,
        "message_mode": message_mode,
        "refs": refs,
        "reply_required": reply_required,
        "insight": insight,
    }
    kept = relays.source_copy(by=who, members=group.members(), dst_group_id=other.id, dst_to=list(arriving), **fields)

    def relayed(event_id: str) -> dict[str, Any]:
        return relays.relayed(
            by=as_whom, to=arriving, members=there, src_group_id=group.id, src_event_id=event_id, **fields
        )

    relayed("not-yet-known")  # raises if the other group would refuse the message, before this group records its copy
    (src_event,) = group.record(
        [Said(chat_message.MESSAGE, kept, group.group().active_scope)], who, allow_secret=allow_secret
    )
    (dst_event,) = other.record(
        [Said(chat_message.MESSAGE, relayed(src_event["id"]), other.group().active_scope)],
        as_whom,
        allow_secret=allow_secret,
    )
    return {"src_event": src_event, "dst_event": dst_event}


def message(group: GroupDesk, event_id: Any, missing: Refusal) -> Event:
    """Find a message by its id; raise MISSING if no id is given."""
    if not event_id:
        raise missing()
    event = event_of(group, event_id)
    if event is None:
        raise acks.EventNotFound(f"the group has no message {str(event_id)[:60]!r}", path="$.event_id")
    if event.kind != chat_message.MESSAGE:
        raise acks.InvalidEventKind(f"the event is a {event.kind}, not a message", path="$.event_id")
    return event


def event_of(group: GroupDesk, event_id: Any) -> Event | None:
    """Find an event of the group by its id; None if there is no event with that id that counts."""
    if not event_id:
        raise MissingEventId()
    event = group.event(event_id)
    return event if event and counting.counts(group.store.index, event) else None
