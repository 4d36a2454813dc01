"""Folded states in memory, on top of stored states.

They include facts that are about to be recorded, so rules that decide about many messages at once see the earlier ones.
Without states below, they are a whole ledger for a rehearsal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from bb.attention.messages import messages
from bb.attention.state import activity, claims, confirmations, conversations, deliveries, threads
from bb.attention.state.ports import States
from bb.kernel.total_order import Place

FOLDED = (messages, deliveries, claims, confirmations, threads, conversations, activity)


class Memory:
    """Folded states in memory, on top of stored states."""

    def __init__(self, below: States | None = None, folds: Sequence[ModuleType] = FOLDED) -> None:
        self._below = below
        self._by_fact: dict[type, list[ModuleType]] = {}
        for fold in folds:
            for fact in fold.FACTS:
                self._by_fact.setdefault(fact, []).append(fold)
        self._states: dict[str, dict[str, Any]] = {fold.NAME: {} for fold in folds}
        self._terms: dict[tuple[str, str], dict[tuple[str, str], None]] = {}

    def take(self, fact: Any, at: Place, ts: str) -> None:
        """Fold one more fact at the place AT."""
        for fold in self._by_fact.get(type(fact), ()):
            parts = fold.parts(fact, at) if hasattr(fold, "parts") else [(key, fact) for key in fold.keys(fact, at)]
            for key, part in list(parts):
                before = self.state(fold.NAME, key)
                after = fold.step(before, part, at, ts)
                self._keep(fold, key, after)

    def _keep(self, fold: ModuleType, key: str, after: Any) -> None:
        terms = getattr(fold, "terms", None)
        mine = self._states[fold.NAME]
        if terms and key in mine:
            for term, place in terms(key, mine[key]):
                self._terms.get((fold.NAME, term), {}).pop((place, key), None)
        mine[key] = after
        for term, place in terms(key, after) if terms else ():
            self._terms.setdefault((fold.NAME, term), {})[place, key] = None

    def state(self, fold: str, key: str) -> Any:
        mine = self._states[fold]
        if key in mine:
            return mine[key]
        return self._below.state(fold, key) if self._below else None

    def states_of(self, fold: str, keys: Sequence[str]) -> dict[str, Any]:
        mine = self._states[fold]
        others = [key for key in keys if key not in mine]
        below = self._below.states_of(fold, others) if self._below and others else {}
        return below | {key: mine[key] for key in keys if key in mine}

    def states(self, fold: str) -> list[tuple[str, Any]]:
        below = dict(self._below.states(fold)) if self._below else {}
        return sorted((below | self._states[fold]).items())

    def entries_by_term(self, fold: str, term: str) -> list[tuple[str, Any]]:
        mine = self._states[fold]
        here = [(place, key, mine[key]) for place, key in self._terms.get((fold, term), ())]
        if self._below is None:
            return [(key, state) for _, key, state in sorted(here, key=lambda each: each[:2])]
        below = [entry for entry in self._below.newest_first(fold, term) if entry[1] not in mine]
        return [(key, state) for _, key, state in sorted([*here, *below], key=lambda each: each[:2])]

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        import heapq  # noqa: PLC0415  (needed only if many messages are decided at once)

        mine = self._states[fold]
        here = sorted(((place, key, mine[key]) for place, key in self._terms.get((fold, term), ())), reverse=True)
        below = (
            entry for entry in (self._below.newest_first(fold, term) if self._below else ()) if entry[1] not in mine
        )
        return heapq.merge(here, below, key=lambda each: each[:2], reverse=True)

    def count(self, fold: str, term: str) -> int:
        here = len(self._terms.get((fold, term), ()))
        return here + (self._below.count(fold, term) if self._below else 0)

    def everything(self) -> list[tuple[str, str, Any]]:
        """All states in memory, to compare one rehearsal with another."""
        return [
            (fold, key, state) for fold, kept in sorted(self._states.items()) for key, state in sorted(kept.items())
        ]
