"""Signs of life: every recorded act of an agent counts as one, as a heartbeat does.

Only the acting agent's sign of life is updated, never that of an agent the act concerns. It is updated only after the
act has succeeded, so a refused act does not make an agent active again.
"""

from __future__ import annotations

import os

from bb.coordination.agents import callers, identity, liveness, name_claims, roster, thresholds
from bb.coordination.facts import Seen
from bb.kernel import clock, ids
from bb.kernel.errors import Busy, Forbidden, Refused
from bb.kernel.escaping import harmless
from bb.ledger.local import pinned_threshold, presence
from bb.ledger.local.presence import Presence
from bb.ledger.published import heard_elsewhere
from bb.ops.desk.after_recording import AfterRecording
from bb.ops.desk.desk import NoAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import TypeAlias

    from bb.coordination.agents.hearing import Hearing
    from bb.coordination.agents.roster import Agent, Registration
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

Decide: TypeAlias = "Callable[[Index, Holdings], Sequence[Fact]]"


ROLL_UP = 5 * clock.MINUTE
LINE = ("place", "live")  # the fold and the search term of places in the line (`holdings/places.py`)

PersonOnly = Forbidden.declare(
    "PERSON_ONLY", "Only the person may do that, not an agent", hint="ask the person: `bb send user 'text'`"
)


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
    """Record the facts that DECIDE returns for WHO, which must be in service (the person always is). The author is WHO,
    unless BY or an AUTHOR for each fact is given."""
    now = desk.now()
    granted: list[Fact] = []
    if not desk.store.exists:
        index_of(desk, who)  # refuses
    if key:  # a repeated request with this key is answered without calling `facts`, so the caller is checked here
        refuse_other_session(desk, index_of(desk, who), who)

    def facts(index: Index) -> list[Fact]:
        refuse_other_session(desk, index, who)
        held = desk.holdings(index, now)
        decided = decide(index, held)
        back = [] if who == ids.PERSON else return_of(desk, index, in_service(index, who), now)
        granted[:] = grants(desk, index, held, who, decided)
        return [*back, *decided, *granted]

    def author_of(fact: Fact) -> str:
        if any(fact is one for one in granted):
            return first_member(fact)
        return author(fact) if author else by or who

    recorded = desk.store.record(
        facts,
        by=by or who,
        now=now,
        key=key,
        request=desk.request,
        allow_secret=allow_secret,
        author=author_of,
    )
    try:
        index = desk.store.caught_up()
    except Busy as busy:
        busy.hint = "the request was recorded; do not repeat it"
        busy.details["recorded"] = [event.id for event in recorded]
        raise
    agent = roster.agent(who, index.state(roster.NAME, who))
    if agent and not agent.is_retired:
        write_presence(desk, agent, now)
    return recorded[: len(recorded) - len(granted)]


def grants(desk: Desk, index: Index, held: Holdings, who: str, decided: Sequence[Fact]) -> list[Fact]:
    """The facts that grant places in the line, or end them, after the facts DECIDED by WHO. The author of each is its
    first member."""
    if not index.count(*LINE):
        return []
    from bb.ops.desk import line_grants  # noqa: PLC0415  (mostly nobody is in line)

    return line_grants.due(index, held, desk.place.store, who, decided, is_in_fleet=desk.is_in_fleet)


def first_member(fact: Fact) -> str:
    """The first member of FACT: the agent that it is about."""
    return str(getattr(fact, fact.__match_args__[0]))


def record_sign_of_life(desk: Desk, who: str) -> None:
    """Record a sign of life of WHO, which may only be waiting. A return from silence is recorded in the ledger. If the
    ledger is busy, the next call does it."""
    if who == ids.PERSON:
        return
    try:
        index, now = desk.store.caught_up(), desk.now()
        agent = checked_agent(desk, index, who)
        if return_of(desk, index, agent, now):
            act(desk, who, lambda _, __: [])
        else:
            write_presence(desk, agent, now)
    except Busy:
        return


def in_service(index: Index, who: str) -> Agent:
    """The agent WHO from the ledger; refused if it is unknown or retired."""
    state = index.state(roster.NAME, who)
    if (
        state is None and index.law and index.law.excludes_own_lines
    ):  # its registration may be here, but lines here do not count
        from bb.ledger.records.policy import WriterNotAllowed  # noqa: PLC0415  (needed only to refuse)

        raise WriterNotAllowed()
    return identity.in_service(roster.agent(who, state), who)


def registered(index: Index, who: str) -> Agent:
    """The agent WHO from the ledger, in service or retired."""
    return identity.registered(roster.agent(who, index.state(roster.NAME, who)), who)


def caller(desk: Desk, named: str | None, *, may_be_person: bool = False) -> str:
    """The caller, which must be an agent in service, or the person if MAY_BE_PERSON."""
    if may_be_person and desk.actor(named) == ids.PERSON:
        return ids.PERSON
    who = desk.caller(named)
    return checked_agent(desk, index_of(desk, who), who).agent_id


def checked_agent(desk: Desk, index: Index, who: str) -> Agent:
    """The agent WHO from the ledger; refused if it is unknown or retired, or if another session holds the name.

    Every act for an agent is checked here: before the work, and again under the ledger's lock.
    """
    agent = in_service(index, who)
    refuse_other_session(desk, index, who)
    return agent


def refuse_other_session(desk: Desk, index: Index, who: str) -> None:
    """Refuse if the caller is known not to be WHO, because another session holds the name. Whether WHO is in service is
    not checked here."""
    agent = roster.agent(who, index.state(roster.NAME, who)) if ids.is_actor_id(who) else None
    if agent is None or agent.is_retired:
        return
    agent = as_seen_here(desk, agent)
    is_evicted = agent.session and state_of(desk, index, agent, desk.now()) == liveness.EVICTED
    refuse_session_mismatch(desk, index, agent, is_evicted=bool(is_evicted))


def as_seen_here(desk: Desk, agent: Agent) -> Agent:
    """The agent, with the sessions of the registration that has its name. Refused if this clone registered the name
    and another one had it first."""
    if not agent.registrations:
        return agent
    ours = {one.writer for one in own_registrations(desk, agent)}
    return name_claims.as_seen(agent, _published(desk, agent), ours)


def own_rivals(desk: Desk, agent: Agent) -> list[Registration]:
    """The registrations of the agent's name that were recorded in this clone, after another clone had the name."""
    if not agent.registrations:
        return []
    late, own = name_claims.rivals(agent, _published(desk, agent)), own_registrations(desk, agent)
    return [one for one in own if one in late]


def _published(desk: Desk, agent: Agent) -> Sequence[str]:
    """The registrations of the agent's name in the order of their publication."""
    from bb.ledger.published import pins  # noqa: PLC0415  (few names have several registrations)

    return pins.read(desk.store.path).in_force.names.get(agent.agent_id, ())


def own_registrations(desk: Desk, agent: Agent) -> list[Registration]:
    """The registrations of the agent's name that were recorded in this clone, if there are several in all."""
    from bb.ledger.journal import writers  # noqa: PLC0415  (few names have several registrations)

    journals = os.path.join(desk.place.store, "j")
    return [one for one in agent.registrations if writers.read_owner(journals, one.writer)]


def principal(desk: Desk) -> str:
    """The author of an event that is not an agent's own act: the caller's agent, else the person."""
    who = desk.principal()
    try:
        refuse_other_session(desk, desk.store.caught_up(), who)
    except (Forbidden, Refused):
        return ids.PERSON
    return who


def refuse_session_mismatch(desk: Desk, index: Index, known: Agent, *, is_evicted: bool = False) -> None:
    """Refuse if the caller is known to be another session than the one that holds this agent's name."""
    if known.session or desk.sessions:
        others = [] if callers.is_known(known.session) else names_of(index, desk.sessions)
        callers.refuse_wrong_session(known, desk.sessions, is_evicted=is_evicted, others=others)


def names_of(index: Index, sessions: Sequence[str]) -> list[str]:
    """The ids of agents in service whose names are held by one of these SESSIONS."""
    terms = [roster.session_term(session) for session in sessions]
    return [agent.agent_id for term in terms for agent in roster.in_service(index.entries_by_term(roster.NAME, term))]


def person(desk: Desk, named: str | None) -> str:
    """The person as the caller; refused if the caller is an agent. On a socket, the request must name the person."""
    who = named or desk.actor(None) or None
    if who is None and desk.is_served:
        raise NoAgent(hint='name the caller: "agent": "user"')
    if who not in (None, "", ids.PERSON):
        raise PersonOnly(f"{harmless(who[:60])} is an agent, and only the person may do this", agent_id=who[:60])
    return ids.PERSON


def index_of(desk: Desk, who: str) -> Index:
    """The index, up to date. Without a ledger, refused: no agent is registered."""
    if not desk.store.exists and who != ids.PERSON:
        identity.registered(None, who)
    desk.store.require_ledger()
    return desk.store.caught_up()


def return_of(desk: Desk, index: Index, agent: Agent, now: int) -> list[Fact]:
    """The fact to record if a silent agent is back, or if a session that bb had named now shows its id. Empty
    otherwise, so the change is recorded once."""
    state = state_of(desk, index, agent, now)
    confirmed = callers.to_confirm(agent.session, desk.sessions)
    return [Seen(agent.agent_id, state, confirmed)] if confirmed or state != liveness.ACTIVE else []


def state_of(desk: Desk, index: Index, agent: Agent, now: int) -> str:
    """The liveness of an agent. A paused agent counts as active."""
    from bb.ops.desk import pause_check  # noqa: PLC0415  (a heartbeat reads the pause from its presence file)

    if pause_check.pause_of(index, agent.agent_id):
        return liveness.ACTIVE
    found = presence.read(desk.place.store, agent.agent_id, now)
    last = presence_of(agent, found, now).replace(paused=None)
    if is_elsewhere(found):
        last = as_heard(last, heard_elsewhere.in_fleet(desk.place.store), now)
    return last.liveness(now, desk.stale_after_in(index))


def is_elsewhere(found: Presence | None) -> bool:
    """Whether an agent whose presence file has FOUND is in another clone."""
    return found is None or found.is_remote


def as_heard(last: Presence, hearing: Hearing | None, now: int) -> Presence:
    """The presence of an agent elsewhere, for who judges its silence: time in which this clone of a fleet heard nothing
    of other machines is nobody's silence."""
    return last if hearing is None else last.replace(seen_at=hearing.seen_at(last.seen_at, now))


def write_presence(desk: Desk, agent: Agent, now: int) -> Presence:
    """Write an agent's presence file: seen now, with its record from the ledger."""
    from bb.ops.desk import pause_check  # noqa: PLC0415  (a heartbeat reads the pause from its presence file)

    last = presence_of(agent, presence.read(desk.place.store, agent.agent_id, now), now)
    still = contested(desk, agent.agent_id) if last.contested else ()
    pause = pause_check.pause_row(desk.store.caught_up(), agent.agent_id)
    last = last.seen(now).replace(contested=still, paused=pause)
    with AfterRecording(desk):
        presence.open_session(desk.place.store, agent.agent_id, agent.session)
        presence.write(desk.place.store, last)
    return last


def end_session(desk: Desk, who: str) -> None:
    """Write into the presence file of WHO that its session has ended. The next sign of life cancels this."""
    desk.may_write()
    agent, now = registered(desk.store.caught_up(), who), desk.now()
    last = presence_of(agent, presence.read(desk.place.store, who, now), now)
    if not agent.is_retired:
        presence.write(desk.place.store, last.replace(ended_at=max(now, last.seen_at)))


def update_presence(desk: Desk, heard: Collection[str] = ()) -> None:
    """Write ledger state into the presence files, because a heartbeat does not open the ledger: pauses, the session
    that holds each name, and the stale threshold. Of thousands of other clones' agents, only those HEARD are looked at.
    """
    from bb.ops.desk import pause_check  # noqa: PLC0415

    if not desk.store.exists:
        return
    index, store = desk.store.caught_up(), desk.place.store
    with AfterRecording(desk):
        pinned_threshold.write(store, thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY)))
    for agent, last in presence.local_and(store, heard, desk.now()).items():
        current_agent = roster.agent(agent, index.state(roster.NAME, agent))
        if current_agent and current_agent.registrations:
            current_agent = _or_told(desk, current_agent)
        noted = {last.session, presence.session(store, agent)}
        if current_agent and not current_agent.is_retired and noted != {current_agent.session}:
            with AfterRecording(desk):
                presence.open_session(store, agent, current_agent.session)
                presence.write(store, last.replace(session=current_agent.session))
    pause_check.update_presence(desk)


def _or_told(desk: Desk, agent: Agent) -> Agent | None:
    """The agent as seen here. None if its name belongs to another clone: its next heartbeat reads that in the
    ledger."""
    try:
        return as_seen_here(desk, agent)
    except Forbidden:
        presence.remove(desk.place.store, agent.agent_id)
        return None


def contested(desk: Desk, agent: str) -> tuple[str, ...]:
    """The scopes of an agent's reservations that are contested by a reservation from another clone."""
    held = desk.holdings(desk.store.caught_up(), desk.now())
    return tuple(
        own.scope.text for own in held.reservations_of_agent(agent) if not own.is_over and held.contested_by(own)
    )


def record_remote_signs_of_life(desk: Desk, ages: Mapping[str, int]) -> None:
    """Record the signs of life of these agents in other clones. AGES are the milliseconds between the sign of life and
    its publication; an agent counts as seen that long ago."""
    store, now = desk.store, desk.now()
    if not ages:
        return
    index = store.caught_up()
    gone_after = 2 * desk.stale_after_in(index)
    for who, age in ages.items():
        last = presence.read(store.path, who, now)
        if last is None and age >= gone_after:
            continue  # it was evicted before this clone heard of it, and thousands of such files would slow down others
        agent = roster.agent(who, index.state(roster.NAME, who)) if ids.is_actor_id(who) else None
        if agent and not agent.is_retired:
            seen_at = now - min(max(age, 0), now)
            if last is None or last.seen_at < seen_at:
                steady = max(presence.steady(now) - (now - seen_at), 0)
                fresh = presence_of(agent, last, now).replace(
                    seen_at=seen_at, steady=steady, is_remote=True, ended_at=0
                )
                presence.write(store.path, fresh)


def roll_up(desk: Desk) -> None:
    """Record for other clones which agents are active in this one, at most once per agent and ROLL_UP."""
    store, now = desk.store, desk.now()
    if store.law and store.law.excludes_own_lines:
        return
    index = store.caught_up()
    threshold = desk.stale_after_in(index)
    for who, last in presence.written_within(store.path, now, threshold).items():
        if last.is_remote or last.replace(paused=None).liveness(now, threshold) != liveness.ACTIVE:
            continue
        agent = roster.agent(who, index.state(roster.NAME, who))
        if agent and not agent.is_retired and last.seen_at - agent.heard_at >= ROLL_UP:
            fact = Seen(who, liveness.ACTIVE)
            store.record(lambda _, fact=fact: [fact], by=who, now=last.seen_at)  # type: ignore[misc]


def presence_of(agent: Agent, last: Presence | None, now: int) -> Presence:
    """The presence of an agent: its record from the ledger, and the later of the ledger's and the presence file's sign
    of life. All other values are from the presence file.
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
    agent_presence = last or Presence(agent.agent_id, seen_at, 0, record)
    return agent_presence.replace(seen_at=seen_at, record=record, session=agent.session)
