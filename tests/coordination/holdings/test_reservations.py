"""Who may hold what: every row of the table of Operative Protocol §4.4, and both sides of each of its boundaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents import liveness
from bb.coordination.facts import Expired, Incurred, Released, Renewed, Reserved, TakenOver
from bb.coordination.holdings import holdings, reservations, scopes
from bb.coordination.holdings.held import Held, Overlap
from bb.coordination.holdings.reservations import (
    InvalidArgs,
    ReleaseForbidden,
    RenewForbidden,
    ReservationConflict,
    ReservationNotFound,
    ReservationStaleFound,
    Wanted,
)
from bb.coordination.holdings.scopes import Scope
from bb.kernel import clock
from bb.kernel.errors import BbError
from tests.examples import examples

MINUTE = clock.MINUTE
NOW = 1_767_614_400_000  # 2026-01-05T12:00:00Z
WRITER = "a" * 12
ADA, BO, CY = "ada", "bo1", "cyd"


def held(
    agent: str = BO,
    scope: str = "src",
    *,
    n: int = 1,
    silent: float = 1,
    ttl: int = 120,
    shared: bool = False,
    is_retired: bool = False,
) -> Held:
    """A reservation of two days ago, renewed an hour ago, whose holder has been silent for so many minutes."""
    state = None
    for lamport, ago, fact in (
        (1, 2 * clock.DAY, Reserved(agent, scope, "bb-1", 5, shared)),
        (2, clock.HOUR, Renewed(agent, f"{WRITER}.{n}", ttl)),
    ):
        state = holdings.step(state, fact, [lamport, WRITER, n], clock.text(NOW - ago))
    found = holdings.reservation(f"{WRITER}.{n}", state)
    assert found is not None
    seen_at = NOW - int(silent * MINUTE)
    expires_at = found.expiry(seen_at, NOW)
    alive = liveness.EVICTED if is_retired else liveness.liveness(seen_at, NOW, 15 * MINUTE)
    return Held(found, Scope(scope), alive, expires_at, expires_at <= NOW)


def wanting(*scopes: str, **flags: Any) -> Wanted:
    return Wanted(ADA, tuple(map(Scope, scopes or ("src",))), "bb-9", 60, **flags)


def meetings(wanted: Iterable[Scope], there: Iterable[Held]) -> list[Overlap]:
    """Where what is WANTED meets what is THERE."""
    pairs = [
        (scope, other, scopes.compare(scope, other.scope, ignore_case=False)) for scope in wanted for other in there
    ]
    return [Overlap(scope, other, kind) for scope, other, kind in pairs if kind != scopes.DISJOINT]


def ask(wanted: Wanted, *there: Held, recorded: Collection[str] = ()) -> list[Any]:
    """What is recorded when it is granted."""
    return reservations.reserve(wanted, meetings(wanted.scopes, there), lambda incident: incident in recorded)


def refusal(wanted: Wanted, *there: Held, recorded: Collection[str] = ()) -> BbError:
    with pytest.raises(BbError) as caught:
        ask(wanted, *there, recorded=recorded)
    return caught.value


def id_of(n: int) -> str:
    return f"{WRITER}.{n}"


def of(kind: type, facts: Any) -> list[Any]:
    return [fact for fact in facts if isinstance(fact, kind)]


MINE = Reserved(ADA, "src", "bb-9", 60)
MILLISECOND = 1 / MINUTE
PROTECTED = {
    "just heard of": held(silent=0),
    "a millisecond before stale": held(silent=15 - MILLISECOND),
    "a millisecond before its time is over": held(silent=10 - MILLISECOND, ttl=10),
}
STALE = {
    "exactly stale": held(silent=15),
    "a millisecond before evicted": held(silent=30 - MILLISECOND),
    "stale, a millisecond before its time is over": held(silent=20 - MILLISECOND, ttl=20),
}
GONE = {
    "exactly evicted": held(silent=30),
    "evicted long ago": held(silent=10_000),
    "retired although heard of a minute ago": held(is_retired=True),
    "active, its time exactly over": held(silent=10, ttl=10),
    "stale, its time exactly over": held(silent=20, ttl=20),
    "evicted, its time over": held(silent=200, ttl=20),
}


def each(rows: dict[str, Held]) -> Any:
    return pytest.mark.parametrize("other", rows.values(), ids=rows.keys())


# -- §4.4 the table


def test_4_4_what_nobody_holds_is_granted_and_is_all_that_is_recorded():
    assert ask(wanting()) == [MINE]


def test_4_4_what_is_held_elsewhere_stands_in_nobodys_way():
    assert ask(wanting(), held(scope="docs"), held(scope="srcs", n=2)) == [MINE]


@each(PROTECTED)
@pytest.mark.parametrize("takeover", [False, True])
@pytest.mark.parametrize("scope", ["src", "src/parser", "."])
def test_4_4_an_active_holders_scope_is_refused_with_and_without_takeover(other: Held, takeover: bool, scope: str):
    error = refusal(wanting(scope, takeover=takeover), other)
    assert isinstance(error, ReservationConflict.error)
    assert (error.code, error.exit_status) == ("RESERVATION_CONFLICT", 7)


@each(STALE | GONE)
@pytest.mark.parametrize("scope", ["src", "src/parser", "."])
def test_4_4_a_silent_holders_scope_is_refused_without_takeover_and_nothing_is_recorded(other: Held, scope: str):
    error = refusal(wanting(scope), other)
    assert isinstance(error, ReservationStaleFound.error)
    assert (error.code, error.exit_status) == ("RESERVATION_STALE_FOUND", 7)
    assert "--takeover-stale" in (error.hint or "")
    assert list(error.leaving) == []


@each(STALE)
@pytest.mark.parametrize("scope", ["src", "src/parser", "."])
def test_4_4_a_stale_holders_scope_is_taken_over_and_ends_as_that(other: Held, scope: str):
    taken, incursion, mine = ask(wanting(scope, takeover=True), other)
    assert taken == TakenOver(ADA, id_of(1), BO, "stale", "taken_over")
    assert (incursion.outcome, incursion.liveness) == ("taken_over", "stale")
    assert mine == MINE.replace(scope=scope)


@each(GONE)
@pytest.mark.parametrize("scope", ["src", "src/parser", "."])
def test_4_4_an_evicted_holders_scope_and_what_is_over_is_taken_over_and_ends_as_expired(other: Held, scope: str):
    taken, incursion, mine = ask(wanting(scope, takeover=True), other)
    assert taken == TakenOver(ADA, id_of(1), BO, other.liveness, "expired")
    assert (incursion.outcome, incursion.owner, incursion.incoming) == ("taken_over", BO, ADA)
    assert mine == MINE.replace(scope=scope)


def test_4_4_a_takeover_of_what_nobody_holds_is_a_plain_reservation():
    assert ask(wanting(takeover=True)) == [MINE]


# -- what a refusal tells


def test_a_conflict_tells_the_holder_the_overlap_its_liveness_and_until_when():
    error = refusal(wanting("src/parser"), held(silent=2, ttl=40))
    assert error.details == {
        "count": 1,
        "conflicts": [
            {
                "wanted": "src/parser",
                "class": "partial",
                "reservation_id": id_of(1),
                "agent_id": BO,
                "scope": "src",
                "bead_id": "bb-1",
                "shared": False,
                "kind": "exclusive",
                "liveness": "active",
                "expires_at": clock.text(NOW + 38 * MINUTE),
                "is_expired": False,
            }
        ],
    }
    for word in (BO, "src", "partial", clock.text(NOW + 38 * MINUTE)):
        assert word in error.message


@pytest.mark.parametrize("scopes", [["src/parser"], ["src"], ["src", "src/a b"]])
def test_the_hint_of_a_conflict_is_the_command_that_gets_in_line(scopes: list[str]):
    hint = refusal(wanting(*scopes, shared=True), held()).hint or ""
    named = " ".join(f"'{scope}'" if " " in scope else scope for scope in scopes)
    assert f"`bb reserve {named} --queue --bead bb-9 --ttl 60 --shared`" in hint
    assert "--allow-overlap" not in hint


@pytest.mark.parametrize(
    ("other", "word"),
    [(held(silent=15), "stale"), (held(silent=30), "evicted"), (held(silent=10, ttl=10), "expired")],
)
def test_a_refusal_over_a_silent_holder_says_how_it_is_and_who(other: Held, word: str):
    error = refusal(wanting(), other)
    assert word in error.message
    assert BO in error.message
    assert error.details["conflicts"][0]["is_expired"] is other.is_over


@pytest.mark.parametrize("silent", [1, 15])
def test_a_refusal_lists_twenty_in_the_way_and_counts_them_all(silent: int):
    there = [held(scope=f"src/{n}", n=n, silent=silent) for n in range(1, 31)]
    error = refusal(wanting(), *there)
    assert (len(error.details["conflicts"]), error.details["count"]) == (20, 30)


# -- all or nothing


@pytest.mark.parametrize("flags", [{}, {"takeover": True}, {"allow_overlap": True}])
def test_one_scope_in_the_way_and_none_of_them_is_granted(flags: dict[str, bool]):
    error = refusal(wanting("docs", "src", "tests", **flags), held())
    assert isinstance(error, ReservationConflict.error)
    assert [type(fact) for fact in error.leaving] == [Incurred]


def test_one_active_holder_among_stale_ones_and_nobody_is_taken_over():
    error = refusal(wanting("src", "docs", takeover=True), held(silent=20), held(CY, "docs", n=2))
    assert isinstance(error, ReservationConflict.error)
    assert [each["agent_id"] for each in error.details["conflicts"]] == [CY, BO]  # who is silent is named, too
    assert [(fact.reservation, fact.outcome) for fact in error.leaving] == [(id_of(2), "refused")]


def test_several_scopes_are_granted_together_in_the_order_they_were_asked_for():
    assert ask(wanting("tests", "docs", "src")) == [MINE.replace(scope=each) for each in ("tests", "docs", "src")]


def test_several_holders_are_taken_over_together_each_with_an_end_of_its_own():
    facts = ask(
        wanting("src", "docs", takeover=True),
        held(silent=20),
        held(CY, "docs", n=2, silent=40),
        held(CY, "docs/api", n=3, silent=5, ttl=5),
    )
    assert [(fact.reservation, fact.owner, fact.archived) for fact in of(TakenOver, facts)] == [
        (id_of(1), BO, "taken_over"),
        (id_of(2), CY, "expired"),
        (id_of(3), CY, "expired"),
    ]
    first, second = of(Incurred, facts)
    assert (first.reservation, second.reservation) == (id_of(1), id_of(2)), "each loser is told once"
    assert "the same applies to" not in first.hint
    assert second.hint.endswith("; the same applies to docs/api")
    assert [fact.scope for fact in of(Reserved, facts)] == ["src", "docs"]


def test_one_reservation_that_two_wanted_scopes_meet_ends_once_and_is_one_incursion():
    facts = ask(wanting("src/a", "src/b", takeover=True), held(silent=20))
    assert [len(of(kind, facts)) for kind in (TakenOver, Incurred, Reserved)] == [1, 1, 2]


def test_what_is_taken_ends_before_the_new_reservation_begins():
    kinds = [type(fact) for fact in ask(wanting("src", "docs", takeover=True), held(silent=20))]
    assert kinds.index(TakenOver) < kinds.index(Reserved)


# -- --allow-overlap


def test_allow_overlap_goes_ahead_beside_a_partial_overlap_and_records_it():
    mine, incursion = ask(wanting("src/parser", allow_overlap=True), held())
    assert mine == MINE.replace(scope="src/parser")
    assert incursion.replace(hint="") == Incurred(
        ADA, BO, id_of(1), "partial", "src/parser", "src", "active", "bb-9", "overlapping", ""
    )
    assert ADA in incursion.hint
    assert BO in incursion.hint


def test_allow_overlap_does_not_help_where_the_overlap_is_exact():
    error = refusal(wanting(allow_overlap=True), held())
    assert isinstance(error, ReservationConflict.error)


def test_allow_overlap_does_not_help_when_one_of_two_overlaps_is_exact():
    error = refusal(wanting(allow_overlap=True), held(), held(CY, "src/a", n=2))
    assert [each["agent_id"] for each in error.details["conflicts"]] == [BO]


def test_allow_overlap_beside_a_stale_holder_takes_nothing_over_by_itself():
    facts = ask(wanting("src/parser", allow_overlap=True), held(silent=20))
    assert of(TakenOver, facts) == []
    assert [(fact.outcome, fact.liveness) for fact in of(Incurred, facts)] == [("overlapping", "stale")]


@pytest.mark.parametrize(("silent", "archived"), [(20, "taken_over"), (40, "expired")])
@pytest.mark.parametrize("scope", ["src", "src/parser"])
def test_allow_overlap_with_takeover_leaves_no_silent_holder_in_place(scope: str, silent: float, archived: str):
    facts = ask(wanting(scope, allow_overlap=True, takeover=True), held(silent=silent))
    assert [(fact.reservation, fact.archived) for fact in of(TakenOver, facts)] == [(id_of(1), archived)]
    assert [fact.outcome for fact in of(Incurred, facts)] == ["taken_over"]


GLOBAL = pytest.mark.parametrize("deciding", [{"base": "0" * 40}, {"order": "0" * 16}], ids=["remote", "engine"])


@GLOBAL
def test_allow_overlap_with_takeover_goes_beside_what_is_held_in_every_clone(deciding: dict[str, str]):
    everywhere = held(silent=40)
    everywhere = everywhere.replace(reservation=everywhere.reservation.replace(**deciding))
    facts = ask(wanting("src/parser", allow_overlap=True, takeover=True), everywhere)
    assert of(TakenOver, facts) == []


@GLOBAL
def test_what_is_held_in_every_clone_is_taken_over_only_in_every_clone(deciding: dict[str, str]):
    everywhere = held(silent=40)
    everywhere = everywhere.replace(reservation=everywhere.reservation.replace(**deciding))
    error = refusal(wanting(takeover=True), everywhere)
    assert isinstance(error, ReservationStaleFound.error)
    assert ("--global" in (error.hint or "")) is ("base" in deciding), "with an engine, every reservation is global"

    facts = ask(wanting(takeover=True).replace(**deciding), everywhere)
    assert [fact.reservation for fact in of(TakenOver, facts)] == [id_of(1)]
    (made,) = of(Reserved, facts)
    assert made.is_global
    assert (made.base, made.order) == (deciding.get("base"), deciding.get("order"))


def test_a_conflict_names_every_holder_living_or_silent_and_says_all_that_must_be_passed():
    there = [held(scope="src/a"), held(CY, "src/b", n=2, silent=20), held("dee", "src/c", n=3, silent=40)]
    error = refusal(wanting(), *there)
    assert isinstance(error, ReservationConflict.error)
    assert [each["agent_id"] for each in error.details["conflicts"]] == [BO, CY, "dee"]
    assert "src/b (stale)" in error.message
    assert "src/c (evicted)" in error.message
    assert "--allow-overlap" not in (error.hint or "")
    assert "`bb reserve src --queue --takeover-stale --bead bb-9 --ttl 60`" in (error.hint or "")
    facts = ask(wanting(allow_overlap=True, takeover=True), *there)
    assert [fact.owner for fact in of(TakenOver, facts)] == [CY, "dee"]


def test_a_refusal_by_silent_holders_names_all_of_them_and_how_many_are_left_out():
    there = [held(f"bo{n}", f"src/{n}", n=n, silent=20) for n in range(30)]
    error = refusal(wanting(), *there)
    assert (error.details["count"], error.details["omitted"]) == (30, 10)
    assert "24 more" in error.message


def test_allow_overlap_with_takeover_takes_what_is_exact_and_works_beside_the_rest():
    facts = ask(wanting(allow_overlap=True, takeover=True), held(silent=20), held(CY, "src/a", n=2))
    assert [fact.reservation for fact in of(TakenOver, facts)] == [id_of(1)]
    assert [(fact.reservation, fact.outcome) for fact in of(Incurred, facts)] == [
        (id_of(1), "taken_over"),
        (id_of(2), "overlapping"),
    ]


# -- --shared


@pytest.mark.parametrize("scope", ["src", "src/parser"])
@pytest.mark.parametrize("silent", [1, 20, 200])
def test_shared_reservations_do_not_stand_in_each_others_way_and_nothing_is_noted(scope: str, silent: float):
    facts = ask(wanting(scope, shared=True, takeover=True), held(shared=True, silent=silent))
    assert facts == [MINE.replace(scope=scope, shared=True)]


@pytest.mark.parametrize(("ours", "theirs"), [(True, False), (False, True), (False, False)])
def test_one_that_is_not_shared_keeps_the_other_out(ours: bool, theirs: bool):
    assert isinstance(refusal(wanting(shared=ours), held(shared=theirs)), ReservationConflict.error)


def test_a_shared_reservation_is_kept_out_by_the_one_that_is_not_shared():
    error = refusal(wanting(shared=True), held(shared=True), held(CY, "src/a", n=2))
    assert [each["agent_id"] for each in error.details["conflicts"]] == [CY]


# -- one's own


def test_reserving_ones_own_scope_again_gives_the_old_one_back():
    assert ask(wanting(), held(ADA)) == [Released(ADA, id_of(1)), MINE]


def test_reserving_ones_own_scope_again_after_its_time_archives_the_old_one():
    assert ask(wanting(), held(ADA, silent=10, ttl=10)) == [Expired(ADA, id_of(1)), MINE]


@pytest.mark.parametrize("silent", [1, 20, 200])
def test_what_one_holds_above_or_below_stays_and_is_in_nobodys_way(silent: float):
    assert ask(wanting("src/a"), held(ADA, silent=silent)) == [MINE.replace(scope="src/a")]


def test_one_of_ones_own_does_not_open_the_way_to_somebody_elses():
    assert isinstance(refusal(wanting(), held(ADA), held(BO, "src/a", n=2)), ReservationConflict.error)


# -- an INCURSION, once for each incident


def test_a_refusal_by_an_active_holder_leaves_an_incursion():
    (incursion,) = refusal(wanting(), held()).leaving
    assert incursion.replace(hint="") == Incurred(
        ADA, BO, id_of(1), "exact", "src", "src", "active", "bb-9", "refused", ""
    )
    assert BO in incursion.hint


def incident(outcome: str, what: str, n: int = 1) -> str:
    return f"incident {id_of(n)} {ADA} {outcome} {what}"


@pytest.mark.parametrize("scope", ["src/a", "src/b/c", "."])
def test_to_be_refused_by_the_same_reservation_again_is_nothing_new(scope: str):
    error = refusal(wanting(scope), held(), recorded=[incident("refused", "partial")])
    assert isinstance(error, ReservationConflict.error)
    assert list(error.leaving) == []


def test_to_want_all_of_what_one_wanted_a_part_of_is_another_incident():
    (incursion,) = refusal(wanting("src"), held(), recorded=[incident("refused", "partial")]).leaving
    assert incursion.kind == "exact"


def test_an_incident_with_another_outcome_is_another_incident():
    facts = ask(wanting("src/a", allow_overlap=True), held(), recorded=[incident("refused", "partial")])
    assert [fact.outcome for fact in of(Incurred, facts)] == ["overlapping"]


def test_to_keep_working_beside_the_same_holder_is_not_noted_again():
    there = held(), held(ADA, "src/a", n=2)
    facts = ask(wanting("src/a", allow_overlap=True), *there, recorded=[incident("overlapping", "src/a")])
    assert facts == [Released(ADA, id_of(2)), MINE.replace(scope="src/a")]


@pytest.mark.parametrize("scope", ["src/a", "src/b"])
def test_to_come_back_to_work_beside_the_same_holder_is_noted_again(scope: str):
    facts = ask(wanting(scope, allow_overlap=True), held(), recorded=[incident("overlapping", "src/a")])
    assert [fact.scope for fact in of(Incurred, facts)] == [scope]


def test_of_several_in_the_way_each_agent_is_told_once():
    there = held(scope="src/a"), held(scope="src/b", n=2), held(CY, "src/c", n=3)
    error = refusal(wanting(), *there)
    assert [(fact.owner, fact.held) for fact in error.leaving] == [(BO, "src/a"), (CY, "src/c")]


def test_of_several_in_the_way_only_those_that_are_new_are_noted():
    there = held(scope="src/a"), held(CY, "src/b", n=2)
    error = refusal(wanting(), *there, recorded=[incident("refused", "partial")])
    assert [fact.reservation for fact in error.leaving] == [id_of(2)]


def test_a_thousand_reservations_in_the_way_are_judged_at_once():
    """Two thousand took nine seconds when every one was compared with every other."""
    there = [held(scope=f"src/{n}", n=n) for n in range(1, 1001)]
    wanted = wanting("src", allow_overlap=True)

    calls = 0

    def is_recorded(_: str) -> bool:
        nonlocal calls
        calls += 1
        return False

    facts = reservations.reserve(wanted, meetings(wanted.scopes, there), is_recorded)

    assert len(facts) == 2
    assert calls <= 1


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (held(silent=20), "bo1 had stopped sending heartbeats"),
        (held(silent=10, ttl=10), "the reservation of bo1 had expired"),
    ],
)
def test_why_something_was_taken_over_is_said_as_it_was(other: Held, said: str):
    (incursion,) = of(Incurred, ask(wanting(takeover=True), other))
    assert said in incursion.hint


# -- release and renew


def on(*there: Held) -> tuple[Scope, list[Overlap]]:
    return Scope("src"), meetings([Scope("src")], there)


def test_a_holder_gives_its_own_back():
    assert reservations.release(ADA, *on(held(ADA))) == [Released(ADA, id_of(1))]


def test_a_stale_holder_may_still_give_its_own_back():
    assert reservations.release(ADA, *on(held(ADA, silent=60))) == [Released(ADA, id_of(1))]


def test_of_several_who_share_a_scope_each_gives_back_its_own():
    shared = held(BO, shared=True), held(ADA, n=2, shared=True)
    assert reservations.release(ADA, *on(*shared)) == [Released(ADA, id_of(2))]


@pytest.mark.parametrize("silent", [0, 60])
def test_nobody_gives_back_what_another_holds(silent: float):
    with pytest.raises(ReleaseForbidden.error) as caught:
        reservations.release(ADA, *on(held(silent=silent)))

    error = caught.value
    assert (error.code, error.exit_status) == ("RELEASE_FORBIDDEN", 5)
    assert (error.details["agent_id"], error.details["reservation_id"]) == (BO, id_of(1))
    assert BO in error.message


def test_nobody_renews_what_another_holds():
    with pytest.raises(RenewForbidden.error) as caught:
        reservations.renew(ADA, *on(held()), 60)
    assert (caught.value.code, caught.value.exit_status) == ("RENEW_FORBIDDEN", 5)


def test_a_person_may_give_back_and_renew_what_anybody_holds():
    assert reservations.release("user", *on(held())) == [Released("user", id_of(1))]
    assert reservations.renew("user", *on(held()), 30) == [Renewed("user", id_of(1), 30)]


@pytest.mark.parametrize(("asked", "ttl"), [(30, 30), (None, 45)])
def test_a_holder_keeps_its_own_for_as_long_as_it_asks_or_as_long_as_before(asked: int | None, ttl: int):
    assert reservations.renew(ADA, *on(held(ADA, ttl=45)), asked) == [Renewed(ADA, id_of(1), ttl)]


ACT: dict[str, Any] = {
    "release": reservations.release,
    "renew": lambda agent, scope, there: reservations.renew(agent, scope, there, None),
}


def end(verb: str, agent: str, *there: Held) -> BbError:
    with pytest.raises(ReservationNotFound.error) as caught:
        ACT[verb](agent, *on(*there))
    assert (caught.value.code, caught.value.exit_status) == ("RESERVATION_NOT_FOUND", 3)
    return caught.value


VERBS = pytest.mark.parametrize("verb", ["release", "renew"])


@VERBS
def test_where_nobody_holds_anything_there_is_nothing_to_end(verb: str):
    error = end(verb, ADA)
    assert list(error.leaving) == []
    assert "there is no reservation for exactly src" in error.message


@VERBS
def test_who_holds_something_near_is_told_what(verb: str):
    error = end(verb, ADA, held(ADA, "src/a"), held(ADA, ".", n=2), held(BO, "src/b", n=3))
    assert error.hint == "name the scope that you reserved: src/a, ."


@VERBS
def test_ones_own_that_is_over_is_not_found_and_is_archived_as_expired(verb: str):
    error = end(verb, ADA, held(ADA, silent=10, ttl=10))
    assert list(error.leaving) == [Expired(ADA, id_of(1))]
    assert "expired" in error.message


@VERBS
def test_ones_own_is_found_until_the_millisecond_its_time_is_over(verb: str):
    last = on(held(ADA, silent=10 - MILLISECOND, ttl=10))
    assert [fact.reservation for fact in ACT[verb](ADA, *last)] == [id_of(1)]


@VERBS
def test_another_ones_that_is_over_is_not_found_rather_than_forbidden_and_stays_as_it_is(verb: str):
    assert list(end(verb, ADA, held(silent=10, ttl=10)).leaving) == []


@VERBS
def test_what_is_over_is_not_found_by_a_person_either_and_is_archived(verb: str):
    assert list(end(verb, "user", held(silent=10, ttl=10)).leaving) == [Expired("user", id_of(1))]


def test_giving_everything_back_archives_what_is_over():
    mine = [held(ADA), held(ADA, "docs", n=2, silent=10, ttl=10)]
    assert reservations.release_all(ADA, mine) == [Released(ADA, id_of(1)), Expired(ADA, id_of(2))]
    assert reservations.release_all(ADA, []) == []


def test_renewing_everything_archives_what_is_over():
    mine = [held(ADA, ttl=45), held(ADA, "docs", n=2, silent=10, ttl=10)]
    assert reservations.renew_all(ADA, mine, None) == [Renewed(ADA, id_of(1), 45), Expired(ADA, id_of(2))]
    assert reservations.renew_all(ADA, mine, 30)[0] == Renewed(ADA, id_of(1), 30)


# -- what was asked for


@pytest.mark.parametrize(("text", "minutes"), [("5", 5), ("6", 6), ("0005", 5), ("120", 120), ("1440", 1440)])
def test_a_time_to_live_is_a_whole_number_of_minutes_from_five_to_a_day(text: str, minutes: int):
    assert reservations.minutes(text) == minutes


@pytest.mark.parametrize(
    "text", ["4", "1441", "0", "-5", "+5", "", " 5", "5 ", "5\n", "5.0", "5m", "1e2", "1_0", "٧", "²", "9" * 9_999]
)
def test_any_other_time_to_live_is_refused_and_shown_shortened(text: str):
    with pytest.raises(InvalidArgs.error) as caught:
        reservations.minutes(text)
    assert (caught.value.code, caught.value.exit_status) == ("INVALID_ARGS", 2)
    assert caught.value.details == {"path": "$.ttl"}
    assert repr(text[:40]) in caught.value.message
    assert len(caught.value.message) < 150


@pytest.mark.parametrize(("text", "bead"), [("bb-1", "bb-1"), ("  bb-1\n", "bb-1"), ("b" * 128, "b" * 128)])
def test_a_bead_is_one_line_and_trimmed(text: str, bead: str):
    assert reservations.bead(text) == bead


@pytest.mark.parametrize("text", ["", " ", "\n\t", "b" * 129, "bb\n1", "bb\x1b[2J", "bb\x001", "bb\u202e1"])
def test_what_cannot_be_a_bead_is_refused(text: str):
    with pytest.raises(InvalidArgs.error) as caught:
        reservations.bead(text)
    assert caught.value.details == {"path": "$.bead"}


# -- properties

somebody = st.builds(
    held,
    st.sampled_from([ADA, BO, CY]),
    st.sampled_from(["src", "src/a", "src/a/b", "docs", "."]),
    n=st.integers(1, 99),
    silent=st.sampled_from([0, 14, 15, 29, 30, 100]),
    ttl=st.sampled_from([5, 60, 600]),
    shared=st.booleans(),
)
crowds = st.lists(somebody, max_size=5, unique_by=lambda each: each.reservation.id)
wishes = st.builds(
    lambda scopes, flags: wanting(*scopes, **flags),
    st.lists(st.sampled_from(["src", "src/a", "docs", "tests"]), min_size=1, max_size=3, unique=True),
    st.fixed_dictionaries({flag: st.booleans() for flag in ("shared", "takeover", "allow_overlap")}),
)


@examples(60)
@given(wishes, crowds)
def test_nobody_ever_ends_an_active_reservation_of_another_nor_gets_a_part_of_what_it_asked_for(
    wanted: Wanted, there: list[Held]
):
    protected = {each.reservation.id for each in there if each.is_protected and each.reservation.agent != ADA}
    try:
        facts = ask(wanted, *there)
    except BbError as error:
        facts = list(error.leaving)
        assert {type(fact) for fact in facts} <= {Incurred}
    else:
        assert of(Reserved, facts) == wanted.facts()
    ended = [fact.reservation for fact in facts if isinstance(fact, TakenOver | Released | Expired)]
    assert len(ended) == len(set(ended))
    assert not protected & set(ended)


@examples(60)
@given(wishes, crowds)
def test_whoever_is_refused_again_leaves_no_second_incursion(wanted: Wanted, there: list[Held]):
    def refusals(recorded: Collection[str]) -> list[Incurred]:
        try:
            ask(wanted, *there, recorded=recorded)
        except BbError as error:
            return of(Incurred, error.leaving)
        return []

    first = refusals(())
    assert refusals([fact.incident for fact in first]) == []
