"""The content and the mentions of a message in a Matrix room."""

from __future__ import annotations

import re
from itertools import dropwhile

from bb.attention.messages.mentions import mentioned_names, unquoted
from bb.attention.surfaces.line import EVERYBODY, Line, text_content, without_empty
from bb.attention.surfaces.payload import Part

USER = re.compile(r"(?<![\w@/.+-])@[\w.=/+-]{1,200}:[A-Za-z0-9-][A-Za-z0-9.-]{0,200}(?::\d{1,5})?", re.ASCII)
FALLBACKS = ("> <@", "> * <@")
FILES = ("m.image", "m.file", "m.audio", "m.video")


def content(message: Part, *, is_answer: bool = False) -> list[Line]:
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
    said = unquoted(message.text("body"))
    ids = [found.rstrip(".-") for found in USER.findall(said)]
    return ids + [EVERYBODY if name == "room" else name for name in mentioned_names(USER.sub(" ", said))]


def _file(message: Part, body: str) -> list[Line]:
    """A file and its caption. In an encrypted room, the address of the file is next to its key."""
    url = (message.object("file") if "file" in message else message).needed("url")
    name = message.text("filename") or body
    return [*text_content(body if name != body else ""), without_empty(type="file", url=url, title=name)]


def _without_fallback(body: str) -> str:
    """BODY without the quotation that older clients put before an answer."""
    if not body.startswith(FALLBACKS):  # newer clients add none, so a quotation is the author's own
        return body
    return "\n".join(dropwhile(lambda line: line.startswith(">"), body.split("\n"))).removeprefix("\n")
