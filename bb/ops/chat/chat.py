"""Messages of a group (CCCS §6; CCCC daemon IPC §8.5, §8.9)."""

from __future__ import annotations

from bb.attention.messages import system_messages
from bb.attention.words import DIRECTEDNESS, INTENTS, PRIORITIES, VISIBILITIES
from bb.groups.facts import ACTIVE, IDLE, StateSet
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.errors import Usage
from bb.ledger.index import counting
from bb.ledger.local import blobs as stored_blobs
from bb.messaging.chat import acks, recipients, relays
from bb.messaging.chat import message as chat_message
from bb.messaging.facts import Said
from bb.ops.catalogue import op
from bb.ops.desk import group_desk
from bb.ops.params import By, GroupId, Json, Reason, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.event import Event
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import GroupDesk

WINDOW = 10 * 60 * 1000  # milliseconds in which a client's id stands for one message; CCCS §6.1 recommends half of it
RELAY = "svc:relay"  # in whose name a message arrives in a group where nobody knows its sender
LONGEST_KEY = 100


class MissingReplyTo(Usage):
    """A reply names the message it answers."""

    code = "MISSING_REPLY_TO"
    hint = "pass reply_to, the id of a message"


class MissingEventId(Usage):
    """The request names no event."""

    code = "MISSING_EVENT_ID"
    hint = "pass the event's id; `bb chat inbox` shows it"


class NotOfC2A(Usage):
    """A message of C2A does not take the options of a plain one."""

    code = "NOT_OF_C2A"
    hint = "leave the option out, or leave out those of C2A; `bb chat send --help` says which they are"


MASKED = (
    "leave --allow-secret out: what looks like a secret in a message of C2A is recorded as its kind, and not refused"
)


class Text(Word):
    """What there is to say."""


class Recipient(Word):
    """Who is to read it: an actor, `user`, @all, @peers or @foreman. Repeat it for several; everybody unless given."""

    metavar = "ID"
    is_agent = True
    offered = ("user", "@all", "@peers", "@foreman")


class Priority(Word):
    """normal, or attention: then its recipients are to acknowledge it."""

    offered = chat_message.PRIORITIES


class Format(Word):
    """plain or markdown."""

    offered = chat_message.FORMATS


class Mode(Word):
    """send; request_reply: each recipient owes an answer; mail: it waits in the inbox. Of later clients of CCCC."""

    offered = chat_message.MODES


class Path(Word):
    """A path in the directory it is about."""

    metavar = "PATH"


class ClientId(Word):
    """An id of the sender's own: sending it again within ten minutes sends nothing, and answers with the first."""

    metavar = "KEY"


class EventId(Word):
    """The message, by its id."""

    metavar = "EVENT"


class Attachments(Json):
    """Files that are in the group's store, as `bb blob put` answers; --attach takes any other."""


class Refs(Json):
    """What it points at: a list of task_ref, presentation_ref and others, each with its kind."""


class ClientTime(Word):
    """When it was said, by the sender's own clock. It is kept, and orders nothing."""

    metavar = "TIME"


class Thread(Word):
    """A name that is kept with it. CCCS reserves it: it means nothing yet."""


class Quote(Word):
    """What is shown of the message that it is about."""


class SourceGroup(Word):
    """Of a relayed message, the group that it comes from; with --src-event-id."""

    metavar = "GROUP"


class SourceEvent(Word):
    """Of a relayed message, what it is there; with --src-group-id."""

    metavar = "EVENT"


class Destination(Word):
    """The group that it was sent on to; this one keeps a copy."""

    metavar = "GROUP"


class DestinationTo(Json):
    """To whom it was sent there, a list."""


class Insight(Word):
    """A remark of the sender's for the person, beside the text. Of later clients of CCCC."""


class Suggestion(Word):
    """What the person might answer. Of later clients of CCCC."""


class Conversation(Word):
    """Where it is said, for C2A: a conversation, by its id."""

    metavar = "CONVERSATION"


class Addressee(Word):
    """To whom alone it is said, for C2A: an agent, or a handle such as slack:U123."""

    metavar = "ID"
    is_agent = True


class InReplyTo(Word):
    """The event that it answers, for C2A."""

    metavar = "EVENT"


class SendKey(Word):
    """A key of the sender's own, for C2A: whatever is sent again under it is not said twice."""

    metavar = "KEY"


class Visibility(Word):
    """Who may see it, for C2A: dm, thread, channel or ephemeral."""

    offered = VISIBILITIES


class Directed(Word):
    """Whom it obliges, for C2A: to_me whoever is named, to_my_role one of a role, to_other and ambient nobody."""

    offered = DIRECTEDNESS


class Intent(Word):
    """What it is for, for C2A: question, answer, assignment, approval_request, blocker, status, thanks or receipt."""

    offered = INTENTS


class Urgency(Word):
    """How urgent it is, for C2A: low, normal, high or urgent."""

    offered = PRIORITIES


class Mention(Word):
    """Who is called by it, for C2A; whoever its text names unless given. Repeat it for several."""

    metavar = "ID"
    is_agent = True


class DeadlineMs(Json):
    """Within how many milliseconds an answer is needed, for C2A."""

    metavar = "MS"


class Confirm(Word):
    """The token by which the person has confirmed that it may be shown, for C2A."""

    metavar = "TOKEN"


class OtherGroup(Word):
    """The group it goes to."""

    metavar = "GROUP"


@op(
    "send",
    screen="chat",
    words="chat send",
    examples=(
        "bb chat send 'Ready for review.' --to @foreman",
        "bb chat send 'Stop!' --priority attention",
        "bb chat send 'It is not.' --in-reply-to EVENT --visibility thread --directedness to_me --idempotency-key a1",
    ),
    reply_required="Each recipient owes an answer.",
    followup="Say more about what you have answered already, for C2A.",
)
def send(
    desk: Desk,
    text: Text | None = None,
    *,
    to: list[Recipient] | None = None,
    priority: Priority | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
    path: Path | None = None,
    attachments: Attachments | None = None,
    refs: Refs | None = None,
    format: Format | None = None,  # noqa: A002  (the specification's name)
    message_mode: Mode | None = None,
    reply_required: bool = False,
    client_id: ClientId | None = None,
    client_ts: ClientTime | None = None,
    thread: Thread | None = None,
    quote_text: Quote | None = None,
    src_group_id: SourceGroup | None = None,
    src_event_id: SourceEvent | None = None,
    dst_group_id: Destination | None = None,
    dst_to: DestinationTo | None = None,
    insight: Insight | None = None,
    suggested_user_message: Suggestion | None = None,
    in_reply_to: InReplyTo | None = None,
    conversation: Conversation | None = None,
    recipient: Addressee | None = None,
    visibility: Visibility | None = None,
    directedness: Directed | None = None,
    idempotency_key: SendKey | None = None,
    mention: list[Mention] | None = None,
    intent: Intent | None = None,
    urgency: Urgency | None = None,
    deadline_ms: DeadlineMs | None = None,
    followup: bool = False,
    confirm: Confirm | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Say something to actors, to the person, or to everybody. Actors that run on a terminal get it typed.

    With one of the options of C2A it is an agent's message, whose policies hold: then it is said who may see it, whom
    it obliges, and under which key it is known; nothing of that is assumed.
    """
    of_c2a = {
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
    }
    said = {
        "text": text,
        "priority": priority,
        "attachments": attachments,
        "refs": refs,
        "format": format,
        "mode": message_mode,
        "reply_required": reply_required or None,
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
    if conversation or recipient or any(value for name, value in of_c2a.items() if name != "target"):
        from bb.ops.chat import saying  # noqa: PLC0415  (the daemon's clients say things without)

        _refuse_plain(said | {"to": to, "path": path, "allow_secret": allow_secret})
        return saying.send(desk, by, {"content": text, **of_c2a}, group_id)
    group = group_desk.of(desk, group_id)
    return {"event": _sent(group, by, to, path, said, allow_secret)}


@op(
    "reply",
    screen="chat",
    words="chat reply",
    examples=("bb chat reply k7q2mzp4x3ab.17 'On it.'",),
    reply_required="Each recipient owes an answer.",
)
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
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Answer a message: to who wrote it, unless --to says otherwise."""
    group = group_desk.of(desk, group_id)
    original = message(group, reply_to, MissingReplyTo)
    if to is None:
        who = group.by(by)
        to = list(chat_message.reply_recipients(original.by, recipients.stored(original.data), who))  # type: ignore[arg-type]
    said = {
        "text": text,
        "priority": priority,
        "attachments": attachments,
        "refs": refs,
        "format": format,
        "mode": message_mode,
        "reply_required": reply_required or None,
        "client_id": client_id,
        "client_ts": client_ts,
        "reply_to": original.id,
        "quote_text": chat_message.quote_of(original.data.get("text")),
        "insight": insight,
        "suggested_user_message": suggested_user_message,
    }
    return {"event": _sent(group, by, to, None, said, allow_secret)}


def _refuse_plain(given: dict[str, Any]) -> None:
    """Refuse what a message of C2A would take and ignore."""
    names = {"mode": "message_mode"}
    for name in (name for name, value in given.items() if value and name not in ("text", "thread")):
        member = names.get(name, name)
        option = "--" + member.replace("_", "-")
        hint = MASKED if name == "allow_secret" else None
        raise NotOfC2A(f"a message of C2A takes no {option}", hint=hint, path=f"$.{member}")


def _sent(
    group: GroupDesk, by: Any, to: Any, path: Any, said: dict[str, Any], allow_secret: str | None
) -> dict[str, Any]:
    index = group.index()
    who, members = group.by(by), group.members(index)
    resolved = recipients.resolve(to, members)
    data = chat_message.compose(by=who, to=resolved, members=members, **said)
    for attachment in data.get("attachments", ()):
        stored_blobs.must_be_there(group.store.path, attachment)
    answered = _event_of(group, data.get("reply_to"))
    c2a = system_messages.of_chat(who, resolved, members, data, conversation=group.id, answered=answered)
    if c2a:
        data["c2a"] = c2a
    scope = group.scope_of(path)
    key = _key(data.get("client_id"))

    def facts(_: Any) -> list[Any]:
        # What a person says wakes a group that rests (notes on CCCC: idle).
        is_woken = who not in group.roles() and group.group().state == IDLE
        return [Said(chat_message.MESSAGE, data, scope), *([StateSet(who, ACTIVE)] if is_woken else [])]

    events = group.record(facts, who, key=key, window=WINDOW if key else None, allow_secret=allow_secret)
    return next(event for event in events if event["kind"] == chat_message.MESSAGE)


def _event_of(group: GroupDesk, reply_to: Any) -> str:
    """What C2A calls the message that is answered."""
    if not reply_to:
        return ""
    found = group.event(reply_to)
    c2a = found.data.get("c2a") if found else None
    return str(c2a.get("event") or reply_to) if isinstance(c2a, dict) else str(reply_to)


def _key(client_id: str | None) -> str | None:
    """The idempotency key that a client's own id makes."""
    if not client_id:
        return None
    plain = len(client_id) <= LONGEST_KEY and client_id.isprintable()
    return f"client:{client_id if plain else digest(client_id.encode())}"


@op(
    "send_cross_group",
    screen="chat",
    words="chat cross",
    examples=("bb chat cross 'Release is out.' --dst-group-id g_3f2a91c07be4",),
    reply_required="Each recipient owes an answer.",
)
def send_cross_group(
    desk: Desk,
    text: Text | None = None,
    *,
    dst_group_id: OtherGroup | None = None,
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
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Say something in another group. What arrives there says where it is from; a copy stays here."""
    group = group_desk.of(desk, group_id)
    other = group_desk.of(desk, relays.crossing(group.id, dst_group_id, attachments))
    who, there = group.by(by), other.members()
    arriving = recipients.resolve(to, there)
    as_whom = who if who == ids.PERSON or who in {member.id for member in there} else RELAY
    said: dict[str, Any] = {
        "text": text,
        "priority": priority,
        "format": format,
        "mode": message_mode,
        "refs": refs,
        "reply_required": reply_required or None,
        "insight": insight,
    }
    kept = relays.source_copy(by=who, members=group.members(), dst_group_id=other.id, dst_to=list(arriving), **said)

    def relayed(event_id: str) -> dict[str, Any]:
        return relays.relayed(
            by=as_whom, to=arriving, members=there, src_group_id=group.id, src_event_id=event_id, **said
        )

    relayed("not-yet-known")  # what would be refused there is not said here either
    (src_event,) = group.record(
        [Said(chat_message.MESSAGE, kept, group.scope_of(None))], who, allow_secret=allow_secret
    )
    (dst_event,) = other.record(
        [Said(chat_message.MESSAGE, relayed(src_event["id"]), other.scope_of(None))], as_whom, allow_secret=allow_secret
    )
    return {"src_event": src_event, "dst_event": dst_event}


def message(group: GroupDesk, event_id: Any, missing: type[Usage]) -> Event:
    """The message of that id."""
    if not event_id:
        raise missing
    found = event_of(group, event_id)
    if found is None:
        raise acks.EventNotFound(f"there is no message {str(event_id)[:60]!r} in the group", path="$.event_id")
    if found.kind != chat_message.MESSAGE:
        raise acks.InvalidEventKind(f"{found.kind} is no message", path="$.event_id")
    return found


def event_of(group: GroupDesk, event_id: Any) -> Event | None:
    """An event of the group, of whatever kind; None when there is none that counts."""
    if not event_id:
        raise MissingEventId
    found = group.event(event_id)
    return found if found and counting.counts(group.store.index, found) else None
