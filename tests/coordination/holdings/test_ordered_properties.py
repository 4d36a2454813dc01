"""What holds of admission by the order of rows, whatever is written in them: against a second opinion that looks at
every grant, path by path."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Expired, NameSettled, Registered, Released, Renewed, Reserved, Retired, TakenOver
from bb.coordination.holdings import admission, ordered_admission, scopes
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.open_grants import Lead, OpenGrants
from bb.coordination.holdings.ordered_admission import IN_THE_WAY, OrderedAdmission, Refusal
from tests.coordination.publication_support import PERSON, SCOPES, UNREADABLE, Had, have_a_path_in_common

AGENTS = ("ada", "bo1", "cyd")
HERE, ELSEWHERE = "0123456789abcdef", "f" * 16
BEGIN = 5  # the place before the first row

Facts = list[tuple[str, Any]]


@dataclass
class Row:
    place: int
    facts: Facts
    by: frozenset[str]


@dataclass
class Book:
    """Who was admitted, written down row by row by somebody who only knows what was promised."""

    had: dict[str, Had] = field(default_factory=dict)
    placed: dict[str, int] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)  # the last place of each agent
    taken: list[tuple[str, int, int]] = field(default_factory=list)  # what was taken over, silent up to where, and at

    def enter(self, row: Row) -> None:
        self.heard |= dict.fromkeys(row.by, row.place)
        given_back = [(fact.reservation, fact.agent) for _, fact in row.facts if isinstance(fact, (Released, Expired))]
        for name, who in given_back:
            if name in self.had and who in (self.had[name].agent, PERSON) and self.had[name].ended is None:
                self.had[name].ended = row.place
        for name, fact in row.facts:
            if isinstance(fact, Reserved) and name not in self.placed:
                self.placed[name] = row.place
                may_be = fact.order == HERE and fact.base is None and not fact.is_open and fact.scope != UNREADABLE
                if may_be and (name, fact.agent) not in given_back and (name, PERSON) not in given_back:
                    self._decide(name, fact, row.place)

    def _decide(self, name: str, fact: Reserved, place: int) -> None:
        new = Had(fact.agent, (fact.scope, fact.is_file), fact.shared, place)
        taken = {one: self._silent_up_to(one, fact.takes or "", place) for one in self.in_way_of(new)}
        if None in taken.values():
            return
        for one, upto in taken.items():
            self.had[one].ended = place
            self.taken.append((one, upto or 0, place))
        self.had[name] = new

    def _silent_up_to(self, name: str, takes: str, place: int) -> int | None:
        """The place up to which the words TAKES rightly say that the holder of a grant was silent."""
        held = self.had[name]
        for upto in range(place - 1, 0, -1):
            if f"{name}@{upto}" in takes.split(" "):
                return upto if max(held.token, self.heard[held.agent]) <= upto else None
        return None

    def in_way_of(self, new: Had) -> list[str]:
        return [
            name
            for name, held in self.had.items()
            if held.ended is None and held.agent != new.agent and not (held.shared and new.shared)
            if have_a_path_in_common(held.where, new.where)
        ]


names = st.sampled_from([f"{writer * 12}.{n}" for writer in "ab" for n in range(1, 7)])
agents = st.sampled_from(AGENTS)
words = st.builds("{}@{}".format, names, st.integers(0, 30))
lists_of_words = st.lists(words, min_size=1, max_size=5).map(" ".join)
flags = st.booleans()


def wants(agent: str, scope: str, takes: str | None, order: str | None = HERE, **more: Any) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, takes=takes, order=order, **more)


right = st.builds(wants, agents, st.sampled_from(SCOPES), lists_of_words | st.none(), shared=flags, is_file=flags)
hostile = st.one_of(
    st.builds(wants, agents, st.sampled_from([*SCOPES, UNREADABLE]), names, st.sampled_from([HERE, ELSEWHERE, None])),
    st.builds(wants, agents, st.sampled_from(SCOPES), st.none(), base=st.just("c1") | st.none(), is_open=flags),
    st.builds(TakenOver, agents, names, agents, st.just("stale"), st.just("expired")),
    st.builds(Renewed, agents, names, st.just(5)),
    st.builds(Released, st.sampled_from([*AGENTS, PERSON]), names),
    st.builds(Expired, st.sampled_from([*AGENTS, PERSON]), names),
)


@st.composite
def rows(draw: Any, *, is_each_line_one: bool = False) -> list[Row]:
    """Rows of up to four lines that mean something, among lines of any agent that do not. An event may be in several
    rows, and unless IS_EACH_LINE_ONE also twice in one row with different contents, which no engine takes."""
    found = []
    for place in range(BEGIN + 1, BEGIN + draw(st.integers(2, 14))):
        facts = draw(st.lists(st.tuples(names, right | right | hostile), max_size=4))
        if is_each_line_one:
            facts = list(dict(facts).items())
        by = {fact.agent for _, fact in facts} | draw(st.sets(agents, max_size=1))
        found.append(Row(place, facts, frozenset(by)))
    return found


def folded(some: Sequence[Row], known: Admitted | None = None) -> OrderedAdmission:
    fold = OrderedAdmission(known or Admitted(), HERE)
    for row in some:
        fold.row(row.place, row.facts, row.by)
    return fold


def entered(some: Sequence[Row]) -> Book:
    book = Book()
    for row in some:
        book.enter(row)
    return book


def as_had(known: Admitted) -> dict[str, Had]:
    return {
        name: Had(grant.agent, (grant.scope, grant.is_file), grant.shared, grant.token, grant.ended)
        for name, grant in known.grants.items()
    }


def reread(known: Admitted) -> Admitted:
    return Admitted.from_dict(json.loads(json.dumps(known.as_json())))


@given(some=rows())
def test_a_second_opinion_agrees(some: list[Row]):
    known, book = folded(some).admitted, entered(some)

    assert (as_had(known), known.generations) == (book.had, book.placed)
    for grant in known.grants.values():
        if grant.ended is None:
            assert grant.last_seen == max(grant.token, book.heard[grant.agent])


@given(some=rows())
def test_two_that_overlap_are_never_both_held_by_different_agents_at_any_place(some: list[Row]):
    fold = OrderedAdmission(Admitted(), HERE)
    for row in some:
        fold.row(row.place, row.facts, row.by)
        held = [grant for grant in fold.admitted.grants.values() if grant.ended is None]
        for one, other in itertools.combinations(held, 2):
            assert (
                one.agent == other.agent
                or (one.shared and other.shared)
                or not have_a_path_in_common((one.scope, one.is_file), (other.scope, other.is_file))
            )


@given(some=rows())
def test_a_take_over_never_beats_a_holder_that_recorded_anything(some: list[Row]):
    """A grant that ended without a word of its holder or the person was taken over, and its taker had named a place
    after which the holder recorded nothing."""
    grants = folded(some).admitted.grants
    for name, grant in grants.items():
        row = next((row for row in some if row.place == grant.ended), None)
        ended_by = {fact.agent for _, fact in row.facts if getattr(fact, "reservation", None) == name} if row else set()
        if row is None or ended_by & {grant.agent, PERSON}:
            continue
        takers = [fact for event, fact in row.facts if event in grants and grants[event].token == row.place]
        upto = max(
            int(word.partition("@")[2])
            for taker in takers
            for word in (taker.takes or "").split()
            if word.startswith(f"{name}@") and int(word.partition("@")[2]) < row.place
        )
        assert grant.token <= upto
        assert not any(upto < one.place <= row.place and grant.agent in one.by for one in some)


@given(some=rows(), stops=st.sets(st.integers(BEGIN, BEGIN + 14)))
def test_a_fold_that_was_saved_at_any_place_and_went_on_knows_what_a_whole_one_knows(some: list[Row], stops: set[int]):
    fold = OrderedAdmission(Admitted(), HERE)
    for row in some:
        fold.row(row.place, row.facts, row.by)
        if row.place in stops:
            fold = OrderedAdmission(reread(fold.admitted), HERE)

    assert fold.admitted == folded(some).admitted


@given(some=rows(), stops=st.sets(st.integers(BEGIN, BEGIN + 14)))
def test_the_changes_are_all_that_must_be_saved(some: list[Row], stops: set[int]):
    """One keeps the changes of each row, another one those since it saved last."""
    by_row, by_save = Admitted({}, {}, {}), Admitted({}, {}, {})
    fold = OrderedAdmission(by_save, HERE)
    for row in some:
        by_row = changed(by_row, fold.row(row.place, row.facts, row.by))
        if row.place in stops:
            by_save = changed(by_save, fold.changes)
            fold.saved(by_save)

    assert by_row == changed(by_save, fold.changes) == fold.admitted == folded(some).admitted


def changed(known: Admitted, changes: ordered_admission.Changes) -> Admitted:
    names = {name: events for name, events in {**known.names, **changes.names}.items() if events}
    floor = changes.floor or known.floor
    grants = admission.seen_by_holders({**known.grants, **changes.grants}, changes.seen)
    grants = {name: one for name, one in grants.items() if (one.ended or floor) >= floor}
    return Admitted(grants, {**known.generations, **changes.generations}, names, floor)


@given(some=rows())
def test_tokens_rise(some: list[Row]):
    tokens = [grant.token for grant in folded(some).admitted.grants.values()]

    assert tokens == sorted(tokens)
    for grant in folded(some).admitted.grants.values():
        assert grant.token > BEGIN
        assert grant.ended is None or grant.ended >= grant.token


@given(some=rows(), more=rows())
def test_what_was_decided_stays_decided(some: list[Row], more: list[Row]):
    before = folded(some).admitted
    later = folded([Row(row.place + 20, row.facts, row.by) for row in more], before).admitted

    for name, grant in before.grants.items():
        kept = later.grants[name]
        assert kept.replace(ended=None, seen=0) == grant.replace(ended=None, seen=0)
        assert grant.ended in (None, kept.ended)
    assert before.generations.items() <= later.generations.items()
    assert not (before.generations.keys() - before.grants.keys()) & later.grants.keys(), "a refusal is for ever"


@given(some=rows(), data=st.data())
def test_reservations_that_come_twice_are_harmless(some: list[Row], data: st.DataObject):
    """They come again at once, or in any later row."""
    doubled, before = [], []
    for row in some:
        doubled.append(Row(2 * row.place, row.facts, row.by))
        before += [one for one in row.facts if isinstance(one[1], Reserved)]
        again = data.draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
        doubled.append(Row(2 * row.place + 1, again, frozenset()))

    once = folded([Row(2 * row.place, row.facts, row.by) for row in some]).admitted
    assert folded(doubled).admitted == once


@given(some=rows(is_each_line_one=True))
def test_each_reservation_for_this_engine_is_granted_or_refused_with_what_is_in_its_way(some: list[Row]):
    fold = OrderedAdmission(Admitted(), HERE)
    for row in some:
        before = fold.admitted.generations
        changes = fold.row(row.place, row.facts, row.by)
        for event, fact in row.facts:
            if not isinstance(fact, Reserved) or not fact.is_global:
                continue
            verdict = changes.verdict(event)
            assert verdict is not None
            if isinstance(verdict, Refusal) and verdict.by:
                for name in verdict.by:
                    grant = fold.admitted.grants[name]
                    assert grant.agent != fact.agent
                    assert have_a_path_in_common((grant.scope, grant.is_file), (fact.scope, fact.is_file))
            if isinstance(verdict, Refusal) and verdict.reason == IN_THE_WAY and event not in before:
                assert verdict.by


def with_verdicts(some: Sequence[Row]) -> tuple[Admitted, dict[str, Reserved], dict[str, Any]]:
    """The results after SOME rows, their reservations, and the verdict on each when its row was folded."""
    fold, facts, verdicts = OrderedAdmission(Admitted(), HERE), {}, {}
    for row in some:
        changes = fold.row(row.place, row.facts, row.by)
        for event, fact in row.facts:
            if isinstance(fact, Reserved) and event in changes.generations and event not in facts:
                facts[event], verdicts[event] = fact, changes.verdict(event)
    return fold.admitted, facts, verdicts


@given(some=rows(is_each_line_one=True))
def test_a_later_reader_gives_a_reason_for_each_refusal_and_none_for_a_grant(some: list[Row]):
    known, facts, reasons = with_verdicts(some)
    for event, fact in facts.items():
        found = ordered_admission.why_not(known, HERE, event, fact)
        verdict = reasons[event]
        assert (found is None) is (verdict is None or isinstance(verdict, Grant))


# -- both rules


@st.composite
def agreed(draw: Any) -> list[tuple[Facts, Facts]]:
    """Lines for which both rules must agree, as each of them writes them: each commit is a row, its reservations were
    checked against the commit before it, and nobody records anything but these lines. Take-overs are of what the row
    before knew."""
    about_names = st.one_of(
        st.builds(Registered, agents, st.just("builder"), st.just("x")),
        st.builds(Retired, agents),
        st.builds(NameSettled, agents, names, st.none()),
    )
    ends = st.builds(Released, st.sampled_from([*AGENTS, PERSON]), names) | st.builds(Expired, agents, names)
    commits, used = [], set()
    for place in range(2, draw(st.integers(3, 14))):
        facts = draw(st.lists(st.tuples(names, right | ends | about_names), max_size=4, unique_by=lambda one: one[0]))
        facts = [one for one in facts if one[0] not in used]
        used |= {event for event, _ in facts}
        taken = draw(st.lists(names, max_size=4, unique=True)) if len(facts) == 1 else []
        pairs: tuple[Facts, Facts] = [], []
        for event, fact in facts:
            one = other = fact
            if isinstance(fact, Reserved):
                one = fact.replace(order=None, base=f"c{place - 1}", takes=" ".join(taken) or None)
                other = fact.replace(takes=" ".join(f"{name}@{place - 1}" for name in taken) or None)
            pairs[0].append((event, one))
            pairs[1].append((event, other))
        commits.append(pairs)
    return commits


@given(commits=agreed())
def test_both_rules_agree_where_nothing_came_in_between(commits: list[tuple[Facts, Facts]]):
    known, fold = Admitted(), OrderedAdmission(Admitted(), HERE)
    for place, (by_base, by_order) in enumerate(commits, 2):
        known = admission.admit(known, f"c{place - 1}", place, by_base)
        fold.row(place, by_order, ())

    assert fold.admitted == known


# -- the index of open grants

pieces = st.sampled_from(
    ["a", "A", "ä", "a\u0308", "b", "ab", "İ", "ς", "σ", "Σ", "*", "**", "a*", "*b", "?", "[ab]", "x.py"]
)
texts = st.lists(pieces, min_size=1, max_size=4).map("/".join) | st.just(".")
readable = texts.map(lambda text: scopes.stored(text) and text).filter(bool)
grants = st.builds(Grant, agents, readable, flags, flags, st.integers(1, 9))


@given(held=st.lists(grants, max_size=12), ends=st.sets(st.integers(0, 11)), wanted=grants)
def test_the_index_finds_what_a_look_at_every_grant_finds(held: list[Grant], ends: set[int], wanted: Grant):
    index = OpenGrants({f"{'a' * 12}.{n}": grant for n, grant in enumerate(held)})
    left = {f"{'a' * 12}.{n}": grant for n, grant in enumerate(held) if n not in ends}
    for n in ends & {*range(len(held))}:
        index.end(f"{'a' * 12}.{n}")
    scope = wanted.parsed_scope()

    assert scope is not None
    assert sorted(index.in_way(wanted, Lead(scope))) == sorted(admission.in_way(wanted, left))
    for place, agent in enumerate(AGENTS, 20):
        own = {name for name, grant in left.items() if grant.agent == agent}
        assert index.saw(place, [agent]) == ({agent: place} if own else {})
        assert {name for name in index if index[name].seen == place} == own
