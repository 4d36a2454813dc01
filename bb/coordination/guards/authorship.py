"""Whose a commit is: what the trailers of its message say.

BB-Agent: amber-otter      the agent that made it
BB-Token: 41               the number of the grant it was made under
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.record import Record
from bb.kernel.show import quotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

AGENT, TOKEN = "bb-agent", "bb-token"  # trailers, whose names have no case


class Author(Record):
    """Whose commit it is; no agent is a person. What is wrong with how the commit says so is in DOUBTS."""

    agent: str | None
    token: int | None
    doubts: tuple[str, ...]


def author(trailers: Sequence[tuple[str, str]], otherwise: str | None) -> Author:
    """Who says to have made a commit: the last trailer that names an agent counts."""
    named = [value for name, value in trailers if name.lower() == AGENT]
    sound = [value for value in named if ids.is_principal(value)]
    doubts = [f"{quotation(value, 60)} is no agent id" for value in named if value not in sound]
    if len(set(sound)) > 1:
        doubts.append(f"it names {len(set(sound))} agents, and {sound[-1]} is taken for its author")
    tokens = [value for name, value in trailers if name.lower() == TOKEN]
    fits = [int(value) for value in tokens if value.isascii() and value.isdigit() and len(value) < 16]
    if len(fits) != len(tokens):
        doubts.append("its BB-Token is no number")
    who = sound[-1] if sound else otherwise
    return Author(None if who == ids.PERSON else who, min(fits, default=None), tuple(doubts))
