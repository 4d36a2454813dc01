"""What a message in a Matrix room says, and whom it means."""

from __future__ import annotations

import re
from itertools import dropwhile

from bb.attention.messages.mentions import named, unquoted
from bb.attention.surfaces.line import EVERYBODY, some, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.surfaces.line import Line
    from bb.attention.surfaces.payload import Part

USER = re.compile(r"(?<![\w@/.+-])@[\w.=/+-]{1,200}:[A-Za-z0-9-][A-Za-z0-9.-]{0,200}(?::\d{1,5})?", re.ASCII)
FALLBACKS = ("> <@", "> * <@")
FILES = ("m.image", "m.file", "m.audio", "m.video")


def content(message: Part, *, is_answer: bool = False) -> list[Line]:
    """The content of a message, or of what an edit puts in its place."""
    kind, body = message.text("msgtype"), message.text("body")
    if kind.startswith("m.key."):  # two devices get to know each other
        return []
    if kind in FILES:
        return _file(message, body)
    text = _without_fallback(body) if is_answer else body
    return words(f"* {text}" if kind == "m.emote" else text)


def mentions(message: Part) -> list[str]:
    """Ids of people, and @all. Where the author says who is meant, the text does not."""
    meant = message.maybe_part("m.mentions")
    if meant is not None:
        return meant.texts("user_ids") + ([EVERYBODY] if meant.flag("room") else [])
    said = unquoted(message.maybe_text("body"))
    ids = [found.rstrip(".-") for found in USER.findall(said)]
    return ids + [EVERYBODY if name == "room" else name for name in named(USER.sub(" ", said))]


def _file(message: Part, body: str) -> list[Line]:
    """A file, and what is said about it. In a room that is encrypted its address stands with its key."""
    sealed = message.maybe_part("file")
    url = sealed.text("url") if sealed else message.text("url")
    name = message.maybe_text("filename") or body
    return [*words(body if name != body else ""), some(type="file", url=url, title=name)]


def _without_fallback(body: str) -> str:
    """BODY without the quotation that older programs put before an answer."""
    if not body.startswith(FALLBACKS):  # newer ones put none; a quotation there is then the author's own
        return body
    return "\n".join(dropwhile(lambda line: line.startswith(">"), body.split("\n"))).removeprefix("\n")
