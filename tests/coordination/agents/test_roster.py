"""The roster is a fold: whoever knows the same facts has the same roster, in whatever order they came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.agents import roster
from bb.coordination.agents.roster import Agent, Registration
from bb.coordination.facts import NameSettled, Registered, Retired, Seen, Started, Stopped, Updated
from bb.kernel.total_order import event, sortable

A, B = "a" * 12, "b" * 12
MOMENT = {minute: f"1970-01-01T00:{minute:02}:00.000Z" for minute in range(60)}
MINUTE = 60_000

Said = tuple[Any, tuple[int, str, int], str]  # a fact, its place in the total order, and when it was written


def said(fact: Any, lamport: int, writer: str = A, n: int | None = None, minute: int | None = None) -> Said:
    return fact, (lamport, writer, n or lamport), MOMENT[lamport if minute is None else minute]


def fold(history: list[Said]) -> Any:
    """The state after a history; between any two facts it goes through JSON, as it does when it is kept."""
    state = None
    for fact, place, ts in history:
        state = json.loads(json.dumps(roster.step(state, fact, list(place), ts)))
    return state


def agent(*history: Said) -> Agent | None:
    return roster.agent("ada", fold(list(history)))


JOINED = said(Registered("ada", "builder", "Ada"), 1)


# -- one fact after another


def test_nobody_is_there_before_anything_was_said():
    assert roster.agent("ada", None) is None


def test_who_registered_is_there():
    assert agent(JOINED) == Agent(
        agent_id="ada",
        role="builder",
        title="Ada",
        created_at=1 * MINUTE,
        heard_at=1 * MINUTE,
        is_retired=False,
        changes=1,
        profile={},
        order=(1, A, 1),
        since=(1, A, 1),
        changed_at=1 * MINUTE,
        is_wanted=False,
    )


@pytest.mark.parametrize(
    ("update", "role", "title"),
    [
        (Updated("ada", "tester", "Countess"), "tester", "Countess"),
        (Updated("ada", role="tester"), "tester", "Ada"),
        (Updated("ada", title="Countess"), "builder", "Countess"),
        (Updated("ada"), "builder", "Ada"),
    ],
)
def test_an_update_changes_what_it_names_and_leaves_the_rest(update: Updated, role: str, title: str):
    found = agent(JOINED, said(update, 5))
    assert found is not None
    assert (found.role, found.title, found.changes) == (role, title, 2)
    assert (found.created_at, found.heard_at) == (1 * MINUTE, 5 * MINUTE)


def test_a_retired_agent_keeps_its_history():
    found = agent(JOINED, said(Retired("ada"), 5))
    assert found is not None
    assert (found.is_retired, found.role, found.created_at, found.changes) == (True, "builder", 1 * MINUTE, 2)


def test_an_update_of_a_retired_agent_does_not_bring_it_back():
    found = agent(JOINED, said(Retired("ada"), 5), said(Updated("ada", "tester"), 6))
    assert found is not None
    assert found.is_retired


def test_a_retired_agent_that_registers_again_is_back_and_joined_when_it_first_did():
    found = agent(JOINED, said(Retired("ada"), 5), said(Registered("ada", "tester", "New"), 9))
    assert found is not None
    assert (found.is_retired, found.role, found.title) == (False, "tester", "New")
    assert (found.created_at, found.heard_at, found.changes) == (1 * MINUTE, 9 * MINUTE, 3)


def test_an_agent_that_was_seen_again_has_been_heard_of_and_has_not_changed():
    found = agent(JOINED, said(Seen("ada", "stale"), 7))
    assert found == agent(JOINED).replace(heard_at=7 * MINUTE)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "fact",
    [Updated("ada", "tester", "Countess"), Retired("ada"), Seen("ada", "stale"), Started("ada"), Stopped("ada")],
)
def test_an_agent_whose_registration_is_not_known_here_yet_is_nobody(fact: Any):
    assert agent(said(fact, 5)) is None


# -- how it runs

RUNS = {"runtime": "claude", "runner": "pty", "command": ["claude"], "submit": "enter", "default_scope_key": "s_1"}


def test_an_actor_runs_as_it_was_added():
    assert agent(said(Registered("ada", "actor", "Ada", RUNS), 1)).profile == RUNS  # type: ignore[union-attr]


def test_a_change_of_how_it_runs_leaves_the_rest():
    added, changed = Registered("ada", "actor", "Ada", RUNS), Updated("ada", profile={"submit": "none", "command": []})
    found = agent(said(added, 1), said(changed, 5))
    assert found is not None
    assert found.profile == RUNS | {"submit": "none", "command": []}
    assert (found.role, found.title, found.changed_at) == ("actor", "Ada", 5 * MINUTE)


@pytest.mark.parametrize(
    "how",
    [
        {"runtime": 7, "runner": None, "enabled": "yes", "submit": ["enter"], "default_scope_key": {}},
        {"command": "claude"},
        {"command": ["claude", 7]},
        {"enabled": 1},
        {"env": {"TOKEN": "secret"}, "later": True, "changes": 9, "how runner": "pty"},
    ],
)
def test_of_a_profile_only_what_makes_sense_is_kept(how: dict[str, Any]):
    found = agent(said(Registered("ada", "actor", "Ada", RUNS), 1), said(Updated("ada", profile=how), 5))
    assert found is not None
    assert found.profile == RUNS


def test_an_actor_is_to_run_from_when_it_is_started_until_it_is_stopped():
    history = [said(Registered("ada", "actor", "Ada", RUNS), 1)]
    for fact, is_wanted in ((Started("ada"), True), (Updated("ada", title="A"), True), (Stopped("ada"), False)):
        history.append(said(fact, len(history) + 1))
        found = agent(*history)
        assert found is not None
        assert found.is_wanted is is_wanted
    assert found.profile["enabled"] is False
    assert found.changes == 4


def test_who_was_stopped_is_disabled_and_enabling_it_does_not_start_it():
    joined, enabled = said(Registered("ada", "actor", "Ada", RUNS), 1), Updated("ada", profile={"enabled": True})
    found = agent(joined, said(Started("ada"), 2), said(Stopped("ada"), 3), said(enabled, 4))
    assert found is not None
    assert (found.profile["enabled"], found.is_wanted) == (True, False)


def test_an_actor_that_left_and_came_back_is_not_started_by_itself_and_stands_behind_the_others():
    joined, again = said(Registered("ada", "actor", "Ada", RUNS), 1), said(Registered("ada", "actor", "Ada", RUNS), 9)
    found = agent(joined, said(Started("ada"), 2), said(Retired("ada"), 5), again)
    assert found is not None
    assert (found.is_wanted, found.order, found.created_at) == (False, (9, A, 9), 1 * MINUTE)


def test_who_joins_again_without_having_left_has_been_there_all_along():
    joined, again = said(Registered("ada", "actor", "Ada", RUNS), 1), said(Registered("ada", "actor", "Ada", RUNS), 9)
    stayed, left = agent(joined, again), agent(joined, said(Retired("ada"), 5), again)
    assert stayed is not None
    assert left is not None
    assert (stayed.since, left.since) == ((1, A, 1), (9, A, 9))
    assert stayed.order == left.order == (9, A, 9)


def test_actors_stand_in_the_order_in_which_they_last_joined():
    def state(name: str, *history: Said) -> tuple[str, Any]:
        return name, fold(list(history))

    def joined(name: str, lamport: int, writer: str = A) -> Said:
        return said(Registered(name, "actor", name), lamport, writer)

    states = [
        state("zoe", joined("zoe", 1)),
        state("bob", joined("bob", 3, B)),
        state("abe", joined("abe", 3, A)),
        state("ada", joined("ada", 2), said(Retired("ada"), 4), joined("ada", 7)),
        state("eve", joined("eve", 5), said(Retired("eve"), 6)),
        state("new", said(Started("new"), 4)),
    ]
    assert [found.agent_id for found in roster.in_order(states)] == ["zoe", "abe", "bob", "ada"]
    assert roster.in_order(states[::-1]) == roster.in_order(states)


# -- any order


def test_what_stands_later_in_the_total_order_counts_even_when_it_arrives_first():
    found = agent(said(Updated("ada", "tester"), 5), JOINED)
    assert found is not None
    assert (found.role, found.title, found.created_at, found.heard_at) == ("tester", "Ada", 1 * MINUTE, 5 * MINUTE)


def test_wall_clocks_decide_nothing():
    behind = said(Updated("ada", "tester"), 5, minute=0)
    found = agent(JOINED, behind)
    assert found is not None
    assert (found.role, found.heard_at, found.created_at) == ("tester", 0, 1 * MINUTE)


def test_of_two_at_the_same_lamport_time_the_writer_decides_and_then_the_number():
    one, other = said(Updated("ada", "one"), 5, A, 9), said(Updated("ada", "other"), 5, B, 2)
    next_of_a = said(Updated("ada", "next"), 5, A, 10)
    for history in ([one, other, next_of_a], [next_of_a, other, one]):
        assert agent(JOINED, *history).role == "other"  # type: ignore[union-attr]
    for history in ([one, next_of_a], [next_of_a, one]):
        assert agent(JOINED, *history).role == "next"  # type: ignore[union-attr]


words = st.sampled_from(["builder", "tester", "reviewer"])
profiles = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "runner": st.sampled_from(["pty", "headless"]),
        "command": st.lists(words, max_size=2),
        "enabled": st.booleans(),
    },
)
facts = st.one_of(
    st.builds(Registered, st.just("ada"), words, words, profiles),
    st.builds(Updated, st.just("ada"), st.none() | words, st.none() | words, profiles),
    st.just(Retired("ada")),
    st.builds(NameSettled, st.just("ada"), st.sampled_from([f"{A}.1", f"{B}.2"]), st.sampled_from([None, "bo1"])),
    st.just(Started("ada")),
    st.just(Stopped("ada")),
    st.builds(Seen, st.just("ada"), st.sampled_from(["stale", "evicted"])),
)
places = st.tuples(st.integers(1, 4), st.sampled_from([A, B]), st.integers(1, 12))
histories = st.lists(
    st.tuples(facts, places, st.sampled_from([*MOMENT.values(), "yesterday"])),
    max_size=9,
    unique_by=lambda said: said[1],
)


def registrations(story: list[Said]) -> tuple[Registration, ...]:
    """The registrations that are left at the end of the story."""
    left: list[list[Any]] = []
    for fact, place, _ in story:
        if isinstance(fact, Registered):
            left = [each for each in left if each[1] != place[1]] + [list(place)]
        elif isinstance(fact, Retired):
            others = [each for each in left if each[1] != place[1]]
            left = others if len(others) < len(left) else []
    settled: dict[str, str | None] = {}
    for fact, _, _ in story:
        if isinstance(fact, NameSettled):
            settled.setdefault(fact.registration, fact.renamed_to)
    found = [(event(each), sortable(each)) for each in left if settled.get(event(each)) is None]
    return tuple(Registration(name, place, name in settled) for name, place in found)


def told(history: list[Said]) -> Agent | None:
    """What a reader of the whole story, in its total order, would say."""
    story = sorted(history, key=lambda said: said[1])
    joined = [ts for fact, _, ts in story if isinstance(fact, Registered)]
    if not joined:
        return None
    times = {written: minute * MINUTE for minute, written in MOMENT.items()} | {"yesterday": 0}
    lives = [fact for fact, _, _ in story if isinstance(fact, Registered | Retired)]
    joins = [place for fact, place, _ in story if isinstance(fact, Registered)]
    starts = [isinstance(fact, Started) for fact, _, _ in story if isinstance(fact, Started | Stopped | Retired)]
    runs: dict[str, Any] = {}
    for fact, _, _ in story:
        runs |= getattr(fact, "profile", None) or {}
        if isinstance(fact, Started | Stopped):
            runs["enabled"] = isinstance(fact, Started)
    roles = [fact.role for fact, _, _ in story if isinstance(fact, Registered | Updated) and fact.role]
    titles = [fact.title for fact, _, _ in story if isinstance(fact, Registered | Updated) and fact.title]
    in_force = registrations(story)
    return Agent(
        agent_id="ada",
        role=roles[-1],
        title=titles[-1],
        created_at=times[joined[0]],
        heard_at=times[story[-1][2]],
        is_retired=not in_force,
        registrations=in_force if len(in_force) > 1 else (),
        changes=sum(not isinstance(fact, Seen) for fact, _, _ in story),
        profile=runs,
        order=joins[-1],
        since=joins[-1] if any(isinstance(fact, Retired) for fact in lives) else joins[0],
        changed_at=[times[ts] for fact, _, ts in story if not isinstance(fact, Seen)][-1],
        is_wanted=[False, *starts][-1],
    )


@given(histories, st.randoms(use_true_random=False))
def test_the_same_facts_in_any_order_make_the_same_roster(history: list[Said], random: Any):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(history)
    assert roster.agent("ada", fold(shuffled)) == told(history)


@given(histories, st.integers(0, 9))
def test_a_fold_may_stop_and_go_on_later(history: list[Said], pause: int):
    state = fold(history[:pause])
    for fact, place, ts in history[pause:]:
        state = roster.step(state, fact, list(place), ts)
    assert state == fold(history)


@given(histories, facts)
def test_a_step_leaves_the_state_before_it_as_it_was(history: list[Said], fact: Any):
    before = fold(history)
    kept = json.dumps(before)
    roster.step(before, fact, [99, B, 99], MOMENT[0])
    assert json.dumps(before) == kept


def test_an_entry_of_the_roster_is_about_one_agent():
    for fact in (
        Registered("bo1", "r", "t"),
        Updated("bo1"),
        Retired("bo1"),
        Seen("bo1", "stale"),
        Started("bo1"),
        Stopped("bo1"),
    ):
        assert roster.keys(fact, [1, "w", 1]) == ["bo1"]
        assert type(fact) in roster.FACTS
