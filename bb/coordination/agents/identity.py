"""Who may call itself what (Operative Protocol §3.3): a session starts under a name nobody has yet."""

from __future__ import annotations

from bb.coordination.agents.liveness import ACTIVE
from bb.kernel.errors import Conflict, NotFound, Refused, Usage
from bb.kernel.show import has_control
from bb.kernel.validity import is_role, is_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.agents.roster import Agent
    from bb.coordination.facts import AgentFact


class InvalidRole(Usage):
    """A role is one line of 1 to 64 characters."""

    code = "INVALID_ROLE"
    hint = "for example builder, reviewer, tester"


class InvalidDisplayName(Usage):
    """A display name is one line of 1 to 80 characters."""

    code = "INVALID_DISPLAY_NAME"
    hint = "leave it out to be shown by the agent's id"


class DuplicateAgentId(Conflict):
    """Another session already goes by that name."""

    code = "DUPLICATE_AGENT_ID"
    hint = "choose another name: `bb agent name` has free ones; if it is you, --force-update changes your role"


class AgentNotFound(NotFound):
    """No agent of that name is registered."""

    code = "AGENT_NOT_FOUND"
    hint = "`bb agent list` shows who is; `bb agent register --name NAME --role ROLE` adds one"


class AgentRetired(Refused):
    """That identity is retired."""

    code = "AGENT_RETIRED"
    hint = "register under a new name; who goes on with its work adopts it: `bb init --adopt ID`"


class AdoptionNeeded(Refused):
    """That agent has fallen silent; to go on under its name is to adopt it."""

    code = "ADOPTION_NEEDED"
    hint = "`bb init --adopt ID`; if it is you who was silent, `bb agent heartbeat` first"


def role(text: str) -> str:
    """TEXT as a role."""
    trimmed = text.strip()
    if not is_role(trimmed) or has_control(trimmed):
        raise InvalidRole
    return trimmed


def title(text: str) -> str:
    """TEXT as a display name."""
    trimmed = text.strip()
    if not is_title(trimmed) or has_control(trimmed):
        raise InvalidDisplayName
    return trimmed


def register(present: Agent | None, agent: str, role: str, title: str | None, *, force: bool, state: str) -> AgentFact:
    """Decide whether AGENT may be registered, given whom the roster PRESENTly has under that name, and in which STATE.

    An identity is changed by itself, while it is at work. Whoever comes back to one adopts it (§3.3.2).
    """
    from bb.coordination.facts import Registered, Updated  # noqa: PLC0415  (a heartbeat says none)

    if present is None:
        return Registered(agent, role, title or agent)
    if not force:
        known_as = "retired" if present.is_retired else "registered"
        raise DuplicateAgentId(f"{agent} is already {known_as}", agent_id=agent)
    if in_service(present, agent) and state != ACTIVE:
        raise AdoptionNeeded(f"{agent} has fallen silent, and is {state}", agent_id=agent)
    return Updated(agent, role, title)


def known(present: Agent | None, agent: str) -> Agent:
    """The agent, when it is registered at all."""
    if present is None:
        raise AgentNotFound(f"no agent {agent} is registered", agent_id=agent)
    return present


def in_service(present: Agent | None, agent: str) -> Agent:
    """The agent, when it is registered and not retired."""
    if known(present, agent).is_retired:
        raise AgentRetired(f"{agent} is retired", agent_id=agent)
    return known(present, agent)
