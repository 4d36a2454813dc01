"""A ledger in memory: facts in the order in which they were taken, and their folded state.

On top of a real ledger it holds the facts that are about to be recorded, so that each of many messages is decided with
knowledge of the earlier ones. By itself it serves to try out a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bb.attention.facts import Arranged, AttentionFact, Bound, Edited, Posted, Tuned
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.memory import Memory
from bb.attention.state.ports import People, States
from bb.kernel import clock
from bb.kernel.total_order import Place

AHEAD = 1 << 50  # greater than the clock of any real line


class _Texts:
    """The data of the lines. A class of its own, so that the book holds no reference cycle with the rehearsal."""

    def __init__(self, below: Callable[[str], dict[str, Any] | None] | None) -> None:
        self._below = below
        self.own: dict[str, dict[str, Any]] = {}

    def __call__(self, line: str) -> dict[str, Any] | None:
        if line in self.own:
            return self.own[line]
        return self._below(line) if self._below else None


class Rehearsal:
    """A ledger in memory, empty or on top of a real one."""

    def __init__(
        self,
        below: States | None = None,
        agents: People | None = None,
        line: Callable[[str], dict[str, Any] | None] | None = None,
        writer: str = "rehearsal234",
    ) -> None:
        self.memory = Memory(below)
        self.agents = {} if agents is None else agents
        self.writer = writer
        self.lines: list[tuple[Place, str, AttentionFact]] = []
        self._texts = _Texts(line)
        self._clock = AHEAD if below is not None else 0
        self._own = 0
        self._now, self._ts = -1, ""
        self.book = AttentionState(self.memory, self.agents, self._texts)

    def record(self, facts: Iterable[AttentionFact], now: int) -> None:
        """Add FACTS, in their order, as recorded NOW."""
        if now != self._now:
            self._now, self._ts = now, clock.text(now)
        for fact in facts:
            self._clock += 1
            self._own += 1
            self.take(fact, [self._clock, self.writer, self._own], self._ts)

    def take(self, fact: AttentionFact, at: Place, ts: str) -> None:
        """Add one fact at the place AT. It may come from another clone."""
        self._clock = max(self._clock, at[0])
        self.lines.append((at, ts, fact))
        if isinstance(fact, Posted | Edited):
            self._texts.own[f"{at[1]}.{at[2]}"] = {"text": fact.text, "c2a": fact.c2a}
        self.memory.take(fact, at, ts)
        if isinstance(fact, Bound | Arranged | Tuned):
            self.book.forget_settings()

    def merge(self, other: Rehearsal) -> int:
        """Add the facts that only the OTHER clone knows; the number of those."""
        known = {(place[1], place[2]) for place, _, _ in self.lines}
        new = [line for line in other.lines if (line[0][1], line[0][2]) not in known]
        for place, ts, fact in new:
            self.take(fact, place, ts)
        return len(new)
