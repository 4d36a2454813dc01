"""What the tests of publication share: a small world of paths, and a second opinion on who was admitted in it.

Nothing here uses the rules that are tested: what a scope covers is written down path by path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bb.coordination.facts import Expired, Released, Reserved

PERSON = "user"
PATHS = ("a", "a/x", "a/x/y", "a/y", "b", "b/x", "b/x/y", "b/y", "y", "y/x")
COVERED: dict[str, frozenset[str]] = {
    ".": frozenset(PATHS),
    "a": frozenset({"a", "a/x", "a/x/y", "a/y"}),
    "a/x": frozenset({"a/x", "a/x/y"}),
    "A/X": frozenset({"a/x", "a/x/y"}),  # the same path, where the file system does not mind case
    "a/y": frozenset({"a/y"}),
    "b": frozenset({"b", "b/x", "b/x/y", "b/y"}),
    "y": frozenset({"y", "y/x"}),
    "*/x": frozenset({"a/x", "a/x/y", "b/x", "b/x/y", "y/x"}),
    "**/y": frozenset({"y", "y/x", "a/y", "a/x/y", "b/y", "b/x/y"}),
}
SCOPES = tuple(COVERED)
UNREADABLE = "a//x"  # no canonical text, so nobody can tell what it is about


def covered(scope: str, is_file: bool, beside: str) -> frozenset[str]:
    """The paths of SCOPE that count beside another one: a file has none beneath it that a pattern could mean."""
    is_one = is_file and "*" not in scope and "*" in beside
    return frozenset({scope.lower()}) if is_one else COVERED[scope]


def have_a_path_in_common(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    """Whether two scopes, each with whether it is a file, have a path of the small world in common."""
    return not covered(*one, other[0]).isdisjoint(covered(*other, one[0]))


@dataclass
class Had:
    """A grant, as the book has it."""

    agent: str
    where: tuple[str, bool]
    shared: bool
    token: int
    ended: int | None = None


@dataclass
class Book:
    """Who was admitted, written down commit by commit by somebody who only knows what was promised."""

    commits: list[str | None] = field(default_factory=lambda: [None])
    had: dict[str, Had] = field(default_factory=dict)

    def enter(self, commit: str, facts: Sequence[tuple[str, Any]]) -> None:
        """One more COMMIT on the last one."""
        parent, number = self.commits[-1], len(self.commits)
        self.commits.append(commit)
        given_back = [(fact.reservation, fact.agent) for _, fact in facts if isinstance(fact, (Released, Expired))]
        for name, who in given_back:
            if name in self.had and who in (self.had[name].agent, PERSON):
                self._end(name, number)
        for name, fact in facts:
            if not isinstance(fact, Reserved) or fact.base is None or fact.base != parent or name in self.had:
                continue
            if fact.scope == UNREADABLE or (name, fact.agent) in given_back or (name, PERSON) in given_back:
                continue
            new = Had(fact.agent, (fact.scope, fact.is_file), fact.shared, number)
            others = self.in_way_of(new)
            if set(others) <= set((fact.takes or "").split(" ")):
                for other in others:
                    self._end(other, number)
                self.had[name] = new

    def in_way_of(self, new: Had) -> list[str]:
        return [
            name
            for name, held in self.live().items()
            if held.agent != new.agent
            and (not held.shared or not new.shared)
            and have_a_path_in_common(held.where, new.where)
        ]

    def live(self) -> dict[str, Had]:
        return {name: held for name, held in self.had.items() if held.ended is None}

    def meetings(self) -> list[tuple[str, str]]:
        """Every two grants of different agents that are in each other's way."""
        return [(name, other) for name, held in self.live().items() for other in self.in_way_of(held)]

    def _end(self, name: str, number: int) -> None:
        if self.had[name].ended is None:
            self.had[name].ended = number
