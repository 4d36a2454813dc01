"""Everybody who ever registered, as a fold over the facts about agents.

Facts may arrive in any order: a field is a register that keeps the value with the highest place in the order, the
moment of joining keeps the lowest, and the ledger hands over each line once. So every clone that knows the same lines
has the same roster.
"""

from __future__ import annotations

from bb.coordination.agents.callers import NAMED_BY_BB, is_session
from bb.coordination.facts import Registered, Retired, Seen, Started, Stopped, Updated
from bb.kernel import clock
from bb.kernel.order import earliest, latest, sortable
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bb.coordination.facts import AgentFact
    from bb.kernel.order import Place, State

NAME = "agent"
FACTS = (Registered, Updated, Retired, Started, Stopped, Seen)
# How an actor runs: what of it the ledger keeps, and what each must be. Its environment holds secrets and is not here.
PROFILE: dict[str, type[Any]] = {
    "runtime": str,
    "runner": str,
    "command": list,
    "submit": str,
    "default_scope_key": str,
    "enabled": bool,
}
HOW = "how "  # before the names of these registers
OPENED = "opened "  # before the sessions that have ever worked under the name


class Agent(Record):
    """One identity, as the ledger has it; what is known of its heartbeats is the presence file's business."""

    agent_id: str
    role: str
    title: str
    created_at: int
    heard_at: int
    is_retired: bool
    changes: int
    profile: dict[str, Any] = {}  # noqa: RUF012  (frozen; how it runs, as far as anybody has said)
    order: tuple[Any, ...] = ()  # actors stand in the order of these: of joining, for the last time
    since: tuple[Any, ...] = ()  # where it joined: what was said before is not for it
    changed_at: int = 0
    is_wanted: bool = False  # whether it is to run, as far as anybody has said so
    session: str = ""  # the session that works under the name now (`callers`); empty where it is not known
    session_at: int = 0  # since when
    former: tuple[str, ...] = ()  # the sessions that did so before


def keys(fact: AgentFact, at: Place) -> list[str]:  # noqa: ARG001  (other folds name their entries by place)
    """The entry of the roster that FACT is about."""
    return [fact.agent]


def step(state: State | None, fact: AgentFact, at: Place, ts: str) -> State:
    """STATE after one more fact, which stands AT a place in the total order and was written at TS."""
    after = dict(state or {"changes": 0})
    latest(after, "heard", at, ts)
    match fact:
        case Registered(role=role, title=title, profile=profile, session=session):
            _open(after, at, ts, session if session and is_session(session) else "")
            earliest(after, "joined", at, ts)
            latest(after, "placed", at, ts)
            latest(after, "role", at, role)
            latest(after, "title", at, title)
            latest(after, "retired", at, False)
            _keep(after, at, profile)
        case Updated(role=role, title=title, profile=profile, session=session):
            if is_session(session):
                _open(after, at, ts, session or "")
            if role is not None:
                latest(after, "role", at, role)
            if title is not None:
                latest(after, "title", at, title)
            _keep(after, at, profile)
        case Retired():
            latest(after, "retired", at, True)
            latest(after, "left", at, True)
            latest(after, "wanted", at, False)  # who takes the name later has to be started anew
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
    """A session is opened under the name; an empty one where it is not known which."""
    latest(state, "session", at, [ts, session])
    if session:
        latest(state, OPENED + session.removeprefix(NAMED_BY_BB), at, ts)


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """What an identity is found by: the session that works under it."""
    session = state["session"][3][1] if "session" in state else ""
    return [(of_session(session.removeprefix(NAMED_BY_BB)), sortable(state["session"][:3]))] if session else []


def of_session(session: str) -> str:
    """By what the names of a SESSION are found."""
    return f"session {session}"


def _keep(state: State, at: Place, profile: Mapping[str, Any] | None) -> None:
    """Remember what of a PROFILE makes sense."""
    for name, kind in PROFILE.items():
        value = (profile or {}).get(name)
        if type(value) is kind and not (isinstance(value, list) and any(type(word) is not str for word in value)):
            latest(state, HOW + name, at, value)


def in_service(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The identities that are not retired, of all there are."""
    return [found for name, state in states if (found := agent(name, state)) and not found.is_retired]


def agent(agent_id: str, state: Mapping[str, Any] | None) -> Agent | None:
    """The identity that STATE describes; None until its registration is known here."""
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
        # Who joins again without having left stands elsewhere, and has been there all along.
        since=tuple(state["placed" if "left" in state else "joined"][:3]),
        changed_at=clock.parse_or(value["changed"], 0),
        is_wanted=value.get("wanted", False),
        session=session,
        session_at=clock.parse_or(opened_at, 0) if session else 0,
        former=tuple(sorted(each for each in ever if each != session.removeprefix(NAMED_BY_BB))),
    )


def in_order(states: Iterable[tuple[str, State | None]]) -> list[Agent]:
    """The identities in service, in the order in which they joined."""
    return sorted(in_service(states), key=lambda agent: agent.order)
