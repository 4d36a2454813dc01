"""A session ends: nobody waits for its agent, and nothing of its work is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, reserve, send
from tests.stories.editors.editors_support import context, hook, refusal
from tests.support import Scratch

SESSION = "8c35adc1-0000-4000-8000-000000000001"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """HARBOR works at a terminal, OTTER in a session of an editor that reserves what it edits."""
    repo = crew(tmp_path / "repo", OTTER, HARBOR)
    for name in ("a.py", "b.py"):
        (repo.path / "src" / name).parent.mkdir(exist_ok=True)
        (repo.path / "src" / name).write_text("1\n")
    repo.git("add", "src")
    repo.git("commit", "-qm", "two files")
    hook(repo, "session-start", "claude/session-start", BB_AGENT=OTTER)
    return repo


def edits(repo: Scratch, path: str) -> None:
    given = {"file_path": str(repo.path / path), "content": "2\n"}
    assert refusal(hook(repo, "pre-tool", "claude/write", "--auto-reserve", tool_input=given)) == ""


def ends(repo: Scratch, name: str = "claude/session-end", *words: str, **more: Any) -> None:
    ran = hook(repo, "session-end", name, *words, **more)
    assert (ran.status, ran.out, ran.err) == (0, "", "")


def held(repo: Scratch) -> list[str]:
    return [row["scope"] for row in repo.json("agent", "status").data["reservations"]]


def liveness(repo: Scratch) -> str:
    return str(repo.json("agent", "show", "--agent", OTTER).data["liveness"])


def test_others_take_over_at_once_what_its_agent_holds(repo: Scratch):
    reserve(repo, OTTER, "src")
    ends(repo)

    assert liveness(repo) == "stale"
    assert "session ended" in repo.bb("status").out
    assert repo.json("agent", "show", "--agent", OTTER).data["session_ended_at"]
    found = repo.json("agent", "reserve", "--agent", HARBOR, "--scope", "src", "--bead", "bb-2", "--takeover-stale")
    assert found.data["taken_over"][0]["owner_liveness"] == "stale"


def test_a_reservation_made_for_an_edit_ends_with_the_session_unless_its_file_is_changed(repo: Scratch):
    edits(repo, "src/a.py")
    edits(repo, "src/b.py")
    reserve(repo, OTTER, "docs")
    (repo.path / "src" / "b.py").write_text("2\n")

    ends(repo)

    assert sorted(held(repo)) == ["docs", "src/b.py"]
    assert refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=HARBOR, session_id="other")) == ""


def test_a_change_in_another_worktree_keeps_the_reservation(repo: Scratch, tmp_path: Path):
    edits(repo, "src/a.py")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    (tmp_path / "tree" / "src" / "a.py").write_text("2\n")

    ends(repo)

    assert held(repo) == ["src/a.py"]


def test_the_bead_of_the_reservations_is_that_of_the_installed_hook(repo: Scratch):
    reserve(repo, OTTER, "src/a.py")

    ends(repo, "claude/session-end", "--bead", "bb-1")

    assert held(repo) == []


def test_the_same_session_goes_on(repo: Scratch):
    reserve(repo, OTTER, "src/a.py")
    send(repo, HARBOR, OTTER)
    ends(repo)

    welcome = context(hook(repo, "session-start", "claude/session-start", source="resume"))

    assert "You hold: src/a.py" in welcome
    assert "1 message unread" in welcome
    assert liveness(repo) == "active"
    assert "session_ended_at" not in repo.json("agent", "show", "--agent", OTTER).data


def test_a_session_that_goes_on_is_known_before_its_start_is_said(repo: Scratch):
    """Some hosts call the hook for the prompt, or for a tool, while the one for the start still runs."""
    send(repo, HARBOR, OTTER)
    reserve(repo, HARBOR, "src/a.py")
    ends(repo)

    assert HARBOR in context(hook(repo, "prompt", "claude/prompt"))
    assert HARBOR in refusal(hook(repo, "pre-tool", "claude/write"))


def test_a_heartbeat_brings_the_agent_back_and_is_recorded(repo: Scratch):
    ends(repo)
    repo.json("agent", "heartbeat", "--agent", OTTER).data  # noqa: B018  (must succeed)

    assert liveness(repo) == "active"
    (seen,) = repo.json("ledger", "log", "--kind", "x.bb.seen").data
    assert seen["data"]["after"] == "stale"


def test_the_end_of_an_earlier_session_does_not_end_the_present_one(repo: Scratch):
    repo.json("agent", "register", "--name", "dusty-wren", "--role", "tester", BB_SESSION="first").data  # noqa: B018
    reserve(repo, "dusty-wren", "src/a.py", BB_SESSION="first")
    (repo.path / "src" / "a.py").write_text("2\n")
    later = after(repo, 3)
    later.json("init", "--adopt", "dusty-wren", "--non-interactive", BB_SESSION="second").data  # noqa: B018

    ran = hook(later, "session-end", "claude/session-end", "--agent", "dusty-wren", session_id="first")

    assert (ran.out, "took over the name" in ran.err) == ("", True)
    assert later.json("agent", "show", "--agent", "dusty-wren").data["liveness"] == "active"


def test_an_ended_session_can_be_adopted_at_once(repo: Scratch):
    repo.json("agent", "register", "--name", "dusty-wren", "--role", "tester", BB_SESSION="first").data  # noqa: B018
    reserve(repo, "dusty-wren", "src/a.py", BB_SESSION="first")
    (repo.path / "src" / "a.py").write_text("2\n")
    adopt = ("init", "--adopt", "dusty-wren", "--non-interactive")
    assert repo.json(*adopt, BB_SESSION="second").code == "ADOPTION_REJECTED"

    ends(repo, session_id="first")

    assert repo.json(*adopt, BB_SESSION="second").data["agent_id"] == "dusty-wren"


def test_git_commands_no_longer_wait_for_its_agent(repo: Scratch):
    stash = ("claude/bash", "--agent", HARBOR)
    assert "stash" in refusal(hook(repo, "pre-tool", *stash, session_id="h", command="git stash"))
    ends(repo)

    assert refusal(hook(repo, "pre-tool", *stash, session_id="h", command="git stash")) == ""


@pytest.mark.parametrize("name", ["codex/session-end", "gemini/session-end"])
def test_other_hosts_end_sessions_too(repo: Scratch, name: str):
    ends(repo, name, "--host", name.partition("/")[0], "--agent", OTTER, session_id=SESSION)

    assert liveness(repo) == "stale"


def test_without_a_ledger_an_agent_or_sense_nothing_happens(tmp_path: Path, repo: Scratch):
    empty = Scratch(tmp_path / "none")
    empty.path.mkdir()
    ends(empty)
    ends(repo, session_id="nobody")
    ends(repo, session_id="nobody", BB_AGENT="user")
    assert "not understood" in repo.bb("hook", "session-end", stdin="{").err
    assert liveness(repo) == "active"
