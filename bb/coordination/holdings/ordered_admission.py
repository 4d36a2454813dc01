"""Admission of global reservations, rule 2: the order of rows on an engine decides.

An engine gives each row a place in one order that all clones read alike (`ledger/carrier/door.py`). A reservation is
appended without asking what else is there, and every reader decides at its place. It names the incarnation of the
engine in `order`. It is admitted if no open grant of another agent shares a path with it, except those that it takes
over. Its fencing token is its place. The first place follows the last generation of the git archive, so tokens only
rise.

A take-over is the word `id@place` in `takes`: the agent saw, when it had read up to that place, that the holder of the
grant was silent. It counts only if the holder recorded nothing after that place, neither a renewal nor anything else.
So a take-over never wins against a holder that works.

Within one row, its ends count first, and then its reservations in the order of its lines. Names that were registered
twice, shared grants and ends follow the rules of `admission`. Grants that ended long ago are forgotten (`forgetting`).
"""

from __future__ import annotations

import itertools

from bb.coordination.facts import Expired, Released, Reserved
from bb.coordination.holdings import admission, forgetting
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.open_grants import Lead, OpenGrants
from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bb.coordination.facts import AgentFact, HoldingFact

    Facts = Sequence[tuple[str, HoldingFact | AgentFact]]
    Ends = set[tuple[str, str]]
    Admission = tuple[Grant, Lead, list[str]]

# Why a global reservation was not admitted.
IN_THE_WAY = "in_the_way"  # open grants of other agents share a path with it
HOLDER_WORKS = "holder_works"  # the same, and their holders recorded something after it was decided to take over
OTHER_INCARNATION = "other_incarnation"  # it was made for another incarnation of the engine
BEFORE_SWITCH = "before_switch"  # it was made for the git remote, which no longer decides
RIVAL = "rival"  # another writer registered the agent's name first
GIVEN_BACK = "given_back"  # it was released before it had a place
OPEN = "open"  # open reservations are never global
UNREADABLE = "unreadable"  # its scope is not canonical
REPEATED = "repeated"  # it has had a place before
FORGOTTEN = "forgotten"  # or it was admitted and has ended: its place is so old that nobody knows any more
LONGEST_PLACE = 15  # digits
ENDS = (Released, Expired)
MOST_LEADS = 10_000
_LEADS: dict[tuple[str, bool], Lead] = {}  # of scopes: agents reserve the same ones again and again


class Refusal(Record):
    """Why a reservation was not admitted, and the grants in its WAY, in the order of their admission."""

    reason: str
    by: tuple[str, ...] = ()


class Changes(Record):
    """What one row changed: grants that began or ended, the place of each reservation in it, and the registrations of
    names (none if the name is free). SEEN has the place at which a holder recorded something; it is that of all its
    open grants. REFUSALS say why global reservations were not admitted. If FLOOR is not 0, all grants that ended before
    that place are forgotten now."""

    grants: Mapping[str, Grant] = {}
    generations: Mapping[str, int] = {}
    names: Mapping[str, Sequence[str]] = {}
    seen: Mapping[str, int] = {}
    refusals: Mapping[str, Refusal] = {}
    floor: int = 0

    def verdict(self, event: str) -> Grant | Refusal | None:
        """The grant of a reservation in this row, or why it has none. None for a local one, or one of another row."""
        grant = self.grants.get(event) if event in self.generations else None
        return grant or self.refusals.get(event)


NOTHING = Changes()


class OrderedAdmission:
    """The state of admission, moved forward row by row. It may begin with the state KNOWN at any place.

    Only the open grants, the names, and what changed since then are in memory. The rest is looked up in KNOWN, whose
    mappings may be in a file. When that file has all changes too, `saved` says so. A reader that judges the past, and
    saves nothing, FORGETS nothing.
    """

    def __init__(self, known: Admitted, incarnation: str, *, forgets: bool = True) -> None:
        self._known = known
        self._forgets = forgets
        self._incarnation = incarnation
        self._open = OpenGrants(admission.still_open(known.grants))
        self._began: set[str] = set()  # grants that KNOWN does not have
        self._place, self._floor = 0, known.floor
        self._grants: dict[str, Grant] = {}
        self._ends: dict[str, int] = {}  # of those, in their order
        self._generations: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._names = dict(known.names.items())
        self._new_names: dict[str, Sequence[str]] = {}

    @property
    def admitted(self) -> Admitted:
        """The state after the last row. This copies all of it, so ask for it once, after many rows."""
        known, floor = self._known, self._floor  # a mapping in a file gives all its items at once
        grants = dict(known.grants.items()) | self._grants
        grants.update((name, self._open[name]) for name in self._open)
        return Admitted(
            _without_forgotten(grants, floor),
            dict(known.generations.items()) | self._generations,
            {name: events for name, events in self._names.items() if events},
            floor,
        )

    @property
    def changes(self) -> Changes:
        """All changes since the beginning, or since the last `saved`, without refusals."""
        return Changes(self._grants, self._generations, self._new_names, self._seen, floor=self._floor)

    def saved(self, known: Admitted) -> None:
        """From now on, KNOWN has all `changes` so far."""
        self._known, self._grants, self._generations, self._new_names, self._seen = known, {}, {}, {}, {}
        self._ends, self._began = {}, set()

    def grant(self, name: str) -> Grant | None:
        """The grant of one reservation, open or ended. None if it was forgotten."""
        grant = self._open.get(name) or self._grants.get(name) or self._known.grants.get(name)
        return None if grant is None or grant.ended_before(self._floor) else grant

    def row(self, place: int, facts: Facts, recorders: Iterable[str], *, are_new: bool = False) -> Changes:
        """The changes by the next row, which has this PLACE. FACTS are those of its lines about reservations and names,
        each with its event id, in the order of the lines. RECORDERS are the agents that recorded any line of it. If
        they ARE NEW, the caller has checked that no line of it had a place before, which saves a look-up for each."""
        if place <= self._place:
            raise ValueError(f"place {place} does not follow place {self._place}")
        reserved = [(event, fact) for event, fact in facts if isinstance(fact, Reserved)]
        # A look-up in a file may fail, so each is done before anything changes.
        repeated = set() if are_new else {event for event, _ in reserved if self._has_place(event)}
        self._place = place
        floor = self._forget(place)
        seen = self._open.saw(place, recorders)
        self._seen.update(seen)
        if not facts:
            return Changes(seen=seen, floor=floor) if seen or floor else NOTHING
        grants: dict[str, Grant] = {}
        names: dict[str, Sequence[str]] = {}
        ends: Ends = set()
        if len(reserved) < len(facts):
            names = self._register(facts)
            ends = {(fact.reservation, fact.agent) for _, fact in facts if isinstance(fact, ENDS)}
        for name, who in ends:
            holder = self._open.holder(name)
            if holder and who in (holder, ids.PERSON):
                self._end(name, place, grants)
        generations: dict[str, int] = {}
        refusals: dict[str, Refusal] = {}
        for event, fact in reserved:
            is_repeated = event in repeated or event in generations
            if not is_repeated:
                self._generations[event] = generations[event] = place
            if fact.is_global:
                refusal = Refusal(REPEATED) if is_repeated else self._decide(place, event, fact, ends, grants)
                if refusal:
                    refusals.setdefault(event, refusal)
        return Changes(grants, generations, names, seen, refusals, floor)

    def _forget(self, place: int) -> int:
        """Forget what is too old at PLACE. Returns the new floor; 0 if it is the same as before."""
        floor = forgetting.floor(place)
        if floor <= self._floor or not self._forgets:
            return 0
        self._floor = floor
        gone = list(itertools.takewhile(lambda name: self._ends[name] < floor, self._ends))
        for name in gone:
            del self._ends[name]
            if name in self._began:  # else KNOWN has it as an open one
                del self._grants[name]
        return floor

    def _has_place(self, event: str) -> bool:
        """Whether a reservation has had a place, as far as it matters: ended ones may have been forgotten."""
        return event in self._generations or self._open.get(event) is not None or event in self._known.generations

    def _register(self, facts: Facts) -> dict[str, Sequence[str]]:
        """The registrations that FACTS change."""
        changed: dict[str, Sequence[str]] = {}
        for event, fact in admission.about_names(facts):
            after = admission.registrations(self._names.get(fact.agent, ()), event, fact)
            self._names[fact.agent] = self._new_names[fact.agent] = changed[fact.agent] = after
        return changed

    def _end(self, name: str, place: int, changed: dict[str, Grant]) -> None:
        grant = self._open[name].replace(ended=place)
        self._open.end(name)
        self._grants[name] = changed[name] = grant
        self._ends[name] = place

    def _decide(self, place: int, event: str, fact: Reserved, ends: Ends, changed: dict[str, Grant]) -> Refusal | None:
        """Admit a reservation, or say why not. The grants that it changes are noted in CHANGED."""
        verdict = self._judge(place, event, fact, ends)
        if isinstance(verdict, Refusal):
            return verdict
        grant, lead, taken = verdict
        for name in taken:
            self._end(name, place, changed)
        self._grants[event] = changed[event] = grant
        self._open.add(event, grant, lead)
        self._began.add(event)
        return None

    def _judge(self, place: int, event: str, fact: Reserved, ends: Ends) -> Admission | Refusal:
        """The grant that a reservation gets at PLACE, where its scope leads, and the grants that it takes over; or why
        it gets none."""
        if fact.base is not None:
            return Refusal(BEFORE_SWITCH)
        if fact.order != self._incarnation:
            return Refusal(OTHER_INCARNATION)
        if fact.is_open:
            return Refusal(OPEN)
        grant = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, place)
        lead = _lead(fact.scope, fact.is_file)
        if lead.scope is None:
            return Refusal(UNREADABLE)
        if ends and ((event, fact.agent) in ends or (event, ids.PERSON) in ends):
            return Refusal(GIVEN_BACK)
        if admission.is_of_rival(self._names.get(fact.agent, ()), event):
            return Refusal(RIVAL)
        in_way = self._open.in_way(grant, lead)
        if not in_way:
            return grant, lead, in_way
        takes = _takes(fact.takes, place)
        if left := tuple(name for name in in_way if self._open[name].last_seen > takes.get(name, -1)):
            return Refusal(HOLDER_WORKS if takes.keys() >= set(left) else IN_THE_WAY, left)
        return grant, lead, in_way


def _lead(text: str, is_file: bool) -> Lead:
    """Where the scope with this TEXT leads."""
    lead = _LEADS.get((text, is_file))
    if lead is None:
        lead = Lead(admission.parsed_scope(text, is_file))
        if len(_LEADS) >= MOST_LEADS:
            _LEADS.clear()
        _LEADS[text, is_file] = lead
    return lead


def why_not(known: Admitted, incarnation: str, event: str, fact: Reserved) -> Refusal | None:
    """Why a global reservation that has a place was not admitted, from the state KNOWN later; None if it was.

    A refusal in the `Changes` of its row is exact. This one finds the grants that were open at its place. Before the
    floor, that is not known any more, and neither is whether it was admitted and has ended: it has no grant.
    """
    place = known.generations.get(event)
    if place is None or not fact.is_global or event in known.grants:
        return None
    if place < admission.floor_of(known):
        return Refusal(FORGOTTEN)
    then = OrderedAdmission(known.upto(place).without({event}), incarnation)
    verdict = then._judge(place, event, fact, set())
    return verdict if isinstance(verdict, Refusal) else Refusal(GIVEN_BACK)


def _without_forgotten(grants: dict[str, Grant], floor: int) -> dict[str, Grant]:
    """The GRANTS that are not forgotten with this FLOOR."""
    return {name: grant for name, grant in grants.items() if not grant.ended_before(floor)} if floor else grants


def take_over(name: str, place: int) -> str:
    """The word in `takes` for a grant whose holder was silent up to PLACE."""
    return f"{name}@{place}"


def _takes(words: str | None, place: int) -> Mapping[str, int]:
    """The grants that a reservation at PLACE takes over, each with the place up to which its holder was silent. A word
    without a place, or with one that was yet to come, does not count."""
    taken: dict[str, int] = {}
    for word in (words or "").split():
        name, _, seen = word.partition("@")
        if seen.isascii() and seen.isdigit() and len(seen) <= LONGEST_PLACE and int(seen) < place:
            taken[name] = max(int(seen), taken.get(name, 0))
    return taken
