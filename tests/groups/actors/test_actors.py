"""Who may join a group under which name, what may be changed of an actor, and who leads (IPC §8.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.groups.actors import actors, profiles
from bb.groups.actors.actors import ActorAddFailed, changed, is_actor_id, new_actor, patched_actor, roles
from bb.groups.actors.profiles import Profile, profile_of
from bb.groups.settings import InvalidPatch
from bb.kernel import ids
from bb.kernel.errors import BbError

NAMES = ("actor_id", "title", "runtime", "runner", "command", "env", "default_scope_key", "submit")
CLAUDE = Profile("claude", "pty", ("claude",), "enter", "", True)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def add(taken: tuple[str, ...] = (), **asked: Any) -> tuple[str, str, Profile]:
    return new_actor(taken=taken, **(dict.fromkeys(NAMES) | asked))


def refused(taken: tuple[str, ...] = (), **asked: Any) -> BbError:
    with pytest.raises(ActorAddFailed.error) as refusal:
        add(taken, **asked)
    assert (refusal.value.code, refusal.value.exit_status) == ("ACTOR_ADD_FAILED", 4)
    return refusal.value


# -- joining


def test_ipc_8_4_an_actor_of_which_nothing_is_said_is_a_codex_in_a_terminal():
    assert add() == ("codex-1", "codex-1", Profile("codex", "pty", ("codex",), "enter", "", True))


def test_ipc_8_4_an_actor_is_added_as_it_was_asked_for():
    asked = {
        "actor_id": "Ada_L",
        "title": " Ada Lovelace ",
        "runtime": "custom",
        "runner": "headless",
        "command": ["tool", "--flag", ""],
        "env": {"PATH": "/bin", "_x1": ""},
        "default_scope_key": "s_1",
        "submit": "newline",
    }
    profile = Profile("custom", "headless", ("tool", "--flag", ""), "newline", "s_1", True)
    assert add(**asked) == ("Ada_L", "Ada Lovelace", profile)


@pytest.mark.parametrize("blank", [None, ""])
def test_what_is_blank_counts_as_not_said(blank: str | None):
    assert add(**dict.fromkeys(NAMES, blank) | {"env": None}) == add()


@pytest.mark.parametrize("runtime", sorted(set(profiles.RUNTIMES) - {"custom"}))
def test_a_runtime_has_a_command_of_its_own(runtime: str):
    for command in (None, []):
        _, _, profile = add(runtime=runtime, command=command)
        assert profile.command == profiles.RUNTIMES[runtime]
    assert len(profile.command) == 1, "without flags that nobody asked for"
    assert add(runtime=runtime, command=["x"])[2].command == ("x",)


def test_the_runtimes_are_those_of_the_specification():
    known = "amp auggie claude codex cursor droid gemini kilocode neovate opencode copilot custom"
    assert list(profiles.RUNTIMES) == known.split()


def test_an_actor_without_an_id_is_called_after_its_runtime_with_the_lowest_free_number():
    assert add(runtime="claude")[0] == "claude-1"
    assert add(("claude-1", "claude-3"), runtime="claude")[0] == "claude-2"
    assert add(("CLAUDE-1",), runtime="claude")[0] == "claude-2"
    assert add(tuple(f"codex-{n}" for n in range(1, 40)))[0] == "codex-40"
    assert is_actor_id("kilocode-4294967296")


@pytest.mark.parametrize("actor", ["a", "7", "ada", "Ada", "peer-1", "claude_2", "0-_", "a" * 32, "foreman-1"])
def test_an_id_has_up_to_32_letters_digits_hyphens_and_underscores(actor: str):
    assert add(actor_id=actor)[0] == actor


@pytest.mark.parametrize(
    "actor",
    [
        *("a" * 33, "-a", "_a", "a b", "a.b", "a/b", "..", "@ada", "ä", "a\n", "\n", " ", "a\0", "svc:x", "\ud800"),
        *(0, 7, 1.5, True, False, [], ["ada"], {}, {"id": "ada"}),
    ],
)
def test_any_other_id_is_refused(actor: object):
    error = refused(actor_id=actor)
    assert error.details == {"reason": "invalid_actor_id", "path": "$.actor_id"}
    assert "32" in error.message


@pytest.mark.parametrize("actor", ["user", "all", "system", "foreman", "peers", "admin", "root", "cccc", "User", "CON"])
def test_a_reserved_id_is_refused_however_it_is_written(actor: str):
    error = refused(actor_id=actor)
    assert error.details["reason"] == "invalid_actor_id"
    assert error.message == f"{actor!r} is reserved"
    assert actor.lower() in ids.RESERVED


@pytest.mark.parametrize("actor", ["ada", "Ada", "ADA"])
def test_an_id_that_is_taken_is_refused_even_in_another_case(actor: str):
    error = refused(("ada", "bo"), actor_id=actor)
    assert error.details == {"reason": "duplicate_actor_id", "path": "$.actor_id"}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("runtime", "emacs", "invalid_runtime"),
        ("runtime", "Claude", "invalid_runtime"),
        ("runtime", ["claude"], "invalid_runtime"),
        ("runtime", False, "invalid_runtime"),
        ("runner", "tmux", "invalid_runner"),
        ("runner", 1, "invalid_runner"),
        ("submit", "return", "invalid_submit"),
        ("submit", {}, "invalid_submit"),
        ("command", "claude", "invalid_command"),
        ("command", [1], "invalid_command"),
        ("command", [None], "invalid_command"),
        ("command", ["a\0b"], "invalid_command"),
        ("command", ["", "x"], "invalid_command"),
        ("command", [" "], "invalid_command"),
        ("command", ["x"] * 65, "invalid_command"),
        ("command", ["x" * 4097], "invalid_command"),
        ("command", {"0": "x"}, "invalid_command"),
        ("command", 0, "invalid_command"),
        ("title", " ", "invalid_title"),
        ("title", "x" * 81, "invalid_title"),
        ("title", "one\ntwo", "invalid_title"),
        ("title", "a\x1b[2J", "invalid_title"),
        ("title", "\u202eevil", "invalid_title"),
        ("title", ["Ada"], "invalid_title"),
        ("title", 0, "invalid_title"),
        ("default_scope_key", 1, "invalid_scope_key"),
        ("default_scope_key", "s\n", "invalid_scope_key"),
        ("default_scope_key", "s" * 201, "invalid_scope_key"),
        ("env", [], "invalid_env"),
        ("env", "A=1", "invalid_env"),
        ("env", {f"A{n}": "" for n in range(101)}, "invalid_env"),
    ],
)
def test_ipc_8_4_what_an_actor_cannot_be_is_refused(field: str, value: object, reason: str):
    assert refused(**{field: value}).details == {"reason": reason, "path": f"$.{field}"}


@pytest.mark.parametrize("longest", [{"command": ["x"] * 64}, {"command": ["x" * 4096]}, {"title": "é" * 80}])
def test_the_longest_is_taken(longest: dict[str, Any]):
    assert add(**longest)[0] == "codex-1"


@pytest.mark.parametrize("name", ["", "1A", "A=B", "A B", "A\0", "Ä", "A-B", "A.B", "A\n", "A" * 101])
def test_a_name_in_an_environment_is_one_that_a_shell_could_have(name: str):
    assert refused(env={"PATH": "/bin", name: "x"}).details["reason"] == "invalid_env"


@pytest.mark.parametrize("value", [1, None, True, ["x"], {}, "a\0b", "x" * 32_769])
def test_a_value_in_an_environment_is_a_text_without_nul(value: object):
    error = refused(env={"TOKEN": value})
    assert error.details["path"] == "$.env.TOKEN"


def test_no_value_of_an_environment_is_ever_repeated():
    error = refused(env={"TOKEN": "hunter2\0"})
    assert "hunter2" not in error.message + str(error.details)
    assert "env" not in add(env={"TOKEN": "hunter2"})[2].stored()


def test_a_custom_actor_in_a_terminal_needs_a_command():
    assert refused(runtime="custom").details == {"reason": "missing_command", "path": "$.command"}
    assert add(runtime="custom", runner="headless")[2].command == ()
    assert add(runtime="custom", command=["my-agent"])[2].command == ("my-agent",)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, anything)))
def test_whatever_is_asked_for_is_granted_or_refused(asked: dict[str, Any]):
    try:
        actor, title, profile = add(**asked)
    except ActorAddFailed.error:
        return
    assert is_actor_id(actor)
    assert title
    assert profile_of(profile.stored()) == profile


# -- strict clones


@pytest.mark.parametrize(
    ("other", "env", "is_clone"),
    [
        (CLAUDE, {"A": "1"}, True),
        (CLAUDE.replace(submit="none", default_scope_key="s_2"), {"A": "1"}, True),
        (CLAUDE.replace(runtime="codex"), {"A": "1"}, False),
        (CLAUDE.replace(runner="headless"), {"A": "1"}, False),
        (CLAUDE.replace(command=("claude", "--more")), {"A": "1"}, False),
        (CLAUDE, {"A": "2"}, False),
        (CLAUDE, {}, False),
        (CLAUDE, {"A": "1", "B": "2"}, False),
    ],
)
def test_a_strict_clone_has_the_same_runtime_runner_command_and_environment(
    other: Profile, env: dict[str, str], is_clone: bool
):
    assert actors.is_strict_clone(other, env, CLAUDE, {"A": "1"}) is is_clone


# -- changing


def invalid(patch: Any, profile: Profile = CLAUDE) -> BbError:
    with pytest.raises(InvalidPatch.error) as refusal:
        patched_actor(patch, profile)
    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_PATCH", 2)
    return refusal.value


@pytest.mark.parametrize(
    "patch",
    [
        {"title": "Ada"},
        {"runtime": "codex", "command": ["codex", "x"]},
        {"runner": "headless"},
        {"command": ["claude", "--more"]},
        {"submit": "none"},
        {"default_scope_key": "s_1"},
        {"enabled": False},
        {"env": {"A": "1"}},
    ],
)
def test_ipc_8_4_every_field_may_be_changed_and_nothing_else_is(patch: dict[str, Any]):
    assert patched_actor(patch, CLAUDE) == patch


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        (None, "$.patch"),
        ([], "$.patch"),
        ({}, "$.patch"),
        ({"id": "bo"}, "$.patch.id"),
        ({"role": "foreman"}, "$.patch.role"),
        ({"title": ""}, "$.patch.title"),
        ({"title": None}, "$.patch.title"),
        ({"runtime": "emacs"}, "$.patch.runtime"),
        ({"runner": None}, "$.patch.runner"),
        ({"command": "claude"}, "$.patch.command"),
        ({"submit": 1}, "$.patch.submit"),
        ({"default_scope_key": None}, "$.patch.default_scope_key"),
        ({"enabled": 1}, "$.patch.enabled"),
        ({"enabled": "false"}, "$.patch.enabled"),
        ({"env": None}, "$.patch.env"),
        ({"env": {"A": 1}}, "$.patch.env.A"),
        ({"runtime": "custom"}, "$.patch.command"),
        ({"runtime": "custom", "command": []}, "$.patch.command"),
        ({"title": "Ada", "enabled": None}, "$.patch.enabled"),
    ],
)
def test_ipc_8_4_a_patch_that_is_wrong_anywhere_is_refused_there(patch: object, path: str):
    assert invalid(patch).details["path"] == path


def test_a_runtimes_own_command_goes_with_it():
    assert patched_actor({"runtime": "codex"}, CLAUDE) == {"runtime": "codex", "command": ["codex"]}
    own = CLAUDE.replace(command=("wrapper", "claude"))
    assert patched_actor({"runtime": "codex"}, own) == {"runtime": "codex"}
    assert patched_actor({"runtime": "claude"}, CLAUDE) == {"runtime": "claude"}
    assert patched_actor({"runtime": "custom", "runner": "headless"}, CLAUDE)["command"] == []


def test_an_emptied_command_is_the_runtimes_own_again():
    own = CLAUDE.replace(command=("wrapper", "claude"))
    assert patched_actor({"command": []}, own) == {"command": ["claude"]}


def test_a_terminal_without_a_command_is_refused_where_there_was_none_before():
    silent = Profile("custom", "headless", (), "enter", "", True)
    assert invalid({"runner": "pty"}, silent).details["path"] == "$.patch.command"
    assert patched_actor({"runner": "pty", "command": ["x"]}, silent) == {"runner": "pty", "command": ["x"]}


def test_changes_are_json_and_make_the_profile_that_they_describe():
    patch = {"title": "Ada", "runtime": "gemini", "enabled": False, "env": {"A": "1"}}
    changes = patched_actor(patch, CLAUDE)
    assert json.loads(json.dumps(changes)) == changes
    assert changed(CLAUDE, changes) == Profile("gemini", "pty", ("gemini",), "enter", "", False)


@given(st.dictionaries(st.sampled_from([*profiles.CHECKS, "id"]), anything, max_size=4) | anything)
def test_whatever_stands_in_a_patch_is_taken_or_refused(patch: Any):
    try:
        changes = patched_actor(patch, CLAUDE)
    except InvalidPatch.error:
        return
    assert patch.keys() <= changes.keys() <= patch.keys() | {"command"}


# -- history


def test_a_profile_is_read_as_it_was_recorded():
    profile = Profile("custom", "headless", ("x", "y"), "none", "s_1", False)
    stored = profile.stored()
    assert json.loads(json.dumps(stored)) == stored
    assert profile_of(stored) == profile


@given(st.dictionaries(st.sampled_from(Profile.__match_args__) | st.text(), anything))
def test_whatever_history_tells_of_a_profile_it_is_one(stored: dict[str, Any]):
    profile = profile_of(stored)
    assert profile.runtime in profiles.RUNTIMES
    assert profile.runner in profiles.RUNNERS
    assert profile.submit in profiles.SUBMITS
    assert profile_of(profile.stored()) == profile


# -- who leads


@pytest.mark.parametrize(
    ("enabled", "wanted"),
    [
        ([], []),
        ([True], ["foreman"]),
        ([True, True, True], ["foreman", "peer", "peer"]),
        ([False, True, True], ["peer", "foreman", "peer"]),
        ([False, False, True], ["peer", "peer", "foreman"]),
        ([False, False], ["peer", "peer"]),
    ],
)
def test_the_first_enabled_actor_leads_and_where_nobody_is_enabled_nobody_does(enabled: list[bool], wanted: list[str]):
    group = [(f"a{n}", is_enabled) for n, is_enabled in enumerate(enabled)]
    assert list(roles(group).values()) == wanted


# -- states


@pytest.mark.parametrize("state", ["active", "idle", "paused"])
def test_ipc_8_3_a_group_is_active_idle_or_paused(state: str):
    assert actors.group_state(state) == state


@pytest.mark.parametrize("missing", [None, ""])
def test_ipc_8_3_a_state_must_be_said(missing: object):
    with pytest.raises(actors.MissingState.error) as refusal:
        actors.group_state(missing)
    assert refusal.value.code == "MISSING_STATE"


@pytest.mark.parametrize("state", ["Active", "stopped", "running", 0, True, [], {}, ["active"], "active "])
def test_ipc_8_3_a_group_is_in_no_other_state(state: object):
    with pytest.raises(actors.GroupSetStateFailed.error) as refusal:
        actors.group_state(state)
    assert (refusal.value.code, refusal.value.exit_status) == ("GROUP_SET_STATE_FAILED", 2)


@pytest.mark.parametrize("status", ["idle", "working", "waiting", "stopped"])
def test_ipc_8_8_an_actor_without_a_terminal_says_what_it_is_doing(status: str):
    assert actors.status(status) == status


@pytest.mark.parametrize("status", [None, "", "Idle", "busy", 0, False, [], {}])
def test_ipc_8_8_any_other_status_is_refused(status: object):
    with pytest.raises(actors.InvalidStatus.error) as refusal:
        actors.status(status)
    assert refusal.value.code == "INVALID_STATUS"
