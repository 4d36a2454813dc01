"""The roster: all agents that ever registered, as a fold.

Facts may arrive in any order. Each field is a register that keeps the value with the highest sequence; the time of
registration keeps the lowest. The ledger passes each line once, so clones with the same lines have the same roster.
"""

from __future__ import annotations

from bb.coordination.facts import NameSettled, Registered, Retired, Seen, Started, Stopped, Updated
from bb.kernel import clock
from bb.kernel.ids import NAMED_BY_BB, is_session
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, event, latest, sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from bb.coordination.facts import AgentFact
    from bb.kernel.total_order import Place, State

NAME = "agent"
FACTS = (Registered, Updated, Retired, NameSettled, Started, Stopped, Seen)
# The fields of an actor's profile that the ledger keeps, and their types. Its environment may hold secrets: not kept.
PROFILE: dict[str, type[Any]] = {
    "runtime": str,
    "runner": str,
    "command": list,
    "submit": str,
    "default_scope_key": str,
    "enabled": bool,
}
HOW = "how "  # prefix of the registers that hold the profile
REGISTERED, LEFT, SETTLED = "registered ", "left ", "settled "  # prefixes of registers about registrations, by event
RIVALS = "rivals"  # the search term of names with several registrations in force
# search terms of agents in service: by the order of registration, and by the time of their last event
JOINED, HEARD = "joined", "heard"
GONE = "gone"  # the search term of retired agents
OPENED = "opened "  # prefix of the registers that hold the sessions opened under the name


class Registration(Record):
    """One registration of a name: the event, its place in the total order, and whether the agent of the event has said
    that it is the same agent as the one that has the name."""

    event: str
    place: str
    is_merged: bool

    @property
    def writer(self) -> str:
        return self.event.partition(".")[0]


class Agent(Record):
    """One agent according to the ledger. Its heartbeats are in the presence file."""

    agent_id: str
    role: str
    title: str
    created_at: int
    heard_at: int
    is_retired: bool
    changes: int
    profile: dict[str, Any] = {}  # noqa: RUF012  (frozen; how it runs, as far as recorded)
    order: tuple[Any, ...] = ()  # sort key for actors: the last registration
    since: tuple[Any, ...] = ()  # the place of its registration: earlier messages are not addressed to it
    changed_at: int = 0
    is_wanted: bool = False  # whether it should run
    session: str = ""  # the current session (`callers`); empty if unknown
    session_at: int = 0  # when that session was opened
    former: tuple[str, ...] = ()  # earlier sessions
    registrations: tuple[Registration, ...] = ()  # in force, if there are several (`name_claims`); else empty
    opened: tuple[tuple[tuple[Any, ...], str, int], ...] = ()  # then: place, digest and time of each session
    emails: tuple[str, ...] = ()  # the addresses under which its commits appear

    def without_sessions_of(self, writers: Collection[str]) -> Agent:
        """The agent without the sessions that these WRITERS opened."""
        *former, last = [((), "", 0), *sorted(one for one in self.opened if one[0][1] not in writers)]
        earlier = tuple(sorted({digest for _, digest, _ in former if digest not in ("", last[1])}))
        return self.replace(session=last[1], session_at=last[2], former=earlier)


def keys(fact: AgentFact, at: Place) -> list[str]:  # noqa: ARG001  (other folds name their entries by place)
    """The entry of the roster that FACT is about."""
    return [fact.agent]


def step(state: State | None, fact: AgentFact, at: Place, ts: str) -> State:
    """STATE after one more fact, AT its place in the total order, written at TS."""
    after = dict(state or {"changes": 0})
    latest(after, "heard", at, ts)
    match fact:
        case Registered(role=role, title=title, profile=profile, session=session, emails=emails):
            _open(after, at, ts, session if session and is_session(session) else "")
            earliest(after, "joined", at, ts)
            latest(after, "placed", at, ts)
            latest(after, "retired", at, False)
            latest(after, REGISTERED + event(at), at, None)
            _keep_given(after, at, {"role": role, "title": title, "emails": emails})
            _keep(after, at, profile)
        case Updated(role=role, title=title, profile=profile, session=session, emails=emails):
            if is_session(session):
                _open(after, at, ts, session or "")
            _keep_given(after, at, {"role": role, "title": title, "emails": emails})
            _keep(after, at, profile)
        case Retired():
            latest(after, "retired", at, True)
            latest(after, "left", at, True)
            latest(after, LEFT + event(at), at, None)
            latest(after, "wanted", at, False)  # a later agent of that name must be started again
        case NameSettled(registration=registration, renamed_to=name):
            earliest(after, SETTLED + registration, at, name)
        case Started() | Stopped():
            latest(after, HOW + "enabled", at, isinstance(fact, Started))
            latest(after, "wanted", at, isinstance(fact, Started))
        case Seen(session=session):
            if is_session(session):
                _open(after, at, ts, session or "")
            return after
    latest(after, "changed", at, ts)
    after["changes"] += 1
    return after


def _open(state: State, at: Place, ts: str, session: str) -> None:
    """Record that SESSION was opened under the name. It is empty if unknown."""
    latest(state, "session", at, [ts, session])
    if session:
        latest(state, OPENED + session.removeprefix(NAMED_BY_BB), at, ts)


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """The search terms of an agent: its current session, whether its name has rivals, and when it was last heard of."""
    registrations = _registrations(state)
    found = [(RIVALS, "")] if len([one for one in registrations if not one.is_merged]) > 1 else []
    if "joined" in state and not registrations:
        found.append((GONE, ""))
    elif "joined" in state:
        when = moment(clock.parse_or(state["heard"][3], 0))
        found += [(HEARD, when), (role_term(state["role"][3]), when), (JOINED, sortable(state["placed"][:3]))]
    session = state["session"][3][1] if "session" in state else ""
    return (
        [(session_term(session.removeprefix(NAMED_BY_BB)), sortable(state["session"][:3])), *found]
        if session
        else found
    )


def moment(at: int) -> str:
    """A time as the place of a search term: it sorts."""
    return f"{max(at, 0):015}"


def role_term(role: str) -> str:
    """The search term for the agents in service with that role, by the time of their last event."""
    return f"role {role}"


def _registrations(state: Mapping[str, Any]) -> list[Registration]:
    """The registrations in force, one for each writer. A retirement ends the registration of its writer; by a writer
    without one, it ends them all. A registration whose agent has another name now is over."""
    lives = sorted((value[:3], name) for name, value in state.items() if name.startswith((REGISTERED, LEFT)))
    in_force: dict[str, Place] = {}
    for place, name in lives:
        if name.startswith(REGISTERED):
            in_force[place[1]] = place
        elif in_force.pop(place[1], None) is None:
            in_force.clear()
    found = []
    for place in in_force.values():
        settled = state.get(SETTLED + event(place))
        if settled is None or settled[3] is None:
            found.append(Registration(event(place), sortable(place), settled is not None))
    return sorted(found, key=lambda one: one.place)


def _opened(state: Mapping[str, Any]) -> tuple[tuple[tuple[Any, ...], str, int], ...]:
    found = ((register, name[len(OPENED) :]) for name, register in state.items() if name.startswith(OPENED))
    return tuple(sorted((tuple(register[:3]), digest, clock.parse_or(register[3], 0)) for register, digest in found))


def session_term(session: str) -> str:
    """The search term for the agents of SESSION."""
    return f"session {session}"


def _keep_given(state: State, at: Place, members: Mapping[str, Any]) -> None:
    """Store the MEMBERS that are given."""
    for name, value in members.items():
        if value is not None:
            latest(state, name, at, value)


def _keep(state: State, at: Place, profile: Mapping[str, Any] | None) -> None:
    """Store the valid fields of PROFILE."""
    for name, kind in PROFILE.items():
        value = (profile or {}).get(name)
        if type(value) is kind and not (isinstance(value, list) and any(type(word) is not str for word in value)):
            latest(state, HOW + name, at, value)


def in_service(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The agents that are not retired."""
    return [registered for name, state in states if (registered := agent(name, state)) and not registered.is_retired]


def agent(agent_id: str, state: Mapping[str, Any] | None) -> Agent | None:
    """The agent that STATE describes, or None if its registration has not arrived in this clone."""
    if state is None or "joined" not in state:
        return None
    value = {name: register[3] for name, register in state.items() if name != "changes"}
    opened_at, session = value.get("session", ("", ""))
    ever = [name.removeprefix(OPENED) for name in value if name.startswith(OPENED)]
    registrations = _registrations(state)
    several = registrations if len(registrations) > 1 else ()
    return Agent(
        agent_id=agent_id,
        role=value["role"],
        title=value["title"],
        created_at=clock.parse_or(value["joined"], 0),
        heard_at=clock.parse_or(value["heard"], 0),
        is_retired=not registrations,
        changes=state["changes"],
        profile={name.removeprefix(HOW): kept for name, kept in value.items() if name.startswith(HOW)},
        order=tuple(state["placed"][:3]),
        # Registering again without having retired changes the order, but not the time of joining.
        since=tuple(state["placed" if "left" in state else "joined"][:3]),
        changed_at=clock.parse_or(value["changed"], 0),
        is_wanted=value.get("wanted", False),
        session=session,
        session_at=clock.parse_or(opened_at, 0) if session else 0,
        registrations=tuple(several),
        opened=_opened(state) if several else (),
        former=tuple(sorted(earlier for earlier in ever if earlier != session.removeprefix(NAMED_BY_BB))),
        emails=tuple(value.get("emails", ())),
    )


def in_order(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The agents that are not retired, in the order of their registration."""
    return sorted(in_service(states), key=lambda agent: agent.order)
