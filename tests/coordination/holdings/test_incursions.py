"""What is done in a place that another agent holds is told once, and settled by those whom it concerns."""

from __future__ import annotations

from typing import Any

import pytest

from bb.coordination.facts import Incurred, Released, Reserved, Resolved
from bb.coordination.holdings import incursions
from bb.coordination.holdings.held import Held, Overlap
from bb.coordination.holdings.holdings import Reservation
from bb.coordination.holdings.incursions import (
    IncursionClosed,
    IncursionResolved,
    InvalidNote,
    NothingToTransfer,
    ResolveForbidden,
)
from bb.coordination.holdings.scopes import Scope
from bb.coordination.holdings.transfers import GlobalTransfer
from bb.coordination.protocol.notices import Incident, Resolution
from bb.kernel.total_order import sortable

WRITER = "a" * 12
COMMIT = "c" * 40
MOMENT = "2026-01-05T12:00:00.000Z"


def held(n: int, agent: str, scope: str, *, is_over: bool = False, shared: bool = False) -> Held:
    place = sortable([n, WRITER, n])
    made = Reservation(
        *(f"{WRITER}.{n}", agent, scope, f"bb-{n}", 60, shared, False, 0, 0, "active", None, None, place, None)
    )
    return Held(made, Scope(scope), "active", 0, is_over)


SRC, LIB, DOCS = held(1, "bo1", "src"), held(2, "bo1", "src/lib"), held(3, "cyd", "docs")


class Ledger:
    """What is on record, by incident."""

    def __init__(self) -> None:
        self.known: dict[str, Incident] = {}

    def report(self, *touched: tuple[str, Held], commit: str = "", by: str = "hook") -> list[Incurred]:
        found = incursions.report("ada", by, touched, commit, self.known.get)
        for fact in found:
            self.known[fact.incident] = incident(fact, n=len(self.known) + 10)
        return found

    def settle(self, fact: Incurred, state: str) -> None:
        before = self.known[fact.incident]
        self.known[fact.incident] = before.replace(resolution=Resolution(state, "bo1", MOMENT, None))


def incident(fact: Incurred, state: str | None = None, *, n: int = 10, is_open: bool = True) -> Incident:
    resolution = Resolution(state, "bo1", MOMENT, None) if state else None
    return Incident(f"{WRITER}.{n}", MOMENT, fact, resolution, is_open)


# -- what is reported


def test_what_was_touched_is_reported_to_each_owner_once_with_all_its_paths():
    one, other = Ledger().report(("src/b", SRC), ("docs/x", DOCS), ("src/lib/a", LIB), ("src/a", SRC), ("src/a", SRC))
    assert (one.incoming, one.owner, one.reservation, one.held, one.bead) == (
        "ada",
        "bo1",
        f"{WRITER}.1",
        "src",
        "bb-1",
    )
    assert (one.outcome, one.found_by, one.paths, one.count) == ("touched", "hook", ("src/a", "src/b", "src/lib/a"), 3)
    assert (one.where, one.kind) == ("src/a and 2 more", "partial")
    assert (other.owner, other.paths, other.where) == ("cyd", ("docs/x",), "docs/x")


def test_the_earliest_reservation_stands_for_the_rest_in_whatever_order_they_are_met():
    (one,), (other,) = Ledger().report(("src/lib/a", LIB), ("x", SRC)), Ledger().report(("x", SRC), ("src/lib/a", LIB))
    assert one == other
    assert one.reservation == SRC.reservation.id


def test_to_touch_what_is_ones_own_is_no_incursion():
    assert incursions.report("bo1", "hook", [("src/a", SRC)], "", {}.get) == []
    assert Ledger().report() == []


def test_to_touch_exactly_what_is_held_is_an_exact_incursion():
    assert Ledger().report(("docs/[x]", held(4, "bo1", "docs/[[]x]")))[0].kind == "exact"


def test_of_many_paths_some_are_named_and_all_are_counted():
    (found,) = Ledger().report(*((f"src/{n:03}", SRC) for n in range(99)))
    assert (len(found.paths), found.count) == (incursions.MOST_PATHS, 99)


@pytest.mark.parametrize("path", ["a\nb", "a\x1b[2J", "a\udcff", "a\u202eb"])
def test_a_path_of_any_characters_is_told_harmlessly(path: str):
    (found,) = Ledger().report((path, SRC))
    assert found.scope.isprintable()
    assert found.scope.isascii()


# -- once


def test_a_commit_is_reported_once_whoever_finds_it_and_whatever_became_of_it():
    ledger = Ledger()
    (found,) = ledger.report(("src/a", SRC), commit=COMMIT, by="commit")
    assert ledger.report(("src/a", SRC), commit=COMMIT, by="ci") == []
    ledger.settle(found, "reverted")
    assert ledger.report(("src/a", SRC), commit=COMMIT) == []
    assert ledger.report(("src/a", SRC), commit="d" * 40) != []


def test_without_a_commit_the_same_paths_are_the_same_and_others_are_not():
    ledger = Ledger()
    assert ledger.report(("src/a", SRC), ("src/b", SRC)) != []
    assert ledger.report(("src/b", SRC), ("src/a", SRC)) == []
    assert ledger.report(("src/a", SRC)) != []


def test_beyond_the_paths_that_are_named_another_one_is_another_incident():
    ledger = Ledger()
    many = [(f"src/{n:03}", SRC) for n in range(30)]
    assert ledger.report(*many) != []
    assert ledger.report(*many[:-1], ("src/099", SRC)) != []


def test_what_was_found_before_the_commit_is_not_told_again_with_it():
    ledger = Ledger()
    (found,) = ledger.report(("src/a", SRC))
    assert ledger.report(("src/a", SRC), commit=COMMIT) == []
    ledger.settle(found, "accepted")
    assert ledger.report(("src/a", SRC), commit=COMMIT) == []


def test_to_touch_again_what_was_taken_back_is_new_each_time():
    ledger = Ledger()
    for _ in range(3):
        (found,) = ledger.report(("src/a", SRC))
        assert ledger.report(("src/a", SRC)) == []
        ledger.settle(found, "reverted")
    assert len(ledger.known) == 3
    assert ledger.report(("src/a", SRC), commit=COMMIT) != []


# -- who settles it

FACT = Ledger().report(("src/a", SRC))[0]


@pytest.mark.parametrize("who", ["bo1", "user"])
@pytest.mark.parametrize("state", ["accepted", "reverted", "transferred"])
def test_the_owner_and_the_person_say_what_becomes_of_it(who: str, state: str):
    assert incursions.resolve(incident(FACT), who, state, "so") == [Resolved(who, f"{WRITER}.10", state, "so")]


def test_who_came_in_says_only_that_it_is_reverted():
    assert incursions.resolve(incident(FACT), "ada", "reverted", None) != []
    for state in ("accepted", "transferred"):
        with pytest.raises(ResolveForbidden.error, match="you may resolve this incursion only as reverted"):
            incursions.resolve(incident(FACT), "ada", state, None)


@pytest.mark.parametrize("state", ["accepted", "reverted", "transferred"])
def test_it_is_nobody_elses_to_settle(state: str):
    for found in (incident(FACT), incident(FACT, state), incident(FACT, is_open=False)):
        with pytest.raises(ResolveForbidden.error) as refusal:
            incursions.resolve(found, "cyd", state, None)
        assert refusal.value.details == {"owner_agent": "bo1", "incoming_agent": "ada"}


def test_to_say_the_same_again_changes_nothing_and_another_word_is_refused():
    assert incursions.resolve(incident(FACT, "accepted"), "user", "accepted", "more") == []
    with pytest.raises(IncursionResolved.error) as refusal:
        incursions.resolve(incident(FACT, "accepted"), "user", "reverted", None)
    assert refusal.value.details == {"state": "accepted", "by": "bo1", "at": MOMENT}


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        ("refused", "was refused"),
        ("taken_over", "has taken over src"),
        ("overlapping", "no longer overlap"),
    ],
)
def test_where_nothing_is_open_there_is_nothing_to_settle(outcome: str, why: str):
    with pytest.raises(IncursionClosed.error, match=why):
        incursions.resolve(incident(FACT.replace(outcome=outcome), is_open=False), "bo1", "accepted", None)


def test_where_two_work_beside_each_other_the_owner_may_accept_that():
    assert incursions.resolve(incident(FACT.replace(outcome="overlapping")), "bo1", "accepted", None) != []


@pytest.mark.parametrize("text", ["", " ", "a\nb", "\x1b[2J", "x" * 501])
def test_a_note_is_one_line_that_says_something(text: str):
    with pytest.raises(InvalidNote.error):
        incursions.note(text)


def test_a_note_may_be_left_out():
    assert incursions.note(None) is None
    assert incursions.note(" so ") == "so"


# -- what is passed on


def transfer(given: Held | None, *met: Held, fact: Incurred = FACT) -> list[Any]:
    overlaps = [Overlap(given.scope, each, "exact" if each is given else "partial") for each in met if given]
    return incursions.transfer(incident(fact), "bo1", given, overlaps, lambda _: False)


def test_what_is_passed_on_ends_for_one_and_begins_for_the_other_as_it_was():
    given = held(1, "bo1", "src", shared=True)
    assert transfer(given, given) == [Released("bo1", f"{WRITER}.1"), Reserved("ada", "src", "bb-1", 60, True, False)]


@pytest.mark.parametrize("decided_by", [{"base": "0" * 40}, {"order": "0" * 16}])
def test_what_holds_in_every_clone_is_not_passed_on_in_one(decided_by: dict[str, str]):
    given = held(1, "bo1", "src")
    given = given.replace(reservation=given.reservation.replace(**decided_by))

    with pytest.raises(GlobalTransfer.error):
        transfer(given, given)


def test_what_the_other_holds_in_there_already_stays_its_own():
    own = held(5, "ada", "src/a")
    assert transfer(SRC, SRC, own) == [Released("bo1", f"{WRITER}.1"), Reserved("ada", "src", "bb-1", 60)]


def test_who_works_beside_stays_and_is_told():
    beside = held(5, "cyd", "src/c")
    *_, told = transfer(SRC, SRC, beside)
    assert (told.incoming, told.owner, told.outcome) == ("ada", "cyd", "overlapping")


def test_a_person_needs_no_reservation():
    assert transfer(SRC, SRC, fact=FACT.replace(incoming="user")) == [Released("bo1", f"{WRITER}.1")]


@pytest.mark.parametrize("given", [None, held(1, "bo1", "src", is_over=True)])
def test_what_is_held_no_more_cannot_be_passed_on(given: Held | None):
    with pytest.raises(NothingToTransfer.error):
        transfer(given)
