"""Events of Discord's gateway: messages, edits, deletions, reactions, typing.

Discord lists the mentions of a message. A mention inside a quotation or code does not count, although Discord lists it.
A listed user without a mention in the text is the author of the answered message.
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
from bb.attention.surfaces.payload import Part, header, root
from bb.attention.surfaces.spoken import without_quotes_and_code

REPLY = 19
SAID = (None, 0, REPLY, 20, 23)  # 20 and 23 are answers of commands; other types are about channels and members
ENTITY = re.compile(r"<(@!?|@&|#|a?:\w{1,64}:)(\d{1,20})>", re.ASCII)


def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> list[Line]:
    """The lines of one event.

    The header `bb-private: true` marks its channel as private. `bb-parent` is the channel of a thread, which the event
    does not name.
    """
    whole = root(payload)
    kind = whole.text("t")
    if kind not in READERS:
        return []
    result = READERS[kind](whole.part("d"))
    is_in_thread = whole.part("d").number("position") is not None  # Discord counts only the messages of threads
    for line in result:
        if "conversation" in line:
            _place(line, header(headers, "bb-parent"), is_in_thread=is_in_thread)
            if header(headers, "bb-private") == "true":
                line["conversation"]["private"] = True
    return result


def _place(line: Line, parent: str, *, is_in_thread: bool) -> None:
    """Put the line into its thread. A thread is a channel of its own, with the id of the message that opened it."""
    where, thread = line["conversation"], line["conversation"]["id"]
    if parent and parent != thread:
        where |= {"id": parent, "threadId": thread}
        if line["type"] != "typing":
            where["rootId"] = _event_id(parent, thread)
    elif is_in_thread:
        where["threadId"] = thread


def _message(message: Part) -> list[Line]:
    content = _content(message)
    if message.number("type") not in SAID or not content:
        return []
    when = timing(message.moment("timestamp"), _snowflake(message, "id"))
    return [_line("message", message, content) | {"timing": when} | without_empty(replyTo=_answered(message))]


def _edited(message: Part) -> list[Line]:
    """An edit. Discord also sends an update when a link gets its preview, or when the message is pinned."""
    if message.value.get("content") is None or not message.text("edited_timestamp"):
        return []
    moment = message.moment("edited_timestamp")
    return [_line("edit", message, _content(message)) | {"timing": timing(moment), "version": moment}]


def _deleted(event: Part) -> list[Line]:
    return [{"type": "delete", "eventId": _event_id(event.needed("channel_id"), event.needed("id"))}]


def _all_deleted(event: Part) -> list[Line]:
    return [
        {"type": "delete", "eventId": _event_id(event.needed("channel_id"), message_id)}
        for message_id in event.texts("ids")
    ]


def _reacted(event: Part) -> list[Line]:
    return [_reaction(event, added=True)]


def _unreacted(event: Part) -> list[Line]:
    return [_reaction(event, added=False)]


def _typing(event: Part) -> list[Line]:
    return [{"type": "typing", "conversation": _conversation(event), "author": _member(event), "typing": True}]


READERS = {
    "MESSAGE_CREATE": _message,
    "MESSAGE_UPDATE": _edited,
    "MESSAGE_DELETE": _deleted,
    "MESSAGE_DELETE_BULK": _all_deleted,
    "MESSAGE_REACTION_ADD": _reacted,
    "MESSAGE_REACTION_REMOVE": _unreacted,
    "TYPING_START": _typing,
    **dict.fromkeys(("CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE"), memberships.discord_channel),
    "THREAD_MEMBERS_UPDATE": memberships.discord_thread_members,
}


def _line(kind: str, message: Part, content: list[Line]) -> Line:
    return {
        "type": kind,
        "eventId": _event_id(message.needed("channel_id"), message.needed("id")),
        "source": {"platform": "discord", "workspaceId": message.text("guild_id") or "@me"},
        "conversation": _conversation(message),
        "author": _author(message),
        "target": target(mentions(message)),
        "content": content,
    }


def _reaction(event: Part, *, added: bool) -> Line:
    emoji = event.part("emoji")
    return {
        "type": "reaction",
        "eventId": _event_id(event.needed("channel_id"), event.needed("message_id")),
        "author": _member(event),
        "glyph": plain_glyph(emoji.text("name") or emoji.needed("id")),  # a deleted emoji has no name
        "added": added,
    }


def _conversation(event: Part) -> Line:
    return {"id": event.needed("channel_id"), "kind": "channel" if event.text("guild_id") else "dm"}


def _author(message: Part) -> Line:
    user, member = message.part("author"), message.object("member")
    kind = SYSTEM if user.flag("system") else AGENT if _is_bot(message, user) else HUMAN
    return without_empty(id=user.needed("id"), kind=kind, displayName=_name(user, member))


def _is_bot(message: Part, user: Part) -> bool:
    return user.flag("bot") or bool(message.text("webhook_id"))


def _member(event: Part) -> Line:
    """The author of a reaction or of typing. Outside a guild, and for a removed reaction, only the id is known."""
    member = event.object("member")
    user = member.object("user")
    kind = AGENT if user.flag("bot") else HUMAN
    return without_empty(
        id=event.needed("user_id"), kind=kind, displayName=_name(user, member) if "user" in member else ""
    )


def _name(user: Part, member: Part) -> str:
    return member.text("nick") or user.text("global_name") or user.text("username")


def _content(message: Part) -> list[Line]:
    """The text, or the text of the embeds if a bot sent only those; and the files."""
    files = [
        file_part(file.needed("url"), file.text("title") or file.text("filename"), file.text("content_type"))
        for file in message.objects("attachments")
    ]
    return text_content(readable(message)) + files


def _answered(message: Part) -> str | None:
    """The message that this one answers. A reference may also name a forwarded message."""
    reference = message.object("message_reference")
    if "message_reference" not in message or message.number("type") not in (None, REPLY):
        return None
    return _event_id(reference.text("channel_id") or message.needed("channel_id"), reference.needed("message_id"))


def _event_id(channel: str, message: str) -> str:
    return f"discord:{channel}:{message}"


def _snowflake(part: Part, name: str) -> int:
    """An id as a number. Ids increase with time."""
    written = part.needed(name)
    if not (written.isascii() and written.isdigit() and len(written) <= 20):
        raise part.wrong(name, "is not a Discord id")
    return int(written)


# -- the mentions of a message, and its text in readable form


def mentions(message: Part) -> list[str]:
    """The ids of users, the ids of roles after an @, and @all."""
    users = [user.needed("id") for user in message.objects("mentions")]
    called: list[tuple[str, tuple[str, ...]]] = [(who, (f"<@{who}>", f"<@!{who}>")) for who in users]
    called += [("@" + role, (f"<@&{role}>",)) for role in message.texts("mention_roles")]
    if message.flag("mention_everyone"):
        called.append((EVERYBODY, ("@everyone", "@here")))
    text = message.text("content")
    own_text = without_quotes_and_code(text)
    return [who for who, ways in called if _has(own_text, ways) or not _has(text, ways)]


def readable(message: Part) -> str:
    """The text, with names in place of ids if Discord sends them."""
    names = {user.needed("id"): user.text("username") for user in message.objects("mentions")}

    def shown(entity: re.Match[str]) -> str:
        sign, name = entity[1], entity[2]
        if sign.endswith(":"):  # an emoji of the guild's own
            return sign.removeprefix("a")
        return "#" + name if sign == "#" else "@" + (names.get(name) or name)

    return ENTITY.sub(shown, message.text("content") or _embedded(message))


def _embedded(message: Part) -> str:
    texts = [embed.text(name) for embed in message.objects("embeds") for name in ("title", "description")]
    return "\n".join(text for text in texts if text)


def _has(text: str, ways: tuple[str, ...]) -> bool:
    return any(way in text for way in ways)
