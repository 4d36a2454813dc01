"""Settings of conversations and of the host, and names of agents. A fold: the last value of each setting counts."""

from __future__ import annotations

from bb.attention.facts import Arranged, Bound, Tuned
from bb.attention.words import CHANNEL, CONVERSATIONS, DM
from bb.kernel.ids import PERSON
from bb.kernel.record import Record
from bb.kernel.total_order import latest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
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
    lead: str = ""
    owner: str = ""
    platform: str = ""
    workspace: str = ""
    stream: str = ""
    is_external: bool = False  # whether messages in it have to be posted on another platform
    is_muted: bool = False

    def admits(self, agent: str) -> bool:
        """Whether an agent may see the messages of this conversation."""
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
    return after


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


def _fits(point: str, value: Any) -> bool:
    if point == "kind":
        return value in CONVERSATIONS
    if point == "members":
        return isinstance(value, list) and all(isinstance(member, str) for member in value)
    return type(value) is (bool if point.startswith("is_") else str)


def private(said: Conversation) -> bool:
    """Whether the messages of a conversation are not for everyone."""
    return said.is_private or said.kind == DM
