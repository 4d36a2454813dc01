"""Where facts stand in the total order, and registers that keep the earliest or the latest of them.

A fold's state is JSON-plain. A register is `[lamport, writer, n, value]`: which of two values it keeps depends on their
places alone, so facts may arrive in any order and leave the same state.
"""

from __future__ import annotations

from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = list[Any]  # [lamport, writer, n]
    State = dict[str, Any]  # JSON-plain: register name -> [lamport, writer, n, value]


def latest(state: State, name: str, at: Place, value: object) -> None:
    """Let the register NAME hold VALUE, unless what it holds stands later."""
    held = state.get(name)
    if held is None or held[:3] < at:
        state[name] = [*at, value]


def earliest(state: State, name: str, at: Place, value: object) -> None:
    """Let the register NAME hold VALUE, unless what it holds stands earlier."""
    held = state.get(name)
    if held is None or at < held[:3]:
        state[name] = [*at, value]


def event(at: Place) -> str:
    """The id of the event that stands AT a place."""
    return ids.event_id(at[1], at[2])


def sortable(at: Place) -> str:
    """A text for a place; the texts sort as the places do."""
    return f"{at[0]:020x} {at[1]} {at[2]:015}"
