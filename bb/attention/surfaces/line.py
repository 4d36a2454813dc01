"""Pieces of a line: the one form in which every surface tells what happened.

An `eventId` is made from where the message stands on its platform, never from a delivery, so that whatever comes twice
has the same one. `timing.createdAt` says when that what the line tells of was done: for an edit, when it was edited.
"""

from __future__ import annotations

from bb.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Line = dict[str, Any]

HUMAN, AGENT, SYSTEM = "human", "agent", "system"
EVERYBODY = "@all"


def some(**members: Any) -> Line:
    """MEMBERS without those that say nothing."""
    return {name: value for name, value in members.items() if value is not None and value != ""}


def words(text: str) -> list[Line]:
    """The content that TEXT is; nothing when it is blank."""
    return [{"type": "text", "text": text.replace("\r\n", "\n")}] if text.strip() else []


def target(mentions: Iterable[str], recipient: str = "") -> Line:
    """Who is meant, each once. An edit that names nobody any more says so by an empty list."""
    return some(mentions=list(dict.fromkeys(mentions)), recipient=recipient)


def done_at(moment: int, sequence: int | None = None) -> Line:
    """When it was done, and its place in its conversation where the platform knows one."""
    return some(createdAt=clock.text(moment), sequence=sequence)
