"""The names of agents: it finds the agents behind a mention, a role, a stream or a private conversation.

In the ledger itself an agent is known by its id and its role. On any other platform it is known only by the names that
it was bound to; without a binding no message there can be aimed at it.
"""

from __future__ import annotations

from bb.attention.messages.message import HERE
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

EVERYBODY = frozenset(["@all", "@here", "@channel", "@everyone", "@peers"])
MEMBERS = ("handles", "roles", "streams", "threads", "conversations")
EARLIER = "earlier"
LONGEST, MOST = 200, 200


class Binding(Record):
    """The names of one agent. A handle is `<platform>:<id>`."""

    agent: str
    handles: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()  # `@backend` on every platform, `slack:@S123` on one
    streams: tuple[str, ...] = ()  # work that it owns
    threads: tuple[str, ...] = ()  # threads that it owns: `<conversation> <thread>`
    conversations: tuple[str, ...] = ()  # private conversations with it
    earlier: tuple[str, ...] = ()  # messages that named it before it was bound to that name

    def leads_from(self, platform: str) -> bool:
        """Whether the agent has any name that could be used on PLATFORM."""
        if platform == HERE or self.conversations or self.roles or self.streams or self.threads:
            return True
        return any(handle.startswith(f"{platform}:") for handle in self.handles)

    def names(self) -> dict[str, list[str]]:
        """The names as they are recorded and shown."""
        return {member: list(getattr(self, member)) for member in MEMBERS}


def binding(agent: str, names: Mapping[str, Any]) -> Binding:
    """The binding of AGENT from the NAMES on a line."""
    lists = {}
    for member in MEMBERS:
        value = names.get(member)
        listed = value if isinstance(value, list) else []
        lists[member] = tuple(name[:LONGEST] for name in listed[:MOST] if isinstance(name, str))
    earlier = names.get(EARLIER)
    lists[EARLIER] = tuple(filter(lambda event: isinstance(event, str), earlier if isinstance(earlier, list) else ()))
    return Binding(agent, **lists)


def is_role(name: str) -> bool:
    """Whether NAME has the form of a role or group. An id of Matrix begins with @, too, but names a server."""
    return name.startswith("@") and ":" not in name


class Directory:
    """All bindings, with search by each kind of name."""

    def __init__(self, bindings: Iterable[Binding], roles: Mapping[str, str] | None = None) -> None:
        self.bindings = {binding.agent: binding for binding in bindings}
        self.by_handle: dict[str, str] = {}
        self._by_role: dict[str, list[str]] = {}
        self._by_stream: dict[str, list[str]] = {}
        self.by_thread: dict[str, str] = {}
        self.by_conversation: dict[str, list[str]] = {}
        for binding in self.bindings.values():
            self._note(binding, (roles or {}).get(binding.agent, ""))

    def _note(self, each: Binding, role: str) -> None:
        self.by_handle[f"agent:{each.agent}"] = self.by_handle[f"{HERE}:{each.agent}"] = each.agent
        for handle in each.handles:
            self.by_handle[handle] = each.agent
        for name in (*each.roles, *([f"{HERE}:@{role}"] if role else [])):
            self._by_role.setdefault(name.casefold(), []).append(each.agent)
        for stream in each.streams:
            self._by_stream.setdefault(stream, []).append(each.agent)
        for thread in each.threads:
            self.by_thread[thread] = each.agent
        for conversation in each.conversations:
            self.by_conversation.setdefault(conversation, []).append(each.agent)

    def __contains__(self, agent: str) -> bool:
        return agent in self.bindings

    def agent(self, name: str, platform: str) -> str | None:
        """The agent with that name on a platform; None if there is none."""
        agent = self.by_handle.get(f"{platform}:{name}")
        return agent or (self.by_handle.get(name) if ":" in name else None)

    def role(self, name: str, platform: str) -> tuple[str, ...]:
        """The agents of a role or group on a platform."""
        if name.casefold() in EVERYBODY:
            return tuple(self.bindings)
        group = (name if name.startswith("@") else f"@{name}").casefold()
        return tuple(self._by_role.get(f"{platform}:{group}") or self._by_role.get(group) or ())

    def owners(self, stream: str) -> tuple[str, ...]:
        """The agents that own a stream of work."""
        return tuple(self._by_stream.get(stream, ())) if stream else ()
