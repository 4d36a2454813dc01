"""Places in the total order, and registers that keep the earliest or latest value.

A fold's state is plain JSON. A register is `[lamport, writer, n, value]`. Which of two values it keeps depends only on
their places, so facts may arrive in any order and give the same state.
"""

from __future__ import annotations

from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Place: TypeAlias = "list[Any]"  # [lamport, writer, n]
State: TypeAlias = "dict[str, Any]"  # plain JSON: register name -> [lamport, writer, n, value]


def latest(state: State, name: str, at: Place, value: object) -> None:
    """Set the register NAME to VALUE, unless its current value is later."""
    held = state.get(name)
    if held is None or held[:3] < at:
        state[name] = [*at, value]


def earliest(state: State, name: str, at: Place, value: object) -> None:
    """Set the register NAME to VALUE, unless its current value is earlier."""
    held = state.get(name)
    if held is None or at < held[:3]:
        state[name] = [*at, value]


def event(at: Place) -> str:
    """The id of the event AT a place."""
    return ids.event_id(at[1], at[2])


def sortable(at: Place) -> str:
    """A text for a place. The texts sort like the places."""
    return f"{at[0]:020x} {at[1]} {at[2]:015}"
