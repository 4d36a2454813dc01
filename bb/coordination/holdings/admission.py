"""Admission of global reservations, decided by the order of commits on the published branch.

The published branch accepts a commit only on top of its tip, so all publications have one order. A global reservation
names its base: the published commit it was checked against. It is admitted under two conditions. The commit that
publishes it is a child of the base, so no other publication came in between. Each admitted reservation of another agent
that shares a path with it has ended, or is taken over by it. Every clone can check both conditions by itself.

A reservation may be released before it is published, because its hub was unreachable or refused it. Then one commit
publishes both facts and the reservation is not admitted, because no later fact would end it.

An admitted reservation is ended by its holder, by a person, or by an admitted takeover; never by an agent that had not
seen the latest state. The commit's number on the branch is its generation, and the token of the reservation. Tokens
only grow, so an agent that works under a lower token than another agent's on the same path is fenced off.
"""

from __future__ import annotations

from bb.coordination.facts import Expired, Released, Reserved
from bb.coordination.holdings import scopes
from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any, Self

    from bb.coordination.facts import HoldingFact


class Grant(Record):
    """A global reservation that was admitted."""

    agent: str
    scope: str
    is_file: bool
    shared: bool
    token: int
    ended: int | None = None  # the generation that ended it


class Admitted(Record):
    """The result of all publications so far: grants of global reservations, and the generation that published each
    other reservation."""

    grants: Mapping[str, Grant] = {}
    generations: Mapping[str, int] = {}

    def as_json(self) -> dict[str, Any]:
        grants = {name: list(grant.as_dict().values()) for name, grant in self.grants.items()}
        return {"grants": grants, "generations": dict(self.generations)}

    @classmethod
    def from_dict(cls, found: Any) -> Self:
        """The state from its JSON form. Raises ValueError, or another error, if the form is invalid."""
        grants = {name: _grant(*values) for name, values in found["grants"].items()}
        generations = dict(found["generations"])
        if not all(map(_is_generation, generations.values())):
            raise ValueError("a generation is not a positive integer")
        if not all(map(ids.is_event_id, (*grants, *generations))):
            raise ValueError("a reservation id is not an event id")
        return cls(grants, generations)

    @property
    def latest(self) -> int:
        """The highest generation in this state."""
        of_grants = (max(grant.token, grant.ended or 0) for grant in self.grants.values())
        return max([0, *of_grants, *self.generations.values()])

    def without(self, events: Container[str]) -> Self:
        """The state without the reservations in EVENTS."""
        grants = {name: grant for name, grant in self.grants.items() if name not in events}
        return self.replace(grants=grants, generations={n: at for n, at in self.generations.items() if n not in events})

    def upto(self, generation: int) -> Self:
        """The state right after the commit with that GENERATION."""
        grants = {
            name: grant.replace(ended=None) if (grant.ended or 0) > generation else grant
            for name, grant in self.grants.items()
            if grant.token <= generation
        }
        generations = {name: at for name, at in self.generations.items() if at <= generation}
        return self.replace(grants=grants, generations=generations)

    def keeping(self, live: Sequence[str]) -> Self:
        """The state with the generations of LIVE reservations only: ended reservations cannot conflict."""
        kept = {name: self.generations[name] for name in live if name in self.generations}
        return self.replace(generations=kept)


def _grant(agent: Any, scope: Any, is_file: Any, shared: Any, token: Any, ended: Any) -> Grant:
    is_right = ids.is_principal(agent) and type(scope) is str and type(is_file) is bool and type(shared) is bool
    if not (is_right and _is_generation(token) and (ended is None or _is_generation(ended))):
        raise ValueError("a grant has an invalid field")
    return Grant(agent, scope, is_file, shared, token, ended)


def _is_generation(value: object) -> bool:
    return type(value) is int and value > 0


def admit(known: Admitted, parent: str | None, generation: int, facts: Sequence[tuple[str, HoldingFact]]) -> Admitted:
    """The state after one more commit on PARENT that published FACTS, each with its event id."""
    if not facts:
        return known
    grants, generations = dict(known.grants), dict(known.generations)
    ends = {(fact.reservation, fact.agent) for _, fact in facts if isinstance(fact, Released | Expired)}
    for name, _ in ends:
        grant = grants.get(name)
        if grant and grant.ended is None and _is_ended(name, grant.agent, ends):
            grants[name] = grant.replace(ended=generation)
    for event, fact in facts:
        if not isinstance(fact, Reserved):
            continue
        generations.setdefault(event, generation)
        new_grant = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, generation)
        is_right = fact.base and fact.base == parent and event not in grants and _scope(new_grant) is not None
        if not is_right or _is_ended(event, fact.agent, ends):
            continue
        blockers = in_way(new_grant, grants)
        if set((fact.takes or "").split()).issuperset(blockers):
            grants |= {name: grants[name].replace(ended=generation) for name in blockers}
            grants[event] = new_grant
    return Admitted(grants, generations)


def _is_ended(name: str, holder: str, ends: set[tuple[str, str]]) -> bool:
    """Whether the HOLDER or a person has ended the reservation."""
    return (name, holder) in ends or (name, ids.PERSON) in ends


def in_way(wanted: Grant, grants: Mapping[str, Grant]) -> list[str]:
    """The open grants of other agents that share a path with WANTED."""
    scope = _scope(wanted)
    return [
        name
        for name, grant in grants.items()
        if grant.ended is None and grant.agent != wanted.agent and not (grant.shared and wanted.shared)
        if scope is None or _meets(grant, scope)
    ]


def fenced(known: Admitted, agent: str, token: int, path: scopes.Scope) -> Grant | None:
    """The grant of another agent that makes TOKEN too old for PATH. Shared grants do not fence each other off."""
    grants = known.grants.values()
    shares = any(own.shared and (own.agent, own.token) == (agent, token) and _meets(own, path) for own in grants)
    later = (grant for grant in grants if grant.token > token and grant.agent != agent)
    return next((grant for grant in later if not (grant.shared and shares) and _meets(grant, path)), None)


def _meets(grant: Grant, scope: scopes.Scope) -> bool:
    """Whether both share a path. Case is ignored, because some clone may have a case-insensitive file system."""
    held = _scope(grant)
    return held is None or scopes.compare(held, scope, ignore_case=True) != scopes.DISJOINT


def _scope(grant: Grant) -> scopes.Scope | None:
    scope = scopes.stored(grant.scope)
    return scope and scope.replace(is_file=grant.is_file and scope.is_literal)  # a pattern cannot be a file
