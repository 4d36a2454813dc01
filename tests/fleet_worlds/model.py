"""The truth about a world, against which everything that its machines and agents believe is held.

**What an agent believes.** A *claim* is what an agent was told: "you hold this, with this token". It is *visible* from
the moment of the answer until the agent decides to release it, or is told that it lost it, or could know: its machine
has read the row that ended the grant, or has found out that the engine is not the one that it has read (the machine's
guards refuse from then on). An agent that sleeps believes on; so does one whose machine is cut off.

**What must hold**, at every moment of true time:

1. Two claims of different agents on paths that meet, not both shared, are never visible at once, unless
   - the later one took the earlier one over at its place in the order: the holder had recorded nothing after the place
     that the take-over names, its token is lower, and its machine has not read that row yet; or
   - the two grants are in different histories, because the engine lost or doubled its history: the row of one is not in
     the log of the other, and neither machine has had contact with the history of the other grant. This is an
     *exposure*: no reader could know. It is counted, and no world without such an accident may have one.
2. What a reader folds from a row is what an independent, slow fold of this module makes of it; so all readers agree.
3. A line that the engine acknowledged is in its log until an accident with its history; then its writer sends it again.
4. Tokens rise from one incarnation to the next.
5. A take-over is not decided upon while the holder's signs of life reach the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bb.coordination.facts import Expired, Registered, Released, Reserved
from bb.coordination.holdings import forgetting, scopes
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import Changes
from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger.carrier import sound_rows
from bb.ledger.carrier.door import Row
from bb.ledger.journal.line import START, BadLine, Link
from bb.ledger.travel import row_facts
from tests.fleet_worlds.engine import Engine, Log
from tests.fleet_worlds.world import MINUTE, World

if TYPE_CHECKING:
    from tests.fleet_worlds.archive import Archive

SILENCE = 14 * MINUTE  # less than this before a take-over, and the holder was alive; the rule says fifteen


class Broken(AssertionError):
    """What the model found. It is a fault of a rule, of the code that was driven, or of the model."""


@cache
def meets(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    """Whether two scopes, each with whether it is a file, share a path."""
    first, second = (scopes.Scope(text, is_file and scopes.Scope(text).is_literal) for text, is_file in (one, other))
    return scopes.compare(first, second, ignore_case=True) != scopes.DISJOINT


class Read(Record):
    """What a row says: the facts that decide, who recorded anything, and the writer's link after it. A row that does
    not count has no link."""

    facts: Sequence[tuple[str, Any]]
    recorders: Sequence[str]
    link: Link | None


def read_row(row: Row, before: Link) -> Read:
    """ROW, read with the code that the relay and the archive use."""
    try:
        link = sound_rows.link_after(row, before)
    except BadLine:
        return Read((), (), None)
    facts, recorders = row_facts.of_row(row.writer, row.first, row.octets)
    return Read(facts, recorders, link)


@dataclass
class Had:
    """A grant of the slow fold."""

    agent: str
    where: tuple[str, bool]
    shared: bool
    token: int
    ended: int | None = None
    taken_by: str | None = None


@dataclass
class Book:
    """The slow fold of one log: rule 2, written down by somebody who only knows what was promised."""

    incarnation: str
    had: dict[str, Had]
    open: set[str]
    recorded: dict[str, int]  # the last place at which each agent recorded anything
    writers: dict[str, list[str]]  # the writers that registered each name, in order
    placed: set[str] = field(default_factory=set)
    links: dict[str, Link] = field(default_factory=dict)
    last: int = 0  # the place of the last row

    @classmethod
    def after(cls, incarnation: str, before: Book | None) -> Book:
        """The book of a new log, whose readers know what the ones before it made."""
        if before is None:
            return cls(incarnation, {}, set(), {}, {})
        had = {name: Had(**vars(one)) for name, one in before.had.items()}
        writers = {name: list(several) for name, several in before.writers.items()}
        return cls(
            incarnation, had, set(before.open), dict(before.recorded), writers, set(before.placed), dict(before.links)
        )

    def enter(self, row: Row, said: Read) -> dict[str, Had | None]:
        """One more row. Returns the reservations in it, each with what it got."""
        self.last = place = row.place
        facts = said.facts
        if said.link is not None:
            self.links[row.writer] = said.link
        for agent in said.recorders:
            self.recorded[agent] = place
        ends = {(fact.reservation, fact.agent) for _, fact in facts if isinstance(fact, (Released, Expired))}
        self._note_names(facts)
        for name, by in ends:
            if name in self.open and by in (self.had[name].agent, ids.PERSON):
                self._end(name, place)
        asked: dict[str, Had | None] = {}
        for name, fact in facts:
            if isinstance(fact, Reserved):
                is_new = name not in self.placed
                self.placed.add(name)
                asked[name] = self._reserve(place, name, fact, ends) if is_new else self.had.get(name)
        return asked

    def _note_names(self, facts: Sequence[tuple[str, Any]]) -> None:
        for name, fact in facts:
            writer = ids.split_event_id(name)[0]
            had = self.writers.setdefault(fact.agent, []) if isinstance(fact, Registered) else []
            if isinstance(fact, Registered):
                self.writers[fact.agent] = [*(one for one in had if one != writer), writer]

    def _reserve(self, place: int, name: str, fact: Reserved, ends: set[tuple[str, str]]) -> Had | None:
        writer = ids.split_event_id(name)[0]
        is_rival = writer in self.writers.get(fact.agent, [])[1:]
        is_given_back = any((name, by) in ends for by in (fact.agent, ids.PERSON))
        is_void = fact.order != self.incarnation or fact.base is not None or scopes.stored(fact.scope) is None
        if is_void or is_rival or is_given_back:
            return None
        new = Had(fact.agent, (fact.scope, fact.is_file), fact.shared, place)
        words = (word.partition("@") for word in (fact.takes or "").split())
        silent_since = {one: int(since) for one, _, since in words if since and int(since) < place}
        in_way = [one for one in self.open if self.is_in_way(one, new)]
        for one in in_way:
            if one not in silent_since or self.recorded[self.had[one].agent] > silent_since[one]:
                return None
        for one in in_way:
            self._end(one, place)
            self.had[one].taken_by = name
        self.had[name] = new
        self.open.add(name)
        return new

    def is_in_way(self, name: str, new: Had) -> bool:
        old = self.had[name]
        return old.agent != new.agent and not (old.shared and new.shared) and meets(old.where, new.where)

    def _end(self, name: str, place: int) -> None:
        self.had[name].ended = place
        self.open.discard(name)

    def differs(self, admitted: Admitted) -> list[str]:
        """The grants about which a reader has come to something else. It may have forgotten what ended long ago."""
        floor = min(admitted.floor, forgetting.floor(self.last))
        ours = {
            name: (one.agent, *one.where, one.shared, one.token, one.ended)
            for name, one in self.had.items()
            if one.ended is None or one.ended >= floor
        }
        theirs = {
            name: (one.agent, one.scope, one.is_file, one.shared, one.token, one.ended)
            for name, one in admitted.grants.items()
        }
        return [
            f"{ours.get(name)} {theirs.get(name)}"
            for name in ours.keys() | theirs
            if ours.get(name) != theirs.get(name)
        ]


@dataclass
class Claim:
    """What an agent was told. HISTORY is the log in which its grant is."""

    event: str
    agent: str
    where: tuple[str, bool]
    shared: bool
    token: int
    machine: str
    history: Log
    since: float
    is_in_doubt: bool = False  # its machine does not trust the engine any more


@dataclass
class Model:
    """The truth. READERS has, for each row by its digest, what the first reader made of it, and the row before."""

    world: World
    books: dict[int, Book] = field(default_factory=dict)  # by the log's identity
    begun_with: dict[int, Book] = field(default_factory=dict)  # what each had when it began
    base: Book | None = None  # what the archive had made when the last log began
    claims: dict[str, Claim] = field(default_factory=dict)
    readers: dict[str, tuple[str, Changes]] = field(default_factory=dict)
    acknowledged: dict[tuple[str, int], bytes] = field(default_factory=dict)
    signs: dict[tuple[str, str], float] = field(default_factory=dict)  # the last one of each agent at each engine
    exposed: dict[frozenset[str], float] = field(default_factory=dict)  # pairs of claims, with the time
    exposures: list[float] = field(default_factory=list)  # how long each of those that are over took
    accidents: int = 0  # with the history of the engine
    highest: int = 0  # the highest token that any agent was told
    counts: Counter[str] = field(default_factory=Counter)
    contacts: dict[str, Log] = field(default_factory=dict)  # the history that each machine last compared itself with
    _read: dict[str, Read] = field(default_factory=dict)
    _logs: list[Log] = field(default_factory=list)  # so that no identity is used twice

    # -- the log

    def read(self, row: Row, links: Mapping[str, Link]) -> Read:
        """What ROW says to a reader that knows the LINKS of the writers before it. The digest stands for the whole
        history, so this is the same for all."""
        if row.digest not in self._read:
            self._read[row.digest] = read_row(row, links.get(row.writer, START))
        return self._read[row.digest]

    def begun(self, log: Log) -> None:
        """A new log, with nothing in it."""
        self._check(log.first > self.highest, f"the first place {log.first} is not above token {self.highest}")
        self._logs.append(log)
        self.begun_with[id(log)] = Book.after(log.incarnation, self.base)
        self.books[id(log)] = Book.after(log.incarnation, self.base)

    def rewound(self, log: Log, other: Log) -> None:
        """LOG is a history of its own from now on, which the OTHER one shares up to its last row."""
        self._logs.append(log)
        before = self.begun_with[id(log)] = self.begun_with[id(other)]
        book = self.books[id(log)] = Book.after(log.incarnation, before)
        for row in log.rows:
            book.enter(row, self.read(row, book.links))

    def appended(self, _: Engine, log: Log, row: Row) -> None:
        self.counts["rows"] += 1
        book = self.books[id(log)]
        for name, had in book.enter(row, self.read(row, book.links)).items():
            self.counts["grants" if had else "reservations not admitted"] += 1
            if had and any(one.taken_by == name for one in book.had.values() if one.ended == row.place):
                self.counts["take-overs"] += 1

    def acknowledge(self, writer: str, first: int, sent: Sequence[bytes]) -> None:
        for n, line in enumerate(sent, first):
            self.acknowledged[writer, n] = line

    def folded(self, before: str, row: Row, changes: Changes) -> None:
        """A reader has made CHANGES of a row that follows the one with the digest BEFORE."""
        first = self.readers.setdefault(row.digest, (before, changes))
        self.counts["rows folded"] += 1
        if first[1] is not changes:
            same = first[0] == before and dict(first[1].grants) == dict(changes.grants)
            same = same and dict(first[1].seen) == dict(changes.seen)
            same = same and dict(first[1].generations) == dict(changes.generations)
            self._check(same and dict(first[1].names) == dict(changes.names), f"two readers differ at {row.place}")

    # -- what agents are told

    def told(self, claim: Claim, place: int) -> None:
        """An agent is told that it holds something. Its machine has read up to PLACE."""
        self.counts["told"] += 1
        had = self.books[id(claim.history)].had.get(claim.event)
        self._check(
            had is not None and had.token == claim.token and had.agent == claim.agent,
            f"{claim.agent} was told that it holds {claim.event}, which was not admitted",
        )
        assert had is not None
        self._check(
            had.ended is None or had.ended > place,
            f"{claim.agent} was told that it holds {claim.event}, and its machine knows that it has ended",
        )
        self.highest = max(self.highest, claim.token)
        for other in list(self.claims.values()):
            is_beside = other.agent == claim.agent or (other.shared and claim.shared) or other.is_in_doubt
            if not is_beside and meets(other.where, claim.where):
                self._both(*sorted((other, claim), key=lambda one: one.since))
        self.claims[claim.event] = claim

    def _both(self, old: Claim, new: Claim) -> None:
        """Two agents believe that they hold the same path."""
        for one, other in ((old, new), (new, old)):
            book = self.books[id(other.history)]
            had = book.had.get(one.event)
            if had is not None and had.token == one.token and had.taken_by and had.ended <= other.token:
                self._check(one.token < other.token, f"the token of {one.event} does not fence it off")
                self.counts["old holders that did not know yet"] += 1
                return
            if had is not None and had.token == one.token and had.ended is None:
                self._check(False, f"{one.agent} and {other.agent} both hold {one.where[0]}: {one} {other}")
        self._expose(old, new)

    def _expose(self, old: Claim, new: Claim) -> None:
        where = f"{old.agent} and {new.agent} both hold {old.where[0]}: {old} {new}"
        self._check(self.accidents > 0, where)
        is_hidden = all(
            self.contacts.get(one.machine) is not other.history or one.history is other.history
            for one, other in ((old, new), (new, old))
        )
        self._check(is_hidden, f"{where}, and one of their machines could have known")
        self.exposed[frozenset((old.event, new.event))] = self.world.now

    def over(self, event: str) -> None:
        """An agent releases, or is told that it has lost, or could know."""
        if self.claims.pop(event, None):
            self._unexpose(event)

    def doubt(self, machine: str) -> None:
        """A machine does not trust the engine any more: its guards refuse."""
        for event, claim in self.claims.items():
            if claim.machine == machine:
                claim.is_in_doubt = True
                self._unexpose(event)

    def trust(self, machine: str, history: Log, place: int) -> None:
        """A machine that has read up to PLACE has compared that with a HISTORY, and found the same there."""
        self.contacts[machine] = history
        for claim in list(self.claims.values()):
            if claim.machine == machine and (claim.is_in_doubt or claim.history is not history):
                had = self.books[id(history)].had.get(claim.event)
                if had is None or had.token != claim.token or (had.ended or place + 1) <= place:
                    continue  # the row that would tell is not read yet
                claim.history = history
                if claim.is_in_doubt:
                    claim.is_in_doubt = False
                    del self.claims[claim.event]
                    self.counts["told"] -= 1
                    self.told(claim, place)

    def _unexpose(self, event: str) -> None:
        for pair in [pair for pair in self.exposed if event in pair]:
            self.exposures.append(self.world.now - self.exposed.pop(pair))

    def sign_of_life(self, engine: str, agent: str, at: float) -> None:
        self.signs[engine, agent] = max(self.signs.get((engine, agent), 0.0), at)

    def takes_over(self, taker: str, holders: Iterable[str], engine: str) -> None:
        """An agent decides to take over what others hold, by what its machine heard from an ENGINE."""
        for holder in holders:
            silent = self.world.now - self.signs.get((engine, holder), float("-inf"))
            self._check(silent >= SILENCE, f"{taker} takes over from {holder}, silent for {silent / MINUTE:.1f} min")

    # -- the end

    def converged(self, log: Log, archive: Archive, readers: Mapping[str, tuple[str, Admitted]]) -> None:
        """Nothing fails any more, and everything has come to rest."""
        book = self.books[id(log)]
        for name, (digest, admitted) in readers.items():
            self._check(digest == log.digest, f"{name} has not read everything, or something else")
            wrong = book.differs(admitted)
            self._check(not wrong, f"{name} has not come to what the rule says: {wrong[:3]}")
        kept = {
            (row.writer, n): raw
            for row in archive.rows()
            for n, raw in enumerate(row.octets.split(b"\n")[:-1], row.first)
        }
        for (writer, n), line in self.acknowledged.items():
            self._check(kept.get((writer, n)) == line, f"line {n} of {writer} was acknowledged and is lost")
        self._check(not self.exposed, f"exposed for ever: {self.exposed}")

    def _check(self, is_right: bool, what: str) -> None:
        if not is_right:
            raise Broken(f"at {self.world.now / 1000:.3f} s: {what}")
