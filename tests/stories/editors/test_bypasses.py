"""An agent's shell may not switch bb's protection off: its hooks, its branch, its refs and its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import OTTER, crew, nothing_written
from tests.stories.editors.editors_support import hook, refusal
from tests.support import Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A clone in which amber-otter works alone, with bb's hooks in git."""
    made = crew(tmp_path / "repo", OTTER)
    made.bb("hooks", "install")
    return made


def why_not(repo: Scratch, command: str, cwd: Path | None = None, name: str = "claude/bash") -> str:
    return refusal(hook(repo, "pre-tool", name, BB_AGENT=OTTER, command=command, cwd=cwd))


@pytest.mark.parametrize(
    "command",
    [
        *("git commit --no-verify -m x", "git add x && git commit -anm x", "HUSKY=0 git commit -m x"),
        *("git push origin --delete bb-ledger", "git push origin :bb-ledger", "git update-ref -d refs/bb/ledger"),
        *("rm -rf .git/bb", "rm -rf .git", "find .git/bb -delete", "echo > .git/bb/clone.json", "mv .git/bb /tmp"),
        *("rm .git/hooks/pre-commit", "chmod -x .git/hooks/pre-commit", "rm -rf .git/hooks", "rm -rf .git/refs/bb"),
        *("bb hooks uninstall", "BB_AGENT=user git commit -m x"),
    ],
)
def test_a_lone_agent_is_refused_too_and_told_what_to_do_instead(repo: Scratch, command: str):
    with nothing_written(repo):
        why = why_not(repo, command)

    assert "Instead: " in why or "Ask the person" in why
    assert "bb send user 'TEXT'" in why


def test_a_person_and_another_repository_are_not_stopped(repo: Scratch, tmp_path: Path):
    other = tmp_path / "other"
    repo.git("init", "-q", str(other))

    for command in ("git commit -nm x", "rm -rf .git/hooks", "git push origin :bb-ledger", "rm -rf .git/bb"):
        assert why_not(repo, command, cwd=other) == ""
        assert refusal(hook(repo, "pre-tool", "claude/bash", command=command)) == "", "a person's command"


def test_the_ledger_is_found_from_a_worktree_and_through_a_link(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "-q", "-b", "side", str(side))
    (repo.path / "link").symlink_to(repo.store)

    assert "files of bb" in why_not(repo, f"rm -rf {repo.store}", cwd=side)
    assert "files of bb" in why_not(repo, "rm -rf ../repo/.git/bb", cwd=side)
    assert "switches off the hooks" in why_not(repo, "git commit -nm x", cwd=side)
    assert "files of bb" in why_not(repo, "echo > link/clone.json")
    assert "files of bb" in why_not(repo, "rm -rf bb", cwd=repo.path / ".git")
    assert why_not(repo, "rm link") == "", "a link is not what it leads to"


def test_a_hook_that_is_not_bbs_may_be_replaced(repo: Scratch):
    theirs = repo.path / ".git/hooks/commit-msg-of-theirs"
    theirs.write_text("#!/bin/sh\n")

    assert why_not(repo, f"rm {theirs}") == ""
    repo.bb("hooks", "uninstall")
    assert why_not(repo, "rm -rf .git/hooks") == ""


def test_an_editors_tool_may_not_write_into_the_ledger(repo: Scratch):
    def written(path: Path | str) -> str:
        return refusal(hook(repo, "pre-tool", "claude/write", BB_AGENT=OTTER, tool_input={"file_path": str(path)}))

    for path in (repo.store / "clone.json", ".git/bb/new.json", repo.path / ".git/hooks/pre-commit"):
        assert "which only bb may change" in written(path)
    assert written(repo.path / ".git/info/exclude") == written("src/new.py") == ""
