"""What editors say to their hooks is understood, and what they are not known to say is not guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.wiring import editor_tools, editors
from bb.coordination.wiring.editors import NotUnderstood

DATA = Path(__file__).resolve().parents[2] / "data" / "hooks"
PAYLOADS = {f"{file.parent.name}/{file.stem}": json.loads(file.read_text()) for file in sorted(DATA.glob("*/*.json"))}
MOMENTS = {name: moment for host in editors.HOSTS for name, moment in editors.called_by(host)}
for file in sorted(DATA.glob("recorded/*/*.json")):  # from real hosts: tests/hosts/recording.py
    if (recorded := json.loads(file.read_text()))["hook_event_name"] in MOMENTS:
        PAYLOADS[f"{file.parent.name.partition('-')[0]}/{file.stem}"] = recorded
NO_CHANGE = ("after-read", "mcp-bb-session")  # these tools change no file
CHANGES = [name for name, payload in PAYLOADS.items() if "tool_name" in payload and not name.endswith(NO_CHANGE)]


def named(payload: Any) -> str:
    """The event that a payload names."""
    return str(payload.get("hook_event_name") or payload["hookEventName"])


def sender(name: str) -> str:
    """The host that the payload of that NAME shows. At its start a session of Codex differs from one of Claude Code by
    its model; at its end, in nothing. The others are told apart only by --host, which installed hooks
    name."""
    if name in ("codex/session-end", "opencode/apply-patch"):
        return "claude" if name == "codex/session-end" else "codex"
    if name.startswith("qwen/"):
        return "vscode"
    return "claude" if name.startswith("opencode/") else name.partition("/")[0]


def heard(payload: Any, moment: str = editors.PRE_TOOL, host: str | None = None) -> editors.HookPayload:
    return editors.parse_payload(payload, moment, host)


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_host_is_known_by_what_it_says(name: str):
    payload = PAYLOADS[name]
    found = heard(payload, MOMENTS[named(payload)])

    assert found.host == sender(name)
    assert found.named == named(payload)
    session = payload.get("session_id") or payload.get("sessionId") or payload["conversation_id"]
    assert (found.session, found.cwd) == (session, "CWD")


@pytest.mark.parametrize(
    "name", [name for name in PAYLOADS if "tool_name" in PAYLOADS[name] and not name.endswith(NO_CHANGE)]
)
def test_a_tool_names_the_files_it_changes_or_the_command_it_runs(name: str):
    payload = PAYLOADS[name]
    found = heard(payload, MOMENTS[named(payload)])

    if name == "claude/unknown-tool":
        assert (found.paths, found.command, found.unknown_path) == ((), "", "src/a.py")
    elif payload["tool_input"].get("command") == "COMMAND":
        assert (found.paths, found.command) == ((), "COMMAND")
    else:
        assert found.paths[-1].endswith("src/a.py")


def test_a_patch_names_the_files_in_its_headers_and_no_others():
    assert heard(PAYLOADS["codex/apply-patch-move"]).paths == ("docs/new.md", "docs/old.md", "src/a.py")
    assert list(editor_tools.patched("  *** Delete File: a b.py \r\n*** Update File:\n*** End Patch")) == ["a b.py"]


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
        {"tool_name": "Write", "tool_input": {"file_path": 7, "name": "a"}},
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
    cursor = editors.refused(heard(PAYLOADS["cursor/write"]), "Why")
    assert cursor == {"permission": "deny", "user_message": "Why", "agent_message": "Why"}
    verdict = {"permissionDecision": "deny", "permissionDecisionReason": "Why"}  # for Copilot CLI, and for VS Code
    assert editors.refused(heard(PAYLOADS["vscode/replace-string"]), "Why") == verdict | {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", **verdict}
    }


def test_each_host_is_told_in_its_own_form():
    start, at_stop = editors.SESSION_START, editors.STOP
    cursor, code = heard(PAYLOADS["cursor/session-start"], start), heard(PAYLOADS["vscode/session-start"], start)
    assert editors.context_answer(cursor, "News") == {"additional_context": "News"}
    assert editors.context_answer(code, "News")["hookSpecificOutput"]["additionalContext"] == "News"
    assert editors.continue_answer(heard(PAYLOADS["cursor/stop"], at_stop), "Wait") == {"followup_message": "Wait"}
    nested = editors.continue_answer(heard(PAYLOADS["vscode/stop"], at_stop), "Wait")["hookSpecificOutput"]
    assert (nested["decision"], nested["reason"]) == ("block", "Wait")
    assert heard(PAYLOADS["cursor/stop"] | {"loop_count": 1}, at_stop).is_going_on


@pytest.mark.parametrize(
    ("tool", "given", "path"),
    [
        ("mcp__serena__replace_symbol_body", {"relative_path": "a.py", "body": "x"}, "a.py"),
        ("mcp_serena_insert_at_line", {"relativePath": "a.py", "content": "x"}, "a.py"),
        ("CodeEdit", {"TargetFile": "a.py", "CodeContent": "x", "Edits": []}, "a.py"),
        ("Read", {"file_path": "a.py"}, ""),
        ("Grep", {"path": "src", "pattern": "x"}, ""),
        ("Write", {"file_path": "a.py", "content": "x"}, ""),
        ("mcp_filesystem_write_file", {"path": "a.py", "content": "x"}, ""),
        ("mcp__bb__reserve", {"path": "a.py", "body": "x"}, ""),
        ("mcp__x__y", {"path": 7, "content": "x"}, ""),
        ("", {"path": "a.py", "content": "x"}, ""),
    ],
)
def test_a_tool_that_is_in_no_table_is_known_by_a_path_and_a_content(tool: str, given: dict[str, Any], path: str):
    assert heard({"tool_name": tool, "tool_input": given}).unknown_path == path


def test_a_tool_of_an_mcp_server_is_known_by_the_end_of_its_name():
    given = {"path": "a.py", "content": "x"}

    assert heard({"tool_name": "mcp__filesystem__write_file", "tool_input": given}).paths == ("a.py",)
    assert heard({"tool_name": "mcp_filesystem_write_file", "tool_input": given}).paths == ("a.py",)


def test_a_backslash_of_powershell_separates_folders():
    found = heard({"tool_name": "PowerShell", "tool_input": {"command": "echo x > src\\a.py"}})

    assert [write.path for write in found.written] == ["src/a.py"]


@pytest.mark.parametrize(
    ("tool", "member"),
    [("bash", "workdir"), ("run_shell_command", "dir_path"), ("run_shell_command", "directory")],
)
def test_the_folder_of_a_shell_command_is_known(tool: str, member: str):
    payload = {"hook_event_name": "PreToolUse", "cwd": "CWD", "tool_name": tool}
    assert heard(payload | {"tool_input": {"command": "ls", member: "src"}}).folder == "src"
    assert heard(payload | {"tool_input": {"command": "ls", member: ["src"]}}).folder == ""
    assert heard(payload | {"tool_name": "write", "tool_input": {"content": "x", member: "src"}}).folder == ""
