"""Events of a Matrix room: messages, edits, redactions, reactions, typing.

An event does not tell whether its room is a direct conversation or private. The bridge knows this, and sets the headers
`bb-direct: true` and `bb-private: true`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import dropwhile
from typing import Any

from bb.attention.messages.mentions import mentioned_names, unquoted
from bb.attention.surfaces import memberships
from bb.attention.surfaces.glyphs import plain_glyph
from bb.attention.surfaces.line import (
    AGENT,
    EVERYBODY,
    HUMAN,
    Line,
    file_part,
    target,
    text_content,
    timing,
    without_empty,
)
from bb.attention.surfaces.payload import Part, header, root
from bb.kernel import clock

REPLACES, THREAD, ANNOTATES = "m.replace", "m.thread", "m.annotation"
NOTICE = "m.notice"  # a message by a program; Matrix has no other mark for programs
USER = re.compile(r"(?<![\w@/.+-])@[\w.=/+-]{1,200}:[A-Za-z0-9-][A-Za-z0-9.-]{0,200}(?::\d{1,5})?", re.ASCII)
FALLBACKS = ("> <@", "> * <@")
FILES = ("m.image", "m.file", "m.audio", "m.video")


def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> list[Line]:
    """The lines of one event."""
    event = root(payload)
    kind = event.needed("type")
    if kind not in READERS:
        return []
    return READERS[kind](event, event.part("content"), _room(headers, event))


def _room(headers: Mapping[str, str], event: Part) -> Line:
    kind = "dm" if header(headers, "bb-direct") == "true" else "channel"
    return {"id": event.needed("room_id"), "kind": kind} | without_empty(
        private=header(headers, "bb-private") == "true" or None
    )


def _message(event: Part, content: Part, room: Line) -> list[Line]:
    if not content.value:  # it was redacted
        return []
    relates = content.object("m.relates_to")
    if relates.text("rel_type") == REPLACES:
        return [_edited(event, content, relates, room)]
    parts = content_of(content, is_answer="m.in_reply_to" in relates)
    if not parts:
        return []
    thread, answered = _related(relates)
    return [
        _line("message", event, event.needed("event_id"), content, room | _thread(event, thread))
        | {"content": parts, "timing": timing(_moment(event))}
        | without_empty(replyTo=_event_id(event, answered) if answered else None)
        | without_empty(marker=event.object("unsigned").text("transaction_id"))  # sent only to the author
    ]


def _edited(event: Part, content: Part, relates: Part, room: Line) -> Line:
    """An edit. Any user can send one; it counts only if its author also wrote the message."""
    new, moment = content.part("m.new_content"), _moment(event)
    edit = _line("edit", event, relates.needed("event_id"), new, room)
    return edit | {"content": content_of(new), "timing": timing(moment), "version": moment}


def _reacted(event: Part, content: Part, _room: Line) -> list[Line]:
    if not content.value:
        return []
    relates = content.part("m.relates_to")
    if relates.needed("rel_type") != ANNOTATES:
        return []
    return [
        {
            "type": "reaction",
            "eventId": _event_id(event, relates.needed("event_id")),
            "reactionId": _event_id(event, event.needed("event_id")),  # removing a reaction redacts this event
            "author": {"id": event.needed("sender"), "kind": HUMAN},
            "glyph": plain_glyph(relates.needed("key")),
            "added": True,
            "timing": timing(_moment(event)),
        }
    ]


def _redacted(event: Part, content: Part, _room: Line) -> list[Line]:
    gone = event.text("redacts") or content.needed("redacts")  # in rooms of version 11 or later it is in the content
    return [{"type": "delete", "eventId": _event_id(event, gone), "timing": timing(_moment(event))}]


def _typing(_event: Part, content: Part, room: Line) -> list[Line]:
    return [
        {"type": "typing", "conversation": room, "author": {"id": who, "kind": HUMAN}, "typing": True}
        for who in content.texts("user_ids")
    ]


READERS = {
    "m.room.message": _message,
    "m.reaction": _reacted,
    "m.room.redaction": _redacted,
    "m.typing": _typing,
    "m.room.member": memberships.matrix_member,
    "m.room.join_rules": memberships.matrix_rules,
}


def _line(kind: str, event: Part, event_id: str, content: Part, room: Line) -> Line:
    server = event.needed("room_id").partition(":")[2] or "matrix"  # room ids of version 12 or later have no server
    is_notice = content.text("msgtype") == NOTICE
    return {
        "type": kind,
        "eventId": _event_id(event, event_id),
        "source": {"platform": "matrix", "workspaceId": server},
        "conversation": room,
        "author": {"id": event.needed("sender"), "kind": AGENT if is_notice else HUMAN},
        "target": target(mentions(content)),
    }


def _related(relates: Part) -> tuple[str, str]:
    """The thread that a message belongs to, and what it answers."""
    answer = relates.object("m.in_reply_to")
    answered = answer.needed("event_id") if "m.in_reply_to" in relates else ""
    if relates.text("rel_type") != THREAD:
        return "", answered
    thread = relates.needed("event_id")
    # Clients without threads see a message in a thread as an answer to the last one, which is not a real answer.
    return thread, thread if relates.flag("is_falling_back") or not answered else answered


def _thread(event: Part, thread: str) -> Line:
    """A thread has the id of the message that opened it."""
    return {"threadId": thread, "rootId": _event_id(event, thread)} if thread else {}


def _event_id(event: Part, event_id: str) -> str:
    return f"matrix:{event.needed('room_id')}:{event_id}"


def _moment(event: Part) -> int:
    moment = event.needed_number("origin_server_ts")
    if not 0 <= moment <= clock.LAST:  # an untrusted server sets it
        raise event.wrong("origin_server_ts", "is not a valid time")
    return moment


# -- the content and the mentions of a message


def content_of(message: Part, *, is_answer: bool = False) -> list[Line]:
    """The content of a message, or the new content of an edit."""
    kind, body = message.needed("msgtype"), message.needed("body")
    if kind.startswith("m.key."):  # verification between two devices
        return []
    if kind in FILES:
        return _file(message, body)
    text = _without_fallback(body) if is_answer else body
    return text_content(f"* {text}" if kind == "m.emote" else text)


def mentions(message: Part) -> list[str]:
    """The ids of users, and @all. The text is searched only if the message has no list of mentions."""
    if "m.mentions" in message:
        meant = message.object("m.mentions")
        return meant.texts("user_ids") + ([EVERYBODY] if meant.flag("room") else [])
    text = unquoted(message.text("body"))
    ids = [user.rstrip(".-") for user in USER.findall(text)]
    return ids + [EVERYBODY if name == "room" else name for name in mentioned_names(USER.sub(" ", text))]


def _file(message: Part, body: str) -> list[Line]:
    """A file and its caption. In an encrypted room, the address of the file is next to its key."""
    url = (message.object("file") if "file" in message else message).needed("url")
    name = message.text("filename") or body
    is_spoken = message.text("msgtype") == "m.audio"
    return [*text_content(body if name != body else ""), file_part(url, name, "audio/*" if is_spoken else "")]


def _without_fallback(body: str) -> str:
    """BODY without the quotation that older clients put before an answer."""
    if not body.startswith(FALLBACKS):  # newer clients add none, so a quotation is the author's own
        return body
    return "\n".join(dropwhile(lambda line: line.startswith(">"), body.split("\n"))).removeprefix("\n")
