"""May this change be merged, as far as others hold what it touches?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from bb.coordination import facts
from bb.coordination.agents import pauses
from bb.coordination.guards import ci, ci_findings, commit_authors
from bb.coordination.guards.ci_findings import ERROR, HELD_NOW, HELD_THEN, OUTSIDE, STALE_TOKEN, UNCLEAR_AUTHOR, WARNING
from bb.coordination.guards.commit_authors import Signed
from bb.coordination.holdings import admission, holdings, leases
from bb.coordination.holdings.holdings import Reservation
from bb.coordination.holdings.leases import MARGIN, Lease
from bb.coordination.holdings.scopes import Scope
from bb.coordination.protocol import notices
from bb.kernel import clock

OTTER, HARBOR = "amber-otter", "cobalt-harbor"
NOON = clock.parse("2026-01-05T12:00:00Z")


def at(minutes: float) -> int:
    return NOON + round(minutes * clock.MINUTE)


def reservation(agent: str = OTTER, scope: str = "src/parser", **changes: Any) -> Reservation:
    """Made at noon for two hours."""
    made = Reservation(
        *("aaaaaaaaaaaa.1", agent, scope, "bb-1", 120, False, False, NOON, NOON),
        *(holdings.ACTIVE, None, None, "", None),
    )
    return made.replace(**changes)


def lease(
    agent: str = OTTER,
    scope: str = "src/parser",
    *,
    seen: float = 0,
    now: float = 600,
    token: int | None = None,
    **changes: Any,
) -> Lease:
    return leases.lease(reservation(agent, scope, **changes), Scope(scope), at(seen), at(now), token)


def commit(
    *paths: str, by: str | None = HARBOR, minutes: float = 10, written: float | None = None, **more: str
) -> ci.Commit:
    trailers = [*([("BB-Agent", by)] if by else []), *((name.replace("_", "-"), value) for name, value in more.items())]
    moment = at(minutes)
    return ci.Commit("c0ffee", moment if written is None else at(written), moment, Signed((tuple(trailers),)), paths)


def verdict(
    *commits: ci.Commit, held: list[Lease], now: float = 600, agreed: Iterable[tuple[str, str, str]] = (), **wanted: Any
) -> list[tuple[str, str]]:
    known = ci.Known(held, frozenset(agreed))
    found = ci.judge(commits, known, ci.Wanted(now=at(now), **wanted))
    return [(each.severity, each.rule) for each in found]


def author(*trailers: tuple[str, str], otherwise: str | None = None) -> commit_authors.Author:
    """The author of a commit with these trailers in one paragraph."""
    return commit_authors.author(Signed((trailers,)), {}, otherwise)


# -- frozen, and paused


def frozen(**changes: Any) -> Lease:
    return lease("user", bead="freeze", **({"ttl": holdings.FOREVER, "why": "release"} | changes))


@pytest.mark.parametrize("by", [OTTER, HARBOR])
def test_what_was_frozen_then_is_nobodys_not_even_its_holders(by: str):
    held = [lease(OTTER), frozen(made_at=at(5))]
    rules = verdict(commit("src/parser/lex.py", by=by, minutes=10), held=held, now=30)
    assert (ERROR, HELD_THEN) in rules


def test_what_is_frozen_now_is_an_error_for_who_held_it_before():
    held = [lease(OTTER), frozen(made_at=at(20), renewed_at=at(20))]
    assert verdict(commit("src/parser/lex.py", by=OTTER, minutes=10), held=held, now=30) == [(ERROR, HELD_NOW)]


def test_a_freeze_has_no_margin_and_outlives_a_day():
    for minutes, expected in ((9.9, [(ERROR, HELD_THEN)]), (10.1, [])):
        made = frozen(ttl=10)
        assert verdict(commit("src/parser/lex.py", minutes=minutes), held=[made], now=600) == expected
    late = frozen()
    assert verdict(commit("src/parser/lex.py", minutes=5000), held=[late], now=6000) == [(ERROR, HELD_THEN)]


def test_what_the_person_agreed_to_is_a_warning():
    agreed = [(OTTER, "user", "src/parser/lex.py")]
    assert verdict(commit("src/parser/lex.py", by=OTTER), held=[frozen()], agreed=agreed) == [(WARNING, HELD_THEN)]


@pytest.mark.parametrize(
    ("minutes", "by", "is_told"),
    [
        (10, OTTER, True),
        (5, OTTER, True),
        (4.99, OTTER, True),
        (4.9, OTTER, False),
        (10, HARBOR, False),
        (10, None, False),
    ],
)
def test_what_a_paused_agent_commits_is_told_from_then_on(minutes: float, by: str | None, is_told: bool):
    paused = facts.Paused("user", OTTER, "wait")
    state = pauses.step(None, paused, [1, "a" * 12, 1], clock.text(at(5)))
    known = ci.Known([], frozenset(), {OTTER: state})

    found = ci.judge([commit("docs/a.md", by=by, minutes=minutes)], known, ci.Wanted(now=at(600)))

    assert [each.rule for each in found] == ([ci_findings.PAUSED] if is_told else [])
    assert ci_findings.refusal(found) is (ci_findings.PausedAuthor if is_told else None)


# -- who held it


def test_what_another_agent_held_at_that_time_is_an_incursion_although_it_has_ended_since():
    ended = lease(state=holdings.RELEASED, ended_at=at(30))

    assert verdict(commit("src/parser/lex.py"), held=[ended]) == [(ERROR, HELD_THEN)]


def test_what_the_author_held_is_its_own():
    assert verdict(commit("src/parser/lex.py", by=OTTER), held=[lease()]) == []


def test_what_nobody_holds_is_free():
    assert verdict(commit("src/parse.py", "src/parsers/lex.py"), held=[lease(now=60)], now=60) == []


@pytest.mark.parametrize("scope", ["src", ".", "src/parser/lex.py", "src/**/*.py", "src/par*", "*/parser"])
def test_a_path_lies_in_every_scope_that_covers_it(scope: str):
    assert verdict(commit("src/parser/lex.py"), held=[lease(scope=scope)]) == [(ERROR, HELD_THEN)]


@pytest.mark.parametrize("scope", ["src/lexer", "docs", "src/*.py", "src/parser/lex.pyi", "SRC"])
def test_a_path_lies_in_no_other_scope(scope: str):
    assert verdict(commit("src/parser/lex.py"), held=[lease(scope=scope)]) == []


def test_case_does_not_count_where_the_repository_says_so():
    assert verdict(commit("SRC/Parser/lex.py"), held=[lease()], ignore_case=True) == [(ERROR, HELD_THEN)]


def test_two_who_both_held_it_knew_of_each_other():
    assert verdict(commit("src/parser/lex.py"), held=[lease(), lease(HARBOR, "src")]) == []


def test_what_is_held_now_counts_although_it_was_free_then():
    later = lease(made_at=at(60), renewed_at=at(60), now=90)

    assert verdict(commit("src/parser/lex.py"), held=[later], now=90) == [(ERROR, HELD_NOW)]


def test_who_held_it_when_it_was_committed_is_only_warned_of_who_holds_it_now():
    mine = lease(HARBOR, state=holdings.RELEASED, ended_at=at(30))
    theirs = lease(made_at=at(60), renewed_at=at(60), now=90)

    assert verdict(commit("src/parser/lex.py"), held=[mine, theirs], now=90) == [(WARNING, HELD_NOW)]


def test_who_rewrites_a_commit_later_is_warned_of_who_holds_it_by_then():
    """A rebase gives a commit another time; the work was done when its author held the path."""
    mine = lease(HARBOR, state=holdings.RELEASED, ended_at=at(30))
    theirs = lease(made_at=at(60), renewed_at=at(60))

    assert verdict(commit("src/parser/lex.py", minutes=90, written=10), held=[mine, theirs]) == [(WARNING, HELD_THEN)]


def test_who_was_taken_over_and_goes_on_intrudes():
    mine = lease(HARBOR, state=holdings.TAKEN_OVER, ended_at=at(40))
    theirs = lease(made_at=at(40), renewed_at=at(40))

    assert verdict(commit("src/parser/lex.py", minutes=50), held=[mine, theirs]) == [(ERROR, HELD_THEN)]


def test_who_holds_it_by_now_is_only_warned():
    passed_on = lease(state=holdings.RELEASED, ended_at=at(30))
    mine = lease(HARBOR, made_at=at(30), renewed_at=at(30), now=60)

    assert verdict(commit("src/parser/lex.py"), held=[passed_on, mine], now=60) == [(WARNING, HELD_THEN)]


@pytest.mark.parametrize(
    ("agreed", "severity"),
    [
        ((HARBOR, OTTER, "c0ffee"), WARNING),
        ((HARBOR, OTTER, "src/parser/lex.py"), WARNING),
        ((OTTER, HARBOR, "c0ffee"), ERROR),
        ((HARBOR, "dusty-wren", "c0ffee"), ERROR),
        ((HARBOR, OTTER, "beef"), ERROR),
    ],
)
def test_what_its_owner_has_agreed_to_is_only_warned_of(agreed: tuple[str, str, str], severity: str):
    assert verdict(commit("src/parser/lex.py"), held=[lease()], agreed=[agreed]) == [(severity, HELD_THEN)]


@pytest.mark.parametrize(
    ("state", "by", "counts"),
    [
        (facts.ACCEPTED, OTTER, True),
        (facts.ACCEPTED, "user", True),
        (facts.TRANSFERRED, OTTER, True),
        (facts.REVERTED, HARBOR, False),
        (facts.ACCEPTED, HARBOR, False),
        (None, OTTER, False),
    ],
)
@pytest.mark.parametrize(("found", "what"), [("c0ffee", {"c0ffee"}), ("", {"src/a", "src/b"})])
def test_an_owner_agrees_by_accepting_an_incursion_or_passing_its_place_on(
    state: str | None, by: str, counts: bool, found: str, what: set[str]
):
    touched = facts.Incurred(
        *(HARBOR, OTTER, "aaaaaaaaaaaa.1", "partial", "src/a", "src", "active", "bb-1", facts.TOUCHED, ""),
        *(facts.CI, ("src/a", "src/b"), 2, found, ""),
    )
    entry = notices.step(None, touched, [1, "aaaaaaaaaaaa", 2], "2026-01-05T12:00:00.000Z")
    if state:
        said = facts.Resolved(by, "aaaaaaaaaaaa.2", state)
        entry = notices.step(entry, said, [2, "aaaaaaaaaaaa", 3], "2026-01-05T12:01:00.000Z")

    assert ci.agreed([entry]) == ({(HARBOR, OTTER, each) for each in what} if counts else set())


def test_the_same_about_several_commits_is_said_once():
    found = ci.judge(
        [commit("src/parser/lex.py"), commit("src/parser/lex.py", minutes=11).replace(id="beef")],
        ci.Known([lease()]),
        ci.Wanted(now=at(600)),
    )

    assert [each.commits for each in found] == [("c0ffee", "beef")]


# -- how long it was held


@pytest.mark.parametrize(
    ("minutes", "is_held"),
    [(-1 / 60, False), (-0.5 / 60, True), (0, True), (120, True), (121.9, True), (122, True), (122.1, False)],
)
def test_a_reservation_holds_from_when_it_was_made_to_its_time_and_two_minutes(minutes: float, is_held: bool):
    """Clocks of two machines are compared, so two minutes are the holder's. Commits are dated to whole seconds."""
    assert MARGIN == 2 * clock.MINUTE
    assert lease().held_in(at(minutes)) is is_held


def test_a_sign_of_life_makes_it_last_but_no_longer_than_a_day():
    assert lease(seen=100).until == at(220) + MARGIN
    assert lease(seen=5000, now=6000).until == at(24 * 60) + MARGIN


def test_giving_back_is_a_sign_of_life_and_the_end():
    released = lease(state=holdings.RELEASED, ended_at=at(500))

    assert (released.until, released.is_live) == (at(500), False)


def test_what_had_lapsed_before_somebody_archived_it_was_not_held_in_between():
    assert lease(state=holdings.EXPIRED, ended_at=at(500)).until == at(120) + MARGIN
    assert lease(state=holdings.TAKEN_OVER, ended_at=at(500)).until == at(500)


@pytest.mark.parametrize(("now", "is_live"), [(121, True), (123, False)])
def test_what_has_lapsed_is_not_held_now(now: float, is_live: bool):
    assert lease(now=now).is_live is is_live


def test_a_commit_from_the_future_was_made_just_now():
    assert verdict(commit("src/parser/lex.py", minutes=100_000), held=[lease(now=60)], now=60) == [(ERROR, HELD_THEN)]


def test_reserving_anything_is_a_sign_of_life():
    several = [reservation(), reservation(made_at=at(50), renewed_at=at(50)), reservation(HARBOR, renewed_at=at(70))]

    assert leases.last_acts(several) == {OTTER: at(50), HARBOR: at(70)}


# -- whose commit it is


@pytest.mark.parametrize(
    ("named", "agent", "doubts"),
    [
        ([], None, 0),
        ([HARBOR], HARBOR, 0),
        ([HARBOR, HARBOR], HARBOR, 0),
        ([OTTER, HARBOR], HARBOR, 1),
        ([HARBOR, "../x"], HARBOR, 1),
        (["../x"], None, 1),
        ([""], None, 1),
        (["user"], None, 0),
    ],
)
def test_the_last_trailer_that_names_an_agent_counts(named: list[str], agent: str | None, doubts: int):
    found = author(*(("bb-agent", name) for name in named))

    assert (found.agent, len(found.doubts)) == (agent, doubts)


def test_who_names_nobody_is_who_is_named_for_all_of_them():
    assert author(otherwise=OTTER).agent == OTTER
    assert author(("BB-Agent", "user"), otherwise=OTTER).agent is None


def test_a_person_is_told_and_not_stopped_unless_people_are_to_be():
    change = commit("src/parser/lex.py", by=None)

    assert verdict(change, held=[lease()]) == [(WARNING, HELD_THEN)]
    assert verdict(change, held=[lease()], is_strict=True, is_about_people=True) == [(ERROR, HELD_THEN)]
    assert verdict(change, held=[lease()], otherwise=HARBOR) == [(ERROR, HELD_THEN)]


def test_an_unclear_author_is_told_of():
    change = commit("docs/a.md", by="../x")

    assert verdict(change, held=[]) == [(WARNING, UNCLEAR_AUTHOR)]
    assert verdict(change, held=[], is_strict=True, is_about_people=True) == [(ERROR, UNCLEAR_AUTHOR)]


# -- what was declared


def test_what_the_author_had_reserved_was_declared():
    mine = lease(HARBOR, state=holdings.RELEASED, ended_at=at(30))
    change = commit("src/parser/lex.py", "docs/a.md")

    assert verdict(change, held=[mine], must_declare=True) == [(ERROR, OUTSIDE)]
    assert verdict(change, held=[mine, lease(HARBOR, "docs")], must_declare=True) == []


def test_what_was_declared_by_word_counts_for_everybody():
    wanted = {"must_declare": True, "declared": (Scope("docs"),)}

    assert verdict(commit("docs/a.md"), held=[], **wanted) == []
    assert verdict(commit("src/a.py"), held=[], **wanted) == [(ERROR, OUTSIDE)]
    assert verdict(commit("src/a.py", by=None), held=[], **wanted) == [(WARNING, OUTSIDE)]


def test_a_person_reserves_nothing_and_so_leaves_nothing():
    assert verdict(commit("src/a.py", by=None), held=[], must_declare=True) == []
    assert verdict(commit("src/a.py", by=None), held=[], must_declare=True, is_strict=True, is_about_people=True) == [
        (ERROR, OUTSIDE)
    ]


def test_a_tools_own_files_need_no_declaration_but_may_be_held():
    change = commit(".beads/issues.jsonl")

    assert verdict(change, held=[], must_declare=True) == []
    assert verdict(change, held=[lease(scope=".beads")]) == [(ERROR, HELD_THEN)]


# -- tokens


@pytest.mark.parametrize(("token", "found"), [("4", [(ERROR, STALE_TOKEN)]), ("5", []), ("6", [])])
def test_a_token_lower_than_a_later_grants_is_fenced_off(token: str, found: list[tuple[str, str]]):
    granted = lease(token=5, made_at=at(-300), renewed_at=at(-300), state=holdings.RELEASED, ended_at=at(-200))

    assert verdict(commit("src/parser/lex.py", BB_Token=token), held=[granted]) == found


def test_of_several_tokens_the_lowest_counts_and_what_is_no_number_is_told_of():
    found = author(("BB-Agent", HARBOR), ("BB-Token", "7"), ("BB-Token", "3"), ("BB-Token", "x"))

    assert (found.token, len(found.doubts)) == (3, 1)


# -- what follows


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([], None),
        ([HELD_THEN, OUTSIDE], "CI_INCURSION"),
        ([HELD_NOW], "CI_INCURSION"),
        ([STALE_TOKEN], "CI_INCURSION"),
        ([OUTSIDE, UNCLEAR_AUTHOR], "OUTSIDE_DECLARED"),
        ([UNCLEAR_AUTHOR], "UNCLEAR_AUTHOR"),
    ],
)
def test_the_gravest_finding_decides_what_it_is_refused_as(rules: list[str], code: str | None):
    found = [ci_findings.Finding(rule, ERROR, "a", HARBOR, None, ("c",), "t") for rule in rules]
    refusal = ci_findings.refusal([*found, ci_findings.Finding(HELD_NOW, WARNING, "a", HARBOR, None, ("c",), "t")])

    assert (refusal.code if refusal else None) == code


def test_errors_come_first():
    found = ci.judge(
        [commit("src/parser/a.py", by=None), commit("src/parser/z.py")], ci.Known([lease()]), ci.Wanted(now=at(600))
    )

    assert [(each.severity, each.path) for each in found] == [(ERROR, "src/parser/z.py"), (WARNING, "src/parser/a.py")]


# -- contests


HERE, THERE = "aaaaaaaaaaaa.1", "bbbbbbbbbbbb.1"


def contest(*, settled: dict[str, int] | None = None, **mine: Any) -> list[Lease]:
    """OTTER's lease of one clone, and HARBOR's of another."""
    return [
        lease(OTTER, id=HERE, place="1"),
        lease(HARBOR, "src", **{"id": THERE, "place": "2"} | mine),
    ]


def judged(*commits: ci.Commit, held: list[Lease], **known: Any) -> list[tuple[str, str]]:
    found = ci.judge(commits, ci.Known(held, **known), ci.Wanted(now=at(600), must_declare=True))
    return [(each.severity, each.rule) for each in found]


def published(**generations: int) -> admission.Admitted:
    return admission.Admitted({}, {{"here": HERE, "there": THERE}[name]: n for name, n in generations.items()})


def test_what_is_contested_excuses_nobody_and_was_not_declared():
    both = {(ERROR, HELD_THEN), (ERROR, OUTSIDE)}
    for order, loser in ((published(here=1, there=2), HARBOR), (published(here=2, there=1), OTTER)):
        winner = OTTER if loser == HARBOR else HARBOR
        assert set(judged(commit("src/parser/lex.py", by=loser), held=contest(), settled=order)) == both
        assert judged(commit("src/parser/lex.py", by=winner), held=contest(), settled=order) == []


@pytest.mark.parametrize(
    "mine",
    [
        {"id": "aaaaaaaaaaaa.2"},  # made in the same clone, so with knowledge of the other
        {"shared": True},
    ],
)
def test_what_may_be_held_beside_the_other_is_not_contested(mine: dict[str, Any]):
    held = contest(**mine)
    if mine.get("shared"):
        held[0] = lease(OTTER, id=HERE, place="1", shared=True)

    assert judged(commit("src/parser/lex.py"), held=held, settled=published(here=1, there=2)) == []


def test_a_reservation_made_in_knowledge_of_the_other_is_not_contested():
    order = {"settled": published(here=1, there=2)}

    def found(*known: str) -> list[tuple[str, str]]:
        return judged(commit("src/parser/lex.py"), held=contest(), overlaps=frozenset([known]), **order)

    assert found(HERE, HARBOR, "src") == []
    assert found(HERE, HARBOR, "docs"), "another scope"
    assert found("aaaaaaaaaaaa.99", HARBOR, "src"), "an earlier reservation of the same agent"


def test_what_ended_before_the_other_was_made_is_no_rival_whatever_the_clocks_say():
    gone = {"state": holdings.RELEASED, "ended_at": at(30), "ended_place": "15"}
    held = [lease(OTTER, id=HERE, place="1", **gone), lease(HARBOR, "src", id=THERE, place="2")]

    assert judged(commit("src/parser/lex.py"), held=held, settled=published(here=1, there=2)) == []


def test_a_contest_ends_when_the_winner_ends():
    gone = {"state": holdings.RELEASED, "ended_at": at(30), "ended_place": "25"}
    held = [lease(OTTER, id=HERE, place="1", **gone), lease(HARBOR, "src", id=THERE, place="2")]
    order = {"settled": published(here=1, there=2)}

    assert judged(commit("src/parser/lex.py", minutes=31), held=held, **order) == []
    assert (ERROR, HELD_THEN) in judged(commit("src/parser/lex.py", minutes=29), held=held, **order)


def test_the_order_is_needed_only_where_two_clones_reserved_a_changed_path():
    wanted, known = ci.Wanted(now=at(600)), ci.Known(contest())
    change = [commit("src/parser/lex.py")]

    assert ci.needs_order(change, known, wanted)
    assert not ci.needs_order([commit("docs/a.md")], known, wanted)
    assert ci.needs_order(change, known.replace(settled=published(here=1)), wanted), "a snapshot may lack the other one"
    assert not ci.needs_order(change, known.replace(settled=published(here=1, there=2)), wanted)
    assert not ci.needs_order(change, known.replace(overlaps=frozenset([(HERE, HARBOR, "src")])), wanted)
    assert not ci.needs_order(change, ci.Known(contest(id="aaaaaaaaaaaa.2")), wanted)


def test_a_lease_that_an_admitted_reservation_took_over_ended_then():
    taken = leases.lease(reservation(base="c"), Scope("src"), at(0), at(60), 1, taken_at=at(20))

    assert (taken.until, taken.is_live) == (at(20), False)


# -- several agents, and merges


def test_a_squash_is_excused_by_one_agent_and_stopped_where_none_held_it():
    squash = commit("src/parser/lex.py", by=None).replace(
        signed=Signed(((("BB-Agent", OTTER),), (("BB-Agent", HARBOR),)))
    )

    assert verdict(squash, held=[lease()]) == [(WARNING, UNCLEAR_AUTHOR)]
    assert verdict(squash, held=[lease("dusty-wren")]) == [(ERROR, HELD_THEN), (WARNING, UNCLEAR_AUTHOR)]


def test_every_agent_of_a_squash_must_be_unpaused():
    squash = commit("docs/a.md", by=None).replace(signed=Signed(((("BB-Agent", OTTER),), (("BB-Agent", HARBOR),))))
    state = pauses.step(None, facts.Paused("user", OTTER, "wait"), [1, "a" * 12, 1], clock.text(at(5)))

    found = ci.judge([squash], ci.Known([], frozenset(), {OTTER: state}), ci.Wanted(now=at(600)))

    assert [(each.severity, each.rule) for each in found] == [(ERROR, ci_findings.PAUSED), (WARNING, UNCLEAR_AUTHOR)]


def test_a_merge_is_repeated_only_if_it_would_be_a_finding():
    asked: list[str] = []

    def merges(name: str) -> bool:
        asked.append(name)
        return True

    plain, found = commit("docs/a.md").replace(parents=2), commit("src/parser/lex.py").replace(parents=2, id="beef")

    assert judged(found, commit("x").replace(parents=1), held=[lease()], merges=merges)[0][1] == OUTSIDE
    assert verdict(plain, held=[lease()]) == []
    assert asked == ["beef"]


# -- a fleet that has forgotten who was admitted


def forgotten(agent: str = OTTER, **changes: Any) -> Lease:
    """A lease that ended after five minutes."""
    gone = {"state": holdings.RELEASED, "ended_at": at(5), "place": "2", "ended_place": "3"}
    return lease(agent, **{**gone, **changes}).replace(is_forgotten=True)


FLOOR = {"settled": admission.Admitted(floor=100)}


def needs_order(*commits: ci.Commit, held: list[Lease]) -> bool:
    return ci.needs_order(commits, ci.Known(held, **FLOOR), ci.Wanted(now=at(600)))


def test_all_commits_are_read_if_what_was_forgotten_may_matter():
    assert needs_order(commit("src/parser/lex.py", minutes=4), held=[forgotten()])
    assert needs_order(commit("src/parser/lex.py", minutes=60, written=4), held=[forgotten()])
    assert needs_order(commit("src/parser/lex.py", minutes=60, BB_Token="99"), held=[forgotten()])

    assert not needs_order(commit("src/parser/lex.py", minutes=60), held=[forgotten()])
    assert not needs_order(commit("src/parser/lex.py", minutes=60, BB_Token="100"), held=[forgotten()])
    assert not needs_order(commit("docs/a.md", minutes=4, BB_Token="99"), held=[forgotten()])


@pytest.mark.parametrize(
    ("token", "own", "rules"),
    [
        ("99", "1", [STALE_TOKEN]),  # perhaps OTTER had token 98, and perhaps none at all
        ("100", "1", []),  # what was forgotten had lower ones
        ("99", "4", []),  # OTTER had released it before
    ],
)
def test_a_token_that_may_have_been_fenced_off_is_not_good(token: str, own: str, rules: list[str]):
    held = [forgotten(), lease(HARBOR, id="bbbbbbbbbbbb.1", place=own)]
    found = judged(commit("src/parser/lex.py", minutes=60, BB_Token=token), held=held, **FLOOR)

    assert [rule for _, rule in found] == rules
