"""Whom a reservation keeps out that was made in another clone at the same time, and has lost to a grant."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bb.coordination.agents import liveness
from bb.coordination.facts import Reserved
from bb.coordination.holdings import holdings, scopes
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.held import Held, Overlap, without_lost
from bb.coordination.holdings.scopes import Scope
from bb.kernel import clock

NOW = 1_767_614_400_000
ADA, BO, CY = "ada", "bo1", "cyd"  # Ada reserved in her clone only, and Bo has a grant


def held(
    agent: str, text: str, n: int, *, order: str | None = None, shared: bool = False, is_over: bool = False
) -> Held:
    writer = agent[0] * 12
    scope = Scope(text)
    fact = Reserved(agent, scope.where, "bb-1", 120, shared, order=order)
    found = holdings.reservation(f"{writer}.{n}", holdings.step(None, fact, [n, writer, n], clock.text(NOW)))
    assert found is not None
    return Held(found, scope, liveness.ACTIVE, NOW, is_over)


def met(wanted: str, *there: Held) -> list[Overlap]:
    scope = Scope(wanted)
    found = [(one, scopes.compare(scope, one.scope, ignore_case=True)) for one in there]
    return [Overlap(scope, one, kind) for one, kind in found if kind != scopes.DISJOINT]


def settled(*grants: Held, ended: int | None = None) -> Admitted:
    """The results of an order in which these were admitted."""
    admitted = {
        one.reservation.id: Grant(one.reservation.agent, one.reservation.scope, False, False, 5 + n, ended)
        for n, one in enumerate(grants)
    }
    return Admitted(admitted, {name: grant.token for name, grant in admitted.items()})


def in_way(agent: str, overlaps: Sequence[Overlap], known: Admitted, *, know_each_other: bool = False) -> list[str]:
    """The holders of what keeps AGENT out."""
    left = without_lost(agent, overlaps, known, lambda _, __: know_each_other)
    return [one.held.reservation.agent for one in left if one.held.reservation.agent != agent]


@pytest.mark.parametrize(
    ("lost", "granted", "wanted", "keeps_out"),
    [
        ("src", "src", "src", False),
        ("src", "src", "src/a", False),  # a part of the grant
        ("src", "src/a", "src/a", False),
        ("src/a", "src", "src", False),
        ("src/a", "src/a", "src", False),  # more than the grant, and Ada has nothing there
        ("src", "src/a", "src", True),  # Ada may be at work in src/b
        ("src", "src/a", "src/b", True),
        ("*.py", "*.py", "*.py", False),
        ("*.py", "a.py", "*.py", True),
        ("src", "src/a", "src/A", True),  # in a clone that tells case apart, Ada holds src/A
    ],
)
def test_what_has_lost_to_a_grant_does_not_keep_its_holder_out_of_it(
    lost: str, granted: str, wanted: str, keeps_out: bool
):
    ada, bo = held(ADA, lost, 1), held(BO, granted, 2, order="o")

    assert in_way(BO, met(wanted, ada, bo), settled(bo)) == ([ADA] if keeps_out else [])


def test_it_keeps_out_everybody_else():
    ada, bo = held(ADA, "src", 1), held(BO, "src", 2, order="o")

    assert in_way(CY, met("src", ada, bo), settled(bo)) == [ADA, BO]
    assert in_way(CY, met("src/a", ada, bo), settled(bo)) == [ADA, BO]
    assert in_way(ADA, met("src", ada, bo), settled(bo)) == [BO]


def test_only_a_grant_that_is_in_force_wins():
    ada, bo = held(ADA, "src", 1), held(BO, "src", 2, order="o")

    assert in_way(BO, met("src", ada, bo), Admitted()) == [ADA], "it is pending"
    assert in_way(BO, met("src", ada, bo), settled(bo, ended=9)) == [ADA]
    assert in_way(BO, met("src", ada, held(BO, "src", 2, order="o", is_over=True)), settled(bo)) == [ADA]
    assert in_way(BO, met("src", ada, held(BO, "src", 2)), Admitted({}, {"b" * 12 + ".2": 1})) == [ADA], "not a grant"


def test_what_has_not_lost_keeps_the_holder_of_a_grant_out():
    bo = held(BO, "src", 2, order="o", shared=True)
    earlier, beside = held(ADA, "src", 1, order="o"), held(ADA, "src", 1, shared=True)

    assert in_way(BO, met("src", earlier, bo), settled(earlier, bo)) == [ADA], "it has a grant, too"
    assert in_way(BO, met("src", beside, bo), settled(bo)) == [ADA], "both are shared"
    assert in_way(BO, met("src", held(ADA, "src", 1), bo), settled(bo), know_each_other=True) == [ADA]
