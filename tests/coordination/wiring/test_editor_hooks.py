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
        for hook in group["hooks"]
        if editor_hooks.is_ours(hook)
    ]


@pytest.mark.parametrize("editor", editors.HOSTS)
@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_what_is_put_in_comes_out_and_leaves_no_trace(before: str, editor: str):
    after = editor_hooks.wired(before, Wiring(editor))

    assert len(ours(after)) == 5
    assert set(editor_hooks.moments(after)) == {names[editor] for names in editors.MOMENTS.values()}
    assert editor_hooks.wired(after, Wiring(editor)) == after
    kept = json.loads(before)
    assert {name: value for name, value in json.loads(after).items() if name != "hooks"} == {
        name: value for name, value in kept.items() if name != "hooks"
    }
    # A list that was there and empty goes with what was put into it; nothing else does.
    assert editor_hooks.unwired(after) in (before, before.replace('\n    "BeforeTool": [ ],', ""))


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
        "bb hook session-start --host claude --agent amber-otter --register",
        "bb hook prompt --host claude --agent amber-otter",
        "bb hook stop --host claude --agent amber-otter",
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
    st.sampled_from(editors.HOSTS),
)
def test_any_settings_come_back_as_they_were(value: dict[str, object], indent: int | str | None, editor: str):
    before = json.dumps(value, indent=indent)

    after = editor_hooks.wired(before, Wiring(editor))

    assert {name: each for name, each in json.loads(after).items() if name != "hooks"} == value
    assert editor_hooks.unwired(after) == before
