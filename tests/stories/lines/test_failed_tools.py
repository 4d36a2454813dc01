"""Tools that fail: some hosts call another hook after them, and some call none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import OTTER
from tests.stories.lines.lines_support import TWENTY, Desk, desk


@pytest.fixture
def work(tmp_path: Path) -> Desk:
    return desk(tmp_path / "repo")


def edit(work: Desk, old: str) -> dict[str, Any]:
    return {"file_path": str(work.repo.path / "a.py"), "old_string": old, "new_string": "new"}


def after(work: Desk, tool: str, given: dict[str, Any], event: str) -> None:
    payload = {"hook_event_name": event, "session_id": f"S-{OTTER}", "cwd": str(work.repo.path)}
    payload |= {"tool_name": tool, "tool_input": given, "error": "Exit code 3"}
    ran = work.bb(OTTER, "hook", "post-tool", stdin=json.dumps(payload))
    assert (ran.status, ran.out, ran.err) == (0, "", "")


def test_an_edit_that_does_not_fit_the_file_attributes_nothing_while_no_hook_says_that_it_has_ended(work: Desk):
    """Codex calls no hook after a patch that does not fit."""
    assert work.hook("pre-tool", OTTER, "Edit", edit(work, "no such line")) == ""

    for typed in ("typed", "typed again"):
        work.write("a.py", work.read("a.py") + f"{typed}\n")
        assert work.whose("a.py")[-1] == []

    assert work.whose("a.py") == [*([None] * 20), [], []]


def test_an_edit_that_fits_the_file_in_the_eyes_of_the_host_is_the_agents(work: Desk):
    """Some hosts forgive differences that bb does not know of."""
    given = edit(work, "  line 3")
    assert work.hook("pre-tool", OTTER, "Edit", given) == ""
    work.write("a.py", TWENTY.replace("line 3\n", "new\n"))
    assert work.hook("post-tool", OTTER, "Edit", given) == ""

    assert work.whose("a.py")[2] == [OTTER]


def test_what_a_failing_command_has_changed_is_its_agents_and_later_changes_are_not(work: Desk):
    """Claude Code calls PostToolUseFailure after a command with another exit status than 0."""
    given = {"command": "make generated; exit 3"}
    assert work.hook("pre-tool", OTTER, "Bash", given) == ""
    work.write("a.py", TWENTY.replace("line 3\n", "new\n"))
    after(work, "Bash", given, "PostToolUseFailure")
    work.write("a.py", work.read("a.py") + "typed\n")

    assert (work.whose("a.py")[2], work.whose("a.py")[-1]) == ([OTTER], [])
