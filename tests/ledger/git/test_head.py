"""The commit that is checked out is read from git's files, whatever form they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.git import head
from bb.ledger.git import place as places
from tests.support import Scratch, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return scratch(tmp_path / "repo")


def found(repo: Scratch, folder: Path | None = None) -> tuple[str, str]:
    place = places.find(str(folder or repo.path), {})
    assert head.commit(place) == head.by_git(place), "git says the same"
    return head.commit(place), head.branch(place)


def id_of(repo: Scratch, name: str = "HEAD") -> str:
    return repo.git("rev-parse", name).strip()


def test_a_branch(repo: Scratch):
    assert found(repo) == (id_of(repo), "refs/heads/main")


def test_a_branch_with_folders_in_its_name(repo: Scratch):
    repo.git("checkout", "-q", "-b", "agents/amber/dates")
    repo.git("commit", "-q", "--allow-empty", "-m", "More")

    assert found(repo) == (id_of(repo), "refs/heads/agents/amber/dates")


def test_packed_refs(repo: Scratch):
    repo.git("branch", "main-2")
    repo.git("branch", "xmain")
    repo.git("pack-refs", "--all")
    assert found(repo) == (id_of(repo), "refs/heads/main")

    repo.git("commit", "-q", "--allow-empty", "-m", "More")
    assert found(repo)[0] == id_of(repo), "a file of its own is newer than the packed ones"


def test_no_commit_yet(tmp_path: Path):
    repo = scratch(tmp_path / "repo", commit=False)

    assert found(repo) == ("", "refs/heads/main")
    repo.git("pack-refs", "--all")
    assert found(repo)[0] == ""


def test_a_detached_head(repo: Scratch):
    repo.git("checkout", "-q", "--detach")

    assert found(repo) == (id_of(repo), "")


def test_another_work_tree(repo: Scratch, tmp_path: Path):
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "x").write_text("x")
    repo.git("add", "x", cwd=tmp_path / "side")
    repo.git("commit", "-q", "-m", "There", cwd=tmp_path / "side")

    assert found(repo, tmp_path / "side") == (id_of(repo, "side"), "refs/heads/side")
    assert found(repo) == (id_of(repo, "main"), "refs/heads/main")


def test_a_symbolic_branch(repo: Scratch):
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/alias")

    assert found(repo)[0] == id_of(repo, "main")


def test_refs_that_lead_to_each_other_are_no_commit(repo: Scratch):
    for one, other in (("a", "b"), ("b", "a")):
        (repo.path / ".git" / "refs" / "heads" / one).write_text(f"ref: refs/heads/{other}\n")
    (repo.path / ".git" / "HEAD").write_text("ref: refs/heads/a\n")

    assert head.commit(places.find(str(repo.path), {})) == ""


@pytest.mark.parametrize(
    "text", ["ref: ../../../etc/passwd\n", "ref: refs/../../x\n", "junk\n", "", "ref: refs/heads/a\0b\n"]
)
def test_a_head_that_is_none_leads_nowhere(repo: Scratch, text: str):
    place = places.find(str(repo.path), {})
    (repo.path / ".git" / "HEAD").write_text(text)

    assert head.commit(place) == ""


def test_sha256(tmp_path: Path):
    repo = Scratch(tmp_path)
    repo.git("init", "-q", "--object-format=sha256")
    repo.git("commit", "-q", "--allow-empty", "-m", "x")

    assert len(found(repo)[0]) == 64


def test_a_store_of_refs_that_bb_cannot_read_is_read_by_git(tmp_path: Path):
    repo = Scratch(tmp_path)
    try:
        repo.git("init", "-q", "--ref-format=reftable")
    except Exception:
        pytest.skip("this git has no reftable")
    repo.git("commit", "-q", "--allow-empty", "-m", "x")

    assert head.commit(places.find(str(repo.path), {})) == id_of(repo)
