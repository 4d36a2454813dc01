"""What editors say to their hooks is understood, and what they are not known to say is not guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood

DATA = Path(__file__).resolve().parents[2] / "data" / "hooks"
PAYLOADS = {f"{file.parent.name}/{file.stem}": json.loads(file.read_text()) for file in sorted(DATA.glob("*/*.json"))}
MOMENTS = {name: moment for moment, names in editors.MOMENTS.items() for name in names.values()}


def heard(payload: Any, moment: str = editors.PRE_TOOL, host: str | None = None) -> editors.HookPayload:
    return editors.parse_payload(payload, moment, host)


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_host_is_known_by_what_it_says(name: str):
    payload = PAYLOADS[name]
    found = heard(payload, MOMENTS[payload["hook_event_name"]])

    # At its start a session of Codex differs from one of Claude Code by its model, and nothing else.
    assert found.host == name.partition("/")[0]
    assert found.named == payload["hook_event_name"]
    assert (found.session, found.cwd) == (payload["session_id"], "CWD")


@pytest.mark.parametrize("name", [name for name, payload in PAYLOADS.items() if "tool_name" in payload])
def test_a_tool_names_the_files_it_changes_or_the_command_it_runs(name: str):
    payload = PAYLOADS[name]
    found = heard(payload, MOMENTS[payload["hook_event_name"]])

    if payload["tool_input"].get("command") == "COMMAND":
        assert (found.paths, found.command) == ((), "COMMAND")
    else:
        assert found.paths[-1].endswith("src/a.py")


def test_a_patch_names_the_files_in_its_headers_and_no_others():
    assert heard(PAYLOADS["codex/apply-patch-move"]).paths == ("docs/new.md", "docs/old.md", "src/a.py")
    assert list(editors.patched("  *** Delete File: a b.py \r\n*** Update File:\n*** End Patch")) == ["a b.py"]


@pytest.mark.parametrize(
    ("payload", "about"),
    [
        (None, "is not a JSON object"),
        ([], "is not a JSON object"),
        ("PreToolUse", "is not a JSON object"),
        ({"hook_event_name": "Stop"}, "is not a pre-tool event"),
        ({"hook_event_name": "PreToolUse\x1b[2J"}, "is not a pre-tool event"),
    ],
)
def test_what_no_editor_says_is_not_understood(payload: Any, about: str):
    with pytest.raises(NotUnderstood, match=about):
        heard(payload)


@pytest.mark.parametrize(
    "odd",
    [
        {"tool_name": 3, "tool_input": {"file_path": "a"}},
        {"tool_name": "Write", "tool_input": ["file_path"]},
        {"tool_name": "Write", "tool_input": {"file_path": 7, "path": "a"}},
        {"tool_name": "Write"},
        {"tool_name": "Read", "tool_input": {"file_path": "a"}},
        {"session_id": None, "cwd": {}, "tool_name": "shell", "tool_input": {"command": ["ls", 3]}},
    ],
)
def test_members_of_the_wrong_kind_count_as_missing(odd: dict[str, Any]):
    found = heard(odd)

    assert (found.paths, found.command, found.session, found.cwd) == ((), "", "", "")


def test_a_command_given_word_by_word_is_quoted_again():
    given = {"tool_name": "shell", "tool_input": {"command": ["bash", "-lc", "echo 'a b'"]}}

    assert heard(given).command == r"'bash' '-lc' 'echo '\''a b'\'''"


def test_a_host_that_is_named_is_believed():
    assert heard({"hook_event_name": "PreToolUse"}, host="codex").host == "codex"
    assert heard({}, host="gemini").named == "BeforeTool"
    assert heard({}).host == editors.OTHER


def test_each_host_is_refused_in_its_own_form():
    assert editors.refused(heard(PAYLOADS["claude/write"]), "Why") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Why",
        }
    }
    assert editors.refused(heard(PAYLOADS["codex/bash"]), "Why") == editors.refused(
        heard(PAYLOADS["claude/write"]), "Why"
    )
    assert editors.refused(heard(PAYLOADS["gemini/replace"]), "Why") == {"decision": "deny", "reason": "Why"}
    assert editors.refused(heard({}), "Why") is None
