"""The timeline as a picture: what stands where."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bb.kernel import clock
from bb.web import timeline
from bb.web.timeline import Bar, Mark

NOW = clock.parse("2026-01-05T12:00:00Z")
SINCE = NOW - 8 * clock.HOUR


def held(agent: str, start: float, end: float, scope: str = "src") -> Bar:
    """Something held from so many hours ago until so many hours ago."""
    return Bar(agent, scope, "bb-1", NOW - int(start * clock.HOUR), NOW - int(end * clock.HOUR), "released")


def mark(source: str, target: str | None, hours: float, kind: str = "HANDOFF") -> Mark:
    return Mark(kind, NOW - int(hours * clock.HOUR), source, target, "Parser")


def test_each_agent_has_a_lane_in_the_order_in_which_they_came():
    shown = timeline.picture([held("cobalt", 2, 1), held("amber", 5, 3)], [mark("jade", "amber", 4)], SINCE, NOW)

    assert [lane["agent"] for lane in shown["lanes"]] == ["amber", "jade", "cobalt"]


def test_a_bar_lasts_from_when_something_was_held_until_it_was_not():
    (lane,) = timeline.picture([held("amber", 8, 0)], [], SINCE, NOW)["lanes"]

    assert lane["bars"][0]["x"] == timeline.LEFT
    assert lane["bars"][0]["width"] == timeline.WIDTH - timeline.LEFT - timeline.RIGHT


def test_what_an_agent_holds_at_once_stands_in_rows():
    bars = [held("amber", 5, 3), held("amber", 4, 2), held("amber", 2, 1)]
    (lane,) = timeline.picture(bars, [], SINCE, NOW)["lanes"]

    assert len({bar["y"] for bar in lane["bars"]}) == 2
    assert lane["bars"][0]["y"] == lane["bars"][2]["y"]


def test_an_arrow_leads_from_who_passed_on_to_who_was_passed_it():
    shown = timeline.picture([held("amber", 5, 3), held("cobalt", 4, 2)], [mark("amber", "cobalt", 3)], SINCE, NOW)

    (arrow,) = shown["marks"]
    middle = {lane["agent"]: lane["middle"] for lane in shown["lanes"]}
    assert (arrow["y"], arrow["to_y"], arrow["label"]) == (middle["amber"], middle["cobalt"], "Passed to")


def test_what_goes_to_nobody_in_the_picture_has_no_arrow():
    shown = timeline.picture([], [mark("amber", "role:tester", 3), mark("amber", None, 2)], SINCE, NOW)

    assert [each["to_y"] for each in shown["marks"]] == [None, None]


def test_agents_beyond_what_one_can_look_at_are_counted():
    bars = [held(f"agent-{number}", 5, 3) for number in range(timeline.MOST_LANES + 7)]
    shown = timeline.picture(bars, [], SINCE, NOW)

    assert len(shown["lanes"]) == timeline.MOST_LANES
    assert shown["left_out"] == 7


def test_times_stand_at_round_moments_a_handful_of_them():
    texts = [tick["text"] for tick in timeline.picture([], [], SINCE, NOW)["ticks"]]

    assert texts == ["06:00", "08:00", "10:00"]


hours = st.floats(0, 40, allow_nan=False)


@given(st.lists(st.tuples(st.sampled_from("abc"), hours, hours), max_size=20), st.lists(st.tuples(hours), max_size=5))
def test_nothing_stands_outside_the_picture_and_no_bars_of_a_row_overlap(
    found: list[tuple[str, float, float]], marked: list[tuple[float]]
):
    bars = [held(agent, max(start, end), min(start, end)) for agent, start, end in found]
    shown = timeline.picture(bars, [mark("a", "b", each) for (each,) in marked], SINCE, NOW)

    for lane in shown["lanes"]:
        for bar in lane["bars"]:
            assert timeline.LEFT <= bar["x"] <= timeline.WIDTH
            assert lane["top"] <= bar["y"] < lane["top"] + lane["height"]
        for row in {bar["y"] for bar in lane["bars"]}:
            spans = sorted((bar["start"], bar["end"]) for bar in lane["bars"] if bar["y"] == row)
            assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(timeline.LEFT <= each["x"] <= timeline.WIDTH for each in shown["marks"])
