"""What tools make of a file, for the payloads that real hosts have sent and for odd ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.wiring import editor_tools, tool_edits

RECORDED = Path(__file__).resolve().parents[2] / "data" / "hooks" / "recorded"
PATH = "CWD/src/a.py"


def recorded(name: str) -> tuple[str, dict[str, Any]]:
    """The tool and the input of a recorded payload."""
    (file,) = RECORDED.glob(name)
    found = json.loads(file.read_text())
    return found["tool_name"], found["tool_input"]


def made(tool: str, given: dict[str, Any], before: bytes, path: str = PATH) -> bytes | None:
    makes = tool_edits.result(tool, given, path)
    return makes(before) if makes else None


@pytest.mark.parametrize(
    "name",
    ["claude-*/edit.json", "gemini-*/replace.json", "codex-*/apply-patch.json", "codex-*/patch-in-shell.json"],
)
def test_the_edit_that_a_host_has_sent_is_computed(name: str):
    tool, given = recorded(name)
    (path,) = editor_tools.paths(editor_tools.bare_name(tool), given)
    assert made(tool, given, b"# x\nx = 1\n", path) == b"# x\nx = 2\n"
    assert made(tool, given, b"y = 1\n", path) is None
    assert not tool_edits.writes_all(tool, given, path)


@pytest.mark.parametrize("name", ["claude-*/write.json", "gemini-*/write-file.json"])
def test_a_host_that_writes_a_whole_file_is_computed(name: str):
    tool, given = recorded(name)
    assert made(tool, given, b"y = 1\n") == b"x = 1\n"
    assert tool_edits.writes_all(tool, given, PATH)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("edit", {"filePath": PATH, "oldString": "x = 1", "newString": "x = 2"}),  # OpenCode
        ("Edit", {"path": PATH, "old_str": "x = 1", "new_str": "x = 2"}),  # Copilot CLI
    ],
)
def test_the_members_of_hosts_that_are_not_recorded_are_known(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"x = 1\n") == b"x = 2\n"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("write", {"filePath": PATH, "content": "x = 2\n"}),
        ("Write", {"path": PATH, "file_text": "x = 2\n"}),
    ],
)
def test_so_are_their_members_for_whole_files(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"x = 1\n") == b"x = 2\n"
    assert tool_edits.writes_all(tool, given, PATH)


ADDING = "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+y\n*** Add File: a.py\n+one\n+two\n*** End Patch\n"


@pytest.mark.parametrize(
    ("tool", "given"),
    [("apply_patch", {"command": ADDING}), ("Bash", {"command": f"apply_patch <<'EOF'\n{ADDING}EOF"})],
)
def test_a_patch_that_adds_a_file_writes_it_whole_even_if_it_is_there(tool: str, given: dict[str, Any]):
    assert made(tool, given, b"x\n", "a.py") == b"one\ntwo\n"
    assert tool_edits.writes_all(tool, given, "a.py")
    assert not tool_edits.writes_all(tool, given, "b.py")
    assert not tool_edits.writes_all(tool, given, "c.py")


def test_a_shell_command_without_a_patch_is_not_computed():
    given = {"command": "sed -i s/x/y/ a.py"}
    assert tool_edits.result("Bash", given, "a.py") is None
    assert not tool_edits.writes_all("Bash", given, "a.py")
