"""Inboxes, read positions and message history (CCCS §6.3; CCCC daemon IPC §8.6).

A read position is a sequence number, never a time. Listing messages changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from bb.kernel import ids, json_text
from bb.kernel.errors import Usage
from bb.kernel.event import Event
from bb.ledger.index import counting
from bb.ledger.views.chat_tables import CANCELLED, MAIL, NOTICE, REQUEST, Post, ReadPosition
from bb.messaging.chat import acks, requests
from bb.messaging.chat import message as chat_message
from bb.messaging.facts import Said
from bb.ops.catalogue import op
from bb.ops.chat.chat import MissingEventId
from bb.ops.chat.parameters import EventId
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.groups.actors import MissingActorId
from bb.ops.json_params import ActorId, By, GroupId, Json, JsonText

USUAL, ALL = 50, 0
MOST = 1000
# Clients stop reading an answer at 4,000,000 bytes (IPC §4.3). Messages that do not fit are in the next answer.
LARGEST_ANSWER = 3_500_000
# kind filter -> (flags that must be set, flags that must not be set)
FILTERS = {"all": (0, 0), "chat": (0, NOTICE), "notify": (NOTICE, 0)}
MODES = {"all": (0, 0), "send": (0, MAIL | REQUEST), "request_reply": (REQUEST, 0), "mail": (MAIL, 0)}

InvalidHistoryMode = Usage.declare("INVALID_MODE", "The mode must be all, send, request_reply or mail")


class Limit(Json):
    """At most this many messages; 50 unless given, 0 for as many as fit into one answer."""

    metavar = "N"


class KindFilter(JsonText):
    """Which messages: all, chat or notify; all unless given."""

    offered = tuple(FILTERS)


class HistoryMode(JsonText):
    """Only messages of this mode: all, send, request_reply or mail; all unless given."""

    offered = tuple(MODES)


@op(
    "inbox_list",
    reads=True,
    screen="chat",
    words="chat inbox",
    examples=("bb chat inbox", "bb chat inbox --actor-id peer-1 --limit 10 --json"),
)
def inbox_list(
    desk: Desk,
    *,
    actor_id: ActorId | None = None,
    limit: Limit | None = None,
    kind_filter: KindFilter | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Show the unread messages of an actor, or of the person, oldest first."""
    group, actor = _of(desk, group_id, actor_id, by)
    only, but = FILTERS.get(str(kind_filter or "all"), (0, 0))
    talk = group.messages()
    posts = talk.unread(actor, group.tokens(actor), only=only, but=but)
    messages, more = _shown(group, posts, _limit(limit))
    return {"messages": messages, "cursor": _cursor(talk.reading(actor)), **more}


@op("inbox_mark_read", screen="chat", words="chat mark-read", examples=("bb chat mark-read k7q2mzp4x3ab.17",))
def mark_read(
    desk: Desk,
    event_id: EventId | None = None,
    *,
    actor_id: ActorId | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Mark all messages up to this one as read. This does not acknowledge them."""
    group, actor = _of(desk, group_id, actor_id, by)
    if not event_id:
        raise MissingEventId()
    who = group.by(by)
    last_event = group.event(event_id)
    plain = None if last_event is None else {"kind": last_event.kind, "by": last_event.by, "data": last_event.data}
    acks.may_mark_read(by=who, by_role=group.role_of(who), actor_id=actor, event=plain, roles=group.roles())
    event = _advance(group, who, actor, str(event_id))
    return {"cursor": _cursor(group.messages().reading(actor)), "event": event, "ack_event": None}


@op("inbox_mark_all_read", screen="chat", words="chat mark-all-read", examples=("bb chat mark-all-read",))
def mark_all_read(
    desk: Desk,
    *,
    actor_id: ActorId | None = None,
    kind_filter: KindFilter | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Mark all messages as read. This does not acknowledge them."""
    group, actor = _of(desk, group_id, actor_id, by, "inbox.mark")
    only, but = FILTERS.get(str(kind_filter or "all"), (0, 0))
    last = group.messages().last_unread(actor, group.tokens(actor), only=only, but=but)
    event = _advance(group, group.by(by), actor, last.event_id) if last else None
    return {"cursor": _cursor(group.messages().reading(actor)), "event": event}


def _advance(group: GroupDesk, who: str, actor: str, event_id: str) -> dict[str, Any] | None:
    """Move the read position of ACTOR forward to an event. Return the recorded event, new or earlier."""

    def facts(_: Any) -> list[Any]:
        talk = group.messages()
        post = talk.post(event_id)
        is_behind = post is not None and post.seq <= talk.reading(actor).seq
        return [] if is_behind else [Said(chat_message.READ, acks.ack_data(actor, event_id))]

    if events := group.record(facts, who):
        return events[0]
    at = group.messages().reading(actor).said_at
    return group.shown(group.event_at(at)) if at else None


# -- ops of later CCCC clients


@op("inbox_peek", reads=True, examples=("""bb call inbox_peek --args '{"actor_id": "peer-1"}'""",))
def inbox_peek(
    desk: Desk,
    *,
    actor_id: ActorId | None = None,
    limit: Limit | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Show the unread mail of an actor without marking it as read."""
    group, actor = _of(desk, group_id, actor_id, by)
    talk = group.messages()
    posts = talk.unread(actor, group.tokens(actor), only=MAIL)
    messages, more = _shown(group, posts, _limit(limit))
    return {"messages": messages, "cursor": _cursor(talk.reading(actor)), "count": len(messages), **more}


@op("inbox_read", examples=("""bb call inbox_read --args '{"actor_id": "peer-1"}'""",))
def inbox_read(
    desk: Desk,
    *,
    actor_id: ActorId | None = None,
    limit: Limit | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Show the unread mail of an actor and mark it as read."""
    group, actor = _of(desk, group_id, actor_id, by, "inbox.mark")
    messages: list[dict[str, Any]] = []
    more: dict[str, bool] = {}

    def facts(_: Any) -> list[Any]:
        posts = group.messages().unread(actor, group.tokens(actor), only=MAIL)
        messages[:], marker = _shown(group, posts, _limit(limit))
        more.update(marker)
        if not messages:
            return []
        taken = [message["id"] for message in messages]
        return [Said(requests.MAIL_READ, {**acks.ack_data(actor, taken[-1]), "event_ids": taken})]

    events = group.record(facts, group.by(by))
    reading = group.messages().reading(actor)
    return {"messages": messages, "cursor": _cursor(reading), "event": events[0] if events else None, **more}


@op(
    "message_history",
    reads=True,
    screen="chat",
    words="chat history",
    examples=("bb chat history --limit 20", "bb chat history --query parser"),
)
def message_history(
    desk: Desk,
    *,
    actor_id: ActorId | None = None,
    mode: HistoryMode | None = None,
    query: JsonText | None = None,
    before_event_id: JsonText | None = None,
    limit: Limit | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Show the messages to and from an actor, newest first, read and unread, without marking them as read.

    Parameters:
        query: Only messages that contain this text.
        before_event_id (EVENT): Only messages before this one.
    """
    group, actor = _of(desk, group_id, actor_id, by)
    if str(mode or "all") not in MODES:
        raise InvalidHistoryMode(path="$.mode")
    only, but = MODES[str(mode or "all")]
    talk = group.messages()
    seq = None
    if before_event_id:
        post = talk.post_or_none(str(before_event_id))
        if post is None:
            raise acks.EventNotFound(path="$.before_event_id")
        seq = post.seq
    tokens, needle = set(group.tokens(actor)), str(query or "").casefold()
    posts = (post for post in talk.before(seq, None, only) if not post.flags & (but | NOTICE))

    def is_meant(event: Event) -> bool:
        to = event.data.get("to") or [""]
        is_visible = event.by == actor or any(token in tokens for token in to)
        return is_visible and needle in str(event.data.get("text", "")).casefold()

    events = filter(is_meant, talk.events(posts))
    messages, has_more = _fitting(group, events, _limit(limit))
    return {"messages": messages, "has_more": has_more, "count": len(messages)}


@op(
    "reply_request_cancel",
    examples=("""bb call reply_request_cancel --args '{"source_event_id": "k7q2mzp4x3ab.17"}'""",),
)
def reply_request_cancel(
    desk: Desk,
    *,
    source_event_id: EventId | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Cancel a message's request for replies. Only its sender and the person can."""
    group = group_desk.open_group(desk, group_id)
    if not source_event_id:
        raise MissingEventId()
    who = group.by(by)
    event = group.event(source_event_id)

    def facts(_: Any) -> list[Any]:
        plain = None if event is None else {"kind": event.kind, "by": event.by, "data": event.data}
        requests.may_cancel(by=who, event=plain)
        if group.messages().entries_about(str(source_event_id), CANCELLED):
            return []
        return [Said(requests.CANCELLED_KIND, requests.cancellation(str(source_event_id), who))]

    events = group.record(facts, who)
    return {
        "source_event_id": str(source_event_id),
        "cancelled": True,
        "already": not events,
        "event": events[0] if events else None,
    }


def _of(desk: Desk, group_id: Any, actor_id: Any, by: Any, action: str = "inbox.list") -> tuple[GroupDesk, str]:
    """The group and the owner of the inbox: at a terminal the caller unless given. Refused if BY may not see it."""
    group = group_desk.open_group(desk, group_id)
    if not actor_id and desk.is_served:
        raise MissingActorId()
    who = group.by(by)
    actor = str(actor_id) if actor_id else who
    roles = group.roles()
    if actor != ids.PERSON and actor not in roles:
        raise group_desk.ActorNotFound(f"the group has no actor {actor[:60]!r}", actor_id=actor[:60])
    group.check(action, who, actor)
    return group, actor


def _limit(given: Any) -> int:
    number = given if type(given) is int else USUAL
    return 1 << 60 if number == ALL else min(max(number, 1), MOST)


def _shown(group: GroupDesk, posts: Iterable[Post], limit: int) -> tuple[list[dict[str, Any]], dict[str, bool]]:
    """The first LIMIT messages that fit into an answer, as clients see them, and `has_more` if there are more."""
    messages, has_more = _fitting(group, islice(group.talk.events(posts), limit + 1), limit)
    return messages, {"has_more": True} if has_more else {}


def _fitting(group: GroupDesk, events: Iterable[Event], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The first LIMIT events that fit into an answer, as clients see them, and whether there are more."""
    rows: list[dict[str, Any]] = []
    size = 0
    for event in events:
        row = group.shown(event) | counting.signature_mark(group.store.index, event.id, event.kind, event.by)
        size += len(json_text.dumps_ascii(row))  # as answers are written
        if len(rows) == limit or (size > LARGEST_ANSWER and rows):
            return rows, True
        rows.append(row)
    return rows, False


def _cursor(reading: ReadPosition) -> dict[str, str]:
    cursor = {"event_id": reading.event_id, "ts": reading.ts}
    return cursor | ({"updated_at": reading.updated_at} if reading.updated_at else {})
