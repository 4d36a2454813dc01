"""Which global reservations were admitted, judged by the order of publication alone.

Publication is a line of commits: a branch takes a commit only on top of the one it is at, so all who publish are put
into one order. A global reservation names the commit it was checked against, its base. It is admitted exactly if the
commit that brings it stands on that base, so nobody published anything in between, and if every admitted reservation
of another agent with which it has a path in common has ended by then, or is one that it says it takes over. Every
reader can check that, and trusts nobody.

What is admitted ends by its holder's word, by a person's, or by an admitted take-over; never by what somebody recorded
who had not seen the latest. The number of the commit in the line, its generation, is the reservation's token. Tokens
only rise, so whoever still works under a lower one than another agent's on the same path is fenced off.
"""

from __future__ import annotations

from bb.coordination import scopes
from bb.coordination.facts import Expired, Released, Reserved
from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
        grants = {name: Grant(*values) for name, values in found["grants"].items()}
        return cls(grants, {name: int(generation) for name, generation in found["generations"].items()})

    def keeping(self, live: Sequence[str]) -> Self:
        """Without the generations of reservations that have ended: those are in nobody's way any more."""
        kept = {name: self.generations[name] for name in live if name in self.generations}
        return self.but(generations=kept)


def admit(known: Admitted, parent: str | None, generation: int, facts: Sequence[tuple[str, HoldingFact]]) -> Admitted:
    """What is settled after one more commit on PARENT, with the FACTS it brought, each with its event."""
    grants, generations = dict(known.grants), dict(known.generations)
    for _, fact in facts:
        if isinstance(fact, Released | Expired):
            grant = grants.get(fact.reservation)
            if grant and grant.ended is None and fact.agent in (grant.agent, ids.PERSON):
                grants[fact.reservation] = grant.but(ended=generation)
    for event, fact in facts:
        if not isinstance(fact, Reserved):
            continue
        generations.setdefault(event, generation)
        wanted = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, generation)
        taken = set((fact.takes or "").split())
        if not (fact.base and fact.base == parent) or event in grants or _scope(wanted) is None:
            continue
        blockers = in_way(wanted, grants)
        if taken.issuperset(blockers):
            grants |= {name: grants[name].but(ended=generation) for name in blockers}
            grants[event] = wanted
    return Admitted(grants, generations)


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
    """The grant of another agent that makes TOKEN too old for a PATH."""
    later = (grant for grant in known.grants.values() if grant.token > token and grant.agent != agent)
    return next((grant for grant in later if _meets(grant, path)), None)


def _meets(grant: Grant, scope: scopes.Scope) -> bool:
    """Whether the two have a path in common in any clone, also in one whose file system does not mind case."""
    held = _scope(grant)
    return held is None or scopes.compare(held, scope, ignore_case=True) != scopes.DISJOINT


def _scope(grant: Grant) -> scopes.Scope | None:
    found = scopes.stored(grant.scope)
    return found and found.but(is_file=grant.is_file)
