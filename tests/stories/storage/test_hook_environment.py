"""Inside a real hook, with the environment that git really sets, bb finds the ledger of the clone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.near import near
from tests.support import ROOT, Scratch

HOOK = """#!/bin/sh
echo "git_dir=$GIT_DIR" >> "{log}"
{change}
PYTHONPATH="{root}" "{python}" -m bb {words} --json >> "{log}"
"""


def install(repo: Scratch, name: str, log: Path, words: str, change: str = "") -> None:
    hook = repo.path / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(log=log, root=ROOT, python=sys.executable, words=words, change=change))
    hook.chmod(0o755)


def answers(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    assert made.bb("init").status == 0
    made.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    return made


@pytest.mark.parametrize("hook", ["post-commit", "pre-commit", "commit-msg", "prepare-commit-msg"])
@pytest.mark.parametrize("tree", ["repo", "linked"])
def test_a_commit_hook_finds_the_ledger_of_the_clone(repo: Scratch, tmp_path: Path, hook: str, tree: str):
    log = tmp_path / "log"
    install(repo, hook, log, "ledger status")

    repo.git("commit", "--quiet", "--allow-empty", "-m", "One", cwd=tmp_path / tree)

    (answer,) = answers(log)
    assert answer["ok"], answer
    assert answer["data"]["store"] == str(repo.store)  # type: ignore[index]
    assert answer["data"]["exists"] is True  # type: ignore[index]


def test_a_commit_in_a_sub_directory_does_too(repo: Scratch, tmp_path: Path):
    log = tmp_path / "log"
    install(repo, "post-commit", log, "ledger status")
    (repo.path / "deep" / "er").mkdir(parents=True)

    repo.git("commit", "--quiet", "--allow-empty", "-m", "One", cwd=repo.path / "deep" / "er")

    assert answers(log)[0]["data"]["store"] == str(repo.store)  # type: ignore[index]


def test_a_hook_may_record(repo: Scratch, tmp_path: Path):
    """Recording starts git once, which must not be led astray by the hook's own environment."""
    log = tmp_path / "log"
    fresh = near(tmp_path / "fresh")
    install(fresh, "post-commit", log, "agent register --name amber-otter --role builder")

    fresh.git("commit", "--quiet", "--allow-empty", "-m", "One")

    assert answers(log)[0]["ok"], answers(log)
    assert [agent["agent_id"] for agent in fresh.json("agent", "list").data] == ["amber-otter"]
    assert fresh.git("status", "--porcelain") == ""


def test_a_hook_that_goes_elsewhere_finds_what_is_there(repo: Scratch, tmp_path: Path):
    """A relative GIT_DIR leads nowhere from another directory; that of a linked worktree is absolute and is obeyed."""
    other = near(tmp_path / "other")
    assert other.bb("init").status == 0
    log = tmp_path / "log"
    install(repo, "pre-commit", log, "ledger status", change=f'cd "{other.path}"; GIT_DIR=nowhere/.git; export GIT_DIR')

    repo.git("commit", "--quiet", "--allow-empty", "-m", "One")

    assert answers(log)[0]["data"]["store"] == str(other.store)  # type: ignore[index]


def test_a_push_is_received_by_a_hook_that_finds_the_bare_ledger(repo: Scratch, tmp_path: Path):
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    log = tmp_path / "log"
    hook = bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(log=log, root=ROOT, python=sys.executable, words="init", change=""))
    hook.chmod(0o755)
    repo.git("commit", "--quiet", "--allow-empty", "-m", "One")

    repo.git("push", "--quiet", str(bare), "HEAD:refs/heads/new")

    assert answers(log)[0]["data"]["store"] == str(bare / "bb")  # type: ignore[index]
    assert os.path.isdir(bare / "bb" / "j")


def test_an_alias_that_git_runs_finds_it_from_anywhere(repo: Scratch, tmp_path: Path):
    (repo.path / "sub").mkdir()
    alias = f'!PYTHONPATH="{ROOT}" "{sys.executable}" -m bb ledger status --json'

    for cwd in (repo.path, repo.path / "sub", tmp_path / "linked"):
        answer = json.loads(repo.git("-c", f"alias.ask={alias}", "ask", cwd=cwd))
        assert answer["data"]["store"] == str(repo.store)


def test_a_rebase_runs_it_while_the_head_is_detached(repo: Scratch, tmp_path: Path):
    (repo.path / "file").write_text("one")
    repo.git("add", "file")
    repo.git("commit", "--quiet", "-m", "File")
    word = f'PYTHONPATH="{ROOT}" "{sys.executable}" -m bb ledger status --json >> "{tmp_path / "log"}"'

    repo.git("rebase", "--quiet", "--force-rebase", "--exec", word, "HEAD~1")

    assert answers(tmp_path / "log")[0]["data"]["store"] == str(repo.store)  # type: ignore[index]
