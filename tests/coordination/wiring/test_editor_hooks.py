"""Our hooks go into an editor's settings and out again, and not one character of the rest is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.wiring import editor_hooks, editors
from bb.coordination.wiring.editor_hooks import Wiring
from bb.kernel.json_text import NotJson
from tests.examples import examples

OTHERS = {
    "empty": "{}",
    "two": '{\n  "model": "x",\n  "permissions": {"allow": ["Bash(ls:*)", "Read"]}\n}\n',
    "four": '{\n    "a": [1,  2,\n 3],\n\n    "b": {}\n}',
    "tabs": '{\n\t"a": 1\n}\n',
    "one line": '{"a": 1, "b": [ ]}',
    "windows": '{\r\n  "a": 1\r\n}\r\n',
    "hooks of others": """{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh pre-tool"}]}
    ],
    "BeforeTool": [ ],
    "Notification": [{"hooks": [{"type": "command", "command": "say done"}]}]
  },
  "z": "ü \\u00fc"
}
""",
}


def ours(text: str) -> list[str]:
    return [
        hook["command"]
        for groups in json.loads(text).get("hooks", {}).values()
        for group in groups
        for hook in group.get("hooks", [group])
        if editor_hooks.is_ours(hook)
    ]


WITH_SETTINGS = [editor for editor in editors.HOSTS if editor != "opencode"]


@pytest.mark.parametrize("editor", WITH_SETTINGS)
@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_what_is_put_in_comes_out_and_leaves_no_trace(before: str, editor: str):
    after = editor_hooks.wired(before, Wiring(editor))

    called = {name for name, _ in editors.called_by(editor)}
    assert len(ours(after)) == len(called)
    assert set(editor_hooks.moments(after)) == called
    assert editor_hooks.wired(after, Wiring(editor)) == after
    kept = json.loads(before)
    added = {"hooks"} if kept or editor not in ("cursor", "vscode") else {"hooks", "version"}
    assert {name: value for name, value in json.loads(after).items() if name not in added} == {
        name: value for name, value in kept.items() if name != "hooks"
    }
    # A list that was there and empty goes with what was put into it; nothing else does.
    assert editor_hooks.unwired(after, editor) in (before, before.replace('\n    "BeforeTool": [ ],', ""))


def test_hooks_of_others_stay_beside_ours_and_in_our_groups():
    after = editor_hooks.wired(OTHERS["hooks of others"], Wiring("claude"))
    assert json.loads(after)["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "./guard.sh pre-tool"
    beside = after.replace(
        '"timeout": 10\n          }', '"timeout": 10\n          }, {"type": "x", "command": "mine"}', 1
    )
    assert beside != after

    left = editor_hooks.unwired(beside)

    assert ours(left) == []
    assert "mine" in left


def test_installing_again_otherwise_replaces_what_was_there():
    first = editor_hooks.wired("{}", Wiring("claude"))
    second = editor_hooks.wired(
        first, Wiring("claude", agent="amber-otter", auto_reserve=True, bead="bb 1", register=True)
    )

    assert ours(second) == [
        "bb hook pre-tool --host claude --agent amber-otter --auto-reserve --bead 'bb 1'",
        "bb hook post-tool --host claude --agent amber-otter",
        "bb hook post-tool --host claude --agent amber-otter",  # after a failure
        "bb hook session-start --host claude --agent amber-otter --register",
        "bb hook prompt --host claude --agent amber-otter",
        "bb hook stop --host claude --agent amber-otter",
        "bb hook session-end --host claude --agent amber-otter --bead 'bb 1'",
    ]
    assert editor_hooks.unwired(second) == "{}"


def test_gemini_counts_in_thousandths_and_names_its_hooks():
    found = json.loads(editor_hooks.wired("{}", Wiring("gemini")))["hooks"]["BeforeTool"][0]

    assert found["matcher"] == "run_shell_command|replace|write_file|mcp_.*"
    assert found["hooks"][0]["name"] == "bb-pre-tool"
    assert found["hooks"][0]["timeout"] == 10_000


@pytest.mark.parametrize("odd", ["", "[]", "{", "// comment\n{}", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{} {}"])
def test_settings_that_are_not_understood_are_refused(odd: str):
    with pytest.raises(NotJson):
        editor_hooks.wired(odd, Wiring("claude"))


@pytest.mark.parametrize(
    "hook", [None, 3, {}, {"command": 3}, {"command": "bb check"}, {"command": "echo hook"}, {"command": "hook other"}]
)
def test_only_what_calls_our_hooks_is_ours(hook: object):
    assert not editor_hooks.is_ours(hook)
    assert editor_hooks.is_ours({"command": "/opt/tools/beadboard hook stop --host gemini"})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@examples(200)
@given(
    st.dictionaries(st.text(max_size=4).filter(lambda name: name != "hooks"), VALUES, max_size=4),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.sampled_from(WITH_SETTINGS),
)
def test_any_settings_come_back_as_they_were(value: dict[str, object], indent: int | str | None, editor: str):
    before = json.dumps(value, indent=indent)

    after = editor_hooks.wired(before, Wiring(editor))

    version = {"version": 1} if not value and editor in ("cursor", "vscode") else {}
    assert {name: each for name, each in json.loads(after).items() if name != "hooks"} == value | version
    assert editor_hooks.unwired(after, editor) == before


def test_hooks_of_others_stay_beside_ours_where_settings_list_hooks():
    theirs = '{"version": 1, "hooks": {"preToolUse": [{"command": "mine pre-tool"}], "stop": []}}'
    after = editor_hooks.wired(theirs, Wiring("cursor"))

    assert [hook["command"] for hook in json.loads(after)["hooks"]["preToolUse"]] == [
        "mine pre-tool",
        "bb hook pre-tool --host cursor",
    ]
    assert json.loads(editor_hooks.unwired(after, "cursor")) == {
        "version": 1,
        "hooks": {"preToolUse": [{"command": "mine pre-tool"}]},
    }


def test_codex_allows_its_last_hook_three_seconds():
    found = json.loads(editor_hooks.wired("{}", Wiring("codex")))["hooks"]

    assert found["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert found["Stop"][0]["hooks"][0]["timeout"] == 10


def test_the_plugin_of_opencode_has_the_commands_and_only_an_unchanged_one_is_replaced():
    first = editor_hooks.wired("{}\n", Wiring("opencode", agent="amber-otter", auto_reserve=True))
    second = editor_hooks.wired(first, Wiring("opencode", program="/opt/b b", register=True))

    assert '["bb","hook","pre-tool","--host","opencode","--agent","amber-otter","--auto-reserve"]' in first
    assert '["/opt/b b","hook","session-start","--host","opencode","--register"]' in second
    assert editor_hooks.wired(second, Wiring("opencode", program="/opt/b b", register=True)) == second
    assert "tool.execute.before" in editor_hooks.moments(second, "opencode")
    assert editor_hooks.unwired(second, "opencode") == ""
    changed = second.replace("10000", "20000")
    assert editor_hooks.unwired(changed, "opencode") == changed
    assert editor_hooks.moments(changed, "opencode") == []
    with pytest.raises(NotJson):
        editor_hooks.wired(changed, Wiring("opencode"))
