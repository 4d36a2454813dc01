"""Where the ledger is: the same directory that git itself takes for common to a clone, in every situation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bb.ledger.git import place
from bb.ledger.git.place import NotARepository
from tests.support import Scratch, environment, scratch


def git_finds(cwd: Path, **settings: str) -> str | None:
    """The common directory according to git; None when it finds no repository."""
    done = subprocess.run(
        ["git", "rev-parse", "--git-common-dir"], cwd=cwd, env=environment(**settings), capture_output=True, text=True
    )
    return None if done.returncode else os.path.realpath(cwd / done.stdout.removesuffix("\n"))


def bb_finds(cwd: Path, **settings: str) -> str | None:
    try:
        return os.path.realpath(place.find(str(cwd), settings).common)
    except NotARepository.error:
        return None


def agree(cwd: Path, **settings: str) -> str | None:
    """What both find, which must be the same."""
    assert bb_finds(cwd, **settings) == git_finds(cwd, **settings)
    return bb_finds(cwd, **settings)


def worktree_of(repo: Scratch, path: Path) -> Path:
    repo.git("worktree", "add", "--quiet", "--detach", str(path))
    return path


def test_the_top_and_every_sub_directory_share_one_ledger(repo: Scratch):
    deep = repo.path / "src" / "deep"
    deep.mkdir(parents=True)

    assert agree(repo.path) == agree(deep) == str(repo.path / ".git")


def test_a_worktree_and_its_sub_directories_share_the_ledger_of_the_main_tree(repo: Scratch, tmp_path: Path):
    linked = worktree_of(repo, tmp_path / "linked")
    (linked / "sub").mkdir()

    assert agree(linked) == agree(linked / "sub") == str(repo.path / ".git")


def test_a_worktree_that_was_moved_by_git_still_shares_it(repo: Scratch, tmp_path: Path):
    worktree_of(repo, tmp_path / "linked")
    repo.git("worktree", "move", str(tmp_path / "linked"), str(tmp_path / "elsewhere"))

    assert agree(tmp_path / "elsewhere") == str(repo.path / ".git")


def test_a_bare_repository_keeps_its_own(repo: Scratch, tmp_path: Path):
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))

    assert agree(bare) == agree(bare / "objects") == str(bare)


def test_worktrees_of_a_bare_repository_share_its_ledger(repo: Scratch, tmp_path: Path):
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    linked = worktree_of(Scratch(bare), tmp_path / "linked")

    assert agree(linked) == str(bare)


def test_a_bare_repository_beside_its_worktrees_behind_a_git_file(repo: Scratch, tmp_path: Path):
    hub = tmp_path / "hub"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(hub / ".bare"))
    (hub / ".git").write_text("gitdir: ./.bare\n")
    linked = worktree_of(Scratch(hub), hub / "main")

    assert agree(hub) == agree(linked) == str(hub / ".bare")


def test_a_submodule_keeps_its_own(repo: Scratch, tmp_path: Path):
    inner = scratch(tmp_path / "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "module")

    assert agree(repo.path / "module") == str(repo.path / ".git" / "modules" / "module")
    assert agree(repo.path) == str(repo.path / ".git")


def test_a_worktree_of_a_submodule_shares_that_of_the_submodule(repo: Scratch, tmp_path: Path):
    inner = scratch(tmp_path / "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "module")
    linked = worktree_of(Scratch(repo.path / "module"), tmp_path / "linked")

    assert agree(linked) == str(repo.path / ".git" / "modules" / "module")


def test_a_git_directory_kept_elsewhere_is_found(tmp_path: Path):
    (tmp_path / "tree").mkdir()
    Scratch(tmp_path / "tree").git("init", "--quiet", "--separate-git-dir", str(tmp_path / "kept"))

    assert agree(tmp_path / "tree") == str(tmp_path / "kept")


def test_a_git_directory_behind_a_symbolic_link_is_found(repo: Scratch, tmp_path: Path):
    (repo.path / ".git").rename(tmp_path / "kept")
    (repo.path / ".git").symlink_to(tmp_path / "kept")

    assert agree(repo.path) == str(tmp_path / "kept")


def test_a_worktree_entered_through_symbolic_links_is_found(repo: Scratch, tmp_path: Path):
    linked = worktree_of(repo, tmp_path / "linked")
    (tmp_path / "door").symlink_to(linked)

    assert agree(tmp_path / "door") == str(repo.path / ".git")


@pytest.mark.parametrize("below", ["", "refs", "refs/heads", "hooks", "objects/info"])
def test_inside_the_git_directory_it_is_that_repository(repo: Scratch, below: str):
    (repo.path / ".git" / below).mkdir(parents=True, exist_ok=True)

    assert agree(repo.path / ".git" / below) == str(repo.path / ".git")


def test_inside_a_worktrees_own_git_directory_it_is_the_shared_one(repo: Scratch, tmp_path: Path):
    worktree_of(repo, tmp_path / "linked")

    assert agree(repo.path / ".git" / "worktrees" / "linked") == str(repo.path / ".git")


def test_inside_the_ledger_itself_it_is_that_repository(repo: Scratch):
    assert repo.bb("init").status == 0

    assert agree(repo.store / "j") == str(repo.path / ".git")


def test_an_unborn_branch_has_a_ledger_too(tmp_path: Path):
    unborn = scratch(tmp_path / "unborn", commit=False)

    assert agree(unborn.path) == str(unborn.path / ".git")


def test_a_detached_head_changes_nothing(repo: Scratch):
    repo.git("checkout", "--quiet", "--detach")

    assert agree(repo.path) == str(repo.path / ".git")


def test_a_repository_in_a_repository_is_its_own(repo: Scratch):
    inner = scratch(repo.path / "vendored")

    assert agree(inner.path) == str(inner.path / ".git")


def test_an_empty_git_directory_is_passed_over(repo: Scratch):
    (repo.path / "sub" / ".git").mkdir(parents=True)

    assert agree(repo.path / "sub") == str(repo.path / ".git")


def test_a_directory_name_may_hold_spaces_and_foreign_letters(repo: Scratch, tmp_path: Path):
    linked = worktree_of(repo, tmp_path / "ein Baum – дерево")

    assert agree(linked) == str(repo.path / ".git")


@pytest.mark.parametrize("git_dir", [".git", "./.git", "../repo/.git", "{repo}/.git", "{repo}/.git/"])
def test_a_hooks_git_dir_is_obeyed_relative_and_absolute(repo: Scratch, git_dir: str):
    assert agree(repo.path, GIT_DIR=git_dir.format(repo=repo.path)) == str(repo.path / ".git")


def test_git_dir_leads_to_a_repository_far_from_here(repo: Scratch, tmp_path: Path):
    other = scratch(tmp_path / "other")

    assert agree(other.path, GIT_DIR=str(repo.path / ".git")) == str(repo.path / ".git")


def test_git_dir_of_a_worktree_leads_to_the_shared_directory(repo: Scratch, tmp_path: Path):
    linked = worktree_of(repo, tmp_path / "linked")
    own = repo.path / ".git" / "worktrees" / "linked"

    assert agree(linked, GIT_DIR=str(own)) == str(repo.path / ".git")
    assert agree(tmp_path, GIT_DIR=str(own)) == str(repo.path / ".git")


def test_git_dir_may_name_a_git_file(repo: Scratch, tmp_path: Path):
    linked = worktree_of(repo, tmp_path / "linked")

    assert agree(tmp_path, GIT_DIR=str(linked / ".git")) == str(repo.path / ".git")


def test_a_common_directory_named_beside_git_dir_is_obeyed(repo: Scratch, tmp_path: Path):
    worktree_of(repo, tmp_path / "linked")
    own = repo.path / ".git" / "worktrees" / "linked"

    assert agree(tmp_path, GIT_DIR=str(own), GIT_COMMON_DIR=str(repo.path / ".git")) == str(repo.path / ".git")


def test_git_dir_that_leads_nowhere_is_passed_over_for_the_repository_around_us(repo: Scratch):
    """Unlike git: a tool that a hook started went elsewhere, and is better served by where it is."""
    assert git_finds(repo.path, GIT_DIR="nowhere/.git") is None
    assert bb_finds(repo.path, GIT_DIR="nowhere/.git") == str(repo.path / ".git")


def test_git_dir_that_leads_nowhere_outside_any_repository_finds_none(tmp_path: Path):
    assert agree(tmp_path, GIT_DIR="nowhere/.git") is None


def test_an_empty_git_dir_counts_as_none(repo: Scratch):
    assert bb_finds(repo.path, GIT_DIR="") == str(repo.path / ".git")


def test_the_search_does_not_climb_above_a_ceiling(repo: Scratch):
    deep = repo.path / "a" / "b"
    deep.mkdir(parents=True)

    assert agree(deep, GIT_CEILING_DIRECTORIES=str(repo.path)) is None
    assert agree(deep, GIT_CEILING_DIRECTORIES=str(repo.path / "a")) is None
    assert agree(deep, GIT_CEILING_DIRECTORIES=str(repo.path.parent)) == str(repo.path / ".git")
    assert agree(repo.path, GIT_CEILING_DIRECTORIES=str(repo.path)) == str(repo.path / ".git")


@pytest.mark.parametrize("ceilings", ["/nowhere{sep}{repo}", "{repo}/", "{repo}{sep}/nowhere"])
def test_ceilings_come_as_a_list_and_with_slashes(repo: Scratch, ceilings: str):
    deep = repo.path / "a"
    deep.mkdir()

    assert agree(deep, GIT_CEILING_DIRECTORIES=ceilings.format(sep=os.pathsep, repo=repo.path)) is None


def test_a_ceiling_behind_a_symbolic_link_holds(repo: Scratch, tmp_path: Path):
    deep = repo.path / "a"
    deep.mkdir()
    (tmp_path / "door").symlink_to(repo.path)

    assert agree(deep, GIT_CEILING_DIRECTORIES=str(tmp_path / "door")) is None


def test_a_git_file_that_points_nowhere_is_no_repository(tmp_path: Path):
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")

    assert agree(tmp_path) is None


def test_a_git_file_that_points_nowhere_does_not_lend_its_tree_to_the_repository_around_it(repo: Scratch):
    """A worktree whose main repository went away must not write into the ledger of whatever lies around it."""
    orphan = repo.path / "orphan"
    orphan.mkdir()
    (orphan / ".git").write_text("gitdir: /nowhere/at/all\n")

    assert agree(orphan) is None


def test_no_repository_is_refused_with_the_way_out(tmp_path: Path):
    assert agree(tmp_path) is None

    with pytest.raises(NotARepository.error) as refusal:
        place.find(str(tmp_path), {})

    assert refusal.value.code == "NOT_A_REPOSITORY"
    assert refusal.value.hint


def test_a_deleted_directory_is_refused_too(repo: Scratch):
    gone = repo.path / "gone"
    gone.mkdir()

    done = subprocess.run(
        ["sh", "-c", f'rmdir "{gone}"; exec "$0" -m bb ledger status --json', os.sys.executable],
        cwd=gone,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert '"NOT_A_REPOSITORY"' in done.stdout


@pytest.mark.parametrize("options", [["--object-format=sha256"], ["--shared=group"], ["--template="]])
def test_repositories_of_other_makes_are_repositories(tmp_path: Path, options: list[str]):
    (tmp_path / "odd").mkdir()
    Scratch(tmp_path / "odd").git("init", "--quiet", *options)

    assert agree(tmp_path / "odd") == str(tmp_path / "odd" / ".git")


def test_a_shallow_clone_is_a_repository(repo: Scratch, tmp_path: Path):
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))

    assert agree(tmp_path / "shallow") == str(tmp_path / "shallow" / ".git")


def test_a_folder_that_no_system_has_is_in_no_repository_and_is_not_looked_for(tmp_path: Path):
    with pytest.raises(place.NotARepository.error):
        place.find(f"{tmp_path}/" + "a/" * 200_000, {})
