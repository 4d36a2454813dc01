"""The roster: all agents that ever registered, as a fold.

Facts may arrive in any order. Each field is a register that keeps the value with the highest sequence; the time of
registration keeps the lowest. The ledger passes each line once, so clones with the same lines have the same roster.
"""

from __future__ import annotations

from bb.coordination.facts import Registered, Retired, Seen, Started, Stopped, Updated
from bb.kernel import clock
from bb.kernel.ids import NAMED_BY_BB, is_session
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, latest, sortable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bb.coordination.facts import AgentFact
    from bb.kernel.total_order import Place, State

NAME = "agent"
FACTS = (Registered, Updated, Retired, Started, Stopped, Seen)
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
OPENED = "opened "  # prefix of the registers that hold the sessions opened under the name


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
    emails: tuple[str, ...] = ()  # the addresses under which its commits appear


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
            latest(after, "wanted", at, False)  # a later agent of that name must be started again
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
    """The search terms of an agent: its current session."""
    session = state["session"][3][1] if "session" in state else ""
    return [(session_term(session.removeprefix(NAMED_BY_BB)), sortable(state["session"][:3]))] if session else []


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
    return Agent(
        agent_id=agent_id,
        role=value["role"],
        title=value["title"],
        created_at=clock.parse_or(value["joined"], 0),
        heard_at=clock.parse_or(value["heard"], 0),
        is_retired=value["retired"],
        changes=state["changes"],
        profile={name.removeprefix(HOW): kept for name, kept in value.items() if name.startswith(HOW)},
        order=tuple(state["placed"][:3]),
        # Registering again without having retired changes the order, but not the time of joining.
        since=tuple(state["placed" if "left" in state else "joined"][:3]),
        changed_at=clock.parse_or(value["changed"], 0),
        is_wanted=value.get("wanted", False),
        session=session,
        session_at=clock.parse_or(opened_at, 0) if session else 0,
        former=tuple(sorted(earlier for earlier in ever if earlier != session.removeprefix(NAMED_BY_BB))),
        emails=tuple(value.get("emails", ())),
    )


def in_order(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The agents that are not retired, in the order of their registration."""
    return sorted(in_service(states), key=lambda agent: agent.order)
