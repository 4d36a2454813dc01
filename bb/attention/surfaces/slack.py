"""What Slack's Events API tells: messages, edits, deletions, reactions. Slack tells nothing of typing.

A message is known by its channel and its `ts`: where the bot is named, `message` and `app_mention` both come for one
message, with event ids of their own. A message whose own id was given by a client (`client_msg_id`) has a `ts` too.
"""

from __future__ import annotations

from bb.attention.surfaces import slack_text
from bb.attention.surfaces.glyphs import plain
from bb.attention.surfaces.line import AGENT, HUMAN, SYSTEM, done_at, some, target, words
from bb.attention.surfaces.payload import Part, root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.attention.surfaces.line import Line

SAID = ("", "bot_message", "file_share", "me_message", "thread_broadcast")  # other subtypes are about channels
DIRECT = ("im", "mpim")
SLACKBOT = "USLACKBOT"


def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> list[Line]:  # noqa: ARG001  (every surface has both)
    """The lines that one event tells."""
    whole = root(payload)
    if whole.text("type") != "event_callback":
        return []
    event = whole.part("event")
    match event.text("type"), event.maybe_text("subtype"):
        case "message" | "app_mention", subtype if subtype in SAID:
            return _said(whole, event)
        case "message", "message_changed":
            return _changed(whole, event)
        case "message", "message_deleted":
            return [_deleted(whole, event, event, "deleted_ts")]
        case "reaction_added" | "reaction_removed" as kind, _:
            return _reacted(whole, event, added=kind == "reaction_added")
    return []


def _said(whole: Part, event: Part) -> list[Line]:
    content = _content(event)
    if not content:
        return []
    at = _micros(event, "ts")
    sent = _line("message", whole, event, event, content)
    thread = event.maybe_text("thread_ts")
    root_id = _event_id(whole, event, thread) if thread not in ("", event.text("ts")) else None
    return [sent | {"timing": done_at(at // 1000, at)} | some(replyTo=root_id)]


def _changed(whole: Part, event: Part) -> list[Line]:
    """An edit; or what only looks like one: a link that got its preview, a first message whose thread outlives it."""
    message, before = event.part("message"), event.maybe_part("previous_message")
    subtype = message.maybe_text("subtype")
    if subtype == "tombstone":
        return [_deleted(whole, event, message, "ts")]
    if subtype not in SAID or (before and before.maybe_text("text") == message.maybe_text("text")):
        return []
    at = _micros(event, "ts")  # finer than `edited.ts`, which counts seconds
    line = _line("edit", whole, event, message, _content(message))
    return [line | {"timing": done_at(at // 1000), "version": at}]


def _deleted(whole: Part, event: Part, message: Part, name: str) -> Line:
    when = _micros(event, "ts")
    return {
        "type": "delete",
        "eventId": _event_id(whole, event, message.text(name)),
        "timing": done_at(when // 1000),
    }


def _reacted(whole: Part, event: Part, *, added: bool) -> list[Line]:
    item = event.part("item")
    if item.text("type") != "message":
        return []
    return [
        {
            "type": "reaction",
            "eventId": _event_id(whole, item, item.text("ts")),
            "author": {"id": event.text("user"), "kind": HUMAN},
            "glyph": plain(event.text("reaction")),
            "added": added,
            "timing": done_at(_micros(event, "event_ts") // 1000),
        }
    ]


def _line(kind: str, whole: Part, event: Part, message: Part, content: list[Line]) -> Line:
    """What a message and its edit both say. The message stands within the event, or is the event."""
    author = _author(message)
    return {
        "type": kind,
        "eventId": _event_id(whole, event, message.text("ts")),
        "source": {"platform": "slack", "workspaceId": whole.text("team_id")},
        "conversation": _conversation(event) | some(threadId=message.maybe_text("thread_ts")),
        "author": author,
        "target": target(slack_text.mentions(message.maybe_text("text")), _recipient(whole, event, author["id"])),
        "content": content,
    }


def _conversation(event: Part) -> Line:
    """Where it was said. An `app_mention` does not say what kind of channel that is; that comes with its twin."""
    channel, kind = event.text("channel"), event.maybe_text("channel_type")
    if kind in DIRECT or channel.startswith("D"):
        return {"id": channel, "kind": "dm"}
    return {"id": channel, "kind": "channel"} | some(private=kind == "group" or channel.startswith("G") or None)


def _recipient(whole: Part, event: Part, author: str) -> str:
    """To whom a direct message goes that has only one reader: the one in whose name Slack tells of it."""
    if event.maybe_text("channel_type") != "im" or not (told := whole.parts("authorizations")):
        return ""
    reader = told[0].maybe_text("user_id")
    return reader if reader != author else ""


def _author(message: Part) -> Line:
    """Who said it: a bot by the id under which it can be named, where it has one."""
    bot = message.maybe_text("bot_id")
    who = message.maybe_text("user") or bot or message.text("user")
    profile = message.maybe_part("bot_profile")
    name = message.maybe_text("username") or (profile.maybe_text("name") if profile else "")
    return some(id=who, kind=SYSTEM if who == SLACKBOT else AGENT if bot else HUMAN, displayName=name)


def _content(message: Part) -> list[Line]:
    """The words, or what stands in for them where a bot only sent attachments; and the files."""
    attached = [part.maybe_text("fallback") or part.maybe_text("text") for part in message.parts("attachments")]
    files = [
        some(type="file", url=url, title=file.maybe_text("title") or file.maybe_text("name"))
        for file in message.parts("files")
        if (url := file.maybe_text("permalink") or file.maybe_text("url_private"))
    ]
    return words(slack_text.readable(message.maybe_text("text") or "\n".join(attached))) + files


def _event_id(whole: Part, place: Part, ts: str) -> str:
    return f"slack:{whole.text('team_id')}:{place.text('channel')}:{ts}"


def _micros(part: Part, name: str) -> int:
    """A time of Slack in microseconds: a whole number keeps the order that a float would blur."""
    seconds, _, fraction = part.text(name).partition(".")
    digits = seconds + fraction
    if not (seconds and digits.isascii() and digits.isdigit() and len(seconds) <= 11):
        raise part.wrong(name, "is no time of Slack")
    return int(seconds) * 1_000_000 + int((fraction + "000000")[:6])
