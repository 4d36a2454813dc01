"""News about the line of agents that wait for scopes: grants, and who waits for what an agent holds."""

from __future__ import annotations

import os

from bb.kernel import clock
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

    NamedRow = tuple[str, dict[str, Any]]  # the name that a session remembers, and the row to show

# The fold of the places and the term of those that have not ended, as in `coordination/holdings/places.py`. That module
# is not imported, because every turn asks `is_empty`, and mostly nobody waits.
PLACES, LIVE = "place", "live"
LATELY = 7 * 24 * clock.HOUR


def is_empty(desk: Desk, index: Index) -> bool:
    """Whether nobody waits in this clone. Every turn asks this, so it loads nothing about the line."""
    files = disk.names(os.path.join(desk.place.store, "queue"))  # the files of its lock are always there
    return not any(name.endswith(".json") for name in files) and not index.count(PLACES, LIVE)


def grant(desk: Desk, index: Index, who: str) -> None:
    """Grant the places whose way became free because time has passed."""
    if not is_empty(desk, index):
        from bb.ops.desk import signs_of_life  # noqa: PLC0415  (mostly nobody waits)

        signs_of_life.act(desk, who, lambda _, __: [])


def waiting_for(index: Index, held: Holdings, store: str, who: str) -> Iterator[NamedRow]:
    """The agents that wait for what WHO holds."""
    from bb.ledger.views import holdings_queue  # noqa: PLC0415  (mostly nobody waits)

    for row in holdings_queue.standing(index, held, store, who)["waiting_for_me"]:
        for scope in row["held"]:
            yield f"{row['agent_id']} {scope}", {"agent_id": row["agent_id"], "scope": scope}


def granted_to(index: Index, who: str, now: int) -> Iterator[NamedRow]:
    """The places of WHO in the line that became reservations."""
    if not index.count(PLACES, f"of {who}"):
        return
    from bb.coordination.holdings import places  # noqa: PLC0415  (few agents have ever waited)
    from bb.ledger.views import holdings_queue  # noqa: PLC0415

    for place in holdings_queue.ended_since(index, who, now - LATELY):
        if place.state == places.GRANTED:
            yield f"granted {place.id}", {"scopes": list(place.names)}
