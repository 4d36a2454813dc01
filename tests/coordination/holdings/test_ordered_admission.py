"""Which global reservations are admitted if an engine gives each row of lines a place: judged alike by every reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bb.coordination.facts import (
    Expired,
    NameSettled,
    Registered,
    Released,
    Renewed,
    Reserved,
    Retired,
    TakenOver,
    Transferred,
)
from bb.coordination.holdings import ordered_admission
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.ordered_admission import (
    BEFORE_SWITCH,
    GIVEN_BACK,
    HOLDER_WORKS,
    IN_THE_WAY,
    OPEN,
    OTHER_INCARNATION,
    REPEATED,
    RIVAL,
    UNREADABLE,
    Changes,
    OrderedAdmission,
    Refusal,
)

ADA, BO, CY, PERSON = "ada", "bo1", "cyd", "user"
HERE, ELSEWHERE = "0123456789abcdef", "f" * 16
ONE, TWO, THREE, FOUR = (f"{letter * 12}.1" for letter in "abcd")

Facts = Sequence[tuple[str, Any]]


def wants(agent: str, scope: str, takes: str | None = None, order: str | None = HERE, **more: Any) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, takes=takes, order=order, **more)


class World:
    """Rows in their order, from a place on."""

    def __init__(self, known: Admitted | None = None, place: int = 10) -> None:
        self.fold, self.place = OrderedAdmission(known or Admitted(), HERE), place

    def row(self, *facts: tuple[str, Any], by: Sequence[str] = ()) -> Changes:
        """One more row with FACTS, and with lines BY others."""
        self.place += 1
        return self.fold.row(self.place, facts, {fact.agent for _, fact in facts} | {*by})

    def live(self) -> dict[str, tuple[str, str]]:
        grants = self.fold.admitted.grants
        return {name: (grant.agent, grant.scope) for name, grant in grants.items() if grant.ended is None}


def ada_has_src(**more: Any) -> World:
    """Ada has src since place 11."""
    world = World()
    world.row((ONE, wants(ADA, "src", **more)))
    return world


# -- what is admitted


def test_a_reservation_is_admitted_at_its_place_and_the_place_is_its_token():
    changes = World().row((ONE, wants(ADA, "src")))

    assert changes.verdict(ONE) == Grant(ADA, "src", is_file=False, shared=False, token=11)
    assert changes == Changes({ONE: changes.grants[ONE]}, {ONE: 11})


def test_it_is_admitted_whatever_came_between_the_decision_and_its_place():
    world = World()
    for _ in range(5):
        world.row(by=[CY])

    assert isinstance(world.row((ONE, wants(ADA, "src"))).verdict(ONE), Grant)


@pytest.mark.parametrize("scope", ["src", "src/parser", ".", "SRC/Parser", "*/parser", "**/lexer.py", "s*"])
def test_a_reservation_that_meets_the_grant_of_another_agent_is_not(scope: str):
    world = ada_has_src()

    assert world.row((TWO, wants(BO, scope))).verdict(TWO) == Refusal(IN_THE_WAY, (ONE,))
    assert world.fold.admitted.generations == {ONE: 11, TWO: 12}, "and it has a place, so it is not pending for ever"
    assert world.live() == {ONE: (ADA, "src")}


@pytest.mark.parametrize("scope", ["docs", "sr", "src2", "d*", "docs/*/src"])
def test_a_reservation_beside_it_is(scope: str):
    assert isinstance(ada_has_src().row((TWO, wants(BO, scope))).verdict(TWO), Grant)


def test_an_agent_is_not_in_its_own_way():
    world = ada_has_src()
    world.row((TWO, wants(ADA, "src/parser")))

    assert world.live() == {ONE: (ADA, "src"), TWO: (ADA, "src/parser")}


@pytest.mark.parametrize(
    ("first", "second", "are_both"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_only_what_both_share_is_held_by_both(first: bool, second: bool, are_both: bool):
    world = ada_has_src(shared=first)
    world.row((TWO, wants(BO, "src", shared=second)))

    assert (TWO in world.live()) is are_both


def test_of_two_in_one_row_the_first_is_admitted():
    world = World()
    changes = world.row((TWO, wants(BO, "src")), (ONE, wants(ADA, "src")))

    assert world.live() == {TWO: (BO, "src")}
    assert changes.verdict(ONE) == Refusal(IN_THE_WAY, (TWO,))


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        (wants(ADA, "src", order=ELSEWHERE), OTHER_INCARNATION),
        (wants(ADA, "src", order=None, base="c1"), BEFORE_SWITCH),
        (wants(ADA, "src", base="c1"), BEFORE_SWITCH),
        (wants(ADA, "a.py", is_file=True, is_open=True), OPEN),
        (wants(ADA, "a//x"), UNREADABLE),
    ],
)
def test_what_is_never_admitted(fact: Reserved, reason: str):
    world = World()

    assert world.row((ONE, fact)).verdict(ONE) == Refusal(reason)
    assert world.fold.admitted == Admitted({}, {ONE: 11})


@pytest.mark.parametrize("is_open", [False, True])
def test_a_local_reservation_has_a_place_and_no_verdict(is_open: bool):
    changes = World().row((ONE, wants(ADA, "src", order=None, is_open=is_open)))

    assert changes == Changes(generations={ONE: 11})
    assert changes.verdict(ONE) is None


def test_a_reservation_of_a_region_keeps_others_out_of_the_whole_file():
    world = World()
    world.row((ONE, wants(ADA, "a.py", is_file=True, region="roman")))

    assert world.row((TWO, wants(BO, "a.py", is_file=True, region="arabic"))).verdict(TWO) == Refusal(
        IN_THE_WAY, (ONE,)
    )


def test_a_reservation_that_was_given_back_before_it_had_a_place_is_not_admitted():
    changes = World().row((ONE, wants(ADA, "src")), ("a" * 12 + ".2", Released(ADA, ONE)))

    assert changes.verdict(ONE) == Refusal(GIVEN_BACK)


def test_the_same_line_again_changes_nothing():
    world = ada_has_src()
    before = world.fold.admitted

    assert world.row((ONE, wants(ADA, "src")), by=[CY]).verdict(ONE) == Refusal(REPEATED)
    assert world.fold.admitted == before.replace(grants={ONE: before.grants[ONE].replace(seen=12)})


def test_a_refused_line_again_is_not_admitted_later():
    world = ada_has_src()
    world.row((TWO, wants(BO, "src")))
    world.row((THREE, Released(ADA, ONE)))

    assert world.row((TWO, wants(BO, "src"))).verdict(TWO) == Refusal(REPEATED)
    assert world.live() == {}


def test_a_place_that_does_not_rise_is_a_mistake_of_the_caller():
    world = ada_has_src()

    with pytest.raises(ValueError, match="does not follow"):
        world.fold.row(11, [], [])


def test_a_grant_of_the_git_remote_stays_when_an_engine_begins():
    world = World(Admitted({ONE: Grant(ADA, "src", False, False, 7)}, {ONE: 7}))

    assert world.row((TWO, wants(BO, "src/parser"))).verdict(TWO) == Refusal(IN_THE_WAY, (ONE,))
    assert isinstance(world.row((THREE, wants(BO, "src", takes=f"{ONE}@10"))).verdict(THREE), Grant)


def test_a_grant_whose_scope_this_version_cannot_read_is_in_the_way_of_all():
    world = World(Admitted({ONE: Grant(ADA, "src//new", False, False, 7)}, {ONE: 7}))

    assert world.row((TWO, wants(BO, "docs"))).verdict(TWO) == Refusal(IN_THE_WAY, (ONE,))


# -- what ends


@pytest.mark.parametrize("end", [Released, Expired])
@pytest.mark.parametrize(("who", "ends"), [(ADA, True), (PERSON, True), (BO, False)])
def test_only_its_holder_and_the_person_end_it(end: Any, who: str, ends: bool):
    world = ada_has_src()
    world.row((TWO, end(who, ONE)))

    assert world.fold.admitted.grants[ONE].ended == (12 if ends else None)


@pytest.mark.parametrize(
    "fact", [TakenOver(BO, ONE, ADA, "stale", "taken_over"), Renewed(ADA, ONE, 60), Transferred(ADA, ONE, BO)]
)
def test_what_one_clone_says_of_it_does_not_end_it(fact: Any):
    world = ada_has_src()
    world.row((TWO, fact))

    assert world.live() == {ONE: (ADA, "src")}


def test_an_end_makes_way_within_its_own_row_whichever_line_comes_first():
    back, again = (THREE, Released(ADA, ONE)), (TWO, wants(ADA, "src"))

    for facts in ([back, again], [again, back]):
        world = ada_has_src()
        world.row(*facts)
        assert world.live() == {TWO: (ADA, "src")}


def test_the_first_end_counts():
    world = ada_has_src()
    world.row((TWO, Released(ADA, ONE)))

    assert world.row((THREE, Released(ADA, ONE))).grants == {}
    assert world.fold.admitted.grants[ONE].ended == 12


# -- taking over


def test_a_take_over_ends_what_it_takes():
    world = ada_has_src()
    changes = world.row((TWO, wants(BO, "src/parser", takes=f"{ONE}@11")))

    assert world.live() == {TWO: (BO, "src/parser")}
    assert changes.grants[ONE].ended == changes.grants[TWO].token == 12


def test_a_take_over_never_beats_a_holder_that_recorded_anything():
    world = ada_has_src()
    world.row(by=[ADA])

    changes = world.row((TWO, wants(BO, "src", takes=f"{ONE}@11")))

    assert changes.verdict(TWO) == Refusal(HOLDER_WORKS, (ONE,))
    assert world.fold.admitted.grants[ONE] == Grant(ADA, "src", False, False, 11, seen=12)
    assert isinstance(world.row((THREE, wants(BO, "src", takes=f"{ONE}@12"))).verdict(THREE), Grant)


def test_nor_one_that_recorded_something_in_the_same_row():
    changes = ada_has_src().row((TWO, wants(BO, "src", takes=f"{ONE}@11")), by=[ADA])

    assert changes.verdict(TWO) == Refusal(HOLDER_WORKS, (ONE,))


def test_what_others_record_does_not_protect_a_holder():
    world = ada_has_src()
    world.row(by=[CY, PERSON])

    assert isinstance(world.row((TWO, wants(BO, "src", takes=f"{ONE}@11"))).verdict(TWO), Grant)


@pytest.mark.parametrize("at", ["10", "12", "13", "999999999999999", "9" * 40, "", "-1", "x", "\u0661\u0661"])
def test_a_take_over_that_was_decided_before_the_grant_or_after_its_own_place_does_not_count(at: str):
    changes = ada_has_src().row((TWO, wants(BO, "src", takes=f"{ONE}@{at}")))

    assert isinstance(changes.verdict(TWO), Refusal)


def test_a_take_over_without_a_place_does_not_count():
    assert ada_has_src().row((TWO, wants(BO, "src", takes=ONE))).verdict(TWO) == Refusal(IN_THE_WAY, (ONE,))


def test_a_take_over_ends_all_that_it_meets_or_nothing():
    """Bo saw Ada fall silent, and not that Cy holds a part too."""
    world = World()
    world.row((ONE, wants(ADA, "src/a")))
    world.row((TWO, wants(CY, "src/c")))

    assert world.row((THREE, wants(BO, "src", takes=f"{ONE}@12"))).verdict(THREE) == Refusal(IN_THE_WAY, (TWO,))
    assert isinstance(world.row((FOUR, wants(BO, "src", takes=f"{ONE}@12 {TWO}@13"))).verdict(FOUR), Grant)


def test_of_two_take_overs_the_first_is_admitted():
    world = ada_has_src()
    world.row((TWO, wants(BO, "src", takes=f"{ONE}@11")))

    assert world.row((THREE, wants(CY, "src", takes=f"{ONE}@11"))).verdict(THREE) == Refusal(IN_THE_WAY, (TWO,))


# -- names that were registered twice

A_JOINS, B_JOINS = "aaaaaaaaaaaa.9", "bbbbbbbbbbbb.9"


def joins(agent: str) -> Registered:
    return Registered(agent, "builder", agent)


def test_a_rival_of_a_name_is_granted_nothing():
    world = World()
    world.row((B_JOINS, joins(ADA)))
    changes = world.row((A_JOINS, joins(ADA)))

    assert changes.names == {ADA: (B_JOINS, A_JOINS)}
    assert world.row((ONE, wants(ADA, "src"))).verdict(ONE) == Refusal(RIVAL)
    assert isinstance(world.row((TWO, wants(ADA, "src"))).verdict(TWO), Grant)


def test_once_the_name_is_settled_its_agent_is_granted_something():
    world = World()
    world.row((B_JOINS, joins(ADA)))
    world.row((A_JOINS, joins(ADA)))
    world.row((THREE, NameSettled(ADA, A_JOINS, None)))

    assert isinstance(world.row((ONE, wants(ADA, "src"))).verdict(ONE), Grant)


def test_a_name_that_nobody_has_any_more_is_reported_as_free():
    world = World()
    world.row((B_JOINS, joins(ADA)))

    assert world.row(("bbbbbbbbbbbb.10", Retired(ADA))).names == {ADA: ()}
    assert world.fold.admitted == Admitted()


# -- why not


def test_a_later_reader_finds_the_grants_that_were_in_the_way_at_the_place():
    world = ada_has_src()
    refused = wants(BO, "src/parser")
    world.row((TWO, refused))
    world.row((THREE, Released(ADA, ONE)))
    world.row((FOUR, wants(CY, "src")))

    assert ordered_admission.why_not(world.fold.admitted, HERE, TWO, refused) == Refusal(IN_THE_WAY, (ONE,))
    assert ordered_admission.why_not(world.fold.admitted, HERE, FOUR, wants(CY, "src")) is None


# -- beside a file


class File(dict[str, Any]):
    """A mapping in a file that can be lost."""

    is_lost = False

    def __contains__(self, key: object) -> bool:
        if self.is_lost:
            raise OSError
        return super().__contains__(key)


def test_a_fold_whose_state_is_in_a_file_stays_where_it_was_if_the_file_cannot_be_read():
    world = ada_has_src()
    generations = File(world.fold.admitted.generations)
    world.fold.saved(world.fold.admitted.replace(generations=generations))
    generations.is_lost = True
    with pytest.raises(OSError):  # noqa: PT011
        world.row((THREE, Released(ADA, ONE)), (TWO, wants(BO, "src")))
    generations.is_lost = False
    world.place -= 1

    changes = world.row((THREE, Released(ADA, ONE)), (TWO, wants(BO, "src")))

    assert isinstance(changes.verdict(TWO), Grant)
    assert changes.grants[ONE].ended == changes.grants[TWO].token == 12


def test_a_grant_is_found_wherever_it_is():
    world = ada_has_src()
    world.fold.saved(world.fold.admitted)
    world.row((TWO, wants(BO, "docs")))
    world.row((THREE, Released(BO, TWO)))

    found = [world.fold.grant(name) for name in (ONE, TWO, FOUR)]

    assert found == [world.fold.admitted.grants[ONE], world.fold.admitted.grants[TWO], None]
    world.fold.saved(world.fold.admitted)
    assert [world.fold.grant(name) for name in (ONE, TWO, FOUR)] == found


def test_a_grant_from_before_is_known_by_its_name():
    """A relay that has started again names the holder that it knows from its saved results."""
    before = ada_has_src()
    after = World(before.fold.admitted, place=11)

    refused = after.row((TWO, wants(BO, "src")))

    assert refused.verdict(TWO) == Refusal(IN_THE_WAY, (ONE,))
    assert after.fold.grant(ONE) == Grant(ADA, "src", is_file=False, shared=False, token=11)
