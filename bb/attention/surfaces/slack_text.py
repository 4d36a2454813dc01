"""Slack's message format: entities are in angle brackets, and literal brackets are escaped.

Only entities are mentions. A name that was typed by hand is plain text.
"""

from __future__ import annotations

import re

from bb.attention.surfaces.line import EVERYBODY
from bb.attention.surfaces.spoken import without_quotes_and_code

ENTITY = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
AT_EVERYBODY = ("here", "channel", "everyone")
GROUP = "subteam^"


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
    shown = ENTITY.sub(_shown, raw)
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


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
