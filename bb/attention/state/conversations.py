"""Settings of conversations and of the host, and names of agents. A fold: the last value of each setting counts."""

from __future__ import annotations

from bb.attention.facts import Arranged, Bound, Tuned
from bb.attention.words import CHANNEL, CONVERSATIONS, DM
from bb.kernel.ids import PERSON
from bb.kernel.record import Record
from bb.kernel.total_order import latest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "c2a.setting"
FACTS = (Arranged, Bound, Tuned)
CONVERSATION, BINDING, TUNING = "conversation ", "agent ", "tuning"  # the keys, or their prefixes
POINTS = (
    "kind",
    "is_private",
    "members",
    "lead",
    "owner",
    "platform",
    "workspace",
    "stream",
    "is_external",
    "is_muted",
)


class Conversation(Record):
    """One conversation."""

    id: str = ""
    kind: str = CHANNEL
    is_private: bool = False
    members: tuple[str, ...] = ()  # the agents that may see a private conversation
    absent: tuple[str, ...] = ()  # agents that have left it, or that a complete list of its members lacks
    is_listed: bool = False  # whether its platform has given a complete list of its members
    lead: str = ""
    owner: str = ""
    platform: str = ""
    workspace: str = ""
    stream: str = ""
    is_external: bool = False  # whether messages in it have to be posted on another platform
    is_muted: bool = False

    def admits(self, agent: str) -> bool:
        """Whether an agent may see the messages of this conversation."""
        if agent in self.absent:
            return False
        return not self.is_private or agent in (PERSON, self.lead, self.owner, *self.members)


def keys(fact: Arranged | Bound | Tuned, at: Place) -> list[str]:  # noqa: ARG001
    """The entry that FACT is about."""
    match fact:
        case Arranged(conversation=conversation):
            return [CONVERSATION + conversation]
        case Bound(agent=agent):
            return [BINDING + agent]
        case Tuned():
            return [TUNING]


def step(state: State | None, fact: Arranged | Bound | Tuned, at: Place, ts: str) -> State:  # noqa: ARG001
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Arranged(about=said) | Tuned(settings=said):
            for name, value in said.items():
                latest(after, name, at, value)
        case Bound(names=names):
            latest(after, "names", at, names)
    return dict(sorted(after.items()))


def values(state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The last value of each setting."""
    return {name: register[3] for name, register in (state or {}).items() if register[3] is not None}


def conversation(name: str, state: Mapping[str, Any] | None) -> Conversation:
    """The conversation that STATE describes. A value of the wrong type counts as not set."""
    settings = values(state)
    fitting: dict[str, Any] = {
        point: tuple(value) if isinstance(value, list) else value
        for point, value in settings.items()
        if point in POINTS and _fits(point, value)
    }
    return Conversation(name, **fitting)


MEMBER, LISTED = "member ", "listed"  # prefix of the setting for one user of a platform; the complete list of users

OF_USERS = (MEMBER, LISTED)


def users(state: Mapping[str, Any] | None) -> tuple[dict[str, bool], bool]:
    """The users of the platform, as `<platform>:<id>`, that are in a conversation or have left it.

    Also whether the platform has given a complete list. Joining and leaving count if they came after that list and,
    for the agents that the person has named as members, after that.
    """
    registers = state or {}
    listed = registers.get(LISTED)
    since = listed[:3] if listed else []
    names = listed[3] if listed and isinstance(listed[3], list) else []
    found = {user: True for user in names if isinstance(user, str)}
    for name, register in registers.items():
        if name.startswith(MEMBER) and register[:3] > since:
            found[name.removeprefix(MEMBER)] = register[3] is True
    return found, listed is not None


def with_users(
    said: Conversation, state: Mapping[str, Any] | None, agent_of: Callable[[str], str | None]
) -> Conversation:
    """A conversation with the members that its platform names. AGENT OF gives the agent behind a user."""
    by_user, is_listed = users(state)
    if not by_user and not is_listed:
        return said
    by_agent = {agent: is_in for user, is_in in by_user.items() if (agent := agent_of(user))}
    named_later = _named_later(state or {}, said.members)
    inside = [agent for agent, is_in in by_agent.items() if is_in]
    absent = tuple(agent for agent, is_in in by_agent.items() if not is_in and agent not in named_later)
    if is_listed:
        others = (*said.members, said.lead, said.owner)
        absent += tuple(agent for agent in others if agent and agent not in by_agent and agent not in named_later)
    members = tuple(agent for agent in dict.fromkeys((*said.members, *inside)) if agent not in absent)
    return said.replace(members=members, absent=tuple(dict.fromkeys(absent)), is_listed=is_listed)


def _named_later(registers: Mapping[str, Any], members: Collection[str]) -> Collection[str]:
    """The members that the person has named after the platform last told of a member."""
    told = [register[:3] for name, register in registers.items() if name == LISTED or name.startswith(MEMBER)]
    named = registers.get("members")
    return members if named and all(named[:3] > place for place in told) else ()


def _fits(point: str, value: Any) -> bool:
    if point == "kind":
        return value in CONVERSATIONS
    if point == "members":
        return isinstance(value, list) and all(isinstance(member, str) for member in value)
    return type(value) is (bool if point.startswith("is_") else str)


def private(said: Conversation) -> bool:
    """Whether the messages of a conversation are not for everyone."""
    return said.is_private or said.kind == DM
