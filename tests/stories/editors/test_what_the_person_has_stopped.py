"""Editors and their agents: what the person has frozen is not edited, and a paused agent edits nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, crew, reserve
from tests.stories.editors.editors_support import context, hook, refusal, reply
from tests.stories.editors.test_edits import EDITS
from tests.support import NOON, Scratch

WHY = "the release is being cut"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Where amber-otter holds src."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "src").mkdir()
    (made.path / "src" / "a.py").write_text("x = 1\n")
    assert reserve(made, OTTER, "src").status == 0
    return made


def say(repo: Scratch, *words: str) -> None:
    assert repo.json(*words).status == 0


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("who", [OTTER, HARBOR])
def test_what_is_frozen_is_edited_in_no_editor_and_by_no_agent(repo: Scratch, name: str, who: str):
    say(repo, "freeze", "src", "--why", WHY)
    why = refusal(hook(repo, "pre-tool", name, "--agent", who))
    assert f'src/a.py is frozen by user as part of src: "{WHY}"' in why
    assert "bb send user" in why
    assert "--takeover-stale" not in why
    assert "--wait" not in why

    say(repo, "thaw", "src")
    assert refusal(hook(repo, "pre-tool", name, "--agent", OTTER)) == ""


def test_a_shell_command_writes_nothing_that_is_frozen(repo: Scratch):
    say(repo, "freeze", "src/a.py", "--why", WHY)
    ran = hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command="echo 2 > src/a.py")
    assert f'src/a.py is frozen by user: "{WHY}"' in refusal(ran)
    assert refusal(hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command="echo 2 > src/b.py")) == ""


def test_a_person_at_an_editor_is_told_and_not_stopped(repo: Scratch):
    say(repo, "freeze", "src", "--why", WHY)
    assert f'frozen by user as part of src: "{WHY}"' in reply(hook(repo, "pre-tool", "claude/write"))["systemMessage"]


def test_what_is_frozen_is_not_reserved_by_editing_it(repo: Scratch):
    say(repo, "agent", "release", "--agent", OTTER, "--all")
    say(repo, "freeze", "src", "--why", WHY)
    assert WHY in refusal(hook(repo, "pre-tool", "claude/write", "--agent", OTTER, "--auto-reserve"))
    assert [each["agent_id"] for each in repo.json("agent", "status").data["reservations"]] == ["user"]


def test_who_has_changed_it_all_the_same_is_told_and_the_person_has_an_incursion(repo: Scratch):
    say(repo, "freeze", "src", "--why", WHY)
    told = context(hook(repo, "post-tool", "claude/after-write", "--agent", OTTER))
    assert "you have changed a file that the person has frozen" in told
    (found,) = repo.json("protocol", "incursions").data
    assert (found["from_agent"], found["to_agent"], found["outcome"]) == (OTTER, "user", "touched")
    settle = ("protocol", "resolve", found["id"], "--agent", "user", "--as")
    assert repo.json(*settle, "transferred").code == "NOTHING_TO_TRANSFER"
    assert repo.json(*settle, "accepted").data["state"] == "accepted"


@pytest.mark.parametrize("name", EDITS)
def test_a_paused_agent_edits_nothing_in_any_editor(repo: Scratch, name: str):
    say(repo, "agent", "pause", OTTER, "--why", WHY)
    why = refusal(hook(repo, "pre-tool", name, "--agent", OTTER))
    assert f'user paused you at {NOON}: "{WHY}"' in why
    assert "bb handoff" in why
    say(repo, "agent", "unpause", OTTER)
    assert refusal(hook(repo, "pre-tool", name, "--agent", OTTER)) == ""


def test_a_paused_agent_writes_nothing_by_a_shell_command_and_still_looks_and_hands_over(repo: Scratch):
    say(repo, "agent", "pause", OTTER, "--why", WHY)
    assert WHY in refusal(hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command="sed -i s/1/2/ src/a.py"))
    for command in ("git status", f"bb agent release --agent {OTTER} --all", "ls src"):
        assert refusal(hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command=command)) == ""


def test_a_new_session_and_its_next_prompt_say_what_is_paused_and_frozen_once(repo: Scratch):
    say(repo, "freeze", "src/a.py", "--why", WHY)
    say(repo, "agent", "pause", "--all", "--why", "wait")
    assert 'You are paused by user ("wait")' in context(
        hook(repo, "session-start", "claude/session-start", "--agent", OTTER)
    )

    first = context(hook(repo, "prompt", "claude/prompt", "--agent", OTTER))
    assert f'user paused all agents at {NOON}: "wait"' in first
    assert f'user has frozen src/a.py: "{WHY}". You hold it, but you may not change it.' in first
    assert context(hook(repo, "prompt", "claude/prompt", "--agent", OTTER)) == ""


def test_before_it_stops_a_paused_agent_is_reminded_of_what_others_could_go_on_with(repo: Scratch):
    say(repo, "agent", "pause", OTTER, "--why", WHY)
    reason = reply(hook(repo, "stop", "claude/stop", "--agent", OTTER))["reason"]
    assert f'user paused you at {NOON}: "{WHY}"' in reason
    assert "You still hold src" in reason


def test_a_paused_agent_with_nothing_left_to_do_may_stop(repo: Scratch):
    say(repo, "agent", "release", "--agent", OTTER, "--all")
    say(repo, "agent", "pause", OTTER)
    for message in repo.json("agent", "inbox", "--agent", OTTER).data:
        say(repo, "agent", "read", "--agent", OTTER, "--message", message["message_id"])
    assert reply(hook(repo, "stop", "claude/stop", "--agent", OTTER)) == {}


@pytest.mark.parametrize(
    "command", ["bb thaw --all", "env -u BB_AGENT bb agent unpause --all", "bb agent release --agent user --scope src"]
)
def test_an_agent_in_an_editor_does_not_speak_for_the_person(repo: Scratch, command: str):
    why = refusal(hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command=command))
    assert f"is for the person only, and you are {OTTER}" in why
    assert "bb send user" in why
    assert refusal(hook(repo, "pre-tool", "claude/bash", command=command)) == "", "as a person's command"
    assert refusal(hook(repo, "pre-tool", "claude/bash", "--agent", OTTER, command="bb agent inbox --agent user")) == ""
