"""What a publication would make visible, and to whom."""

from __future__ import annotations

from bb.coordination.agents import roster
from bb.ledger.published.layout import HIDDEN
from bb.ledger.travel import publish, remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.published.pins import Pins
    from bb.ops.desk.desk import Desk


def would_show(desk: Desk, known: Pins, name: str, ref: str | None = None) -> dict[str, Any]:
    """What a publication to the remote NAME would make visible, and to whom. A published ledger would move to REF."""
    store, pin = desk.store, known.remote(name)
    index = store.caught_up()
    waiting = publish.unpublished(store, pin.tip)
    moves = ref is not None and pin.tip is not None and pin.ref != ref
    return {
        "remote": name,
        "events": waiting.count,
        "agents": [agent for agent, _ in index.states(roster.NAME)],
        "shows": ["agents' names and roles", "paths and beads they reserve", "messages and hand-offs, word for word"],
        "visible_to": readers(desk, name),
        **({"moves_to": "hidden" if ref == HIDDEN else "branch"} if moves else {}),
    }


def readers(desk: Desk, name: str) -> str:
    """Who can read what is published to the remote NAME."""
    where = remote.url(desk.place.common, name)
    return f"everybody who can read {name} ({where})" if where else f"everybody who can read {name}"
