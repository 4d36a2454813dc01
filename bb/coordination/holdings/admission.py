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

from bb.coordination.facts import Expired, NameSettled, Registered, Released, Reserved, Retired
from bb.coordination.holdings import forgetting, scopes
from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from bb.coordination.facts import AgentFact, HoldingFact

    T = TypeVar("T")


ABOUT_NAMES = (Registered, Retired, NameSettled)


class Grant(Record):
    """A global reservation that was admitted."""

    agent: str
    scope: str
    is_file: bool
    shared: bool
    token: int
    ended: int | None = None  # the generation that ended it
    seen: int = 0  # the last later place at which its holder recorded anything; 0 if none, or if a git remote decides

    @property
    def last_seen(self) -> int:
        """The last place at which its holder recorded anything."""
        return max(self.token, self.seen)

    def ended_before(self, floor: int) -> bool:
        """Whether it ended before the place FLOOR."""
        return self.ended is not None and self.ended < floor

    def seen_at(self, place: int) -> Self:
        """The grant after its holder recorded something at PLACE. Nothing changes if it has ended, or began later."""
        return self if self.ended is not None or place <= self.last_seen else self.replace(seen=place)

    def upto(self, generation: int) -> Self:
        """The grant right after that GENERATION, as far as it is known."""
        if (self.ended or 0) <= generation and self.seen <= generation:
            return self
        ended = self.ended if (self.ended or 0) <= generation else None
        return self.replace(ended=ended, seen=min(self.seen, generation))

    def parsed_scope(self) -> scopes.Scope | None:
        """Its scope; None if this version cannot read it."""
        return parsed_scope(self.scope, self.is_file)


def parsed_scope(text: str, is_file: bool) -> scopes.Scope | None:
    """The scope with this TEXT; None if this version cannot read it."""
    scope = scopes.stored(text)
    is_file = is_file and scope is not None and scope.is_literal  # a pattern cannot be a file
    return scope.replace(is_file=True) if scope and is_file else scope


class Admitted(Record):
    """The result of all publications so far: grants of global reservations, the generation that published each
    other reservation, and the registrations of each agent's name, in order. The first of them has the name. In a fleet,
    grants that ended before the place FLOOR are forgotten (`forgetting`)."""

    grants: Mapping[str, Grant] = {}
    generations: Mapping[str, int] = {}
    names: Mapping[str, Sequence[str]] = {}
    floor: int = 0

    def as_json(self) -> dict[str, Any]:
        """The state in its JSON form. The floor is left out if it is 0, as in every ledger that a git remote
        decides."""
        grants, names = grants_as_json(self.grants), names_as_json(self.names)
        floor = {"floor": self.floor} if self.floor else {}
        return {"grants": grants, "generations": dict(self.generations), "names": names, **floor}

    @classmethod
    def from_dict(cls, found: Any) -> Self:
        """The state from its JSON form. Raises ValueError, or another error, if the form is invalid."""
        grants, generations = grants_from(found["grants"]), generations_from(found["generations"])
        return cls(grants, generations, names_from(found.get("names", {})), floor_from(found.get("floor", 0)))

    @property
    def latest(self) -> int:
        """The highest generation in this state."""
        of_grants = (max(grant.token, grant.ended or 0, grant.seen) for grant in self.grants.values())
        return max([0, *of_grants, *self.generations.values()])

    def is_possible_at(self, generation: int) -> bool:
        """Whether this can be the state right after the commit or row with that GENERATION."""
        return self.latest <= generation and self.floor <= forgetting.floor(generation)

    def without(self, events: Container[str]) -> Self:
        """The state without the reservations and registrations in EVENTS."""
        grants = {name: grant for name, grant in self.grants.items() if name not in events}
        generations = {name: at for name, at in self.generations.items() if name not in events}
        kept = ((name, tuple(one for one in several if one not in events)) for name, several in self.names.items())
        return self.replace(grants=grants, generations=generations, names={name: left for name, left in kept if left})

    def upto(self, generation: int) -> Self:
        """The state right after the commit with that GENERATION. If the holder of a grant recorded something after it,
        what the holder had recorded before is not known any more: then its last place is the last possible one. What
        was forgotten since is missing, and the floor says so."""
        grants = {name: grant.upto(generation) for name, grant in self.grants.items() if grant.token <= generation}
        generations = {name: at for name, at in self.generations.items() if at <= generation}
        return self.replace(grants=grants, generations=generations)

    def keeping(self, live: Sequence[str]) -> Self:
        """The state with the generations of LIVE reservations only: ended reservations cannot conflict."""
        kept = {name: self.generations[name] for name in live if name in self.generations}
        return self.replace(generations=kept)


def grants_as_json(grants: Mapping[str, Grant]) -> dict[str, Any]:
    """Grants in their JSON form."""
    return {name: _grant_as_json(grant) for name, grant in grants.items()}


def _grant_as_json(grant: Grant) -> list[Any]:
    """The values of a grant. `seen` is left out if it is 0, as in every ledger that a git remote decides."""
    values = [grant.agent, grant.scope, grant.is_file, grant.shared, grant.token, grant.ended]
    return [*values, grant.seen] if grant.seen else values


def names_as_json(names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The registrations of names in their JSON form."""
    return {name: list(events) for name, events in sorted(names.items())}


def grants_from(written: Any) -> dict[str, Grant]:
    """The grants in their JSON form. Raises ValueError, or another error, if the form is invalid."""
    return _of_events({name: _grant(*values) for name, values in written.items()})


def generations_from(written: Any) -> dict[str, int]:
    """The generations in their JSON form; the same errors."""
    generations = dict(written)
    if not all(map(_is_generation, generations.values())):
        raise ValueError("a generation is not a positive integer")
    return _of_events(generations)


def names_from(written: Any) -> dict[str, Sequence[str]]:
    """The registrations of names in their JSON form; the same errors."""
    names: dict[str, Sequence[str]] = {name: tuple(events) for name, events in written.items()}
    if not all(map(ids.is_event_id, (event for events in names.values() for event in events))):
        raise ValueError("the id of a registration is not an event id")
    if not all(map(ids.is_actor_id, names)):
        raise ValueError("a name is not the id of an agent")
    return names


def floor_from(written: Any) -> int:
    """The floor in its JSON form; the same errors."""
    if written != 0 and not _is_generation(written):
        raise ValueError("the floor is not a place")
    return int(written)


def _of_events(entries: dict[str, T]) -> dict[str, T]:
    if not all(map(ids.is_event_id, entries)):
        raise ValueError("the id of a reservation is not an event id")
    return entries


def _grant(agent: Any, scope: Any, is_file: Any, shared: Any, token: Any, ended: Any, seen: Any = 0) -> Grant:
    is_right = ids.is_principal(agent) and type(scope) is str and type(is_file) is bool and type(shared) is bool
    are_generations = _is_generation(token) and (ended is None or _is_generation(ended))
    if not (is_right and are_generations and type(seen) is int and seen >= 0):
        raise ValueError("a grant has an invalid field")
    return Grant(agent, scope, is_file, shared, token, ended, seen)


def _is_generation(value: object) -> bool:
    return type(value) is int and value > 0


def admit(
    known: Admitted, parent: str | None, generation: int, facts: Sequence[tuple[str, HoldingFact | AgentFact]]
) -> Admitted:
    """The state after one more commit on PARENT that published FACTS, each with its event id."""
    if not facts:
        return known
    names = _names_after(known.names, facts)
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
        is_right = fact.base and fact.base == parent and event not in grants and new_grant.parsed_scope() is not None
        if not is_right or _is_ended(event, fact.agent, ends) or is_of_rival(names.get(fact.agent, ()), event):
            continue
        blockers = in_way(new_grant, grants)
        if set((fact.takes or "").split()).issuperset(blockers):
            grants |= {name: grants[name].replace(ended=generation) for name in blockers}
            grants[event] = new_grant
    return known.replace(grants=grants, generations=generations, names=names)


def _names_after(
    known: Mapping[str, Sequence[str]], facts: Sequence[tuple[str, HoldingFact | AgentFact]]
) -> Mapping[str, Sequence[str]]:
    """The registrations of each name after FACTS."""
    changes = about_names(facts)
    if not changes:
        return known
    names = dict(known)
    for event, fact in changes:
        names[fact.agent] = registrations(names.get(fact.agent, ()), event, fact)
    return {name: events for name, events in names.items() if events}


def about_names(
    facts: Sequence[tuple[str, HoldingFact | AgentFact]],
) -> list[tuple[str, Registered | Retired | NameSettled]]:
    """Those of FACTS that change who has a name, in the order in which they count."""
    found = [(event, fact) for event, fact in facts if isinstance(fact, ABOUT_NAMES)]
    return sorted(found, key=lambda one: ids.split_event_id(one[0])) if len(found) > 1 else found


def registrations(before: Sequence[str], event: str, fact: Registered | Retired | NameSettled) -> tuple[str, ...]:
    """The registrations of a name after one more fact about it. A writer has one registration of a name; its last one
    counts."""
    writer = ids.split_event_id(event)[0]
    others = tuple(one for one in before if ids.split_event_id(one)[0] != writer)
    if isinstance(fact, Registered):
        return (*others, event)
    if isinstance(fact, NameSettled):
        return tuple(one for one in before if one != fact.registration)
    return others if len(others) < len(before) else ()  # by a writer that registered nothing, it ends all registrations


def is_of_rival(registrations: Sequence[str], event: str) -> bool:
    """Whether EVENT is by a writer that registered its agent's name after another one."""
    if len(registrations) < 2:
        return False
    writer = ids.split_event_id(event)[0]
    return any(ids.split_event_id(late)[0] == writer for late in registrations[1:])


def _is_ended(name: str, holder: str, ends: set[tuple[str, str]]) -> bool:
    """Whether the HOLDER or a person has ended the reservation."""
    return (name, holder) in ends or (name, ids.PERSON) in ends


def in_way(wanted: Grant, grants: Mapping[str, Grant]) -> list[str]:
    """The open grants of other agents that share a path with WANTED."""
    scope = wanted.parsed_scope()
    return [
        name
        for name, grant in grants.items()
        if grant.ended is None and grant.agent != wanted.agent and not (grant.shared and wanted.shared)
        if scope is None or _meets(grant, scope)
    ]


def seen_by_holders(grants: Mapping[str, Grant], seen: Mapping[str, int]) -> dict[str, Grant]:
    """GRANTS after their holders recorded something at the places SEEN."""
    return {name: grant.seen_at(seen.get(grant.agent, 0)) for name, grant in grants.items()}


def still_open(grants: Mapping[str, Grant]) -> Mapping[str, Grant]:
    """The grants that have not ended. A mapping that is in a file finds them by its method `open`."""
    find = getattr(grants, "open", None)
    return find() if find else {name: grant for name, grant in grants.items() if grant.ended is None}


def _since(grants: Mapping[str, Grant], token: int) -> Sequence[Grant]:
    """The grants with this token or a later one. A mapping that is in a file finds them by its method `since`."""
    find = getattr(grants, "since", None)
    return find(token) if find else [grant for grant in grants.values() if grant.token >= token]


def fenced(known: Admitted, agent: str, token: int, path: scopes.Scope) -> Grant | None:
    """The grant of another agent that makes TOKEN too old for PATH. Shared grants do not fence each other off."""
    since = _since(known.grants, token)
    shares = any(own.shared and (own.agent, own.token) == (agent, token) and _meets(own, path) for own in since)
    later = (grant for grant in since if grant.token > token and grant.agent != agent)
    return next((grant for grant in later if not (grant.shared and shares) and _meets(grant, path)), None)


def is_too_old(known: Admitted, agent: str, token: int, path: scopes.Scope) -> bool:
    """Whether nobody knows any more if TOKEN was `fenced` off, because it is from before the floor. While the agent's
    own grant with it is open and covers PATH, no other agent can have had one there."""
    if token >= floor_of(known):
        return False
    own = (one for one in still_open(known.grants).values() if (one.agent, one.token) == (agent, token))
    return not any(_contains(one, path) for one in own)


def _contains(grant: Grant, path: scopes.Scope) -> bool:
    """Whether everything that shares a path with PATH shares one with the grant too, so that no other agent can have it
    at the same time."""
    held = grant.parsed_scope()
    is_file_only = held is not None and held.is_file and not path.is_file
    return held is not None and not is_file_only and scopes.covers(held, path, ignore_case=True)


def floor_of(known: Admitted) -> int:
    """The place before which ended grants are forgotten. A mapping that is in a file tells it by its method `floor`,
    because more may be forgotten at any time: ask for this after the grants."""
    find = getattr(known.grants, "floor", None)
    return max(known.floor, find() if find else 0)


def _meets(grant: Grant, scope: scopes.Scope) -> bool:
    """Whether both share a path. Case is ignored, because some clone may have a case-insensitive file system."""
    held = grant.parsed_scope()
    return held is None or scopes.compare(held, scope, ignore_case=True) != scopes.DISJOINT
