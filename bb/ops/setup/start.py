"""`bb start`: gives this session its agent, whether it is new, goes on, or continues the work of a silent agent."""

from __future__ import annotations

from bb.coordination.agents import adoption, identity, liveness, roster
from bb.coordination.agents.callers import NotYourName, is_current
from bb.coordination.agents.identity import DuplicateAgentId
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ops.agent_params import NewAgentId, Role
from bb.ops.agents import agent as agents
from bb.ops.agents import heartbeat
from bb.ops.catalogue import MissingOption, op
from bb.ops.desk import signs_of_life
from bb.ops.overview import overview
from bb.ops.params import AgentId, AgentOrPerson, UncheckedAgent, UncheckedText
from bb.ops.setup import session_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.ops.desk.desk import Desk

ANOTHER = "to start under an unused name: `bb start`"
REGISTERED, CONTINUED, ADOPTED = "register", "continue", "adopt"


class Name(UncheckedAgent):
    """The agent's name, such as amber-otter. Default: the name that this session has, else an unused one."""

    metavar = "NAME"


@op(
    "start",
    screen="start",
    examples=("bb start", "bb start amber-otter --role builder", "bb start amber-otter --adopt"),
)
def start(
    desk: Desk, name: Name | None = None, *, role: UncheckedText | None = None, adopt: bool = False
) -> dict[str, Any]:
    """Start working as an agent: register under an unused name, or go on under the name that this session has.

    Without a name, bb goes on under the session's name, or chooses an unused one that no other caller gets. The answer
    has the line to export, if bb does not know the session by its host's id; and if the session goes on, what `bb
    resume` says. If the repository has no ledger, it is created.

    The name of another session is never taken over silently. To continue the work of a silent agent, pass --adopt. This
    needs evidence of unfinished work here, as `bb init --adopt` does.

    Parameters:
        role (ROLE): The role of a new agent. Default: `agent`.
        adopt: Continue the work of the agent NAME, whose session has ended.
    """
    wanted = identity.role(session_start.ROLE if role is None else role)
    own = _own_name(desk)
    if name is not None:
        ids.agent_id(name)
    known = _known(desk, name or own)
    if adopt and not (_is_in_service(known) and own == (name or own)):
        return _adopted(desk, name or own)
    if name is not None and own is not None and name != own and _is_in_service(_known(desk, own)):
        hint = (
            f"to go on as {own}: `bb start`; to register another agent: `bb agent register --name {name} --role ROLE`"
        )
        raise NotYourName(f"this session is {own} already", hint=hint, agent_id=own)
    if known is not None and (name is None or own == name or is_current(known.session, desk.sessions)):
        if not known.is_retired:
            return _continued(desk, known.agent_id)
        if name is None:
            known = None
            own = None
    if known is not None:
        raise _taken(desk, known)
    return _registered(desk, name or own, wanted)


def _own_name(desk: Desk) -> str | None:
    """The name that this session has: BB_AGENT, or the name that belongs to the session's id."""
    agent = desk.actor(None)
    if not agent and desk.sessions and desk.store.exists:
        agent = next(iter(signs_of_life.names_of(desk.store.caught_up(), desk.sessions)), "")
    return ids.actor_id(agent) if agent and agent != ids.PERSON else None


def _known(desk: Desk, name: str | None) -> Agent | None:
    if name is None or not desk.store.exists:
        return None
    return roster.agent(name, desk.store.caught_up().state(roster.NAME, name))


def _is_in_service(agent: Agent | None) -> bool:
    return agent is not None and not agent.is_retired


def _registered(desk: Desk, name: str | None, role: str) -> dict[str, Any]:
    is_new = not desk.store.exists
    if name is None:
        name = agents.register_free(desk, Role(role))
    else:
        agents.register(desk, name=NewAgentId(ids.agent_id(name)), role=Role(role))
    return {"agent_id": name, "mode": REGISTERED, "role": role, "created": is_new, **_export(desk, name)}


def _continued(desk: Desk, name: str) -> dict[str, Any]:
    heartbeat.heartbeat(desk, agent=AgentId(name))
    resume = overview.resume(desk, agent=AgentOrPerson(name))
    return {"agent_id": name, "mode": CONTINUED, "role": resume["role"], **_export(desk, name), "resume": resume}


def _adopted(desk: Desk, name: str | None) -> dict[str, Any]:
    if name is None:
        raise MissingOption(
            "--adopt needs the name of the agent", hint="`bb agent list` lists the names", option="NAME"
        )
    try:
        done = session_start.adopt_agent(desk, name, (), None, may_ask=True)
    except adoption.AdoptionRejected.error as refusal:
        if refusal.details.get("reason") == adoption.NO_EVIDENCE:
            refusal.hint = ANOTHER
        raise
    resume = overview.resume(desk, agent=AgentOrPerson(name))
    return {
        "agent_id": name,
        "mode": ADOPTED,
        "role": resume["role"],
        "evidence": done["evidence"],
        **_export(desk, name, done["session_id"]),
        "resume": resume,
    }


def _export(desk: Desk, name: str, session: str | None = None) -> dict[str, Any]:
    """The one line that tells bb in this shell who the caller is; None if bb knows it by the host's session id."""
    if session is None and (desk.env.get("BB_AGENT") == name or desk.session_agent() == name):
        return {"export": None}
    return {"export": f"export BB_AGENT={name}" + (f" BB_SESSION={session}" if session else "")}


def _taken(desk: Desk, known: Agent) -> BbError:
    """The refusal of a name that another session has, or that nobody has shown to be this session's."""
    name, index = known.agent_id, desk.store.caught_up()
    state = liveness.EVICTED if known.is_retired else signs_of_life.state_of(desk, index, known, desk.now())
    if state == liveness.ACTIVE:
        is_you = f"if you are {name}: `export BB_AGENT={name}`"
        return DuplicateAgentId(f"{name} is registered and active", hint=f"{ANOTHER}; {is_you}", agent_id=name)
    silent = "retired" if known.is_retired else "silent"
    if evidence := session_start.evidence_of(desk, index, name):
        return DuplicateAgentId(
            f"{name} is {silent} and left unfinished work here: {evidence.text}",
            hint=f"to continue its work: `bb start {name} --adopt`; {ANOTHER}",
            agent_id=name,
            reason=evidence.reason,
        )
    return DuplicateAgentId(f"{name} is registered already, and is {silent}", hint=ANOTHER, agent_id=name)
