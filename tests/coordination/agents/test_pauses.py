"""A pause is the person's word, the last of which counts, about one agent or about everybody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents import pauses
from bb.coordination.agents.pauses import AgentPaused, Pause
from bb.coordination.facts import Paused, Unpaused
from tests.examples import examples

ALL = pauses.EVERYBODY
AT = "2026-01-05T12:00:00.000Z"
Said = tuple[Any, list[Any]]


def states(*history: Said) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for fact, place in history:
        (key,) = pauses.keys(fact, place)
        found[key] = pauses.step(found.get(key), fact, place, AT)
    return found


def said(*facts: Any) -> dict[str, Any]:
    """What FACTS come to, said one after the other."""
    return states(*((fact, [n, "a" * 12, n]) for n, fact in enumerate(facts, 1)))


def is_paused(agent: str, *facts: Any) -> bool:
    return pauses.pause(said(*facts), agent) is not None


def test_who_is_paused_is_so_until_let_go_on():
    assert pauses.pause(said(Paused("user", "ada", "wait")), "ada") == Pause(AT, "wait", False)
    assert not is_paused("bo1", Paused("user", "ada"))
    assert not is_paused("ada", Paused("user", "ada"), Unpaused("user", "ada"))


@pytest.mark.parametrize("by", ["ada", "bo1", "User", "users"])
def test_what_an_agent_says_of_it_counts_for_nothing(by: str):
    assert not is_paused("ada", Paused(by, "ada"), Paused(by, ALL))
    assert is_paused("ada", Paused("user", "ada"), Unpaused(by, "ada"), Unpaused(by, ALL))


def test_everybody_is_also_whoever_joins_later():
    found = pauses.pause(said(Paused("user", ALL, "release")), "somebody-new")
    assert found == Pause(AT, "release", True)


def test_the_last_word_counts_whether_about_one_or_about_all():
    assert not is_paused("ada", Paused("user", ALL), Unpaused("user", "ada"))
    assert is_paused("bo1", Paused("user", ALL), Unpaused("user", "ada"))
    assert is_paused("ada", Paused("user", ALL), Unpaused("user", "ada"), Paused("user", ALL))
    assert not is_paused("ada", Paused("user", "ada"), Unpaused("user", ALL))
    assert is_paused("ada", Unpaused("user", ALL), Paused("user", "ada"))


def test_the_person_is_never_paused():
    assert not is_paused("user", Paused("user", ALL))


def test_a_paused_agent_is_refused_with_the_reason_and_told_since_when():
    found = pauses.pause(said(Paused("user", "ada", "wait for the review")), "ada")

    with pytest.raises(AgentPaused.error) as refusal:
        pauses.refuse(found, "ada")

    assert str(refusal.value) == f'user paused you at {AT}: "wait for the review"'
    assert refusal.value.exit_status == 4
    assert refusal.value.details["paused"] == {
        "by": "user",
        "since": AT,
        "why": "wait for the review",
        "everybody": False,
    }
    pauses.refuse(None, "ada")


who, whom = st.sampled_from(["user", "ada"]), st.sampled_from(["ada", "bo1", ALL])
facts = st.one_of(st.builds(Paused, who, whom, st.none() | st.just("why")), st.builds(Unpaused, who, whom))
places = st.tuples(st.integers(1, 3), st.sampled_from(["a" * 12, "b" * 12]), st.integers(1, 5)).map(list)
histories = st.lists(st.tuples(facts, places), max_size=8, unique_by=lambda each: tuple(each[1]))


@examples(100)
@given(histories, st.randoms(use_true_random=False))
def test_the_same_words_in_any_order_pause_the_same_agents(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert states(*history, *shuffled) == states(*shuffled) == states(*history)


@examples(100)
@given(histories)
def test_without_the_lines_of_agents_it_is_the_same(history: list[Said]):
    honest = states(*(each for each in history if each[0].by == "user"))
    for agent in ("ada", "bo1", "cyd"):
        assert pauses.pause(states(*history), agent) == pauses.pause(honest, agent)
