"""The mentions of a Discord message, and its text in readable form."""

from __future__ import annotations

import re

from bb.attention.surfaces.line import EVERYBODY
from bb.attention.surfaces.payload import Part
from bb.attention.surfaces.spoken import without_quotes_and_code

ENTITY = re.compile(r"<(@!?|@&|#|a?:\w{1,64}:)(\d{1,20})>", re.ASCII)


def mentions(message: Part) -> list[str]:
    """The ids of users, the ids of roles after an @, and @all."""
    users = [user.needed("id") for user in message.objects("mentions")]
    called: list[tuple[str, tuple[str, ...]]] = [(who, (f"<@{who}>", f"<@!{who}>")) for who in users]
    called += [("@" + role, (f"<@&{role}>",)) for role in message.texts("mention_roles")]
    if message.flag("mention_everyone"):
        called.append((EVERYBODY, ("@everyone", "@here")))
    text = message.text("content")
    said = without_quotes_and_code(text)
    return [who for who, ways in called if _has(said, ways) or not _has(text, ways)]


def readable(message: Part) -> str:
    """The text, with names in place of ids if Discord sends them."""
    names = {user.needed("id"): user.text("username") for user in message.objects("mentions")}

    def shown(entity: re.Match[str]) -> str:
        sign, found = entity[1], entity[2]
        if sign.endswith(":"):  # an emoji of the guild's own
            return sign.removeprefix("a")
        return "#" + found if sign == "#" else "@" + (names.get(found) or found)

    return ENTITY.sub(shown, message.text("content") or _embedded(message))


def _embedded(message: Part) -> str:
    texts = [embed.text(name) for embed in message.objects("embeds") for name in ("title", "description")]
    return "\n".join(text for text in texts if text)


def _has(text: str, ways: tuple[str, ...]) -> bool:
    return any(way in text for way in ways)
