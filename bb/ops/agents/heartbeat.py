"""The sign of life that an agent gives by itself (Operative Protocol §4.2), again and again: so it loads what it needs
and no more. Mostly that is the presence file; the ledger is opened for an agent that comes back.
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
    """Say that you are alive. Safe to repeat as often as you like; once a minute is plenty.

    An agent that is silent for 15 minutes counts as stale, for 30 as evicted (BB_AGENT_STALE_MINUTES changes the
    15). A heartbeat makes it active again, but gives nothing back that was taken over meanwhile.
    """
    who = desk.caller(agent)
    now = desk.now()
    threshold = desk.stale_after
    desk.may_write()
    last = presence.read(desk.place.store, who, now)
    is_active = last and (last.paused or liveness.liveness(last.seen_at, now, threshold) == liveness.ACTIVE)
    if last is None or not is_active or not _is_its_session(desk, last):
        last = _come_back(desk, who, now)
    beat = last.but(seen_at=now, beats=last.beats + 1, is_remote=False)
    presence.write(desk.place.store, beat)
    desk.has_beaten = True
    return beat.shown(now, threshold)


def _is_its_session(desk: Desk, last: Presence) -> bool:
    """Whether the caller may be the session that works under the name, as the presence has it. In doubt the ledger is
    asked: where the two files differ, or the session is not the caller's."""
    noted, sessions = presence.session(desk.place.store, last.agent_id), desk.sessions
    return noted == last.session and (not (noted and sessions) or noted in sessions)


def _come_back(desk: Desk, who: str, now: int) -> Presence:
    """The presence of an agent that has been silent for long, was never seen in this clone, or whose session may be
    another one.

    That it is back is a change of state, and those are recorded.
    """
    from bb.ops.desk import pause_check, signs_of_life  # noqa: PLC0415  (most heartbeats go by what their presence says)

    agent = signs_of_life.judged(desk, signs_of_life.index_of(desk, who), who)
    last = signs_of_life.presence_of(agent, presence.read(desk.place.store, who, now), now)
    last = last.but(paused=pause_check.shown(desk.store.caught_up(), who))
    if signs_of_life.return_of(desk, desk.store.caught_up(), agent, now):
        desk.store.record(
            lambda index: signs_of_life.return_of(desk, index, signs_of_life.judged(desk, index, who), now),
            by=who,
            now=now,
        )
        last = last.but(session=signs_of_life.in_service(desk.store.caught_up(), who).session)
    presence.open_session(desk.place.store, who, last.session)
    return last
