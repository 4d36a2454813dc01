"""Which signs of life of other machines are told, and when."""

from __future__ import annotations

import itertools
import string

from bb.ledger.carrier import beats
from bb.ledger.carrier.door import Machine
from bb.ledger.fleet.machines import MOST_OF_ROLE, Others

SECOND, BEAT, START = 1000, 10_000, 1_000_000.0


def named(letter: str, count: int) -> list[str]:
    """Names of agents that nobody has registered."""
    return [
        letter + "".join(each) for each in itertools.islice(itertools.product(string.ascii_lowercase, repeat=4), count)
    ]


def test_the_last_sign_of_life_is_told_although_another_one_was_told_just_before():
    """Ada's sign at 0 s is told at once. Her last one, at 50 s, must not be lost: her silence begins there."""
    others, told = Others(), {}
    for now in range(0, 300 * SECOND, BEAT):
        last = 0 if now < 50 * SECOND else 50 * SECOND
        machine = Machine("m-two", "w", 1, {"ada": (now - last) // SECOND}, 0.0)
        for age in others.news([machine], [], START + now, {}).values():
            told[now] = now - age

    assert list(told.values()) == [0, 50 * SECOND]
    assert list(told) == [0, 60 * SECOND]


def test_an_agent_that_works_is_told_once_a_minute():
    others = Others()
    told = [
        now
        for now in range(0, 300 * SECOND, BEAT)
        if others.news([Machine("m-two", "w", 1, {"ada": 0}, 1.0)], [], START + now, {})
    ]

    assert told == [0, 60 * SECOND, 120 * SECOND, 180 * SECOND, 240 * SECOND]


def test_the_same_sign_is_told_once_although_ages_are_rounded():
    others = Others()
    told = [
        others.news([Machine("m-two", "w", 1, {"ada": (now + 900) // SECOND}, 0.3)], [], START + now, {})
        for now in range(0, 600 * SECOND, BEAT + 700)
    ]

    assert [bool(news) for news in told] == [True] + [False] * (len(told) - 1)


def test_a_sign_after_a_long_silence_is_told_at_once():
    others = Others()
    others.news([Machine("m-two", "w", 1, {"ada": 900}, 0.0)], [], START, {})

    assert others.news([Machine("m-two", "w", 1, {"ada": 0}, 0.0)], [], START + BEAT, {}) == {"ada": 0}


def test_of_one_beat_the_agents_that_were_seen_last_are_taken():
    agents = {name: age for age, name in enumerate(named("a", 3 * beats.MOST_AGENTS))}

    assert list(beats.agents_in(dict(reversed(agents.items())))) == list(agents)[: beats.MOST_AGENTS]


def test_the_agents_of_one_role_are_limited_and_hide_those_of_no_other():
    flood = [Machine("evil", f"w{clone}", 1, dict.fromkeys(named(clone, 500), 0)) for clone in string.ascii_lowercase]
    honest = Machine("m-two", "w", 1, {"ada": 7}, 1.0)

    news = Others().news([*flood, honest], [], START, {})

    assert len(news) == MOST_OF_ROLE + 1
    assert news["ada"] == 8 * SECOND


def test_what_no_beat_names_any_more_is_not_remembered():
    others = Others()
    for beat, letter in enumerate(string.ascii_lowercase):
        others.news([Machine("evil", "w", 1, dict.fromkeys(named(letter, 500), 0))], [], START + beat * BEAT, {})

    assert len(others._told) == 500
