"""Whether the person has paused an agent. Ops that change something check this in the ledger.

A heartbeat does not open the ledger. It reports the pause from the agent's presence file, which is updated when an
agent is paused or unpaused, here or in another clone.
"""

from __future__ import annotations

from bb.coordination.agents import pauses
from bb.ledger.local import presence
from bb.ops.desk.after_recording import AfterRecording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.agents.pauses import Pause
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


def pause_of(index: Index, who: str) -> Pause | None:
    """The pause of WHO; None if it is not paused."""
    return pauses.pause(index.states_of(pauses.NAME, pauses.about(who)), who)


def refuse(index: Index, who: str) -> None:
    """Refuse if WHO is paused."""
    pauses.refuse(pause_of(index, who), who)


def pause_row(index: Index, who: str) -> dict[str, Any] | None:
    """The pause of WHO as every face shows it."""
    pause = pause_of(index, who)
    return pause.as_json() if pause else None


def update_presence(desk: Desk) -> None:
    """Write each agent's pause into its presence file, so that its next heartbeat reports it."""
    if not desk.store.exists:
        return
    index = desk.store.caught_up()
    states = dict(index.states(pauses.NAME))
    if not states:  # no agent was ever paused
        return
    for agent, last in presence.all_presences(desk.place.store, desk.now()).items():
        pause = pauses.pause(states, agent)
        if last.paused != (pause_json := pause and pause.as_json()):
            # A paused agent is silent because it was told to stop. Its silence counts from the moment of the unpause.
            if not pause_json and (now := desk.now()) > last.seen_at:
                last = last.replace(seen_at=now, steady=presence.steady(now))
            with AfterRecording(desk):
                presence.write(desk.place.store, last.replace(paused=pause_json))
