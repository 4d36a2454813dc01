"""The state that the rules of attention read (`Book`), from the index and the journals."""

from __future__ import annotations

from bb.attention.state.agent_status import AgentStatus
from bb.attention.state.attention_state import AttentionState
from bb.coordination.agents import liveness, roster
from bb.kernel.errors import BbError
from bb.ledger.index import counting
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.local import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator
    from typing import Any

    from bb.coordination.agents.roster import Agent
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store


def book(store: Store, index: Index, now: int, stale_after: int) -> AttentionState:
    """The state as of NOW."""
    counted = counting.for_index(index) if index.law is not None else None
    is_unsigned = counted.is_unsigned_by_the_person if counted else None
    return AttentionState(
        index, Agents(store, index, now, stale_after), lambda name: event_data(store, name), is_unsigned
    )


class RegisteredAgent(AgentStatus):
    """A registered agent that is not retired. Its liveness is looked up on first use."""

    def __init__(self, agents: Agents, agent: Agent) -> None:
        self.role = agent.role
        self._agents, self._agent = agents, agent
        self._state: str | None = None

    @property
    def _liveness(self) -> str:
        if self._state is None:
            self._state = self._agents.liveness_of(self._agent)
        return self._state

    @property
    def is_live(self) -> bool:  # type: ignore[override]
        return self._liveness == liveness.ACTIVE

    @property
    def is_evicted(self) -> bool:  # type: ignore[override]
        return self._liveness == liveness.EVICTED


class Agents:
    """The registered agents that are not retired, by name. Looking up one agent does not load the others."""

    def __init__(self, store: Store, index: Index, now: int, stale_after: int) -> None:
        self._store, self._index, self._now, self._stale_after = store, index, now, stale_after
        self._known: dict[str, RegisteredAgent | None] = {}
        self._has_all = False

    def get(self, name: str, otherwise: RegisteredAgent | None = None) -> RegisteredAgent | None:
        if name not in self._known and not self._has_all:
            agent = roster.agent(name, self._index.state(roster.NAME, name))
            self._known[name] = RegisteredAgent(self, agent) if agent and not agent.is_retired else None
        return self._known.get(name) or otherwise

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> RegisteredAgent:
        agent = self.get(name)
        if agent is None:
            raise KeyError(name)
        return agent

    def _all(self) -> dict[str, RegisteredAgent]:
        if not self._has_all:
            states = self._index.states(roster.NAME)
            self._known = {agent.agent_id: RegisteredAgent(self, agent) for agent in roster.in_order(states)}
            self._has_all = True
        return {name: agent for name, agent in self._known.items() if agent}

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, RegisteredAgent]:
        return self._all().items()

    def liveness_of(self, agent: Agent) -> str:
        """Whether an agent is active, stale or evicted."""
        last = presence.read(self._store.path, agent.agent_id, self._now)
        if last and last.paused:  # a paused agent is not silent
            return liveness.ACTIVE
        seen = presence.last_seen(agent.heard_at, last, self._now)
        return liveness.liveness(seen, self._now, self._stale_after, last.ended_at if last else 0)


def event_data(store: Store, name: str) -> dict[str, Any] | None:
    """The data of the event NAME; None if there is no such line, or its payload was removed."""
    try:
        writer, dot, n = name.partition(".")
        raw = Journal(store.path, writer).line(int(n)) if dot else None
        return lines.event(raw).data if raw is not None and not lines.is_blank(raw) else None
    except (BbError, lines.Unreadable, ValueError, OSError):
        return None
