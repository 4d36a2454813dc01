"""Who may act under a name now (Operative Protocol §3.2, §3.3): the table at the top of
`coordination/agents/callers.py`."""

from __future__ import annotations

import pytest

from bb.coordination.agents import callers, roster
from bb.coordination.agents.callers import InvalidSession, NotYourName, SessionSuperseded
from bb.coordination.agents.identity import AdoptionNeeded
from bb.coordination.agents.roster import Agent
from bb.coordination.facts import Registered, Seen, Updated
from bb.kernel import clock, ids

ONE, TWO, THREE = (callers.session_digest(name) for name in ("one", "two", "three"))
NOON, MINUTE = 1_767_614_400_000, clock.MINUTE


def agent(*sessions: str | None, at: int = NOON) -> Agent:
    """Ada, under whose name these sessions were opened one after the other."""
    state = None
    for place, session in enumerate(sessions, 1):
        fact = Updated("ada", session=session) if place > 1 else Registered("ada", "builder", "Ada", session=session)
        state = roster.step(state, fact, [place, "a" * 12, place], clock.text(at))
    found = roster.agent("ada", state)
    assert found
    return found


def verdict(present: Agent, *sessions: str, is_evicted: bool = False, others: tuple[str, ...] = ()) -> str:
    try:
        callers.refuse_wrong_session(present, sessions, is_evicted=is_evicted, others=others)
    except (SessionSuperseded.error, NotYourName.error, AdoptionNeeded.error) as refusal:
        is_way_back = "bb init --adopt ada" in (refusal.hint or "")
        return refusal.code if is_way_back else "no way back is named"
    return "may act"


@pytest.mark.parametrize(
    ("opened", "caller", "is_evicted", "expected"),
    [
        ([None], (), True, "may act"),
        ([None], (ONE,), True, "may act"),
        ([ONE], (), False, "may act"),
        ([ONE], (), True, "ADOPTION_NEEDED"),
        ([ONE], (ONE,), True, "may act"),
        ([ONE], (TWO, ONE), True, "may act"),
        ([ONE], (TWO,), False, "NOT_YOUR_NAME"),
        ([ONE], (TWO,), True, "NOT_YOUR_NAME"),
        ([ONE, TWO], (ONE,), False, "SESSION_SUPERSEDED"),
        ([ONE, TWO], (TWO,), False, "may act"),
        ([ONE, TWO, ONE], (ONE,), False, "may act"),
        ([ONE, "?" + TWO], (ONE,), False, "SESSION_SUPERSEDED"),
        ([ONE, "?" + TWO], (TWO,), True, "may act"),
        ([ONE, "?" + TWO], (THREE,), False, "may act"),
        ([ONE, "?" + TWO], (THREE,), True, "ADOPTION_NEEDED"),
        ([ONE, "?" + TWO], (), True, "may act"),
    ],
)
def test_3_3_a_name_is_held_by_one_session(
    opened: list[str | None], caller: tuple[str, ...], is_evicted: bool, expected: str
):
    assert verdict(agent(*opened), *caller, is_evicted=is_evicted) == expected


def test_a_session_that_works_as_another_agent_cannot_act_under_a_name_whose_session_is_unknown():
    assert verdict(agent(None), ONE, others=("bo1",)) == "NOT_YOUR_NAME"


def test_3_2_only_a_session_that_is_known_to_be_alive_and_another_one_keeps_a_name_from_being_adopted():
    def alive(present: Agent, *sessions: str, seen: int = 0, after: int = 0) -> bool:
        return callers.alive_at(present, sessions, seen, NOON + after) is not None

    assert alive(agent(ONE), TWO)
    assert alive(agent(ONE)), "whoever has no id is another one"
    assert alive(agent("?" + ONE), after=2 * MINUTE - 1), "to adopt is a sign of life"
    assert alive(agent(ONE), TWO, seen=NOON + 9 * MINUTE, after=10 * MINUTE)
    assert not alive(agent(ONE), ONE)
    assert not alive(agent(None), TWO)
    assert not alive(agent(ONE), TWO, after=2 * MINUTE)
    assert not alive(agent(ONE).replace(is_retired=True), TWO)


def test_whichever_order_the_lines_come_in_the_last_session_in_ledger_order_is_the_current_one():
    facts = [
        (Registered("ada", "builder", "Ada", session=ONE), [1, "a" * 12, 1]),
        (Updated("ada", session="?" + TWO), [5, "b" * 12, 1]),
        (Seen("ada", "active", TWO), [6, "b" * 12, 2]),
        (Updated("ada", session=THREE), [6, "c" * 12, 1]),
    ]
    for order in (facts, facts[::-1], facts[2:] + facts[:2]):
        state = None
        for fact, place in order:
            state = roster.step(state, fact, place, clock.text(NOON))
        found = roster.agent("ada", state)
        assert found
        assert (found.session, found.former) == (THREE, tuple(sorted([ONE, TWO])))
        assert [term for term, _ in roster.terms("ada", state or {})] == [
            roster.session_term(THREE),
            roster.HEARD,
            roster.role_term("builder"),
            roster.JOINED,
        ]


# -- which session it is


@pytest.mark.parametrize(
    ("env", "said", "expected"),
    [
        ({}, "", []),
        ({"BB_SESSION": "one"}, "", ["one"]),
        ({"BB_SESSION": "one", "CODEX_THREAD_ID": "two"}, "", ["two", "one"]),
        ({"GEMINI_SESSION_ID": "g", "CODEX_THREAD_ID": "x", "CLAUDE_CODE_SESSION_ID": "c"}, "", ["c", "x", "g"]),
        ({"BB_SESSION": "one", "CLAUDE_CODE_SESSION_ID": "two"}, "three", ["three", "two", "one"]),
        ({"BB_SESSION": "one"}, "one", ["one"]),
        ({"CODEX_THREAD_ID": "x" * 201}, "a\nb", []),
    ],
)
def test_what_the_host_says_comes_before_bb_session_and_any_of_them_is_the_caller(
    env: dict[str, str], said: str, expected: list[str]
):
    assert callers.sessions(env, *filter(None, [said])) == tuple(map(callers.session_digest, expected))


def test_codex_names_a_thread_and_the_session_that_it_shares_with_its_subagents():
    env = {"CODEX_SESSION_ID": "root", "CODEX_THREAD_ID": "sub", "OPENCODE_SESSION_ID": "o"}

    assert callers.host_sessions(env) == ("sub", "root", "o")
    assert callers.host_sessions({"CODEX_THREAD_ID": "a\nb", "BB_SESSION": "own"}) == ()


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ({}, []),
        ({ONE: ("ada", ())}, ["ada"]),
        ({ONE: ("ada", ()), TWO: ("ada", ())}, ["ada"]),
        ({ONE: ("ada", ()), TWO: ("bo1", (ONE,))}, ["bo1"]),
        ({TWO: ("bo1", (ONE, THREE)), ONE: ("ada", (THREE,)), THREE: ("cyd", ())}, ["bo1"]),
        ({ONE: ("ada", ()), TWO: ("bo1", ())}, ["ada", "bo1"]),
        ({ONE: ("ada", (TWO,)), TWO: ("bo1", (ONE,))}, ["ada", "bo1"]),
        ({ONE: ("ada", (THREE,))}, ["ada"]),
    ],
)
def test_of_sessions_one_within_the_other_the_inner_one_is_the_caller(
    sessions: dict[str, tuple[str, tuple[str, ...]]], expected: list[str]
):
    assert callers.agents_of(sessions) == expected


@pytest.mark.parametrize("own", ["x" * 201, "a\nb", " ", "\x1b[31m"])
def test_a_bb_session_that_is_none_is_refused(own: str):
    with pytest.raises(InvalidSession.error):
        callers.sessions({"BB_SESSION": own})


def test_the_ledger_has_a_digest_and_never_the_id():
    assert ids.is_session(callers.session_digest("a-private-id"))
    assert ids.is_session("?" + callers.session_digest("a-private-id"))
    for other in (None, 7, "", "?", "a-private-id", "0" * 15, "0" * 17, "G" * 16, "??" + "0" * 15):
        assert not ids.is_session(other)


# -- what BB_AGENT says, and what the request says


@pytest.mark.parametrize(
    ("named", "is_set", "expected"),
    [
        (None, None, ""),
        ("ada", None, "ada"),
        ("ada", "", "ada"),
        (None, "ada", "ada"),
        ("ada", "ada", "ada"),
        ("user", "ada", "user"),
        ("bo1", "ada", None),
        ("ada", "user", None),
    ],
)
def test_a_contradiction_between_who_one_is_and_who_one_says_to_be_is_refused(
    named: str | None, is_set: str | None, expected: str | None
):
    if expected is None:
        with pytest.raises(NotYourName.error) as refusal:
            callers.actor(named, is_set)
        assert (refusal.value.code, refusal.value.exit_status) == ("NOT_YOUR_NAME", 5)
    else:
        assert callers.actor(named, is_set) == expected
