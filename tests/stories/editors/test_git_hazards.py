"""Two agents in one clone: git commands that would hurt the other one are refused, with what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, nothing_written, reserve
from tests.stories.editors.editors_support import hook, refusal, reply
from tests.support import Scratch

SHELLS = ["claude/bash", "codex/bash", "gemini/shell", "opencode/bash", "cursor/shell", "vscode/terminal", "qwen/shell"]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """amber-otter has changed mine.py, cobalt-harbor theirs.py; both hold what they have changed."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "docs").mkdir()
    for name in ("mine.py", "theirs.py", "docs/free.md"):
        (made.path / name).write_text("1\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "Files")
    for name in ("mine.py", "theirs.py"):
        (made.path / name).write_text("2\n")
    reserve(made, OTTER, "mine.py")
    reserve(made, HARBOR, "theirs.py")
    return made


def why_not(repo: Scratch, command: str, name: str = "claude/bash", cwd: Path | None = None) -> str:
    return refusal(hook(repo, "pre-tool", name, BB_AGENT=OTTER, command=command, cwd=cwd))


@pytest.mark.parametrize("name", SHELLS)
def test_the_shared_stash_is_left_alone_in_every_editor(repo: Scratch, name: str):
    with nothing_written(repo):
        why = why_not(repo, "git stash && git pull", name)

    assert f"other active agents here: {HARBOR}." in why
    assert "`bb commit -m MESSAGE`" in why
    assert why_not(repo, "git stash list", name) == ""


@pytest.mark.parametrize(
    ("command", "about"),
    [
        ("git reset --hard", "theirs.py"),
        ("git checkout .", "theirs.py"),
        ("git restore theirs.py", "theirs.py"),
        ("git checkout -f main", "theirs.py"),
        ("git add -A", "theirs.py"),
        ("git add .", "theirs.py"),
        ("git commit -am 'All of it'", "theirs.py"),
        ("cd docs && git add ..", "theirs.py"),
        ("cd docs && git reset --hard", "theirs.py"),
        ("git -C docs commit -a -m x", "theirs.py"),
        ("git add '*.py'", "theirs.py"),
        ("git rebase main", "theirs.py"),
        ("git push --force", HARBOR),
        ("git clean -fdx", HARBOR),
        ("bash -c 'git stash pop'", HARBOR),
    ],
)
def test_what_would_hurt_the_other_is_refused(repo: Scratch, command: str, about: str):
    assert about in why_not(repo, command)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git add mine.py",
            "git commit -m x -- mine.py",
            "git restore mine.py",
            "git add docs",
            "cd docs && git add .",
        ),
        *(
            "git checkout main",
            "git clean -fd",
            "git push",
            "git status",
            "ls",
            "git branch -D nothing",
            "git rebase -q",
        ),
        *("cd /nowhere/at/all && git reset --hard", "cd $X && git stash", "git --git-dir=/x stash"),
    ],
)
def test_what_hurts_nobody_passes(repo: Scratch, command: str):
    if command.startswith("git rebase"):
        repo.git("checkout", "-q", "--", "theirs.py")
    ran = hook(repo, "pre-tool", "claude/bash", BB_AGENT=OTTER, command=command)

    assert (ran.status, ran.out, ran.err) == (0, "", "")


def test_new_files_that_nobody_holds_are_spared_while_others_are_at_work(repo: Scratch):
    (repo.path / "new.txt").write_text("?")
    assert "new.txt, which you do not hold" in why_not(repo, "git clean -fd")

    reserve(repo, OTTER, "new.txt")
    assert why_not(repo, "git clean -fd") == ""


def test_alone_in_a_clone_everything_passes(repo: Scratch):
    repo.bb("agent", "release", "--agent", HARBOR, "--all")
    repo.bb("agent", "retire", "--agent", HARBOR)

    for command in ("git stash", "git reset --hard", "git clean -fdx", "git push -f", "git add -A"):
        assert why_not(repo, command) == "", command


def test_who_has_been_silent_for_long_keeps_what_it_holds_and_nothing_else(repo: Scratch):
    later = after(repo, 40)
    later.bb("agent", "heartbeat", "--agent", OTTER)

    assert why_not(later, "git stash") == ""
    assert "theirs.py" in why_not(later, "git reset --hard")


def test_another_worktree_has_its_own_files_and_the_same_stash(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "-q", "-b", "side", str(side))

    for cwd, command in ((side, "git {}"), (repo.path, f"git -C {side} {{}}"), (repo.path, f"cd {side} && git {{}}")):
        assert HARBOR in why_not(repo, command.format("stash"), cwd=cwd)
        assert why_not(repo, command.format("reset --hard"), cwd=cwd) == ""
    assert "theirs.py" in why_not(repo, f"git -C {repo.path} reset --hard", cwd=side)
    assert f"checked out in {side}" in why_not(repo, "git branch -D side")
    assert why_not(repo, "git branch -D side", cwd=side) == "", "git itself refuses that"


def test_the_worktree_of_a_session_is_not_removed_under_it(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "-q", "-b", "side", str(side))
    assert why_not(repo, f"git worktree remove {side}") == ""

    hook(repo, "session-start", "claude/session-start", "--agent", HARBOR, cwd=side)
    assert f"would remove the worktree of {HARBOR}" in why_not(repo, f"git worktree remove {side}")

    (repo.store / "sessions").rename(tmp_path / "elsewhere")
    (side / "new.txt").write_text("?")
    assert "new.txt" in why_not(repo, f"git worktree remove --force {side}")


def test_another_repository_is_no_business_of_ours(repo: Scratch, tmp_path: Path):
    other = tmp_path / "other"
    repo.git("init", "-q", str(other))

    assert why_not(repo, f"cd {other} && git stash && git reset --hard") == ""
    assert why_not(repo, "git stash", cwd=other) == ""


def test_a_person_is_not_stopped_and_what_cannot_be_told_passes(repo: Scratch):
    ran = hook(repo, "pre-tool", "claude/bash", command="git stash")
    assert (ran.status, ran.out) == (0, "")
    assert "allowed as a person's command" in ran.err

    ran = hook(repo, "pre-tool", "claude/bash", command="git reset --hard", BB_AGENT=OTTER, BB_NOW="never")
    assert (reply(ran), ran.status) == ({}, 0)
    assert "cannot check" in ran.err
