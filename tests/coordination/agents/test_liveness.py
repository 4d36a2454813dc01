"""How alive an agent is: the table of Operative Protocol §4.3 and its setting of §4.1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents.liveness import InvalidStaleMinutes, liveness, stale_after

MINUTE = 60_000
SEEN = 1_767_614_400_000  # 2026-01-05T12:00:00Z
THRESHOLDS = pytest.mark.parametrize("minutes", [1, 15, 40, 10_080])


def after(silence: int, minutes: int = 15) -> str:
    """What an agent counts as after so many milliseconds."""
    return liveness(SEEN, SEEN + silence, minutes * MINUTE)


# -- §4.3 Liveness states


@THRESHOLDS
def test_4_3_an_agent_is_active_until_the_stale_threshold(minutes: int):
    assert after(0, minutes) == "active"
    assert after(minutes * MINUTE - 1, minutes) == "active"


@THRESHOLDS
def test_4_3_an_agent_is_stale_from_the_threshold_on(minutes: int):
    assert after(minutes * MINUTE, minutes) == "stale"
    assert after(minutes * MINUTE + 1, minutes) == "stale"


@THRESHOLDS
def test_4_3_an_agent_is_stale_until_the_eviction_threshold(minutes: int):
    assert after(2 * minutes * MINUTE - 1, minutes) == "stale"


@THRESHOLDS
def test_4_3_an_agent_is_evicted_from_twice_the_threshold_on(minutes: int):
    assert after(2 * minutes * MINUTE, minutes) == "evicted"
    assert after(200 * minutes * MINUTE, minutes) == "evicted"


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10_080))
def test_4_3_longer_silence_never_makes_an_agent_more_alive(one: int, other: int, minutes: int):
    order = ["active", "stale", "evicted"]
    shorter, longer = sorted([one, other])
    assert order.index(after(shorter, minutes)) <= order.index(after(longer, minutes))


@pytest.mark.parametrize("ahead", [1, MINUTE, 10**12])
def test_4_3_an_agent_whose_clock_is_ahead_of_ours_counts_as_just_seen(ahead: int):
    assert after(-ahead) == "active"


# -- §4.1 Environment and defaults


@pytest.mark.parametrize("unset", [None, ""])
def test_4_1_the_stale_threshold_is_fifteen_minutes_unless_set(unset: str | None):
    assert stale_after(unset) == 15 * MINUTE


@pytest.mark.parametrize(("text", "minutes"), [("1", 1), ("2", 2), ("15", 15), ("015", 15), ("10080", 10_080)])
def test_4_1_the_stale_threshold_is_set_in_whole_minutes_up_to_a_week(text: str, minutes: int):
    assert stale_after(text) == minutes * MINUTE


@pytest.mark.parametrize(
    "text",
    [
        *("0", "00", "-1", "+5", "abc", "10081", "99999999999999999999", "7.5", "1e2", "1_0", " 15", "15 ", "15m"),
        *("15\n", "７", "²", "٣", " ", "\ud800", "9" * 10_000),
    ],
)
def test_4_1_any_other_setting_is_refused_and_shown(text: str):
    with pytest.raises(InvalidStaleMinutes.error) as refusal:
        stale_after(text)

    error = refusal.value
    assert (error.code, error.exit_status) == ("INVALID_STALE_MINUTES", 2)
    assert repr(text[:40]) in error.message
    assert "BB_AGENT_STALE_MINUTES" in error.message
    assert len(error.message) < 200
    assert "15" in (error.hint or "")


def test_an_agent_whose_session_ended_is_stale_at_once_and_evicted_as_always():
    def ended(at: int, silence: int) -> str:
        return liveness(SEEN, SEEN + silence, 15 * MINUTE, at)

    assert ended(SEEN, 0) == ended(SEEN + 5, 10) == "stale"
    assert ended(SEEN, 30 * MINUTE) == "evicted"
    assert ended(SEEN - 1, 0) == "active"  # it was seen since
    assert ended(0, 0) == "active"
