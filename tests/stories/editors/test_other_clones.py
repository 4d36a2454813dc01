"""An agent of another clone holds what it holds here too; but it has neither a stash nor a changed file here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stories.travel.travel_support import Clone, agents_at_work, hub, settle

AMBER, COBALT = "amber-otter", "cobalt-harbor"


@pytest.fixture
def here(tmp_path: Path) -> Clone:
    """A clone in which amber-otter works and a.py has changed, which cobalt-harbor holds in another one."""
    here, there = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    (here.path / "a.py").write_text("1\n")
    here.git("add", "a.py")
    here.git("commit", "-qm", "File")
    (here.path / "a.py").write_text("2\n")
    there.ask("agent.reserve", agent=COBALT, scope=["a.py"], bead="bb-1")
    settle([here, there])
    return here


def asked(here: Clone, tool: str, **given: str) -> str:
    """The verdict on a tool."""
    said = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given}
    return str(here.ask("hook.pre-tool", agent=AMBER, payload=json.dumps(said))["verdict"])


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("git stash", "passed"),
        ("git clean -fdx", "passed"),
        ("git reset --hard", "passed"),
        ("git restore a.py", "passed"),
        ("git push --force", "refused"),
        ("git commit -am x", "refused"),
    ],
)
def test_only_what_reaches_another_clone_hurts_there(here: Clone, command: str, verdict: str):
    assert asked(here, "Bash", command=command) == verdict


def test_an_edit_of_what_another_clone_holds_is_refused(here: Clone):
    assert asked(here, "Write", file_path="a.py") == "refused"
    assert asked(here, "Write", file_path="b.py") == "passed"
