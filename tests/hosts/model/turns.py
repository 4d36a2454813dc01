"""What the scripted model says, whatever the protocol in which a host asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call of one of the host's tools. The input of a tool without a schema is one text."""

    tool: str
    input: dict[str, Any] | str


# One answer of the model: its text, or the tools that it calls.
Turn = str | list[Call]

# A turn, or what happens in the world just before a turn, and then the turn.
Step = Turn | Callable[[], Turn]


def text_of(turn: Turn) -> str:
    return turn if isinstance(turn, str) else ""


def calls_of(turn: Turn) -> list[Call]:
    return [] if isinstance(turn, str) else turn
