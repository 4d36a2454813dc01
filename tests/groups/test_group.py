"""A group is what the facts about it add up to, in whatever order they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups import group
from bb.groups.facts import (
    Changed,
    Created,
    GroupStarted,
    GroupStopped,
    ScopeAttached,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.groups.group import Group, Scope

A, B = "a" * 12, "b" * 12
Said = tuple[Any, tuple[int, str, int]]


def ts(lamport: int) -> str:
    return f"1970-01-01T00:{lamport:02}:00.000Z"


def fold(history: list[Said]) -> Any:
    """The state after a history; between any two facts it goes through JSON, as it does when it is kept."""
    state = None
    for fact, place in history:
        state = json.loads(json.dumps(group.step(state, fact, list(place), ts(place[0]))))
    return state


def after(*facts: Any) -> Group:
    """The group after one fact behind the other."""
    return group.group(fold([(fact, (n, A, n)) for n, fact in enumerate(facts, 1)]))


MADE = Created("user", "Release", "what is left")


def test_before_anything_was_said_a_group_is_active_and_has_nothing():
    assert group.group(None) == Group()
    assert (Group().state, Group().scopes, Group().active_scope, Group().is_running) == ("active", (), "", False)


def test_a_group_is_called_what_it_was_made_as():
    found = after(MADE)
    assert (found.title, found.topic) == ("Release", "what is left")
    assert found.created_at == found.updated_at == ts(1)


@pytest.mark.parametrize(
    ("change", "title", "topic"),
    [
        (Changed("user", "New"), "New", "what is left"),
        (Changed("user", topic="else"), "Release", "else"),
        (Changed("user", "New", "else"), "New", "else"),
        (Changed("user", "", ""), "", ""),
        (Changed("user"), "Release", "what is left"),
    ],
)
def test_a_change_leaves_what_it_does_not_name(change: Changed, title: str, topic: str):
    found = after(MADE, change)
    assert (found.title, found.topic, found.created_at, found.updated_at) == (title, topic, ts(1), ts(2))


def test_the_first_of_two_beginnings_is_when_it_began_and_the_last_word_on_its_title_counts():
    found = group.group(fold([(Created("user", "Second"), (5, B, 1)), (Created("user", "First", "t"), (2, A, 1))]))
    assert (found.title, found.topic, found.created_at) == ("Second", "t", ts(2))


def test_scopes_stand_in_the_order_in_which_they_were_first_attached():
    found = after(
        MADE,
        ScopeAttached("user", "s_2", "two"),
        ScopeAttached("user", "s_1", "one"),
        ScopeAttached("user", "s_2", "zwei"),
    )
    assert found.scopes == (Scope("s_2", "zwei"), Scope("s_1", "one"))


def test_a_scope_that_was_detached_is_gone_until_it_is_attached_again():
    one, two = ScopeAttached("user", "s_1", "one"), ScopeAttached("user", "s_2", "two")
    assert after(one, two, ScopeDetached("user", "s_1")).scopes == (Scope("s_2", "two"),)
    assert after(one, two, ScopeDetached("user", "s_1"), one).scopes == (Scope("s_1", "one"), Scope("s_2", "two"))
    assert after(ScopeDetached("user", "s_9")).scopes == ()


def test_the_active_scope_is_the_chosen_one_as_long_as_it_is_there_and_else_the_first():
    one, two = ScopeAttached("user", "s_1"), ScopeAttached("user", "s_2")
    chosen = ScopeChosen("user", "s_2")
    assert after(one, two).active_scope == "s_1"
    assert after(one, two, chosen).active_scope == "s_2"
    assert after(one, two, chosen, ScopeDetached("user", "s_2")).active_scope == "s_1"
    assert after(one, two, ScopeDetached("user", "s_1"), ScopeDetached("user", "s_2")).active_scope == ""
    assert after(chosen, one, two).active_scope == "s_2"


@pytest.mark.parametrize("state", ["idle", "paused", "active"])
def test_the_last_word_on_the_state_counts(state: str):
    assert after(MADE, StateSet("user", "paused"), StateSet("user", state)).state == state


def test_each_setting_is_a_property_of_its_own():
    found = after(
        SettingsChanged("user", {"nudge_after_seconds": 1, "standup_interval_seconds": 2}),
        SettingsChanged("user", {"nudge_after_seconds": 3, "later": {"x": [1]}}),
        SettingsChanged("user", {}),
    )
    assert found.settings == {"nudge_after_seconds": 3, "standup_interval_seconds": 2, "later": {"x": [1]}}


def test_a_group_runs_from_when_it_is_started_until_it_is_stopped():
    assert after(MADE, GroupStarted("user", ["a"])).is_running
    assert not after(MADE, GroupStarted("user", ["a"]), GroupStopped("user", ["a"])).is_running


def test_every_fact_is_about_the_one_group_of_the_ledger():
    for fact in (MADE, StateSet("user", "idle"), GroupStopped("user", [])):
        assert group.keys(fact, [1, A, 1]) == [group.ENTRY]
        assert type(fact) in group.FACTS


# -- any order

keys = st.sampled_from(["s_1", "s_2", "s_3"])
texts = st.sampled_from(["", "one", "two"])
facts = st.one_of(
    st.builds(Created, st.just("user"), texts, texts),
    st.builds(Changed, st.just("user"), st.none() | texts, st.none() | texts),
    st.builds(ScopeAttached, st.just("user"), keys, texts),
    st.builds(ScopeDetached, st.just("user"), keys),
    st.builds(ScopeChosen, st.just("user"), keys),
    st.builds(StateSet, st.just("user"), st.sampled_from(["active", "idle", "paused"])),
    st.builds(SettingsChanged, st.just("user"), st.dictionaries(texts, st.integers(0, 3), max_size=2)),
    st.builds(GroupStarted, st.just("user"), st.just([])),
    st.builds(GroupStopped, st.just("user"), st.just([])),
)
places = st.tuples(st.integers(1, 6), st.sampled_from([A, B]), st.integers(1, 9))
histories = st.lists(st.tuples(facts, places), max_size=12, unique_by=lambda said: said[1])


@given(histories, st.randoms(use_true_random=False))
def test_the_same_facts_in_any_order_make_the_same_group(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(history)
    assert group.group(fold(shuffled)) == told(history)


def told(history: list[Said]) -> Group:
    """What a reader of the whole story, in its total order, would say."""
    story = sorted(history, key=lambda said: said[1])
    found: dict[str, Any] = {"title": "", "topic": "", "state": "active", "running": False}
    attached: dict[str, Any] = {}
    chosen, settings = "", {}
    for fact, _ in story:
        match fact:
            case Created(_, title, topic):
                found |= {"title": title} | ({"topic": topic} if topic else {})
            case Changed(_, title, topic):
                found |= {name: value for name, value in (("title", title), ("topic", topic)) if value is not None}
            case ScopeAttached(_, key, title):
                attached[key] = title
            case ScopeDetached(_, key) if key in attached:
                attached[key] = None
            case ScopeChosen(_, key):
                chosen = key
            case StateSet(_, state):
                found["state"] = state
            case SettingsChanged(_, patch):
                settings |= patch
            case GroupStarted() | GroupStopped():
                found["running"] = isinstance(fact, GroupStarted)
    scopes = tuple(Scope(key, title) for key, title in attached.items() if title is not None)
    there = [scope.key for scope in scopes]
    began = [at for fact, at in story if isinstance(fact, Created)]
    return Group(
        found["title"],
        found["topic"],
        found["state"],
        ts(began[0][0]) if began else "",
        ts(story[-1][1][0]) if story else "",
        scopes,
        chosen if chosen in there else (there or [""])[0],
        settings,
        found["running"],
    )


@given(histories, st.integers(0, 12))
def test_a_fold_may_stop_and_go_on_later(history: list[Said], pause: int):
    state = fold(history[:pause])
    for fact, place in history[pause:]:
        state = group.step(state, fact, list(place), ts(place[0]))
    assert state == fold(history)


@given(histories, facts)
def test_a_step_leaves_the_state_before_it_as_it_was(history: list[Said], fact: Any):
    before = fold(history)
    kept = json.dumps(before)
    group.step(before, fact, [99, B, 99], ts(9))
    assert json.dumps(before) == kept
