"""The heartbeat op (Operative Protocol §4.2). Agents call it often, so it loads as little as possible.

Usually it reads and writes only the presence file. The ledger is opened for an agent that comes back.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.ledger.local import presence
from bb.ops.catalogue import op
from bb.ops.params import AgentId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.local.presence import Presence
    from bb.ops.desk.desk import Desk


@op(
    "agent.heartbeat",
    examples=("bb agent heartbeat --agent amber-otter --json", "BB_AGENT=amber-otter bb agent heartbeat"),
)
def heartbeat(desk: Desk, *, agent: AgentId | None = None) -> dict[str, Any]:
    """Report that you are alive. Once a minute is enough; more often does no harm.

    An agent is stale after 15 minutes without a sign of life (BB_AGENT_STALE_MINUTES changes this) and evicted after
    30. A heartbeat makes it active again, but does not return reservations that were taken over in the meantime.

    Parameters:
        agent: The calling agent. Default: BB_AGENT.
    """
    who = desk.caller(agent)
    now = desk.now()
    threshold = desk.stale_after
    desk.may_write()
    last = presence.read(desk.place.store, who, now)
    is_active = last and last.liveness(now, threshold) == liveness.ACTIVE
    if last is None or not is_active or not _is_its_session(desk, last):
        last = _come_back(desk, who, now)
    beat = last.seen(now).replace(beats=last.beats + 1)
    presence.write(desk.place.store, beat)
    desk.note_heartbeat()
    return beat.shown(now, threshold)


def _is_its_session(desk: Desk, last: Presence) -> bool:
    """Whether the caller may be the session that holds the name, by the presence files. If the two files differ, or the
    session is not the caller's, this is False and the ledger decides."""
    noted, sessions = presence.session(desk.place.store, last.agent_id), desk.sessions
    return noted == last.session and (not (noted and sessions) or noted in sessions)


def _come_back(desk: Desk, who: str, now: int) -> Presence:
    """The presence of an agent that was silent for long, was never seen in this clone, or may have another session.

    Its return is a change of state, so it is recorded in the ledger.
    """
    from bb.ops.desk import pause_check, signs_of_life  # noqa: PLC0415  (most heartbeats need only the presence file)

    agent = signs_of_life.checked_agent(desk, signs_of_life.index_of(desk, who), who)
    last = signs_of_life.presence_of(agent, presence.read(desk.place.store, who, now), now)
    last = last.replace(paused=pause_check.pause_row(desk.store.caught_up(), who))
    if signs_of_life.return_of(desk, desk.store.caught_up(), agent, now):
        signs_of_life.act(desk, who, lambda _, __: [])
        last = last.replace(session=signs_of_life.in_service(desk.store.caught_up(), who).session)
    presence.open_session(desk.place.store, who, last.session)
    return last
