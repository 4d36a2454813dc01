"""Parts of a line, the common form of events of all surfaces.

An `eventId` is made from the place of a message on its platform, never from a delivery, so a repeated event has the
same one. `timing.createdAt` is the time of the event itself: for an edit, the time of the edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bb.kernel import clock

Line = dict[str, Any]

HUMAN, AGENT, SYSTEM = "human", "agent", "system"
EVERYBODY = "@all"


def without_empty(**members: Any) -> Line:
    """MEMBERS without empty ones."""
    return {name: value for name, value in members.items() if value is not None and value != ""}


def text_content(text: str) -> list[Line]:
    """TEXT as content; empty if it is blank."""
    return [{"type": "text", "text": text.replace("\r\n", "\n")}] if text.strip() else []


def file_part(url: str, title: str, media_type: str) -> Line:
    """A file; if it is a recording, its type says so, because a recording with a text is words like others."""
    return without_empty(type="audio" if media_type.startswith("audio/") else "file", url=url, title=title)


def target(mentions: Iterable[str], recipient: str = "") -> Line:
    """The target of a message, with each mention once. An edit that removed all mentions has an empty list."""
    return without_empty(mentions=list(dict.fromkeys(mentions)), recipient=recipient)


def timing(moment: int, sequence: int | None = None) -> Line:
    """The time of an event, and its sequence number, if the platform assigns one."""
    return without_empty(createdAt=clock.text(moment), sequence=sequence)
