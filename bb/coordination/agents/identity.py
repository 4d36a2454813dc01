"""Registration of agents (Operative Protocol §3.3): a new session registers under an unused name."""

from __future__ import annotations

from bb.coordination.agents.liveness import ACTIVE
from bb.kernel.errors import Conflict, NotFound, Refused, Usage
from bb.kernel.escaping import has_control
from bb.kernel.validation import is_role, is_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.agents.roster import Agent
    from bb.coordination.facts import AgentFact

InvalidRole = Usage.declare(
    "INVALID_ROLE", "A role is one line of 1 to 64 characters", hint="for example builder, reviewer, tester"
)

InvalidDisplayName = Usage.declare(
    "INVALID_DISPLAY_NAME",
    "A display name is one line of 1 to 80 characters",
    hint="omit it to use the agent's id as display name",
)

DuplicateAgentId = Conflict.declare(
    "DUPLICATE_AGENT_ID",
    "That name is already registered",
    hint="choose another name: `bb agent name` suggests unused names; to change your own role, pass --force-update",
)

AgentNotFound = NotFound.declare(
    "AGENT_NOT_FOUND",
    "No agent with that name is registered",
    hint="list the agents: `bb agent list`; register one: `bb agent register --name NAME --role ROLE`",
)

AgentRetired = Refused.declare(
    "AGENT_RETIRED",
    "That agent is retired",
    hint="register under a new name: `bb init --register NAME`; to continue its work: `bb init --adopt ID`",
)

AdoptionNeeded = Refused.declare(
    "ADOPTION_NEEDED",
    "That agent has stopped sending heartbeats, so its name must be adopted",
    hint="adopt it: `bb init --adopt ID`; if you are that agent: `bb agent heartbeat`",
)


def role(text: str) -> str:
    """TEXT as a role."""
    trimmed = text.strip()
    if not is_role(trimmed) or has_control(trimmed):
        raise InvalidRole()
    return trimmed


def title(text: str) -> str:
    """TEXT as a display name."""
    trimmed = text.strip()
    if not is_title(trimmed) or has_control(trimmed):
        raise InvalidDisplayName()
    return trimmed


def register(
    present: Agent | None,
    agent: str,
    role: str,
    title: str | None,
    *,
    force: bool,
    state: str,
    emails: Sequence[str] | None = None,
) -> AgentFact:
    """Decide whether AGENT may be registered. PRESENT is the agent that has the name now, STATE its liveness. EMAILS
    replace the addresses of its commits.

    An active agent may change its own identity. A new session that reuses a name must adopt it (§3.3.2).
    """
    from bb.coordination.facts import Registered, Updated  # noqa: PLC0415  (a heartbeat says none)

    if emails is not None:
        from bb.coordination.agents import addresses  # noqa: PLC0415  (few agents have addresses)

        addresses.refuse_too_many(emails)
    ours = None if emails is None else list(dict.fromkeys(map(str, emails)))
    if present is None:
        return Registered(agent, role, title or agent, emails=ours)
    if not force:
        known_as = "retired" if present.is_retired else "registered"
        raise DuplicateAgentId(f"{agent} is already {known_as}", agent_id=agent)
    if in_service(present, agent) and state != ACTIVE:
        raise AdoptionNeeded(f"{agent} is {state}: it has stopped sending heartbeats", agent_id=agent)
    return Updated(agent, role, title, emails=ours)


def registered(present: Agent | None, agent: str) -> Agent:
    """The agent PRESENT. Refused if it is not registered."""
    if present is None:
        raise AgentNotFound(f"no agent {agent} is registered", agent_id=agent)
    return present


def in_service(present: Agent | None, agent: str) -> Agent:
    """The agent PRESENT. Refused if it is not registered or retired."""
    if registered(present, agent).is_retired:
        raise AgentRetired(f"{agent} is retired", agent_id=agent)
    return registered(present, agent)
