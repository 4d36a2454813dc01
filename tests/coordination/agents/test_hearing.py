"""Time in which a clone heard nothing of other machines is nobody's silence."""

from __future__ import annotations

import pytest

from bb.coordination.agents.hearing import GAP, Hearing
from bb.kernel import clock

NOON = clock.parse("2026-11-03T12:00:00.000Z")
BEAT = 10 * clock.SECOND


def heard(minutes: int, begin: Hearing | None = None, at: int = NOON, engine: int = NOON) -> Hearing:
    """What is known after so many minutes of beats, the first of which came AT a time, by the ENGINE's clock."""
    found = begin or Hearing()
    for later in range(0, minutes * clock.MINUTE + 1, BEAT):
        found = found.again(at + later, engine + later)
    return found


def test_an_agent_that_gives_no_sign_while_others_are_heard_is_silent_since_its_last_sign():
    hearing, now = heard(30), NOON + 30 * clock.MINUTE

    assert hearing.seen_at(NOON + 5 * clock.MINUTE, now) == NOON + 5 * clock.MINUTE


def test_silence_begins_at_the_earliest_when_hearing_began():
    hearing, now = heard(3), NOON + 3 * clock.MINUTE

    assert hearing.seen_at(NOON - 8 * clock.HOUR, now) == NOON


def test_a_clone_that_hears_nothing_knows_nobody_to_be_silent():
    hearing, now = heard(30), NOON + 30 * clock.MINUTE + GAP + 1

    assert hearing.seen_at(NOON, now) == now
    assert Hearing().seen_at(NOON, now) == now, "nor does one that never heard anything"


@pytest.mark.parametrize(
    ("ours", "engines"),
    [
        (GAP + 1, GAP + 1),  # cut off, or the machine slept
        (BEAT, GAP + 1),  # a virtual machine that was put back, with the clock of then
        (-BEAT, BEAT),  # this clock was set back
        (clock.HOUR, BEAT),  # or forward
        (BEAT, -clock.HOUR),  # another server, with another clock, goes on
    ],
)
def test_after_a_gap_by_either_clock_hearing_begins_anew(ours: int, engines: int):
    before = heard(30)

    after = before.again(before.last + ours, before.engine + engines)

    assert after.since == after.last == before.last + ours


def test_a_beat_or_two_may_be_missed():
    before = heard(30)

    assert before.again(before.last + GAP, before.engine + GAP).since == before.since
