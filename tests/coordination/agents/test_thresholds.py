"""The stale minutes that the person pins hold in every clone; an environment can only make a judgement milder."""

from __future__ import annotations

import pytest

from bb.coordination.agents import liveness, thresholds
from bb.coordination.agents.thresholds import InvalidPin
from bb.coordination.facts import Pinned
from bb.kernel import clock

WRITER, TS = "a" * 12, "2026-01-05T12:00:00.000Z"


@pytest.mark.parametrize(
    ("env", "pinned", "minutes"),
    [
        (None, None, 15),
        ("1", None, 1),
        ("1", 30, 30),
        ("60", 30, 60),
        (None, 30, 30),
        (None, 5, 5),
        ("15", 5, 15),
        ("", 5, 5),
    ],
)
def test_4_1_an_environment_may_lengthen_what_is_pinned_and_not_shorten_it(
    env: str | None, pinned: int | None, minutes: int
):
    assert liveness.stale_after(env, pinned) == minutes * clock.MINUTE


def test_only_the_persons_word_counts_and_the_last_one_in_any_order():
    words = [(Pinned("user", 30), 1), (Pinned("ada", 1), 9), (Pinned("user", 45), 2), (Pinned("ada", 0), 3)]
    for order in (words, words[::-1]):
        state = None
        for fact, place in order:
            state = thresholds.step(state, fact, [place, WRITER, place], TS)
        assert thresholds.pinned(state) == 45
    assert thresholds.pinned(thresholds.step(state, Pinned("user", 0), [10, WRITER, 10], TS)) is None
    assert thresholds.pinned(None) is None


def test_what_is_no_number_of_minutes_is_refused():
    assert (thresholds.minutes("30"), thresholds.minutes("default")) == (30, 0)
    for wrong in ("", "0", "-1", "1.5", "10081", "1e3", "x", "99999999999"):
        with pytest.raises(InvalidPin.error):
            thresholds.minutes(wrong)
