"""A revert, a patch or a stash that would change a held file is refused before it runs, as an edit of the file is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, crew, nothing_written, reserve
from tests.stories.editors.editors_support import hook, refusal
from tests.support import Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """cobalt-harbor holds src/theirs.py. The last commits and patches changed it, mine.py, or both."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "src").mkdir()
    for number, names in enumerate([("mine.py", "src/theirs.py"), ("mine.py",), ("src/theirs.py",)]):
        for name in names:
            (made.path / name).write_text(f"{number}\n")
        made.git("add", "-A")
        made.git("commit", "-qm", f"Change {number}")
    for name, commit in (("mine", "HEAD~1"), ("theirs", "HEAD")):
        patch = made.git("format-patch", "-1", "--stdout", commit)
        (made.path.parent / f"{name}.patch").write_text(patch)
    made.git("branch", "theirs")
    made.git("branch", "mine", "HEAD~1")
    reserve(made, HARBOR, "src/theirs.py")
    return made


def why_not(repo: Scratch, command: str, cwd: Path | None = None) -> str:
    return refusal(hook(repo, "pre-tool", "claude/bash", BB_AGENT=OTTER, command=command, cwd=cwd))


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git revert HEAD",
            "git revert --no-commit HEAD~2..HEAD",
            "cd src && git revert HEAD",
            "git cherry-pick theirs",
        ),
        *("git checkout HEAD~1 -- src/theirs.py", "git checkout HEAD~1 -- src", "cd src && git checkout HEAD~1 -- ."),
        *("git restore --source=HEAD~1 src/theirs.py", "git restore -s HEAD~1 -- ."),
        *("git apply -R ../theirs.patch", "git am < ../theirs.patch", "git am ../theirs.patch"),
        *(
            "cd src && git am ../../theirs.patch",
            "patch -p1 -R < ../theirs.patch",
            "patch -p2 -d src -i ../theirs.patch",
        ),
        *("patch src/theirs.py < ../theirs.patch", "bash -c 'git revert HEAD'"),
    ],
)
def test_what_would_change_a_held_file_is_refused(repo: Scratch, command: str):
    with nothing_written(repo):
        why = why_not(repo, command)

    assert f"src/theirs.py is reserved by {HARBOR}" in why
    assert "bb reserve src/theirs.py --queue" in why


@pytest.mark.parametrize(
    "command",
    [
        *("git revert HEAD~1", "git cherry-pick mine", "git checkout HEAD~1 -- mine.py", "git checkout mine"),
        *("git restore --source=HEAD~1 mine.py", "git apply ../mine.patch", "git am < ../mine.patch"),
        *("git merge theirs", "git rebase theirs", "git merge --squash mine"),
        *(
            "git revert nothing",
            "git am nowhere.patch",
            "git apply ../nowhere",
            "git revert --abort",
            "git revert HEAD~99",
        ),
    ],
)
def test_what_changes_only_own_files_or_cannot_be_known_passes(repo: Scratch, command: str):
    assert why_not(repo, command) == ""


def test_the_command_and_the_file_are_named(repo: Scratch):
    assert why_not(repo, "git revert HEAD").startswith("bb: `git revert HEAD` would change src/theirs.py. ")


def test_a_patch_in_a_here_document_is_read(repo: Scratch):
    text = (repo.path.parent / "theirs.patch").read_text()

    assert HARBOR in why_not(repo, f"git apply -R <<'EOF'\n{text}EOF\n")


def test_a_stash_is_judged_by_its_files(repo: Scratch):
    (repo.path / "src" / "theirs.py").write_text("9\n")
    (repo.path / "src" / "new.py").write_text("9\n")
    repo.git("stash", "push", "--quiet", "--include-untracked")
    reserve(repo, HARBOR, "src/new.py")
    repo.json("agent", "release", "--agent", HARBOR, "--scope", "src/theirs.py")

    assert f"src/new.py is reserved by {HARBOR}" in why_not(repo, "git stash apply")
    assert why_not(repo, "git stash show -p") == ""


def test_what_a_squash_brings_is_judged_and_a_merge_is_not(repo: Scratch):
    repo.git("checkout", "--quiet", "-b", "side", "mine")
    assert HARBOR in why_not(repo, "git merge --squash theirs")
    assert why_not(repo, "git merge theirs") == ""
