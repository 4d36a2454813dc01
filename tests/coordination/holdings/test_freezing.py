"""A freeze is in every agent's way, gives way to none of its options, and is the person's to lift."""

from __future__ import annotations

from typing import Any

import pytest

from bb.coordination.facts import Expired, Incurred, Released, Reserved
from bb.coordination.holdings import freezing, reservations
from bb.coordination.holdings.freezing import NotFrozen
from bb.coordination.holdings.held import FROZEN_HINT, Held
from bb.coordination.holdings.holdings import FOREVER
from bb.coordination.holdings.reservations import ReleaseForbidden, ReservationConflict, ReservationNotFound
from bb.coordination.holdings.scopes import Scope
from tests.coordination.holdings.test_reservations import ADA, BO, NOW, held, meetings, wanting

USER = "user"


def frozen(scope: str = "src/core", *, why: str | None = "release", ttl: int = FOREVER, n: int = 9) -> Held:
    """What the person has frozen, just now."""
    made = held(USER, scope, n=n)
    reservation = made.reservation.replace(why=why, ttl=ttl, renewed_at=NOW)
    expires_at = reservation.expiry(NOW, NOW)
    return made.replace(reservation=reservation, liveness="active", expires_at=expires_at, is_over=expires_at <= NOW)


@pytest.mark.parametrize("options", [{}, {"takeover": True}, {"allow_overlap": True}, {"shared": True}])
@pytest.mark.parametrize("scope", ["src", "src/core", "src/core/a.py"])
def test_what_is_frozen_is_refused_with_every_option(scope: str, options: dict[str, Any]):
    wanted = wanting(scope, **options)

    with pytest.raises(ReservationConflict.error) as refusal:
        reservations.reserve(wanted, meetings(wanted.scopes, [frozen()]), lambda _: False)

    assert refusal.value.message == 'user has frozen src/core: "release"'
    assert refusal.value.hint == FROZEN_HINT
    (conflict,) = refusal.value.details["conflicts"]
    assert (conflict["agent_id"], conflict["frozen"], conflict["why"]) == (USER, True, "release")
    assert conflict["expires_at"] is None
    (left,) = refusal.value.leaving
    assert isinstance(left, Incurred)
    assert (left.incoming, left.owner, left.outcome) == (ADA, USER, "refused")


def test_the_freeze_is_told_first_where_agents_are_in_the_way_as_well():
    wanted = wanting("src")
    with pytest.raises(ReservationConflict.error, match="user has frozen"):
        reservations.reserve(wanted, meetings(wanted.scopes, [held(BO, "src"), frozen()]), lambda _: False)


def test_one_may_not_even_reserve_again_there_what_one_holds():
    wanted = wanting("src")
    with pytest.raises(ReservationConflict.error):
        reservations.reserve(wanted, meetings(wanted.scopes, [held(ADA, "src"), frozen()]), lambda _: False)


def test_what_lies_elsewhere_is_reserved_as_ever():
    wanted = wanting("docs")
    assert len(reservations.reserve(wanted, meetings(wanted.scopes, [frozen()]), lambda _: False)) == 1


def test_one_gives_back_and_renews_what_one_holds_under_a_freeze():
    met = meetings([Scope("src")], [held(ADA, "src"), frozen("src")])
    assert [type(fact) for fact in reservations.release(ADA, Scope("src"), met)] == [Released]
    assert len(reservations.renew(ADA, Scope("src"), met, None)) == 1


@pytest.mark.parametrize("who", [ADA, USER])
def test_releasing_lifts_no_freeze(who: str):
    met = meetings([Scope("src")], [frozen("src")])
    with pytest.raises(ReservationNotFound.error):
        reservations.release(who, Scope("src"), met)
    with pytest.raises((ReleaseForbidden if who == ADA else ReservationNotFound).error):
        reservations.release(
            who, Scope("src"), [*met, *(meetings([Scope("src")], [held(BO, "src")]) if who == ADA else [])]
        )


def test_a_freeze_goes_beside_what_agents_hold():
    scope = Scope("src/core")
    facts = freezing.freeze([scope], "release", None, meetings([scope], [held(BO, "src"), held(ADA, "src/core", n=2)]))
    assert facts == [Reserved(USER, "src/core", freezing.BEAD, FOREVER, why="release")]


def test_freezing_the_same_again_is_nothing_and_another_reason_or_time_replaces_it():
    scope, before = Scope("src/core"), frozen()
    met = meetings([scope], [before])
    assert freezing.freeze([scope], "release", None, met) == []
    for why, minutes in (("another", None), ("release", 30)):
        ended, made = freezing.freeze([scope], why, minutes, met)
        assert ended == Released(USER, before.reservation.id)
        assert isinstance(made, Reserved)
        assert (made.why, made.ttl) == (why, minutes or FOREVER)


def test_several_paths_are_frozen_each_by_itself():
    wanted = [Scope("src/core"), Scope("docs")]
    (made,) = freezing.freeze(wanted, "release", None, meetings(wanted, [frozen()]))
    assert isinstance(made, Reserved)
    assert made.scope == "docs"


def test_exactly_what_was_frozen_is_lifted():
    scope = Scope("src/core")
    assert freezing.thaw(scope, meetings([scope], [frozen(), held(BO, "src/core")])) == [
        Released(USER, frozen().reservation.id)
    ]
    for other in (Scope("src"), Scope("src/core/a.py")):
        with pytest.raises(NotFrozen.error) as refusal:
            freezing.thaw(other, meetings([other], [frozen()]))
        assert refusal.value.hint == "name the frozen scope exactly: src/core"
    with pytest.raises(NotFrozen.error):
        freezing.thaw(scope, meetings([scope], [held(BO, "src/core")]))


def test_of_all_that_is_lifted_what_is_over_is_archived_as_that():
    over = frozen("docs", ttl=1, n=3)
    facts = freezing.thaw_all([frozen(), over.replace(is_over=True)])
    assert [type(fact) for fact in facts] == [Released, Expired]


def test_who_holds_something_there_is_concerned_once_and_the_person_is_not():
    wanted = [Scope("src/core"), Scope("src/lib")]
    met = meetings(
        wanted, [held(BO, "src"), held(ADA, "src/lib", n=2), frozen(), held("cyd", "src", n=4, ttl=5, silent=60)]
    )
    found = freezing.holders_affected(met)
    assert {agent: [each.scope.text for each in mine] for agent, mine in found.items()} == {
        BO: ["src"],
        ADA: ["src/lib"],
    }
