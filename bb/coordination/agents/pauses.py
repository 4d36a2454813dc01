"""Whom the person has told to change nothing for now.

The last word counts, whether it was about one agent or about everybody: who is let go on by name works although
everybody else is paused, until everybody is paused anew. A pause of everybody includes who joins later. An agent's
word about it is kept in the ledger, as any line is, and counts for nothing.

A paused agent may still read, answer, hand over and give back, so that others can go on with its work.
"""

from __future__ import annotations

from bb.coordination.facts import Paused, Unpaused
from bb.kernel import ids, show
from bb.kernel.errors import Refused
from bb.kernel.order import latest
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.facts import PauseFact
    from bb.kernel.order import Place, State

NAME = "pause"
FACTS = (Paused, Unpaused)
EVERYBODY = "*"
WORD = "word"
BEAD = "pause"  # what a letter about it is about, to somebody who holds nothing


class AgentPaused(Refused):
    """The person has paused this agent."""

    code = "AGENT_PAUSED"
    hint = "change nothing; reading, answering, `bb protocol handoff` and `bb agent release` go on working"


class Pause(Record):
    """That somebody is paused, since when, and why."""

    since: str
    why: str | None
    is_everybodys: bool

    def told(self, whom: str = "you") -> str:
        """`user has paused you, since …: "the release is being cut"`."""
        whom = "everybody" if self.is_everybodys else whom
        return (
            f"{ids.PERSON} has paused {whom}, since {self.since}{f': {show.quotation(self.why)}' if self.why else ''}"
        )

    def shown(self) -> dict[str, Any]:
        """A pause as every face shows it."""
        return {"by": ids.PERSON, "since": self.since, "why": self.why, "everybody": self.is_everybodys}


def keys(fact: PauseFact, at: Place) -> list[str]:  # noqa: ARG001
    """Whom FACT is about."""
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
    """The pause of AGENT, given what STATES say of it and of everybody; None when it may work. A person always may."""
    if agent == ids.PERSON:
        return None
    said = [(*states[name][WORD], name) for name in about(agent) if WORD in states.get(name, ())]
    if not said:
        return None
    *_, word, name = max(said, key=lambda each: each[:3])
    return Pause(word[0], word[1], name == EVERYBODY) if word else None


def refuse(pause: Pause | None, agent: str) -> None:
    """Refuse what AGENT wants to do, when it is paused."""
    if pause:
        raise AgentPaused(pause.told(), agent_id=agent, paused=pause.shown())
