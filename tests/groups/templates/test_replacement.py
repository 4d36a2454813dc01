"""A group is made into what a template says: what is shown before, and what is to be done (IPC §8.12)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.actors.actors import changed, patched_actor
from bb.groups.actors.profiles import Profile
from bb.groups.settings import checked_patch, with_defaults
from bb.groups.templates.replacement import Plan, actors_to_rejoin, diff, plan
from bb.groups.templates.templates import Template, TemplateActor

USUAL = Profile("claude", "pty", ("claude",), "enter", "", True)
ADA, BO, CYD = (TemplateActor(name, name.title(), USUAL) for name in ("ada", "bo", "cyd"))
NOTHING = Plan((), (), {}, (), {}, {})


def group(*actors: TemplateActor, prompts: dict[str, str] | None = None, **settings: int) -> Template:
    return Template("t", "", actors, with_defaults(settings), prompts or {})


def test_a_group_that_is_as_the_template_says_is_left_alone():
    same = group(ADA, BO, prompts={"help": "x"}, nudge_after_seconds=60)
    assert plan(same, same) == NOTHING.replace(order=("ada", "bo"))
    shown = diff(same, same)
    assert (shown["actors_add"], shown["actors_update"], shown["actors_remove"]) == ([], [], [])
    assert shown["settings_changed"] == {}
    assert not any(prompt["changed"] for prompt in shown["prompts_changed"].values())


def test_ipc_8_12_actors_come_stay_and_leave():
    planned = plan(group(CYD, ADA), group(ADA, BO))
    assert (planned.add, planned.update, planned.remove) == ((CYD,), {}, ("bo",))
    assert planned.order == ("cyd", "ada")
    shown = diff(group(CYD, ADA), group(ADA, BO))
    assert (shown["actors_add"], shown["actors_update"], shown["actors_remove"]) == (["cyd"], [], ["bo"])


def test_who_is_written_differently_is_another():
    planned = plan(group(ADA.replace(id="Ada")), group(ADA))
    assert (planned.remove, [actor.id for actor in planned.add]) == (("ada",), ["Ada"])


@pytest.mark.parametrize(
    ("other", "changes"),
    [
        (ADA.replace(title="Countess"), {"title": "Countess"}),
        (ADA.replace(profile=USUAL.replace(enabled=False)), {"enabled": False}),
        (
            ADA.replace(profile=USUAL.replace(runner="headless", submit="none")),
            {"runner": "headless", "submit": "none"},
        ),
        (ADA.replace(profile=USUAL.replace(command=("claude", "x"))), {"command": ["claude", "x"]}),
        (
            ADA.replace(profile=Profile("codex", "pty", ("codex",), "enter", "", True)),
            {"runtime": "codex", "command": ["codex"]},
        ),
    ],
)
def test_who_stays_is_changed_by_a_patch_of_what_differs(other: TemplateActor, changes: dict[str, object]):
    planned = plan(group(other, BO), group(ADA, BO))
    assert planned.update == {"ada": changes}
    assert patched_actor(changes, USUAL) == changes
    assert changed(USUAL, changes) == other.profile
    assert diff(group(other, BO), group(ADA, BO))["actors_update"] == ["ada"]


def test_settings_that_differ_are_set_and_those_not_named_are_as_usual_again():
    template, current = group(nudge_after_seconds=60), group(standup_interval_seconds=0)
    planned = plan(template, current)
    assert planned.settings_patch == {"nudge_after_seconds": 60, "standup_interval_seconds": 900}
    assert current.settings | checked_patch(planned.settings_patch) == template.settings
    assert diff(template, current)["settings_changed"] == {
        "nudge_after_seconds": {"from": 300, "to": 60},
        "standup_interval_seconds": {"from": 0, "to": 900},
    }


def test_prompts_that_differ_are_written_and_those_not_named_are_the_built_in_ones_again():
    template = group(prompts={"help": "new", "preamble": "same"})
    current = group(prompts={"preamble": "same", "standup": "old!"})
    assert plan(template, current).prompts == {"help": "new", "standup": None}
    assert diff(template, current)["prompts_changed"] == {
        "preamble": {
            "changed": False,
            "current_chars": 4,
            "new_chars": 4,
            "current_source": "home",
            "new_source": "home",
        },
        "help": {
            "changed": True,
            "current_chars": 0,
            "new_chars": 3,
            "current_source": "builtin",
            "new_source": "home",
        },
        "standup": {
            "changed": True,
            "current_chars": 4,
            "new_chars": 0,
            "current_source": "home",
            "new_source": "builtin",
        },
    }


def test_a_preview_is_plain_json():
    shown = diff(group(CYD, prompts={"help": "x"}, nudge_after_seconds=1), group(ADA))
    assert json.loads(json.dumps(shown)) == shown


# -- who stands where: whoever joined last stands last

names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(order=names, present=names)
def test_when_those_join_who_have_to_all_stand_in_order(order: list[str], present: list[str]):
    joining = actors_to_rejoin(order, present)
    there = [name for name in present if name in order and name not in joining]
    assert [*there, *joining] == order


@pytest.mark.parametrize(
    ("order", "present", "joining"),
    [
        ("abc", "abc", ""),
        ("abc", "ab", "c"),
        ("ac", "abc", ""),
        ("bac", "abc", "ac"),
        ("xab", "ab", "xab"),
        ("", "ab", ""),
    ],
)
def test_nobody_joins_again_who_stands_right(order: str, present: str, joining: str):
    assert "".join(actors_to_rejoin(order, present)) == joining
