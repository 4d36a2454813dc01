"""Whether the person has paused an agent: asked of the ledger wherever it wants to change something.

A heartbeat does not open the ledger. It says what the agent's presence does, which is marked when somebody is paused or
let go on, here or in another clone.
"""

from __future__ import annotations

from bb.coordination.agents import pauses
from bb.ledger.local import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.agents.pauses import Pause
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


def of(index: Index, who: str) -> Pause | None:
    """What keeps WHO from working; None when nothing does."""
    return pauses.pause(index.states_of(pauses.NAME, pauses.about(who)), who)


def refuse(index: Index, who: str) -> None:
    """Refuse what changes anything when WHO is paused."""
    pauses.refuse(of(index, who), who)


def shown(index: Index, who: str) -> dict[str, Any] | None:
    """The pause of WHO as every face shows it."""
    found = of(index, who)
    return found.shown() if found else None


def mark(desk: Desk) -> None:
    """Let everybody's next heartbeat say whether it is paused."""
    if not desk.store.exists:
        return
    index = desk.store.caught_up()
    said = dict(index.states(pauses.NAME))
    if not said:  # nobody ever was
        return
    for agent, last in presence.everybody(desk.place.store, desk.now()).items():
        pause = pauses.pause(said, agent)
        if last.paused != (wanted := pause and pause.shown()):
            # Whom the person lets go on has been silent because it was told to: its silence is counted from here.
            seen_at = last.seen_at if wanted else max(last.seen_at, desk.now())
            presence.write(desk.place.store, last.but(paused=wanted, seen_at=seen_at))
