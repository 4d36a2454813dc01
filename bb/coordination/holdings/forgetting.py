"""When ended grants are forgotten under rule 2, so that the state of a fleet stays small however long it works.

The place alone decides, so all readers forget the same grants, wherever they began. Open grants are never forgotten. A
reader that needs a forgotten one must take it for granted that there was one: `Admitted.floor` says from where on the
state is complete.
"""

from __future__ import annotations

STEP = 10_000  # the floor rises by so many places at once, because a state in a file then changes seldom
KEPT = 200_000  # places for which an ended grant is known, at least


def floor(place: int) -> int:
    """The floor of the state after the row at PLACE: grants that ended before the floor are forgotten."""
    return max(place - place % STEP - KEPT, 0)
