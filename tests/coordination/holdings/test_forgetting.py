"""Grants that ended long ago are forgotten: all readers forget the same ones, and nobody is told anything unsafe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings import admission, forgetting, ordered_admission
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.coordination.holdings.scopes import Scope
from tests.coordination.holdings.test_ordered_properties import (
    BEGIN,
    HERE,
    Row,
    as_had,
    changed,
    entered,
    folded,
    reread,
    rows,
    with_verdicts,
)
from tests.coordination.soon_forgotten import forgetting_soon

stops = st.sets(st.integers(BEGIN, BEGIN + 14))


@pytest.fixture(autouse=True, scope="module")
def soon() -> Iterator[None]:
    with forgetting_soon():
        yield


def remembering(some: list[Row]) -> OrderedAdmission:
    fold = OrderedAdmission(Admitted(), HERE, forgets=False)
    for row in some:
        fold.row(row.place, row.facts, row.by)
    return fold


def without(grants: dict[str, Grant], floor: int) -> dict[str, Grant]:
    return {name: one for name, one in grants.items() if one.ended is None or one.ended >= floor}


@given(some=rows())
def test_nothing_is_decided_otherwise_and_only_what_ended_before_the_floor_is_gone(some: list[Row]):
    known, book, floor = folded(some).admitted, entered(some), forgetting.floor(some[-1].place)

    expected = {name: had for name, had in book.had.items() if had.ended is None or had.ended >= floor}
    assert (as_had(known), known.generations, known.floor) == (expected, book.placed, floor)
    every = remembering(some).admitted
    assert known.grants == without(dict(every.grants), floor)
    assert as_had(every) == book.had


@given(some=rows(), stops=stops)
def test_a_fold_that_was_saved_at_any_place_and_went_on_knows_what_a_whole_one_knows(some: list[Row], stops: set[int]):
    fold = OrderedAdmission(Admitted(), HERE)
    for row in some:
        fold.row(row.place, row.facts, row.by)
        if row.place in stops:
            fold = OrderedAdmission(reread(fold.admitted), HERE)

    assert fold.admitted == folded(some).admitted


@given(some=rows(), stop=st.integers(1, 14))
def test_whoever_begins_with_more_than_is_known_soon_knows_the_same(some: list[Row], stop: int):
    """For example with the state of an epoch that began before the fleet did."""
    fold = OrderedAdmission(remembering(some[:stop]).admitted, HERE)
    for row in some[stop:]:
        fold.row(row.place, row.facts, row.by)

    if some[stop:]:
        assert fold.admitted == folded(some).admitted


@given(some=rows(), stops=stops)
def test_the_changes_are_all_that_must_be_saved(some: list[Row], stops: set[int]):
    by_row, by_save = Admitted({}, {}, {}), Admitted({}, {}, {})
    fold = OrderedAdmission(by_save, HERE)
    for row in some:
        by_row = changed(by_row, fold.row(row.place, row.facts, row.by))
        if row.place in stops:
            by_save = changed(by_save, fold.changes)
            fold.saved(by_save)

    assert by_row == changed(by_save, fold.changes) == fold.admitted == folded(some).admitted


def is_refused(known: Admitted, agent: str, token: int, path: Scope) -> bool:
    return bool(admission.fenced(known, agent, token, path) or admission.is_too_old(known, agent, token, path))


@given(some=rows())
def test_a_token_that_was_fenced_off_is_never_good_again(some: list[Row]):
    """And none is good that a reader who remembers everything refuses."""
    fold, every = OrderedAdmission(Admitted(), HERE), OrderedAdmission(Admitted(), HERE, forgets=False)
    had: set[tuple[str, int]] = set()
    refused: set[tuple[str, int, Scope]] = set()
    paths = [Scope("a/x", is_file=True), Scope("a/x"), Scope("b"), Scope("*/x")]
    for row in some:
        fold.row(row.place, row.facts, row.by)
        every.row(row.place, row.facts, row.by)
        known, all_known = fold.admitted, every.admitted
        had |= {(grant.agent, grant.token) for grant in all_known.grants.values()}
        now = {(*one, path) for one in had for path in paths if is_refused(known, *one, path)}
        assert refused <= now
        assert {(*one, path) for one in had for path in paths if is_refused(all_known, *one, path)} <= now
        refused = now


@given(some=rows(is_each_line_one=True))
def test_nobody_is_told_later_that_it_was_granted_what_has_ended(some: list[Row]):
    known, facts, verdicts = with_verdicts(some)
    for event, fact in facts.items():
        found = ordered_admission.why_not(known, HERE, event, fact)
        if isinstance(verdicts[event], Grant):
            assert (found is None) is (event in known.grants)
        elif verdicts[event] is not None:
            assert found is not None


def test_the_token_of_an_open_grant_is_good_however_old_it_is():
    fold = OrderedAdmission(Admitted(), HERE)
    fold.row(6, [("a" * 12 + ".1", Reserved("ada", "src", "bb-1", 120, order=HERE))], ["ada"])
    fold.row(40, [], ["bo1"])

    known = fold.admitted
    assert known.floor == 35
    for path in ("src", "src/a.py", "SRC/b"):
        assert not is_refused(known, "ada", 6, Scope(path))
    for path in ("docs", "*/a.py"):
        assert admission.is_too_old(known, "ada", 6, Scope(path)), "others may have had paths that it does not cover"
    fold.row(41, [("a" * 12 + ".2", Released("ada", "a" * 12 + ".1"))], ["ada"])
    assert admission.is_too_old(fold.admitted, "ada", 6, Scope("src"))


def test_a_state_whose_floor_is_above_what_its_place_allows_is_impossible():
    assert Admitted(floor=8).is_possible_at(12)
    assert not Admitted(floor=11).is_possible_at(12)


@pytest.mark.parametrize("floor", ["7", -1, 1.5, True, None])
def test_a_floor_that_is_no_place_is_refused(floor: object):
    with pytest.raises(ValueError, match="floor"):
        Admitted.from_dict({"grants": {}, "generations": {}, "floor": floor})
