"""Events of Slack's Events API: messages, edits, deletions, reactions. Slack sends no typing events.

A message is identified by its channel and its `ts`. If the bot is mentioned, Slack sends both `message` and
`app_mention` for one message, with different event ids. A message with a `client_msg_id` has a `ts` too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bb.attention.surfaces import memberships
from bb.attention.surfaces.glyphs import plain_glyph
from bb.attention.surfaces.line import (
    AGENT,
    EVERYBODY,
    HUMAN,
    SYSTEM,
    Line,
    file_part,
    target,
    text_content,
    timing,
    without_empty,
)
from bb.attention.surfaces.payload import Part, root
from bb.attention.surfaces.spoken import without_quotes_and_code

SAID = ("", "bot_message", "file_share", "me_message", "thread_broadcast")  # other subtypes are about channels
SLACKBOT = "USLACKBOT"
ENTITY = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
AT_EVERYBODY = ("here", "channel", "everyone")
GROUP = "subteam^"


def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> list[Line]:  # noqa: ARG001  (every surface has both)
    """The lines of one event."""
    whole = root(payload)
    if whole.needed("type") != "event_callback":
        return []
    event = whole.part("event")
    match event.needed("type"), event.text("subtype"):
        case "message" | "app_mention", subtype if subtype in SAID:
            return _message(whole, event)
        case "message", "message_changed":
            return _changed(whole, event)
        case "message", "message_deleted":
            return [_deleted(whole, event, event, "deleted_ts")]
        case "reaction_added" | "reaction_removed" as kind, _:
            return _reacted(whole, event, added=kind == "reaction_added")
    return memberships.slack(whole, event)


def _message(whole: Part, event: Part) -> list[Line]:
    content = _content(event)
    if not content:
        return []
    at = _micros(event, "ts")
    sent = _line("message", whole, event, event, content)
    root_id = sent["conversation"].get("rootId")  # Slack does not say which message of a thread is answered
    return [sent | {"timing": timing(at // 1000, at)} | without_empty(replyTo=root_id)]


def _changed(whole: Part, event: Part) -> list[Line]:
    """An edit. Slack also sends one for the preview of a link, and for a deleted message whose thread remains."""
    message, before = event.part("message"), event.object("previous_message")
    subtype = message.text("subtype")
    if subtype == "tombstone":
        return [_deleted(whole, event, message, "ts")]
    if subtype not in SAID or ("previous_message" in event and before.text("text") == message.text("text")):
        return []
    at = _micros(event, "ts")  # more precise than `edited.ts`, which has only seconds
    line = _line("edit", whole, event, message, _content(message))
    return [line | {"timing": timing(at // 1000), "version": at}]


def _deleted(whole: Part, event: Part, message: Part, name: str) -> Line:
    when = _micros(event, "ts")
    return {
        "type": "delete",
        "eventId": _event_id(whole, event, message.needed(name)),
        "timing": timing(when // 1000),
    }


def _reacted(whole: Part, event: Part, *, added: bool) -> list[Line]:
    item = event.part("item")
    if item.needed("type") != "message":
        return []
    return [
        {
            "type": "reaction",
            "eventId": _event_id(whole, item, item.needed("ts")),
            "author": {"id": event.needed("user"), "kind": HUMAN},
            "glyph": plain_glyph(event.needed("reaction")),
            "added": added,
            "timing": timing(_micros(event, "event_ts") // 1000),
        }
    ]


def _line(kind: str, whole: Part, event: Part, message: Part, content: list[Line]) -> Line:
    """The members that a message and its edit have in common. The message is in the event, or is the event itself."""
    author = _author(message)
    return {
        "type": kind,
        "eventId": _event_id(whole, event, message.needed("ts")),
        "source": {"platform": "slack", "workspaceId": whole.needed("team_id")},
        "conversation": _conversation(event) | _thread(whole, event, message),
        "author": author,
        "target": target(mentions(message.text("text")), _recipient(whole, event, author["id"])),
        "content": content,
    }


def _conversation(event: Part) -> Line:
    """The conversation. An `app_mention` lacks the kind of its channel; the `message` for the same post has it.

    A direct message to several people is aimed at none of them in particular, so it is a private channel.
    """
    channel, kind = event.needed("channel"), event.text("channel_type")
    if kind == "im" or channel.startswith("D"):
        return {"id": channel, "kind": "dm"}
    return {"id": channel, "kind": "channel"} | without_empty(
        private=kind in ("group", "mpim") or channel.startswith("G") or None
    )


def _thread(whole: Part, event: Part, message: Part) -> Line:
    """The thread of a message, and the message that opened it. The thread has the `ts` of that message."""
    thread = message.text("thread_ts")
    is_reply = thread not in ("", message.needed("ts"))
    return without_empty(threadId=thread, rootId=_event_id(whole, event, thread) if is_reply else None)


def _recipient(whole: Part, event: Part, author: str) -> str:
    """The recipient of a direct message with one reader: the user for whom Slack sends the event."""
    if event.text("channel_type") != "im" or not (authorizations := whole.objects("authorizations")):
        return ""
    reader = authorizations[0].text("user_id")
    return reader if reader != author else ""


def _author(message: Part) -> Line:
    """The author. A bot is known by its user id, under which it can be mentioned, if it has one."""
    bot = message.text("bot_id")
    who = message.text("user") or bot or message.needed("user")
    name = message.text("username") or message.object("bot_profile").text("name")
    return without_empty(id=who, kind=SYSTEM if who == SLACKBOT else AGENT if bot else HUMAN, displayName=name)


def _content(message: Part) -> list[Line]:
    """The text, or the text of the attachments if a bot sent only those; and the files.

    The text of a voice note is its transcript, if Slack has one.
    """
    attached = [part.text("fallback") or part.text("text") for part in message.objects("attachments")]
    files = [
        file_part(url, file.text("title") or file.text("name"), file.text("mimetype"))
        for file in message.objects("files")
        if (url := file.text("permalink") or file.text("url_private"))
    ]
    spoken = [file.object("transcription").object("preview").text("content") for file in message.objects("files")]
    text = message.text("text") or "\n".join(filter(None, attached)) or "\n".join(filter(None, spoken))
    return text_content(readable(text)) + files


def _event_id(whole: Part, place: Part, ts: str) -> str:
    return f"slack:{whole.needed('team_id')}:{place.needed('channel')}:{ts}"


def _micros(part: Part, name: str) -> int:
    """A Slack time in microseconds. A float would not be precise enough to keep the order."""
    seconds, _, fraction = part.needed(name).partition(".")
    digits = seconds + fraction
    if not (seconds and digits.isascii() and digits.isdigit() and len(seconds) <= 11):
        raise part.wrong(name, "is not a Slack time")
    return int(seconds) * 1_000_000 + int((fraction + "000000")[:6])


# -- text: entities are in angle brackets, and literal brackets are escaped. Only entities are mentions; a name that was
# typed by hand is plain text.


def mentions(raw: str) -> list[str]:
    """The ids of users, the ids of user groups after an @, and @all."""
    called: list[str] = []
    for sign, body, _ in ENTITY.findall(without_quotes_and_code(raw.replace("&gt;", ">"))):
        if sign == "@":
            called.append(body)
        elif sign == "!" and body.startswith(GROUP):
            called.append("@" + body.removeprefix(GROUP))
        elif sign == "!" and body in AT_EVERYBODY:
            called.append(EVERYBODY)
    return called


def readable(raw: str) -> str:
    """RAW as users see it, but with ids in place of names, because Slack does not send the names."""
    text = ENTITY.sub(_shown, raw)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _shown(entity: re.Match[str]) -> str:
    sign, body, label = entity[1], entity[2], entity[3] or ""
    if sign == "@":
        return "@" + body
    if sign == "#":
        return "#" + (label or body)
    if sign == "!":
        return _command(body, label)
    url = body.removeprefix("mailto:")
    return url if not label or label in url else f"{label} ({url})"


def _command(body: str, label: str) -> str:
    """A user group, everyone, or a date, which has its own text."""
    if body.startswith(GROUP):
        return "@" + (label.removeprefix("@") or body.removeprefix(GROUP))
    return "@" + body if body in AT_EVERYBODY else label or body
