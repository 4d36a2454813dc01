"""Signs of life: what is known of an agent, and acts of its own, each of which proves that it is alive.

Only who acts is refreshed, never whom the act is about; and only once the act has succeeded, so that nobody comes back
to life by trying.
"""

from __future__ import annotations

from bb.coordination.agents import callers, identity, liveness, roster, thresholds
from bb.coordination.facts import Seen
from bb.kernel import clock, ids
from bb.kernel.errors import Busy, Forbidden, Refused
from bb.kernel.show import harmless
from bb.ledger.local import pinned_threshold, presence
from bb.ledger.local.presence import Presence
from bb.ops.desk.desk import NoAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

    Decide = Callable[[Index, Holdings], Sequence[Fact]]


ROLL_UP = 5 * clock.MINUTE


class PersonOnly(Forbidden):
    """That is for the person to do, and not for an agent."""

    code = "PERSON_ONLY"
    hint = "ask the person: `bb agent send --to user`"


def act(
    desk: Desk,
    who: str,
    decide: Decide,
    *,
    key: str | None = None,
    allow_secret: str | None = None,
    by: str | None = None,
    author: Callable[[Fact], str] | None = None,
) -> list[Event]:
    """Record what WHO does, when it is in service (a person always is); in its own name, unless it is done BY another,
    or each fact has an AUTHOR."""
    now = desk.now()
    if not desk.store.exists:
        index_of(desk, who)  # which refuses
    if key:  # what was recorded under it before is answered without being decided anew
        may_act(desk, index_of(desk, who), who)

    def facts(index: Index) -> list[Fact]:
        may_act(desk, index, who)
        decided = decide(index, desk.holdings(index, now))
        back = [] if who == ids.PERSON else return_of(desk, index, in_service(index, who), now)
        return [*back, *decided]

    recorded = desk.store.record(
        facts,
        by=by or who,
        now=now,
        key=key,
        request=desk.request,
        allow_secret=allow_secret,
        author=author,
    )
    try:
        index = desk.store.caught_up()
    except Busy as busy:
        busy.hint = "it is recorded, so do not repeat it"
        busy.details["recorded"] = [event.id for event in recorded]
        raise
    known = roster.agent(who, index.state(roster.NAME, who))
    if known and not known.is_retired:
        beat(desk, known, now)
    return recorded


def alive(desk: Desk, who: str) -> None:
    """WHO is at work, if only waiting; that it is back, having been silent, is recorded. Next time, if all are busy."""
    if who == ids.PERSON:
        return
    try:
        index, now = desk.store.caught_up(), desk.now()
        known = judged(desk, index, who)
        if return_of(desk, index, known, now):
            act(desk, who, lambda _, __: [])
        else:
            beat(desk, known, now)
    except Busy:
        return


def in_service(index: Index, who: str) -> Agent:
    """WHO, as the ledger has it; refused when it is unknown or retired."""
    state = index.state(roster.NAME, who)
    if state is None and index.law and index.law.is_shut:  # perhaps it is registered here, where nothing counts
        from bb.ledger.records.store import WriterNotAllowed  # noqa: PLC0415  (whoever looks has opened a store)

        raise WriterNotAllowed
    return identity.in_service(roster.agent(who, state), who)


def registered(index: Index, who: str) -> Agent:
    """WHO, as the ledger has it, in service or retired."""
    return identity.known(roster.agent(who, index.state(roster.NAME, who)), who)


def caller(desk: Desk, named: str | None, *, may_be_person: bool = False) -> str:
    """Who is asking, when it is an agent in service, or the person where that may be."""
    if may_be_person and desk.actor(named) == ids.PERSON:
        return ids.PERSON
    who = desk.caller(named)
    return judged(desk, index_of(desk, who), who).agent_id


def judged(desk: Desk, index: Index, who: str) -> Agent:
    """WHO, as the ledger has it; refused when it is unknown or retired, or when another session works under that name.

    This is where everybody who acts for an agent comes by: before the work, and again under the ledger's lock.
    """
    known = in_service(index, who)
    may_act(desk, index, who)
    return known


def may_act(desk: Desk, index: Index, who: str) -> None:
    """Refuse where the caller is known not to be WHO: another session works under that name. Whether anybody of that
    name is in service at all is for others to say."""
    known = roster.agent(who, index.state(roster.NAME, who)) if ids.is_actor_id(who) else None
    if known is None or known.is_retired:
        return
    is_evicted = known.session and state_of(desk, index, known, desk.now()) == liveness.EVICTED
    as_session(desk, index, known, is_evicted=bool(is_evicted))


def principal(desk: Desk) -> str:
    """In whose name is recorded what is no agent's own doing: the agent that the caller works as, else the person."""
    who = desk.principal()
    try:
        may_act(desk, desk.store.caught_up(), who)
    except (Forbidden, Refused):
        return ids.PERSON
    return who


def as_session(desk: Desk, index: Index, known: Agent, *, is_evicted: bool = False) -> None:
    """Refuse where the caller is known to be another session than the one that works as this agent."""
    if known.session or desk.sessions:
        others = [] if callers.is_known(known.session) else names_of(index, desk.sessions)
        callers.judge(known, desk.sessions, is_evicted=is_evicted, others=others)


def names_of(index: Index, sessions: Sequence[str]) -> list[str]:
    """The agents in service that are worked as by one of these SESSIONS."""
    terms = [roster.of_session(each) for each in sessions]
    return [agent.agent_id for term in terms for agent in roster.in_service(index.found(roster.NAME, term))]


def person(desk: Desk, named: str | None) -> str:
    """The person, who is asking. Nobody who says to be an agent is; on a socket, one has to say to be the person."""
    who = named or desk.env.get("BB_AGENT")
    if who is None and desk.is_served:
        raise NoAgent(hint='say who is asking: "agent": "user"')
    if who not in (None, "", ids.PERSON):
        raise PersonOnly(f"{harmless(who[:60])} is an agent, and this is for the person to do", agent_id=who[:60])
    return ids.PERSON


def index_of(desk: Desk, who: str) -> Index:
    """The index, for WHO to look at; where there is no ledger yet, nobody is registered."""
    if not desk.store.exists and who != ids.PERSON:
        identity.known(None, who)
    desk.store.must_exist()
    return desk.store.caught_up()


def return_of(desk: Desk, index: Index, agent: Agent, now: int) -> list[Fact]:
    """That a silent agent is heard of again is a change of state, and those are recorded: once, whoever is faster. So
    is that a session which bb had named shows its id."""
    state = state_of(desk, index, agent, now)
    confirmed = callers.to_confirm(agent.session, desk.sessions)
    return [Seen(agent.agent_id, state, confirmed)] if confirmed or state != liveness.ACTIVE else []


def state_of(desk: Desk, index: Index, agent: Agent, now: int) -> str:
    """How alive an agent is. Whom the person has paused is not silent."""
    from bb.ops.desk import pause_check  # noqa: PLC0415  (a heartbeat goes by what its presence says)

    if pause_check.of(index, agent.agent_id):
        return liveness.ACTIVE
    last = presence_of(agent, presence.read(desk.place.store, agent.agent_id, now), now)
    return liveness.liveness(last.seen_at, now, desk.stale_after_in(index))


def beat(desk: Desk, agent: Agent, now: int) -> Presence:
    """Record that an agent has just been seen, with its record as the ledger has it."""
    from bb.ops.desk import pause_check  # noqa: PLC0415  (a heartbeat goes by what its presence says)

    last = presence_of(agent, presence.read(desk.place.store, agent.agent_id, now), now)
    still = contested(desk, agent.agent_id) if last.contested else ()
    pause = pause_check.shown(desk.store.caught_up(), agent.agent_id)
    last = last.but(seen_at=now, is_remote=False, contested=still, paused=pause)
    presence.open_session(desk.place.store, agent.agent_id, agent.session)
    presence.write(desk.place.store, last)
    return last


def mark(desk: Desk) -> None:
    """Let everybody's next heartbeat, which does not open the ledger, know what has been said: who is paused, which
    session works under a name now, after how many minutes an agent is stale."""
    from bb.ops.desk import pause_check  # noqa: PLC0415

    if not desk.store.exists:
        return
    index, store = desk.store.caught_up(), desk.place.store
    pinned_threshold.write(store, thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY)))
    for agent, last in presence.everybody(store, desk.now()).items():
        known = roster.agent(agent, index.state(roster.NAME, agent))
        noted = {last.session, presence.session(store, agent)}
        if known and not known.is_retired and noted != {known.session}:
            presence.open_session(store, agent, known.session)
            presence.write(store, last.but(session=known.session))
    pause_check.mark(desk)


def contested(desk: Desk, agent: str) -> tuple[str, ...]:
    """The scopes of an agent that it does not hold after all, because somebody in another clone does."""
    held = desk.holdings(desk.store.caught_up(), desk.now())
    return tuple(each.scope.text for each in held.of(agent) if not each.is_over and held.contested_by(each))


def heard(desk: Desk, ages: Mapping[str, int]) -> None:
    """Other clones have heard of these agents: they count as seen when we learn of it, but for how long ago that was
    when it was published."""
    store, now = desk.store, desk.now()
    for who, age in ages.items():
        known = roster.agent(who, store.caught_up().state(roster.NAME, who)) if ids.is_actor_id(who) else None
        if known and not known.is_retired:
            last = presence.read(store.path, who, now)
            seen_at = now - min(max(age, 0), now)
            if last is None or last.seen_at < seen_at:
                fresh = presence_of(known, last, now).but(seen_at=seen_at, is_remote=True)
                presence.write(store.path, fresh)


def roll_up(desk: Desk) -> None:
    """Record for other clones which agents are at work in this one, each once in a while."""
    store, now = desk.store, desk.now()
    if store.law and store.law.is_shut:
        return
    beats, threshold = presence.everybody(store.path, now), desk.stale_after_in(store.caught_up())
    for agent in roster.in_service(store.caught_up().states(roster.NAME)):
        last = beats.get(agent.agent_id)
        if last is None or last.is_remote or liveness.liveness(last.seen_at, now, threshold) != liveness.ACTIVE:
            continue
        if last.seen_at - agent.heard_at >= ROLL_UP:
            fact = Seen(agent.agent_id, liveness.ACTIVE)
            store.record(lambda _, fact=fact: [fact], by=agent.agent_id, now=last.seen_at)  # type: ignore[misc]


def presence_of(agent: Agent, last: Presence | None, now: int) -> Presence:
    """What is known of an agent: its record from the ledger, its last sign of life from whichever is later.

    What else a presence tells, it tells as of when it was written.
    """
    record = {
        "agent_id": agent.agent_id,
        "display_name": agent.title,
        "role": agent.role,
        "status": "idle",
        "created_at": clock.text(agent.created_at),
        "changes": agent.changes,
    }
    seen_at = presence.last_seen(agent.heard_at, last, now)
    known = last or Presence(agent.agent_id, seen_at, 0, record)
    return known.but(seen_at=seen_at, record=record, session=agent.session)


def listed(desk: Desk, index: Index, agents: Sequence[Agent]) -> list[dict[str, Any]]:
    """AGENTS as every face shows them, paused or not as the ledger has it."""
    from bb.coordination.agents import pauses  # noqa: PLC0415  (a heartbeat lists nobody)

    now, threshold = desk.now(), desk.stale_after_in(index)
    beats, said = presence.everybody(desk.place.store, now), dict(index.states(pauses.NAME))
    found = []
    for agent in agents:
        pause = pauses.pause(said, agent.agent_id)
        known = presence_of(agent, beats.get(agent.agent_id), now).but(paused=pause and pause.shown())
        found.append(known.shown(now, threshold))
    return found
