"""Kinds of parameters that only a few verbs take: names and roles of agents, authors, reasons and times."""

from __future__ import annotations

from bb.coordination.agents import identity
from bb.kernel import ids
from bb.kernel.escaping import harmless
from bb.ops.params import AgentOrPerson, AllowSecretReason, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Name(Text):
    """A name; it must not be empty."""

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text.strip():
            raise invalid(f"{name} must not be empty", name)
        return text


class NewAgentId(Text):
    """The agent's id: lower-case words joined by hyphens, such as amber-otter."""

    metavar = "ID"
    is_agent = True

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return ids.agent_id(text)


class Since(Text):
    """Only entries since this time: a time such as 2026-11-21T03:40:35Z, or an age such as 90s, 15m, 2h, 7d."""

    metavar = "TIME"


class Role(Text):
    """The agent's role, such as builder, reviewer or tester."""

    metavar = "ROLE"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return identity.role(text)


class DisplayName(Text):
    """The name to show to people. Default: the id."""

    metavar = "NAME"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return identity.title(text)


class Email(Text):
    """An address under which its commits appear, as author or co-author. CI uses it for commits without a trailer."""

    metavar = "ADDRESS"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        from bb.coordination.agents import addresses  # noqa: PLC0415  (few agents have addresses)

        return addresses.address(text)


class AsPerson(AgentOrPerson):
    """`user` confirms that you are the person. Needed only in a shell where BB_AGENT names an agent."""


class Why(AllowSecretReason):
    """The reason, in one line; the agents concerned see it."""

    metavar = "TEXT"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if harmless(text.strip()) != text.strip():
            raise invalid(f"{name} must be one line", name)
        return super().checked(text, name)
