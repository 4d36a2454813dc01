"""Which global reservations are admitted: judged by the order of publication alone, alike by every reader."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import (
    Expired,
    NameSettled,
    Registered,
    Released,
    Renewed,
    Reserved,
    Retired,
    TakenOver,
)
from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.scopes import Scope
from tests.coordination.publication_support import (
    PERSON,
    SCOPES,
    UNREADABLE,
    Book,
    Had,
    have_a_path_in_common,
)

ADA, BO, CY = AGENTS = ("ada", "bo1", "cyd")
ONE, TWO, THREE = (f"{letter * 12}.1" for letter in "abc")

Facts = list[tuple[str, Any]]


def wants(agent: str, scope: str, base: str | None, takes: str | None = None, **flags: bool) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, base=base, takes=takes, **flags)


def named(place: int) -> str | None:
    """The commit at a place in the line; there is none before the first."""
    return f"c{place}" if place else None


def after(*commits: Facts, known: Admitted = Admitted(), begun: int = 0) -> Admitted:  # noqa: B008  (frozen)
    """What is settled after commits, of which so many were KNOWN when this began; each stands on the one before."""
    for place, facts in enumerate(commits, begun):
        known = admission.admit(known, named(place), place + 1, facts)
    return known


def live(known: Admitted) -> dict[str, tuple[str, str]]:
    """Who holds what."""
    return {name: (grant.agent, grant.scope) for name, grant in known.grants.items() if grant.ended is None}


BEGUN: Facts = []  # the first commit of every ledger; nothing can have been checked against one before it
ADA_HAS_SRC: Sequence[Facts] = [BEGUN, [(ONE, wants(ADA, "src", "c1"))]]


# -- what is admitted


def test_what_was_checked_against_the_commit_it_stands_on_is_admitted_and_that_commits_number_is_its_token():
    assert after(*ADA_HAS_SRC).grants == {ONE: Grant(ADA, "src", is_file=False, shared=False, token=2)}


@pytest.mark.parametrize("base", ["c0", "c3", "", None], ids=["older", "newer", "empty", "none"])
def test_what_was_checked_against_another_commit_is_not(base: str | None):
    found = after(BEGUN, [], [(ONE, wants(ADA, "src", base))])

    assert found.grants == {}
    assert found.generations == {ONE: 3}, "and that it came out is known, so that it is not pending for ever"


def test_nothing_is_admitted_by_the_first_commit_of_all():
    assert after([(ONE, wants(ADA, "src", None))]).grants == {}


def test_what_meets_the_grant_of_another_agent_is_not_admitted():
    found = after(*ADA_HAS_SRC, [(TWO, wants(BO, "src/parser", "c2"))])

    assert live(found) == {ONE: (ADA, "src")}


def test_it_is_met_in_any_case_of_letters_because_some_clone_may_not_mind_it():
    found = after(*ADA_HAS_SRC, [(TWO, wants(BO, "SRC/Parser", "c2"))])

    assert live(found) == {ONE: (ADA, "src")}


def test_a_pattern_that_is_said_to_be_a_file_is_met_like_any_pattern():
    found = after(BEGUN, [(ONE, wants(ADA, "*/parser", "c1", is_file=True))], [(TWO, wants(BO, "src", "c2"))])

    assert live(found) == {ONE: (ADA, "*/parser")}


def test_an_agent_is_not_in_its_own_way():
    found = after(*ADA_HAS_SRC, [(TWO, wants(ADA, "src/parser", "c2"))])

    assert live(found) == {ONE: (ADA, "src"), TWO: (ADA, "src/parser")}


@pytest.mark.parametrize(
    ("first", "second", "are_both"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_only_what_both_share_is_held_by_both(first: bool, second: bool, are_both: bool):
    found = after(BEGUN, [(ONE, wants(ADA, "src", "c1", shared=first))], [(TWO, wants(BO, "src", "c2", shared=second))])

    assert (TWO in found.grants) is are_both


def test_of_two_in_one_commit_the_first_is_admitted():
    found = after(BEGUN, [(TWO, wants(BO, "src", "c1")), (ONE, wants(ADA, "src", "c1"))])

    assert live(found) == {TWO: (BO, "src")}


def test_what_nobody_can_read_as_a_scope_is_not_admitted():
    assert after(BEGUN, [(ONE, wants(ADA, UNREADABLE, "c1"))]).grants == {}


def test_what_was_given_back_before_it_came_out_is_not_admitted():
    """It was recorded, not published, and given up: nothing would ever end it."""
    found = after(BEGUN, [(ONE, wants(ADA, "src", "c1")), (f"{'a' * 12}.2", Released(ADA, ONE))])

    assert found.grants == {}
    assert found.generations == {ONE: 2}


def test_that_another_agent_gives_it_back_in_the_same_commit_changes_nothing():
    found = after(BEGUN, [(TWO, Released(BO, ONE)), (ONE, wants(ADA, "src", "c1"))])

    assert live(found) == {ONE: (ADA, "src")}


# -- what ends


@pytest.mark.parametrize("end", [Released, Expired])
@pytest.mark.parametrize(("who", "ends"), [(ADA, True), (PERSON, True), (BO, False)])
def test_only_its_holder_and_a_person_end_it(end: Any, who: str, ends: bool):
    found = after(*ADA_HAS_SRC, [(TWO, end(who, ONE))])

    assert found.grants[ONE].ended == (3 if ends else None)


@pytest.mark.parametrize("fact", [TakenOver(BO, ONE, ADA, "stale", "taken_over"), Renewed(ADA, ONE, 60)])
def test_what_one_clone_says_of_it_does_not_end_it(fact: Any):
    assert after(*ADA_HAS_SRC, [(TWO, fact)]).grants[ONE].ended is None


def test_an_end_makes_way_within_its_own_commit_whichever_line_comes_first():
    back, again = (THREE, Released(ADA, ONE)), (TWO, wants(BO, "src", "c2"))

    for facts in ([back, again], [again, back]):
        assert live(after(*ADA_HAS_SRC, facts)) == {TWO: (BO, "src")}


def test_the_first_end_counts():
    found = after(*ADA_HAS_SRC, [(TWO, Released(ADA, ONE))], [(THREE, Released(ADA, ONE))])

    assert found.grants[ONE].ended == 3


def test_a_take_over_that_is_admitted_ends_what_it_takes():
    found = after(*ADA_HAS_SRC, [(TWO, wants(BO, "src/parser", "c2", takes=ONE))])

    assert live(found) == {TWO: (BO, "src/parser")}
    assert found.grants[ONE].ended == found.grants[TWO].token == 3


def test_a_take_over_that_lost_its_race_ends_nothing():
    found = after(*ADA_HAS_SRC, [], [(TWO, wants(BO, "src", "c2", takes=ONE))])

    assert live(found) == {ONE: (ADA, "src")}


def test_a_take_over_ends_all_that_it_meets_or_nothing():
    """Bo saw Ada fall silent, and not that Cy holds a part too."""
    both = [BEGUN, [(ONE, wants(ADA, "src/a", "c1"))], [(TWO, wants(CY, "src/c", "c2"))]]

    assert set(live(after(*both, [(THREE, wants(BO, "src", "c3", takes=ONE))]))) == {ONE, TWO}
    assert set(live(after(*both, [(THREE, wants(BO, "src", "c3", takes=f"{ONE} {TWO}"))]))) == {THREE}


# -- fencing


def test_whoever_was_taken_over_is_fenced_off_where_the_other_one_has_been():
    found = after(*ADA_HAS_SRC, [(TWO, wants(BO, "src/parser", "c2", takes=ONE))], [(THREE, Released(BO, TWO))])

    fence = admission.fenced(found, ADA, 2, Scope("src/parser/lexer.py"))
    assert fence is not None
    assert fence.agent == BO
    assert admission.fenced(found, ADA, 2, Scope("docs")) is None
    assert admission.fenced(found, BO, 3, Scope("src/parser/lexer.py")) is None


def test_those_who_share_do_not_fence_each_other_off():
    both = [BEGUN, [(ONE, wants(ADA, "src", "c1", shared=True))], [(TWO, wants(BO, "src", "c2", shared=True))]]
    alone = [*both, [(THREE, wants(CY, "src", "c3", takes=f"{ONE} {TWO}"))]]

    assert admission.fenced(after(*both), ADA, 2, Scope("src/parser")) is None
    assert admission.fenced(after(*alone), ADA, 2, Scope("src/parser")) is not None


# -- what holds for whatever is published

names = st.sampled_from([f"{writer * 12}.{n}" for writer in "ab" for n in range(1, 7)])
agents = st.sampled_from(AGENTS)
bases = st.integers(0, 12).map(named) | st.sampled_from(["", "nonsense"])
lists_of_names = st.lists(names, min_size=1, max_size=4).map(" ".join) | st.just("nonsense")
flags = st.booleans()
hostile = st.one_of(
    st.builds(wants, agents, st.sampled_from([*SCOPES, UNREADABLE]), bases, lists_of_names | st.none()),
    st.builds(TakenOver, agents, names, agents, st.just("stale"), st.just("expired")),
    st.builds(Renewed, agents, names, st.just(5)),
    st.builds(Released, st.sampled_from([*AGENTS, PERSON]), names),
    st.builds(Expired, st.sampled_from([*AGENTS, PERSON]), names),
)


@st.composite
def published(draw: Any) -> list[Facts]:
    """Commits of up to four lines: reservations that were checked against the tip, or against anything else, some of
    them taking over what there is; ends by anybody; and lines that make no sense."""
    commits: list[Facts] = [[]]
    for place in range(1, draw(st.integers(2, 12))):
        right = st.builds(
            wants,
            agents,
            st.sampled_from(SCOPES),
            st.just(named(place)),
            lists_of_names | st.none(),
            shared=flags,
            is_file=flags,
        )
        commits.append(draw(st.lists(st.tuples(names, right | hostile), max_size=4)))
    return commits


def booked(commits: Sequence[Facts]) -> Book:
    book = Book()
    for place, facts in enumerate(commits, 1):
        book.enter(f"c{place}", facts)
    return book


def as_had(known: Admitted) -> dict[str, Had]:
    return {
        name: Had(grant.agent, (grant.scope, grant.is_file), grant.shared, grant.token, grant.ended)
        for name, grant in known.grants.items()
    }


@given(commits=published())
def test_two_that_overlap_are_never_both_held_by_different_agents(commits: list[Facts]):
    known = Admitted()
    for place, facts in enumerate(commits):
        known = after(facts, known=known, begun=place)
        for one, other in itertools.combinations([grant for grant in known.grants.values() if grant.ended is None], 2):
            assert (
                one.agent == other.agent
                or (one.shared and other.shared)
                or not have_a_path_in_common((one.scope, one.is_file), (other.scope, other.is_file))
            )


@given(commits=published())
def test_a_second_opinion_agrees(commits: list[Facts]):
    assert as_had(after(*commits)) == booked(commits).had


@given(commits=published(), stops=st.sets(st.integers(0, 12)))
def test_whoever_stops_and_goes_on_knows_what_is_known_to_who_reads_all_at_once(commits: list[Facts], stops: set[int]):
    known = Admitted()
    for place, facts in enumerate(commits):
        if place in stops:
            known = Admitted.from_dict(json.loads(json.dumps(known.as_json())))
        known = after(facts, known=known, begun=place)

    assert known == after(*commits)


@given(commits=published(), more=published())
def test_what_was_settled_stays_settled(commits: list[Facts], more: list[Facts]):
    """What a commit admitted keeps its token, an end stays where it was, and what came out void stays void."""
    before = after(*commits)
    later = after(*more[1:], known=before, begun=len(commits))

    for name, grant in before.grants.items():
        kept = later.grants[name]
        assert kept.replace(ended=None) == grant.replace(ended=None)
        assert grant.ended in (None, kept.ended)
    assert before.generations.items() <= later.generations.items()


@given(data=st.data(), commits=published())
def test_what_is_left_over_from_a_lost_race_is_void_whenever_it_comes_out(data: st.DataObject, commits: list[Facts]):
    """Somebody else's commit came in between, so it stands on another one than it was checked against, for ever."""
    base = data.draw(st.integers(0, len(commits) - 1), label="base")
    place = data.draw(st.integers(base + 1, len(commits)), label="where it comes out")
    left_over = ("z" * 12 + ".1", wants(CY, ".", named(base), takes=" ".join(after(*commits).grants)))
    with_it = [*commits[:place], [left_over], *commits[place:]]

    assert left_over[0] not in after(*with_it).grants


@given(commits=published())
def test_tokens_rise(commits: list[Facts]):
    tokens = [grant.token for grant in after(*commits).grants.values()]

    assert tokens == sorted(tokens)
    for grant in after(*commits).grants.values():
        assert grant.ended is None or grant.ended >= grant.token


@given(commits=published(), agent=agents, token=st.integers(0, 13), path=st.sampled_from(["a", "a/x", "a/y", "b", "y"]))
def test_fencing_is_what_a_look_at_every_grant_says(commits: list[Facts], agent: str, token: int, path: str):
    there = [held for held in booked(commits).had.values() if have_a_path_in_common(held.where, (path, False))]
    shares = any(held.agent == agent and held.token == token and held.shared for held in there)
    fences = [held for held in there if held.token > token and held.agent != agent]

    found = admission.fenced(after(*commits), agent, token, Scope(path))

    assert (found is not None) is any(not (held.shared and shares) for held in fences)


def test_what_was_settled_at_an_earlier_commit_follows_from_what_is_settled_now():
    ended, open_, later = (
        Grant("amber-otter", "src", False, False, token, end) for token, end in ((2, 5), (3, None), (6, None))
    )
    now = Admitted({"a.1": ended, "a.2": open_, "b.1": later}, {"a.1": 2, "a.2": 3, "b.1": 6})

    assert now.upto(6) == now
    assert now.upto(4) == Admitted({"a.1": ended.replace(ended=None), "a.2": open_}, {"a.1": 2, "a.2": 3})
    assert now.upto(1) == Admitted()
    seen = open_.replace(seen=5)
    assert seen.upto(5) == seen
    assert seen.upto(4) == open_.replace(seen=4), "its holder was seen at some place up to 4, or at none"
    named = Admitted(names={"amber-otter": ("a.9", "b.9")})
    assert named.upto(1) == named.keeping([]) == named, "names have no generations"
    assert named.without({"a.9"}).names == {"amber-otter": ("b.9",)}


# -- names that were registered twice


def joins(agent: str) -> Registered:
    return Registered(agent, "builder", agent)


A_JOINS, B_JOINS = "aaaaaaaaaaaa.9", "bbbbbbbbbbbb.9"


def test_a_rival_of_a_name_is_granted_nothing_in_every_clone():
    commits: list[Facts] = [[(B_JOINS, joins(ADA))], [(A_JOINS, joins(ADA))], [(ONE, wants(ADA, "src", "c2"))]]

    known = after(*commits)

    assert known.names == {ADA: (B_JOINS, A_JOINS)}
    assert (known.grants, known.generations) == ({}, {ONE: 3}), "void"
    assert live(after([(TWO, wants(ADA, "src", "c3"))], known=known, begun=3)) == {TWO: (ADA, "src")}


@pytest.mark.parametrize("to", [None, BO])
def test_once_the_name_is_settled_its_agent_is_granted_something(to: str | None):
    begun: list[Facts] = [[(B_JOINS, joins(ADA))], [(A_JOINS, joins(ADA))], [(THREE, NameSettled(ADA, A_JOINS, to))]]

    known = after(*begun, [(ONE, wants(to or ADA, "src", "c3"))])

    assert known.names == {ADA: (B_JOINS,)}
    assert live(known) == {ONE: (to or ADA, "src")}


def test_registered_and_reserved_in_one_commit_by_a_rival_is_not_admitted_either():
    known = after([(B_JOINS, joins(ADA))], [(ONE, wants(ADA, "src", "c1")), (A_JOINS, joins(ADA))])

    assert not known.grants


def test_a_retirement_ends_the_registration_of_its_writer_or_all():
    both: list[Facts] = [[(B_JOINS, joins(ADA))], [(A_JOINS, joins(ADA))]]

    assert after(*both, [("bbbbbbbbbbbb.10", Retired(ADA))]).names == {ADA: (A_JOINS,)}
    assert after(*both, [("aaaaaaaaaaaa.10", Retired(ADA))]).names == {ADA: (B_JOINS,)}
    assert after(*both, [("cccccccccccc.10", Retired(ADA))]).names == {}


about_names = st.one_of(
    st.builds(Registered, st.sampled_from(AGENTS), st.just("builder"), st.just("x")),
    st.builds(Retired, st.sampled_from(AGENTS)),
    st.builds(NameSettled, st.sampled_from(AGENTS), st.sampled_from([ONE, TWO, A_JOINS]), st.none() | st.just(CY)),
)
ids_of_events = st.builds("{}.{}".format, st.sampled_from(["a" * 12, "b" * 12, "c" * 12]), st.integers(1, 9))


@given(commits=st.lists(st.lists(st.tuples(ids_of_events, about_names), max_size=4, unique_by=lambda one: one[0])))
def test_names_are_the_same_whatever_the_order_within_a_commit_and_wherever_one_stops(commits: list[Facts]):
    known = Admitted()
    for place, facts in enumerate(commits):
        known = after(facts[::-1], known=Admitted.from_dict(json.loads(json.dumps(known.as_json()))), begun=place)

    assert known == after(*commits)
    for events in known.names.values():
        assert len({event.partition(".")[0] for event in events}) == len(events), "one for each writer"
