"""Pauses: the person tells one agent, or all agents, to change nothing for now.

The latest order applies, whether it names one agent or all agents: an agent unpaused by name may work while all others
are paused, until all are paused again. A pause of all agents includes agents that register later. Only the person's
orders count; an agent's are kept in the ledger and ignored.

A paused agent may still read, reply, hand over and release, so that others can continue its work.
"""

from __future__ import annotations

from bb.coordination.facts import Paused, Unpaused
from bb.kernel import escaping, ids
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.kernel.total_order import latest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.facts import PauseFact
    from bb.kernel.total_order import Place, State

NAME = "pause"
FACTS = (Paused, Unpaused)
EVERYBODY = "*"
WORD = "word"
BEAD = "pause"  # the bead of a notification to an agent without reservations

AgentPaused = Refused.declare(
    "AGENT_PAUSED",
    "The person has paused this agent",
    hint="change nothing; you may still read, `bb reply`, `bb handoff` and `bb release`",
)


class Pause(Record):
    """A pause of one agent or of all agents."""

    since: str
    why: str | None
    is_everybodys: bool

    def sentence(self, whom: str = "you") -> str:
        """For example: `user paused you at 2026-11-03T10:00:00.000Z: "the release is being cut"`."""
        whom = "all agents" if self.is_everybodys else whom
        return f"{ids.PERSON} paused {whom} at {self.since}{f': {escaping.quotation(self.why)}' if self.why else ''}"

    def as_json(self) -> dict[str, Any]:
        """A pause as every face shows it."""
        return {"by": ids.PERSON, "since": self.since, "why": self.why, "everybody": self.is_everybodys}


def keys(fact: PauseFact, at: Place) -> list[str]:  # noqa: ARG001
    """The agent that FACT is about, or EVERYBODY."""
    return [fact.agent]


def step(state: State | None, fact: PauseFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    if fact.by == ids.PERSON:
        latest(after, WORD, at, [ts, fact.why] if isinstance(fact, Paused) else None)
    return after


def about(agent: str) -> tuple[str, ...]:
    """The entries that say whether AGENT is paused."""
    return (EVERYBODY, agent)


def pause(states: Mapping[str, State], agent: str) -> Pause | None:
    """The pause of AGENT according to STATES, or None if AGENT may work. The person is never paused."""
    if agent == ids.PERSON:
        return None
    orders = [(*states[name][WORD], name) for name in about(agent) if WORD in states.get(name, ())]
    if not orders:
        return None
    *_, word, name = max(orders, key=lambda order: order[:3])
    return Pause(word[0], word[1], name == EVERYBODY) if word else None


def refuse(pause: Pause | None, agent: str) -> None:
    """Refuse a change by AGENT if it is paused."""
    if pause:
        raise AgentPaused(pause.sentence(), agent_id=agent, paused=pause.as_json())
