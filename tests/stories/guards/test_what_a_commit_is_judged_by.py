"""Whichever way a commit comes about, git's own hook finds exactly what that commit changes of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.guards.guards_support import (
    HARBOR,
    OTTER,
    git,
    guard,
    history,
    last_paths,
    verdicts,
    well,
    write,
)
from tests.support import Scratch

AS_HARBOR = {"BB_AGENT": HARBOR}


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """HARBOR works here; OTTER holds src/parser."""
    made = history(tmp_path / "repo")
    guard(made)
    return made


def head(repo: Scratch) -> str:
    return repo.git("rev-parse", "HEAD")


def branch(repo: Scratch, name: str, **files: str) -> None:
    """A branch from here with one commit that nobody judges."""
    well(git(repo, "checkout", "--quiet", "-b", name))
    commit(repo, name, **files)
    well(git(repo, "checkout", "--quiet", "-"))


def commit(repo: Scratch, message: str, **files: str) -> None:
    """A commit that nobody judges; `src__parser__a` is src/parser/a.py."""
    for name, text in files.items():
        write(repo, f"{name.replace('__', '/')}.py", text)
    repo.git("add", ".")
    well(git(repo, "commit", "--quiet", "--no-verify", "-m", message))


def test_a_refused_commit_is_not_made(repo: Scratch):
    before = head(repo)
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    assert git(repo, "commit", "-m", "Mine", **AS_HARBOR).status != 0
    assert head(repo) == before
    assert git(repo, "commit", "-m", "Mine", BB_AGENT=OTTER).status == 0


def test_commit_all_is_judged_by_the_index_it_makes_for_itself(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    write(repo, "lib/x.py", "changed\n")

    assert git(repo, "commit", "-a", "-m", "All", **AS_HARBOR).status != 0
    assert last_paths(repo) == {"lib/x.py": "free", "src/parser/a.py": "held"}


def test_commit_only_leaves_out_what_else_is_staged(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    write(repo, "lib/x.py", "changed\n")

    well(git(repo, "commit", "--only", "lib/x.py", "-m", "One", **AS_HARBOR))
    assert last_paths(repo) == {"lib/x.py": "free"}
    assert git(repo, "commit", "--include", "lib/x.py", "-m", "Both", **AS_HARBOR).status != 0


def test_commit_patch_is_judged_by_the_hunks_that_were_chosen(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    write(repo, "lib/x.py", "changed\n")

    well(git(repo, "commit", "-p", "-m", "Chosen", stdin="y\nn\n", **AS_HARBOR))

    assert last_paths(repo) == {"lib/x.py": "free"}


def test_it_works_in_a_sub_directory_and_in_a_linked_worktree(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "--quiet", "-b", "side", str(side))
    for top in (repo.path, side):
        write(repo, "src/parser/a.py", f"changed in {top.name}\n", cwd=top)
        assert git(repo, "commit", "-a", "-m", "Mine", cwd=top / "src", **AS_HARBOR).status != 0
        assert last_paths(repo) == {"src/parser/a.py": "held"}


def test_git_dir_and_work_tree_from_the_environment_are_obeyed(repo: Scratch, tmp_path: Path):
    write(repo, "src/parser/a.py", "changed\n")
    places = {"GIT_DIR": str(repo.path / ".git"), "GIT_WORK_TREE": str(repo.path)}

    assert git(repo, "commit", "-a", "-m", "Mine", cwd=tmp_path, **places, **AS_HARBOR).status != 0
    assert last_paths(repo) == {"src/parser/a.py": "held"}


def test_an_amendment_is_judged_by_what_it_adds_to_the_last_commit(repo: Scratch):
    """Git tells a hook nothing of amending, and what the commit had before was judged then."""
    commit(repo, "Others' work", src__parser__a="theirs\n")
    write(repo, "lib/x.py", "changed\n")

    well(git(repo, "commit", "-a", "--amend", "--no-edit", **AS_HARBOR))
    assert last_paths(repo) == {"lib/x.py": "free"}
    write(repo, "src/parser/b.py", "changed\n")
    assert git(repo, "commit", "-a", "--amend", "--no-edit", **AS_HARBOR).status != 0


# -- merges


def test_a_merge_that_goes_cleanly_is_nobodys_doing(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n")
    commit(repo, "Ours", lib__x="ours\n")

    well(git(repo, "merge", "--no-edit", "side", **AS_HARBOR))

    assert verdicts(repo) == [], "git does not ask the pre-commit hook about it"


def test_of_a_merge_only_what_differs_from_every_side_is_judged(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n", lib__x="theirs\n", docs__new="theirs\n")
    commit(repo, "Ours", src__parser__b="ours\n", lib__x="ours\n")
    assert "CONFLICT" in git(repo, "merge", "side", **AS_HARBOR).out
    write(repo, "lib/x.py", "both\n")
    repo.git("add", "lib/x.py")

    well(git(repo, "commit", "--no-edit", **AS_HARBOR))

    assert last_paths(repo) == {"lib/x.py": "free"}


def test_a_conflict_solved_in_what_is_held_is_refused_unless_it_takes_a_side(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n")
    commit(repo, "Ours", src__parser__a="ours\n")
    assert "CONFLICT" in git(repo, "merge", "side", **AS_HARBOR).out
    write(repo, "src/parser/a.py", "a third thing\n")
    repo.git("add", ".")
    assert git(repo, "commit", "--no-edit", **AS_HARBOR).status != 0
    assert last_paths(repo) == {"src/parser/a.py": "held"}
    repo.git("checkout", "side", "--", "src/parser/a.py")

    well(git(repo, "commit", "--no-edit", **AS_HARBOR))


def test_a_change_smuggled_into_a_merge_is_found(repo: Scratch):
    branch(repo, "side", docs__new="theirs\n")
    commit(repo, "Ours", lib__x="ours\n")
    well(git(repo, "merge", "--no-commit", "side", **AS_HARBOR))
    write(repo, "src/parser/a.py", "smuggled\n")
    repo.git("rm", "--quiet", "src/parser/b.py")
    repo.git("add", ".")

    assert git(repo, "commit", "--no-edit", **AS_HARBOR).status != 0
    assert last_paths(repo) == {"src/parser/a.py": "held", "src/parser/b.py": "held"}


def test_what_git_put_together_from_both_sides_is_not_the_mergers_doing(repo: Scratch):
    lines = [f"{number}\n" for number in range(20)]
    commit(repo, "Long", src__parser__a="".join(lines), lib__x="".join(lines))
    for_them = ["theirs\n", *lines[1:]]
    branch(repo, "side", src__parser__a="".join(for_them), lib__x="theirs\n")
    commit(repo, "Ours", src__parser__a="".join([*lines[:-1], "ours\n"]), lib__x="ours\n")
    assert "CONFLICT" in git(repo, "merge", "side", **AS_HARBOR).out
    write(repo, "lib/x.py", "both\n")
    repo.git("add", "lib/x.py")

    well(git(repo, "commit", "--no-edit", **AS_HARBOR))

    assert last_paths(repo) == {"lib/x.py": "free"}


def test_a_merge_of_more_than_two_is_judged_against_each(repo: Scratch):
    branch(repo, "one", src__parser__a="first\n")
    branch(repo, "two", src__parser__b="second\n")
    branch(repo, "three", docs__three="three\n")
    commit(repo, "Ours", lib__y="ours\n")
    well(git(repo, "merge", "--no-commit", "one", "two", "three", **AS_HARBOR))
    write(repo, "lib/x.py", "the merger's own\n")
    repo.git("add", ".")

    well(git(repo, "commit", "--no-edit", **AS_HARBOR))

    assert last_paths(repo) == {"lib/x.py": "free"}
    assert len(repo.git("log", "-1", "--format=%P").split()) == 4


def test_a_squashed_merge_is_a_commit_like_any_other(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n")
    well(git(repo, "merge", "--squash", "side"))

    assert git(repo, "commit", "-m", "Squashed", **AS_HARBOR).status != 0


# -- history made again


def test_a_rebase_carries_other_peoples_commits_along(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n")
    commit(repo, "Ours", lib__x="ours\n")
    well(git(repo, "checkout", "--quiet", "side"))

    well(git(repo, "rebase", "--quiet", "main", **AS_HARBOR))
    well(git(repo, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-i", "HEAD~1", **AS_HARBOR))
    well(git(repo, "commit", "--amend", "-m", "Reworded", **AS_HARBOR))
    well(git(repo, "rebase", "--continue", **AS_HARBOR))

    assert "Reworded" in repo.git("log", "-1", "--format=%s")


def test_in_a_rebase_what_the_replayed_commit_had_is_free_and_what_is_added_is_not(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n", lib__x="theirs\n")
    commit(repo, "Ours", lib__x="ours\n")
    well(git(repo, "checkout", "--quiet", "side"))
    assert "CONFLICT" in git(repo, "rebase", "main", **AS_HARBOR).out
    write(repo, "lib/x.py", "both\n")
    repo.git("add", ".")
    well(git(repo, "commit", "-m", "By hand", **AS_HARBOR))
    assert last_paths(repo) == {"lib/x.py": "free"}
    write(repo, "src/parser/b.py", "more\n")
    repo.git("add", ".")

    assert git(repo, "commit", "--amend", "--no-edit", **AS_HARBOR).status != 0
    assert last_paths(repo) == {"src/parser/b.py": "held"}


def test_a_cherry_picked_change_is_a_change_made_here(repo: Scratch):
    branch(repo, "side", src__parser__a="theirs\n", lib__x="theirs\n")
    commit(repo, "Ours", lib__x="ours\n")
    assert "CONFLICT" in git(repo, "cherry-pick", "side", **AS_HARBOR).out
    write(repo, "lib/x.py", "both\n")
    repo.git("add", ".")

    assert git(repo, "cherry-pick", "--continue", **AS_HARBOR).status != 0
    assert last_paths(repo) == {"lib/x.py": "free", "src/parser/a.py": "held"}
    well(git(repo, "cherry-pick", "--continue"))
