"""The author of a commit, from the trailers of its message.

BB-Agent: amber-otter      the agent that made the commit
BB-Token: 41               the token of the global reservation under which it was made
"""

from __future__ import annotations

from collections.abc import Sequence

from bb.kernel import ids
from bb.kernel.record import Record
from bb.kernel.show import quotation

AGENT, TOKEN = "bb-agent", "bb-token"  # trailer names are case-insensitive


class Author(Record):
    """The author of a commit. AGENT is None if a person made it. DOUBTS lists problems with its trailers."""

    agent: str | None
    token: int | None
    doubts: tuple[str, ...]


def author(trailers: Sequence[tuple[str, str]], otherwise: str | None) -> Author:
    """The author according to the trailers. The last valid BB-Agent trailer counts; OTHERWISE is the default."""
    named = [value for name, value in trailers if name.lower() == AGENT]
    sound = [value for value in named if ids.is_principal(value)]
    doubts = [f"{quotation(value, 60)} is not a valid agent id" for value in named if value not in sound]
    if len(set(sound)) > 1:
        doubts.append(f"it names {len(set(sound))} agents; the last one, {sound[-1]}, counts as its author")
    tokens = [value for name, value in trailers if name.lower() == TOKEN]
    fits = [int(value) for value in tokens if value.isascii() and value.isdigit() and len(value) < 16]
    if len(fits) != len(tokens):
        doubts.append("its BB-Token is not a number")
    who = sound[-1] if sound else otherwise
    return Author(None if who == ids.PERSON else who, min(fits, default=None), tuple(doubts))
