"""What happened to agents."""

from __future__ import annotations

from bb.kernel.record import Record


class Registered(Record):
    """An agent took an identity: a new one, or a retired one again."""

    agent: str
    role: str
    title: str


class Updated(Record):
    """An identity changed; what is None stayed as it was."""

    agent: str
    role: str | None = None
    title: str | None = None


class Retired(Record):
    """An identity is finished with; its history stays."""

    agent: str


class Seen(Record):
    """An agent that had fallen silent was heard of again; AFTER is what it had come to count as."""

    agent: str
    after: str


AgentFact = Registered | Updated | Retired | Seen
