"""Which global reservations were admitted, judged by the order of publication alone.

Publication is a line of commits: a branch takes a commit only on top of the one it is at, so all who publish are put
into one order. A global reservation names the commit it was checked against, its base. It is admitted exactly if the
commit that brings it stands on that base, so nobody published anything in between, and if every admitted reservation
of another agent with which it has a path in common has ended by then, or is one that it says it takes over. Every
reader can check that, and trusts nobody.

A reservation can have been given back before it comes out: its hub was out of reach, or refused it. Then both come in
one commit, and it is not admitted, for nothing that follows would end it.

What is admitted ends by its holder's word, by a person's, or by an admitted take-over; never by what somebody recorded
who had not seen the latest. The number of the commit in the line, its generation, is the reservation's token. Tokens
only rise, so whoever still works under a lower one than another agent's on the same path is fenced off.
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
    """What publication has settled so far: global grants by reservation, and the generation that brought each other
    reservation."""

    grants: Mapping[str, Grant] = {}
    generations: Mapping[str, int] = {}

    def as_plain(self) -> dict[str, Any]:
        grants = {name: list(grant.as_dict().values()) for name, grant in self.grants.items()}
        return {"grants": grants, "generations": dict(self.generations)}

    @classmethod
    def from_dict(cls, found: Any) -> Self:
        """What was written down; ValueError, or another error of reading, when it makes no sense."""
        grants = {name: _grant(*values) for name, values in found["grants"].items()}
        generations = dict(found["generations"])
        if not all(map(_is_generation, generations.values())):
            raise ValueError("a generation is no number")
        if not all(map(ids.is_event_id, (*grants, *generations))):
            raise ValueError("what was settled is no event")
        return cls(grants, generations)

    @property
    def latest(self) -> int:
        """The highest generation that is spoken of."""
        of_grants = (max(grant.token, grant.ended or 0) for grant in self.grants.values())
        return max([0, *of_grants, *self.generations.values()])

    def without(self, events: Container[str]) -> Self:
        """Without what is known of some reservations."""
        grants = {name: grant for name, grant in self.grants.items() if name not in events}
        return self.but(grants=grants, generations={n: at for n, at in self.generations.items() if n not in events})

    def keeping(self, live: Sequence[str]) -> Self:
        """Without the generations of reservations that have ended: those are in nobody's way any more."""
        kept = {name: self.generations[name] for name in live if name in self.generations}
        return self.but(generations=kept)


def _grant(agent: Any, scope: Any, is_file: Any, shared: Any, token: Any, ended: Any) -> Grant:
    is_right = ids.is_principal(agent) and type(scope) is str and type(is_file) is bool and type(shared) is bool
    if not (is_right and _is_generation(token) and (ended is None or _is_generation(ended))):
        raise ValueError("a grant makes no sense")
    return Grant(agent, scope, is_file, shared, token, ended)


def _is_generation(value: object) -> bool:
    return type(value) is int and value > 0


def admit(known: Admitted, parent: str | None, generation: int, facts: Sequence[tuple[str, HoldingFact]]) -> Admitted:
    """What is settled after one more commit on PARENT, with the FACTS it brought, each with its event."""
    if not facts:
        return known
    grants, generations = dict(known.grants), dict(known.generations)
    ends = {(fact.reservation, fact.agent) for _, fact in facts if isinstance(fact, Released | Expired)}
    for name, _ in ends:
        grant = grants.get(name)
        if grant and grant.ended is None and _is_ended(name, grant.agent, ends):
            grants[name] = grant.but(ended=generation)
    for event, fact in facts:
        if not isinstance(fact, Reserved):
            continue
        generations.setdefault(event, generation)
        wanted = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, generation)
        is_right = fact.base and fact.base == parent and event not in grants and _scope(wanted) is not None
        if not is_right or _is_ended(event, fact.agent, ends):
            continue
        blockers = in_way(wanted, grants)
        if set((fact.takes or "").split()).issuperset(blockers):
            grants |= {name: grants[name].but(ended=generation) for name in blockers}
            grants[event] = wanted
    return Admitted(grants, generations)


def _is_ended(name: str, holder: str, ends: set[tuple[str, str]]) -> bool:
    """Whether the HOLDER of a reservation, or a person, is among those who have ended it."""
    return (name, holder) in ends or (name, ids.PERSON) in ends


def in_way(wanted: Grant, grants: Mapping[str, Grant]) -> list[str]:
    """The grants of other agents, not ended, that WANTED has a path in common with."""
    scope = _scope(wanted)
    return [
        name
        for name, grant in grants.items()
        if grant.ended is None and grant.agent != wanted.agent and not (grant.shared and wanted.shared)
        if scope is None or _meets(grant, scope)
    ]


def fenced(known: Admitted, agent: str, token: int, path: scopes.Scope) -> Grant | None:
    """The grant of another agent that makes TOKEN too old for a PATH. Those who share do not fence each other off."""
    grants = known.grants.values()
    shares = any(each.shared and (each.agent, each.token) == (agent, token) and _meets(each, path) for each in grants)
    later = (each for each in grants if each.token > token and each.agent != agent and not (each.shared and shares))
    return next((each for each in later if _meets(each, path)), None)


def _meets(grant: Grant, scope: scopes.Scope) -> bool:
    """Whether the two have a path in common in any clone, also in one whose file system does not mind case."""
    held = _scope(grant)
    return held is None or scopes.compare(held, scope, ignore_case=True) != scopes.DISJOINT


def _scope(grant: Grant) -> scopes.Scope | None:
    found = scopes.stored(grant.scope)
    return found and found.but(is_file=grant.is_file and found.is_literal)  # whoever says that a pattern is a file lies
