"""A newcomer types what README and the tutorials say, and sees what they show."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.faces.tutorials import BLOCK, Reader, agree, install, settings
from tests.support import ROOT

PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("tutorial-*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_prints_what_the_page_shows(page: str, tmp_path: Path):
    reader = Reader(tmp_path)

    reader.follow((ROOT / page).read_text())

    assert reader.wrong == []
    assert reader.count > 5


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_is_a_file_or_is_named_as_an_example(page: str):
    """A block of `sh` is run by no test: it installs from a package index, or opens a browser."""
    kinds = [(kind, title) for kind, title, _ in BLOCK.findall((ROOT / page).read_text())]

    assert [kind for kind, title in kinds if not title and kind not in ("console", "sh", "json")] == []


def test_two_hosts_need_nothing_but_readmes_setup_and_the_second_one_is_refused_the_same_line(tmp_path: Path):
    """README says so of agents with hooks. The hooks are run as Claude Code runs them, in two sessions."""
    reader = Reader(tmp_path)
    install(tmp_path)
    host = tmp_path / ".bin" / "claude"  # bb finds the host on the PATH
    host.write_text("#!/bin/sh\n")
    host.chmod(0o755)
    before, _, _ = (ROOT / "README.md").read_text().partition("Agents with hooks need nothing more")
    reader.follow(before)
    assert reader.wrong == []
    shop = tmp_path / "shop"

    def told(event: str, session: str, **payload: object) -> dict[str, Any]:
        """What the host's hooks answer to an EVENT of a SESSION."""
        hooks = json.loads((shop / ".claude" / "settings.json").read_text())["hooks"][event]
        (command,) = {each["command"] for one in hooks for each in one["hooks"]}
        octets = json.dumps({"hook_event_name": event, "session_id": session, "cwd": str(shop), **payload}).encode()
        done = subprocess.run(
            ["sh", "-c", command], cwd=shop, env=settings(tmp_path), input=octets, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout or b"{}")

    for session in ("first", "second"):
        told("SessionStart", session, source="startup")
    file = shop / "src" / "dates.py"

    def edit(old: str, new: str) -> dict[str, Any]:
        return {"tool_name": "Edit", "tool_input": {"file_path": str(file), "old_string": old, "new_string": new}}

    line = file.read_text()
    assert "deny" not in json.dumps(told("PreToolUse", "first", **edit(line, "x = 2\n")))
    file.write_text("x = 2\n")
    told("PostToolUse", "first", **edit(line, "x = 2\n"))
    refused = told("PreToolUse", "second", **edit("x = 2", "x = 3"))["hookSpecificOutput"]
    assert refused["permissionDecision"] == "deny"
    assert "line 1 of src/dates.py" in refused["permissionDecisionReason"]
    assert "deny" not in json.dumps(told("PreToolUse", "second", **edit("", "y = 1\n")))


def test_readme_has_at_most_nine_hundred_words():
    text = (ROOT / "README.md").read_text()

    assert len(text.split()) <= 900
    assert len(re.findall(r"^## ", text, re.MULTILINE)) <= 8


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        (["held for 2h 0m left"], "held for 1h 59m left\n", True),
        (["until 2026-01-01T00:00:00Z [abcdefghijkl.3]"], "until 2026-11-24T02:00:00.1Z [zzzzzzzzzzzz.14]\n", True),
        (["one", "…"], "one\ntwo\nthree\n", True),
        (["a … z"], "a b c z\n", True),
        (["one"], "two\n", False),
        (["one"], "one\ntwo\n", False),
        ([], "one\n", False),
    ],
)
def test_what_differs_each_time_counts_as_equal_and_nothing_else(shown: list[str], printed: str, is_same: bool):
    assert agree(shown, printed) is is_same
