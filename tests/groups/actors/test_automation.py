"""Which notices a group is owed by itself (IPC §8.3), and when the daemon must look again.

The timers of these tests are set apart from one another, and everybody did everything at NOON.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.actors.automation import KINDS, due, is_withdrawn, next_look
from bb.groups.actors.notices import ActorView, GroupView, Notice
from bb.groups.settings import with_defaults

SECOND = 1000
NOON = 1_767_614_400_000
EVENT = "a" * 12 + ".7"

TIMERS = {
    "nudge": "nudge_after_seconds",
    "keepalive": "keepalive_delay_seconds",
    "actor_idle": "actor_idle_timeout_seconds",
    "silence_check": "silence_timeout_seconds",
    "standup": "standup_interval_seconds",
    "help_nudge": "help_nudge_interval_seconds",
}
NEVER = dict.fromkeys(TIMERS.values(), 0)

GROUP = GroupView("active", active_since=NOON, last_activity_at=NOON, last_notices={})
ADA = ActorView("ada", "foreman", True, started_at=NOON, last_notices={}, last_output_at=NOON, last_act_at=NOON)
BO = ADA.replace(id="bo", role="peer")


def only(kind: str, wait: int = 100, **others: Any) -> dict[str, Any]:
    """Settings under which only notices of one KIND are sent, after WAIT seconds."""
    return with_defaults(NEVER | {TIMERS[kind]: wait} | others)


def look(
    after: float, settings: dict[str, Any], actors: list[ActorView] | None = None, group: GroupView = GROUP
) -> list[Notice]:
    """What is due so many seconds AFTER noon."""
    return due(group, [ADA, BO] if actors is None else actors, settings, NOON + int(after * SECOND))


def sent(*args: Any, **kwargs: Any) -> list[tuple[str, str | None]]:
    return [(notice.kind, notice.target_actor_id) for notice in look(*args, **kwargs)]


def waits_until(settings: dict[str, Any], actors: list[ActorView], group: GroupView = GROUP) -> int | None:
    """In how many seconds after noon the daemon is to look again."""
    moment = next_look(group, actors, settings, NOON)
    return None if moment is None else (moment - NOON) // SECOND


# one situation for each kind, in which nothing but time is missing, and whom the notice goes to
WITH_MAIL = BO.replace(unread_count=2, oldest_unread_at=NOON, oldest_unread=EVENT)
AT_WORK = BO.replace(has_task=True)
FULL_OF_WORDS = BO.replace(messages_since_help=10)
NEWS = GROUP.replace(last_activity_at=NOON + 1)
CALLED_FOR = {
    "nudge": ([ADA, WITH_MAIL], GROUP, "bo"),
    "keepalive": ([ADA, AT_WORK], GROUP, "bo"),
    "actor_idle": ([ADA.replace(last_output_at=NOON + 10**12), BO], GROUP, "ada"),
    "silence_check": ([ADA, BO], GROUP, "ada"),
    "standup": ([ADA, AT_WORK], NEWS, "ada"),
    "help_nudge": ([ADA, FULL_OF_WORDS], GROUP, "bo"),
}
EVERY = pytest.mark.parametrize("kind", CALLED_FOR)


# -- what every kind has in common


def test_every_kind_of_the_specification_has_its_timer():
    assert {kind.name: kind.wait for kind in KINDS} == TIMERS
    assert CALLED_FOR.keys() == TIMERS.keys()


@EVERY
@pytest.mark.parametrize("wait", [1, 100, 604_800])
def test_ipc_8_3_a_notice_is_due_when_its_time_is_over_and_not_a_moment_sooner(kind: str, wait: int):
    actors, group, target = CALLED_FOR[kind]
    settings = only(kind, wait)
    for early in (0, wait - 1, wait - 0.001):
        assert sent(early, settings, actors, group) == []
    for late in (wait, wait + 1, wait + 10**6):
        assert sent(late, settings, actors, group) == [(kind, target)]
    assert waits_until(settings, actors, group) == wait


@EVERY
def test_ipc_8_3_zero_is_never(kind: str):
    actors, group, _ = CALLED_FOR[kind]
    assert sent(10**6, only(kind, 0), actors, group) == []
    assert next_look(group, actors, only(kind, 0), NOON) is None


@EVERY
@pytest.mark.parametrize("state", ["idle", "paused", "", "rubbish"])
def test_a_group_that_is_not_active_is_left_alone(kind: str, state: str):
    actors, group, _ = CALLED_FOR[kind]
    assert sent(10**6, only(kind), actors, group.replace(state=state)) == []
    assert next_look(group.replace(state=state), actors, only(kind), NOON) is None


@EVERY
def test_who_does_not_run_is_told_nothing(kind: str):
    actors, group, _ = CALLED_FOR[kind]
    asleep = [actor.replace(running=False) for actor in actors]
    assert sent(10**6, only(kind), asleep, group) == []
    assert next_look(group, asleep, only(kind), NOON) is None
    assert sent(10**6, only(kind), [], group) == []


@EVERY
def test_time_before_the_group_was_active_or_the_actor_started_does_not_count(kind: str):
    actors, group, target = CALLED_FOR[kind]
    late = group.replace(active_since=NOON + 50 * SECOND)
    if kind == "standup":
        late = late.replace(last_activity_at=NOON + 51 * SECOND)
    assert sent(149, only(kind), actors, late) == []
    assert sent(150, only(kind), actors, late) == [(kind, target)]
    if kind != "standup":  # whose time is the group's
        restarted = [actor.replace(started_at=NOON + 50 * SECOND) for actor in actors]
        assert sent(149, only(kind), restarted, group) == []
        assert sent(150, only(kind), restarted, group) == [(kind, target)]


@EVERY
def test_a_notice_says_in_plain_json_whom_it_is_about(kind: str):
    actors, group, _ = CALLED_FOR[kind]
    (notice,) = look(100, only(kind), actors, group)
    assert notice.context["actor_id"] in ("ada", "bo")
    assert json.loads(json.dumps(notice.as_dict())) == notice.as_dict()
    assert notice.priority in ("low", "normal", "high", "urgent")
    assert notice.title
    assert "{" not in notice.title + notice.message


def test_notices_come_in_the_same_order_whatever_the_order_of_the_actors():
    settings = with_defaults({})
    actors = [WITH_MAIL.replace(id=name, messages_since_help=10) for name in ("eve", "cyd", "dee")] + [ADA]
    once = look(3600, settings, actors, NEWS)
    assert len(once) > 8
    assert look(3600, settings, actors[::-1], NEWS) == once
    kinds = [notice.kind for notice in once]
    assert kinds == sorted(kinds, key=list(TIMERS).index)


# -- nudge


def test_mail_that_was_read_in_the_meantime_is_not_nudged_about():
    assert sent(100, only("nudge"), [ADA, BO]) == []


def test_a_nudge_says_how_much_waits_and_for_how_long():
    (notice,) = look(300, only("nudge"), [ADA, WITH_MAIL])
    assert notice.message == "Messages: 2 unread, waiting for 5 min. Please read your inbox."
    assert notice.priority == "normal"
    assert notice.context == {
        "actor_id": "bo",
        "unread_count": 2,
        "oldest_unread": EVENT,
        "to_acknowledge": [],
        "to_acknowledge_count": 0,
    }


def test_a_message_that_wants_attention_and_was_read_but_not_acknowledged_is_named():
    owing = BO.replace(owed=(EVENT, "b" * 12 + ".1"), oldest_owed_at=NOON)
    assert sent(99, only("nudge"), [owing]) == []
    (notice,) = look(100, only("nudge"), [owing])
    assert notice.priority == "high"
    assert notice.context["to_acknowledge"] == [EVENT, "b" * 12 + ".1"]
    assert EVENT in notice.message


def test_what_has_waited_longest_decides_when_to_nudge():
    both = BO.replace(
        unread_count=1, oldest_unread_at=NOON + 10 * SECOND, owed=(EVENT,), oldest_owed_at=NOON + 30 * SECOND
    )
    assert waits_until(only("nudge"), [both]) == 110
    assert waits_until(only("nudge"), [both.replace(oldest_unread_at=NOON + 40 * SECOND)]) == 130


def test_of_very_many_messages_only_some_are_named():
    owing = BO.replace(owed=tuple(f"{'a' * 12}.{n}" for n in range(10_000)), oldest_owed_at=NOON)
    (notice,) = look(100, only("nudge"), [owing])
    assert len(notice.message) < 500
    assert "and 9980 more" in notice.message
    assert (len(notice.context["to_acknowledge"]), notice.context["to_acknowledge_count"]) == (20, 10_000)


def test_who_was_nudged_is_nudged_again_only_after_as_long_again():
    nudged = WITH_MAIL.replace(last_notices={"nudge": NOON + 150 * SECOND})
    assert sent(249, only("nudge"), [nudged]) == []
    assert sent(250, only("nudge"), [nudged]) == [("nudge", "bo")]


def test_mail_that_came_after_a_nudge_waits_its_own_time():
    nudged = WITH_MAIL.replace(last_notices={"nudge": NOON}, oldest_unread_at=NOON + 60 * SECOND)
    assert waits_until(only("nudge"), [nudged]) == 160


@pytest.mark.parametrize(
    ("unread", "owed", "withdrawn"),
    [
        (None, None, True),
        (NOON - 1, None, False),
        (NOON, None, False),
        (NOON + 1, None, True),
        (NOON + 1, NOON - 1, False),
        (None, NOON + 1, True),
    ],
)
def test_a_nudge_whose_mail_has_been_dealt_with_is_withdrawn(unread: int | None, owed: int | None, withdrawn: bool):
    assert is_withdrawn(NOON, BO.replace(oldest_unread_at=unread, oldest_owed_at=owed)) is withdrawn


# -- keepalive


@pytest.mark.parametrize(("change", "prodded"), [({}, False), ({"has_task": True}, True), ({"unread_count": 1}, True)])
def test_only_who_has_work_left_is_told_to_go_on(change: dict[str, Any], prodded: bool):
    assert bool(sent(100, only("keepalive"), [BO.replace(**change)])) is prodded


@pytest.mark.parametrize("sign", ["last_output_at", "last_act_at"])
def test_who_shows_anything_is_not_told_to_go_on(sign: str):
    busy = AT_WORK.replace(**{sign: NOON + 60 * SECOND})
    assert waits_until(only("keepalive"), [busy]) == 160


@pytest.mark.parametrize(("most", "so_far", "prodded"), [(3, 2, True), (3, 3, False), (3, 4, False), (0, 0, False)])
def test_who_does_not_react_is_left_alone_after_so_many_times(most: int, so_far: int, prodded: bool):
    settings = only("keepalive", keepalive_max_per_actor=most)
    assert bool(sent(100, settings, [AT_WORK.replace(keepalives=so_far)])) is prodded


def test_who_was_told_to_go_on_is_told_again_only_after_as_long_again():
    prodded = AT_WORK.replace(last_notices={"keepalive": NOON + 100 * SECOND}, keepalives=1)
    assert waits_until(only("keepalive"), [prodded]) == 200


def test_who_was_nudged_has_time_to_react_before_it_is_told_to_go_on():
    assert waits_until(only("keepalive"), [AT_WORK.replace(last_notices={"nudge": NOON + 70 * SECOND})]) == 170


def test_nobody_is_prodded_twice_at_once():
    settings = only("nudge", keepalive_delay_seconds=50)
    assert sent(60, settings, [WITH_MAIL]) == [("keepalive", "bo")]
    assert sent(100, settings, [WITH_MAIL]) == [("nudge", "bo")]
    assert sent(100, settings, [WITH_MAIL, AT_WORK.replace(id="cyd")]) == [("nudge", "bo"), ("keepalive", "cyd")]


# -- actor_idle


def test_the_foreman_is_told_of_a_silent_actor_and_the_person_of_a_silent_foreman():
    assert sent(100, only("actor_idle")) == [("actor_idle", "user"), ("actor_idle", "ada")]
    about = [notice.context["actor_id"] for notice in look(100, only("actor_idle"))]
    assert about == ["ada", "bo"]


def test_where_no_foreman_runs_the_person_is_told():
    assert sent(100, only("actor_idle"), [ADA.replace(running=False), BO]) == [("actor_idle", "user")]


def test_a_silence_is_told_of_once():
    told = BO.replace(last_notices={"actor_idle": NOON + 100 * SECOND})
    assert sent(10**6, only("actor_idle"), [told]) == []
    assert next_look(GROUP, [told], only("actor_idle"), NOON) is None


@pytest.mark.parametrize("sign", ["last_output_at", "last_act_at", "started_at"])
def test_the_next_silence_is_told_of_again(sign: str):
    told = BO.replace(last_notices={"actor_idle": NOON + 100 * SECOND}, **{sign: NOON + 101 * SECOND})
    assert waits_until(only("actor_idle"), [told]) == 201


def test_an_actor_of_which_nothing_was_ever_seen_is_silent_since_it_was_started():
    unseen = BO.replace(last_output_at=None, last_act_at=None)
    assert waits_until(only("actor_idle"), [unseen]) == 100


# -- silence_check


def test_one_sign_of_life_in_the_group_ends_the_silence():
    alive = GROUP.replace(last_activity_at=NOON + 60 * SECOND)
    assert waits_until(only("silence_check"), [ADA, BO], alive) == 160


def test_a_silence_of_all_is_told_of_once():
    told = GROUP.replace(last_notices={"silence_check": NOON + 100 * SECOND})
    assert sent(10**6, only("silence_check"), group=told) == []
    again = told.replace(last_activity_at=NOON + 101 * SECOND)
    assert waits_until(only("silence_check"), [ADA, BO], again) == 201


@pytest.mark.parametrize("kind", ["silence_check", "standup"])
def test_nobody_but_the_foreman_is_asked_about_the_group(kind: str):
    actors, group, _ = CALLED_FOR[kind]
    followers = [actor.replace(running=actor.role != "foreman") for actor in actors]
    assert sent(10**6, only(kind), followers, group) == []


def test_a_group_in_which_nothing_ever_happened_is_silent_since_it_became_active():
    assert waits_until(only("silence_check"), [ADA], GROUP.replace(last_activity_at=None)) == 100


# -- standup


def test_stock_is_not_taken_when_nothing_has_happened_since_the_last_time():
    assert sent(10**6, only("standup"), [ADA, AT_WORK], GROUP) == []
    assert sent(10**6, only("standup"), [ADA, AT_WORK], GROUP.replace(last_activity_at=None)) == []
    again = NEWS.replace(last_notices={"standup": NOON + 1})
    assert sent(10**6, only("standup"), [ADA, AT_WORK], again) == []


def test_stock_is_not_taken_while_nobody_works():
    assert sent(10**6, only("standup"), [ADA, BO], NEWS) == []
    assert sent(10**6, only("standup"), [ADA, AT_WORK.replace(running=False)], NEWS) == []


@pytest.mark.parametrize("sign", ["last_output_at", "last_act_at"])
def test_who_has_shown_anything_since_the_last_time_works(sign: str):
    assert sent(100, only("standup"), [ADA, BO.replace(**{sign: NOON + 1})], NEWS) == [("standup", "ada")]


def test_stock_is_taken_again_an_interval_after_the_last_time():
    again = GROUP.replace(last_notices={"standup": NOON + 100 * SECOND}, last_activity_at=NOON + 150 * SECOND)
    assert waits_until(only("standup"), [ADA, AT_WORK], again) == 200


# -- help_nudge


@pytest.mark.parametrize(
    ("least", "so_far", "told"), [(10, 9, False), (10, 10, True), (10, 11, True), (0, 0, False), (0, 1, True)]
)
def test_how_to_get_help_is_told_after_so_many_messages(least: int, so_far: int, told: bool):
    settings = only("help_nudge", help_nudge_min_messages=least)
    assert bool(sent(100, settings, [BO.replace(messages_since_help=so_far)])) is told


def test_how_to_get_help_is_told_again_an_interval_later():
    told = FULL_OF_WORDS.replace(last_notices={"help_nudge": NOON + 70 * SECOND})
    assert waits_until(only("help_nudge"), [told]) == 170


def test_how_to_get_help_names_where_it_is():
    (notice,) = look(100, only("help_nudge"), [FULL_OF_WORDS])
    assert notice.priority == "low"
    assert "bb --help" in notice.message


# -- when to look again

moments = st.integers(NOON - 500 * SECOND, NOON + 500 * SECOND)
times = st.none() | moments
told = st.dictionaries(st.sampled_from(sorted(TIMERS)), moments)
counts = st.integers(0, 12)
groups = st.builds(
    GroupView,
    st.sampled_from(["active", "active", "idle"]),
    active_since=moments,
    last_activity_at=times,
    last_notices=told,
)


@st.composite
def teams(draw: st.DrawFn) -> list[ActorView]:
    views = [
        ActorView(
            name,
            "foreman" if name == "ada" else "peer",
            draw(st.booleans()),
            started_at=draw(moments),
            last_notices=draw(told),
            last_output_at=draw(times),
            last_act_at=draw(times),
            has_task=draw(st.booleans()),
            keepalives=draw(st.integers(0, 4)),
            messages_since_help=draw(counts),
        )
        for name in ("ada", "bo", "cyd")
    ]
    mail = [(draw(st.integers(1, 5)), draw(moments)) if draw(st.booleans()) else (0, None) for _ in views]
    return [view.replace(unread_count=n, oldest_unread_at=at) for view, (n, at) in zip(views, mail, strict=True)]


timers = st.fixed_dictionaries({key: st.sampled_from([0, 1, 60, 300]) for key in TIMERS.values()}).map(with_defaults)


@given(groups, teams(), timers)
def test_until_the_next_look_nothing_becomes_due_and_then_something_is(
    group: GroupView, actors: list[ActorView], settings: dict[str, Any]
):
    again = next_look(group, actors, settings, NOON)
    if again is None:
        assert due(group, actors, settings, NOON + 10**12) == []
        return
    assert again >= NOON
    assert due(group, actors, settings, again) != []
    if again > NOON:
        assert due(group, actors, settings, again - 1) == []


@given(groups, teams(), timers)
def test_what_has_been_told_is_not_due_again_at_once(
    group: GroupView, actors: list[ActorView], settings: dict[str, Any]
):
    views = {actor.id: actor for actor in actors}
    for notice in due(group, actors, settings, NOON + 1000 * SECOND):
        about = views[notice.context["actor_id"]]
        now = {notice.kind: NOON + 1000 * SECOND}
        group = group.replace(last_notices={**group.last_notices, **now})
        changes = {"last_notices": {**about.last_notices, **now}}
        if notice.kind == "keepalive":
            changes["keepalives"] = about.keepalives + 1
        views[about.id] = about.replace(**changes)
        assert notice.target_actor_id in [*(v.id for v in views.values() if v.running), "user"]
    assert due(group, list(views.values()), settings, NOON + 1000 * SECOND) == []
