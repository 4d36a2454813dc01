"""Slack's way to write: whatever is more than text stands in angle brackets, and real brackets are escaped.

Only these entities call somebody. A name typed by hand is a word like others.
"""

from __future__ import annotations

import re

from bb.attention.surfaces.line import EVERYBODY
from bb.attention.surfaces.spoken import spoken

ENTITY = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
AT_EVERYBODY = ("here", "channel", "everyone")
GROUP = "subteam^"


def mentions(raw: str) -> list[str]:
    """Ids of people, @ and the ids of user groups, and @all."""
    called: list[str] = []
    for sign, body, _ in ENTITY.findall(spoken(raw.replace("&gt;", ">"))):
        if sign == "@":
            called.append(body)
        elif sign == "!" and body.startswith(GROUP):
            called.append("@" + body.removeprefix(GROUP))
        elif sign == "!" and body in AT_EVERYBODY:
            called.append(EVERYBODY)
    return called


def readable(raw: str) -> str:
    """RAW as people see it, but with ids for names, which Slack leaves to the reader to look up."""
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
    """A group, everybody, or a date, which brings its own wording."""
    if body.startswith(GROUP):
        return "@" + (label.removeprefix("@") or body.removeprefix(GROUP))
    return "@" + body if body in AT_EVERYBODY else label or body
