"""The settings of a group: what a patch may hold (IPC §8.3), and what holds when nobody has set it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups import settings
from bb.groups.settings import InvalidPatch, checked_patch, with_defaults
from bb.kernel.errors import BbError

DEFAULTS = {
    "default_send_to": "foreman",
    "nudge_after_seconds": 300,
    "actor_idle_timeout_seconds": 600,
    "keepalive_delay_seconds": 120,
    "keepalive_max_per_actor": 3,
    "silence_timeout_seconds": 600,
    "help_nudge_interval_seconds": 600,
    "help_nudge_min_messages": 10,
    "min_interval_seconds": 0,
    "standup_interval_seconds": 900,
    "terminal_transcript_visibility": "foreman",
    "terminal_transcript_notify_tail": True,
    "terminal_transcript_notify_lines": 20,
}
LONGEST = {key: 604_800 for key in DEFAULTS if key.endswith("_seconds")} | {"min_interval_seconds": 86_400}
LEAST_AND_MOST = {
    **{key: (0, most) for key, most in LONGEST.items()},
    "keepalive_max_per_actor": (0, 1000),
    "help_nudge_min_messages": (0, 100_000),
    "terminal_transcript_notify_lines": (1, 1000),
}

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def refused(patch: Any) -> BbError:
    with pytest.raises(InvalidPatch.error) as refusal:
        checked_patch(patch)
    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_PATCH", 2)
    assert len(refusal.value.message) < 200
    return refusal.value


def test_ipc_8_3_every_setting_has_its_default():
    assert with_defaults({}) == DEFAULTS


@pytest.mark.parametrize("key", DEFAULTS)
def test_ipc_8_3_every_setting_may_be_set_to_its_default(key: str):
    assert checked_patch({key: DEFAULTS[key]}) == {key: DEFAULTS[key]}


def test_a_patch_changes_what_it_names_and_nothing_else():
    patch = {"nudge_after_seconds": 60, "terminal_transcript_notify_tail": False}
    assert checked_patch(patch) == patch
    assert with_defaults(checked_patch(patch)) == DEFAULTS | patch


@pytest.mark.parametrize("key", LEAST_AND_MOST)
def test_a_number_lies_between_its_bounds(key: str):
    least, most = LEAST_AND_MOST[key]
    for within in (least, most):
        assert checked_patch({key: within}) == {key: within}
    for beyond in (least - 1, most + 1, -(10**30), 10**30, float("inf"), float("-inf"), float("nan")):
        error = refused({key: beyond})
        assert error.details["path"] == f"$.patch.{key}"
        assert str(most) in error.message


@pytest.mark.parametrize("key", LEAST_AND_MOST)
@pytest.mark.parametrize("value", [True, False, None, "", "300", [], [300], {}, {"seconds": 300}])
def test_what_is_no_number_is_refused_where_one_belongs(key: str, value: object):
    assert refused({key: value}).details["path"] == f"$.patch.{key}"


@pytest.mark.parametrize(("given", "kept"), [(300.0, 300), (0.0, 0), (0.25, 1), (299.5, 300), (5e-324, 1)])
def test_seconds_are_kept_whole_and_a_fraction_never_becomes_the_zero_that_means_never(given: float, kept: int):
    taken = checked_patch({"nudge_after_seconds": given})["nudge_after_seconds"]
    assert (taken, type(taken)) == (kept, int)


def test_a_count_has_no_fraction():
    assert checked_patch({"help_nudge_min_messages": 4.0}) == {"help_nudge_min_messages": 4}
    assert "whole number" in refused({"help_nudge_min_messages": 4.5}).message


@pytest.mark.parametrize("value", [0, 1, "true", "", None, [True]])
def test_a_flag_is_true_or_false(value: object):
    assert "true or false" in refused({"terminal_transcript_notify_tail": value}).message


@pytest.mark.parametrize("visibility", ["off", "foreman", "all"])
def test_terminals_are_visible_to_nobody_the_foreman_or_all(visibility: str):
    patch = {"terminal_transcript_visibility": visibility}
    assert checked_patch(patch) == patch


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("terminal_transcript_visibility", "Off"),
        ("terminal_transcript_visibility", False),
        ("terminal_transcript_visibility", "peers"),
        ("terminal_transcript_visibility", ["all"]),
        ("default_send_to", "peers"),
        ("default_send_to", None),
    ],
)
def test_a_choice_is_one_of_its_words(key: str, value: object):
    assert " or " in refused({key: value}).message


@pytest.mark.parametrize("patch", [None, [], "nudge_after_seconds", 3, True, [["nudge_after_seconds", 3]]])
def test_a_patch_is_an_object(patch: object):
    assert refused(patch).details == {"path": "$.patch"}


def test_an_empty_patch_is_refused():
    assert refused({}).message == "the patch changes nothing"


def test_an_unknown_setting_is_refused_and_the_known_ones_are_named():
    error = refused({"nudge_after_seconds": 1, "nudge_after": 2})
    assert error.details == {"path": "$.patch.nudge_after"}
    assert all(key in (error.hint or "") for key in DEFAULTS)


def test_an_unknown_setting_of_any_length_is_refused_shortly():
    assert len(refused({"k" * 100_000: 1}).details["path"]) < 100


def test_one_bad_value_spoils_the_whole_patch():
    refused({"nudge_after_seconds": 60, "standup_interval_seconds": -1})


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)) | st.text(), anything))
def test_whatever_stands_in_a_patch_is_taken_as_it_is_or_refused(patch: dict[str, Any]):
    try:
        taken = checked_patch(patch)
    except InvalidPatch.error:
        return
    assert taken.keys() == patch.keys()
    assert with_defaults(taken) == DEFAULTS | taken


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)) | st.text(), anything))
def test_whatever_history_holds_every_setting_has_a_value_that_could_be_set(stored: dict[str, Any]):
    values = with_defaults(stored)
    assert values.keys() == DEFAULTS.keys()
    assert checked_patch(values) == values


def test_the_table_has_no_key_twice_and_none_too_many():
    assert settings.SETTINGS.keys() == DEFAULTS.keys()
