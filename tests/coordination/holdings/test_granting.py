"""Who is granted what when the way is free: first come first served, nothing twice, and nothing that is still held."""

from __future__ import annotations

from typing import Any

import pytest

from bb.coordination.facts import Expired, LeftLine, Released, Reserved, TakenOver, Transferred
from bb.coordination.holdings import granting
from bb.coordination.holdings.held import Held, Overlap
from bb.coordination.holdings.places import Place
from bb.coordination.holdings.queue import Waiter
from bb.coordination.holdings.scopes import Scope
from tests.coordination.holdings.test_freezing import frozen
from tests.coordination.holdings.test_reservations import ADA, BO, CY, held, id_of, meetings

DAN = "dan"
SRC = held(ADA)
FREED = Released(ADA, SRC.reservation.id)


def place(number: int, agent: str, *scopes: str, **flags: bool) -> Place:
    wanted = tuple(map(Scope, scopes or ("src",)))
    known = {"shared": False, "takeover": False, "allow_overlap": False} | flags
    return Place(id_of(100 + number), agent, wanted, "bb-1", 60, 0, number, **known, made_at=0, state="waiting")


def granted(line: list[Place], decided: list[Any], *there: Held, waiting: list[Waiter] | None = None) -> list[str]:
    return [one.agent for one, _ in grants(line, decided, *there, waiting=waiting)]


def grants(
    line: list[Place], decided: list[Any], *there: Held, waiting: list[Waiter] | None = None
) -> list[tuple[Place, list[Any]]]:
    everybody = sorted([*(one.waiter() for one in line), *(waiting or [])], key=lambda one: one.number)
    return granting.grants(
        line, everybody, decided, lambda one: meetings(one.scopes, there), lambda _: False, ignore_case=False
    )


def test_the_first_in_line_gets_what_is_released_and_nobody_else():
    line = [place(1, BO), place(2, CY), place(3, DAN, "src/a")]
    assert granted(line, [FREED], SRC) == [BO]


def test_nobody_gets_what_is_still_held():
    assert granted([place(1, BO)], [], SRC) == []
    assert granted([place(1, BO, "src", "docs")], [FREED], SRC, held(CY, "docs", n=2)) == []


def test_all_who_do_not_meet_are_granted_at_once():
    line = [place(1, BO, "src/a"), place(2, CY, "src/b"), place(3, DAN, "src/a/x")]
    assert granted(line, [FREED], SRC) == [BO, CY]


def test_whoever_cannot_be_served_yet_keeps_later_ones_behind():
    """Bo waits for docs too, so Cy does not get src before it."""
    line = [place(1, BO, "src", "docs"), place(2, CY)]
    assert granted(line, [FREED], SRC, held(DAN, "docs", n=2)) == []


def test_a_waiting_process_that_came_first_goes_first():
    process = Waiter(1, DAN, (Scope("src/a"),))
    assert granted([place(2, BO)], [FREED], SRC, waiting=[process]) == []
    assert granted([place(2, BO)], [FREED], SRC, waiting=[process.replace(number=3)]) == [BO]


def test_the_grant_is_the_reservation_that_was_asked_for():
    ((_, facts),) = grants([place(1, BO, "src", "docs", shared=True)], [FREED], SRC)
    assert facts == [Reserved(BO, "src", "bb-1", 60, True), Reserved(BO, "docs", "bb-1", 60, True)]


def test_those_who_share_are_granted_together():
    line = [place(1, BO, shared=True), place(2, CY, shared=True), place(3, DAN)]
    assert granted(line, [FREED], SRC) == [BO, CY]


@pytest.mark.parametrize("scope", ["src", "src/a", "**/a", "."])
def test_what_the_same_record_reserves_is_granted_to_nobody(scope: str):
    assert granted([place(1, BO)], [FREED, Reserved(CY, scope, "bb-2", 60)], SRC) == []


@pytest.mark.parametrize("silent", [11, 200])
def test_an_expired_reservation_is_not_in_the_way(silent: int):
    over = held(ADA, ttl=10, silent=silent)
    ((_, facts),) = grants([place(1, BO)], [], over)
    assert [type(fact).__name__ for fact in facts] == ["TakenOver", "Incurred", "Reserved"]


def test_a_silent_holder_is_in_the_way_unless_the_place_takes_over():
    silent = held(ADA, silent=20)
    assert granted([place(1, BO)], [], silent) == []
    assert granted([place(1, BO, takeover=True)], [], silent) == [BO]


def test_a_place_that_takes_over_passes_one_that_waits_for_the_silent():
    silent = held(ADA, silent=20)
    assert granted([place(1, CY), place(2, BO, takeover=True)], [], silent) == [BO]


def test_a_freeze_is_in_the_way_until_it_is_lifted():
    freeze = frozen("src")
    assert granted([place(1, BO, takeover=True)], [], freeze) == []
    assert granted([place(1, BO)], [Released("user", freeze.reservation.id)], freeze) == [BO]


@pytest.mark.parametrize("end", [Expired(ADA, id_of(1)), TakenOver(CY, id_of(1), ADA, "stale", "taken_over")])
def test_every_end_frees_the_way(end: Any):
    assert granted([place(1, BO)], [end], SRC) == [BO]


def test_what_is_transferred_to_the_waiter_is_no_longer_in_its_way():
    given = Transferred(ADA, SRC.reservation.id, BO)
    ((_, facts),) = grants([place(1, BO, "src", "docs")], [given], SRC)
    assert facts[0] == Released(BO, SRC.reservation.id), "which the new reservation replaces"
    assert granted([place(1, CY)], [given], SRC) == []


def test_an_agent_with_two_places_gets_each_scope_once():
    line = [place(1, BO), place(2, BO, "src", "docs")]
    (_, first), (_, second) = grants(line, [FREED], SRC)
    assert first == [Reserved(BO, "src", "bb-1", 60)]
    assert second == [Reserved(BO, "docs", "bb-1", 60)]


def test_a_place_is_settled_when_its_agent_has_all_of_it_in_another_way():
    mine = place(1, BO, "src", "docs")

    def met(one: Place) -> list[Overlap]:
        return meetings(one.scopes, [SRC])

    both = [Transferred(ADA, SRC.reservation.id, BO), Reserved(BO, "docs", "bb-1", 60)]
    assert granting.is_settled(mine, both, met)
    assert not granting.is_settled(mine, both[:1], met)
    assert not granting.is_settled(mine, [both[0], Reserved(CY, "docs", "bb-1", 60)], met)
    assert not granting.is_settled(mine, [LeftLine(BO, mine.id, "cancelled")], met)
