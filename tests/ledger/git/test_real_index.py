"""git's own index is changed as git does it: behind its lock, complete or not at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bb.ledger.git import place as places
from bb.ledger.git import real_index
from bb.ledger.git.place import Place
from bb.ledger.git.real_index import IndexBusy
from tests.support import Scratch, environment, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "repo")
    for name in ("a.py", "b/c.py", "odd [x].py"):
        path = made.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{name}\n")
    made.git("add", "-A")
    return made


def place_of(repo: Scratch) -> Place:
    return places.find(str(repo.path), {})


def blob(repo: Scratch, text: str) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=repo.path,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def lock_of(repo: Scratch) -> Path:
    return repo.path / ".git" / "index.lock"


def git_adds(repo: Scratch) -> int:
    return subprocess.run(
        ["git", "add", "a.py"], cwd=repo.path, env=environment(), stderr=subprocess.DEVNULL
    ).returncode


def test_what_is_staged_is_read_by_literal_names(repo: Scratch):
    found = real_index.staged(place_of(repo), ["odd [x].py", "b/c.py", "*.py", "missing"])

    assert found == {"odd [x].py": ("100644", blob(repo, "odd [x].py\n")), "b/c.py": ("100644", blob(repo, "b/c.py\n"))}


def test_git_waits_outside_while_bb_has_the_lock(repo: Scratch):
    place = place_of(repo)
    real_index.lock(place)

    assert git_adds(repo) != 0
    real_index.unlock(place, is_done=False)
    assert git_adds(repo) == 0


def test_a_prepared_index_is_seen_only_when_it_is_done(repo: Scratch):
    place, new = place_of(repo), blob(repo, "new\n")
    for is_done in (False, True):
        real_index.lock(place)
        noted: list[list[int]] = []
        changes = {"a.py": ("100755", new), "b/c.py": None, "n/e/w.py": ("100644", new)}
        real_index.prepare(place, changes, 40, lambda lock: noted.append(list(lock)))
        assert noted == [list(real_index.identity(str(lock_of(repo))))], "the note knows the lock that is there then"
        assert sorted(repo.git("ls-files").splitlines()) == ["a.py", "b/c.py", "odd [x].py"]
        real_index.unlock(place, is_done=is_done)
        assert not lock_of(repo).exists()

    assert real_index.staged(place, list(changes)) == {"a.py": ("100755", new), "n/e/w.py": ("100644", new)}
    assert [name for name in os.listdir(repo.path / ".git") if name.endswith(".bb")] == []


def test_an_index_is_made_where_nothing_was_ever_staged(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    (repo.path / ".git" / "index").unlink(missing_ok=True)
    place = place_of(repo)

    real_index.lock(place)
    real_index.prepare(place, {"a.py": ("100644", blob(repo, "x"))}, 40, lambda _: None)
    real_index.unlock(place, is_done=True)

    assert repo.git("ls-files") == "a.py\n"


def test_a_lock_of_git_is_never_touched(repo: Scratch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_index, "PATIENCE", 0.02)
    for content in (b"", b"DIRC\0\0\0\2", b"bbx"):
        lock_of(repo).write_bytes(content)
        with pytest.raises(IndexBusy.error):
            real_index.lock(place_of(repo))
        assert lock_of(repo).read_bytes() == content
        assert [name for name in os.listdir(repo.path / ".git") if name.endswith(".bb")] == []


def test_a_lock_that_a_killed_bb_left_is_taken(repo: Scratch):
    place = place_of(repo)
    lock_of(repo).write_bytes(real_index.OURS + b"1\n")
    (repo.path / ".git" / "index.77.bb").write_bytes(b"left")

    real_index.lock(place)
    real_index.unlock(place, is_done=False)

    assert not lock_of(repo).exists()
    assert not (repo.path / ".git" / "index.77.bb").exists()


def test_a_conflict_in_the_index_says_so(repo: Scratch):
    repo.git("commit", "-qm", "Files")
    for branch, text in (("one", "1\n"), ("two", "2\n")):
        repo.git("checkout", "-q", "-b", branch, "main")
        (repo.path / "a.py").write_text(text)
        repo.git("commit", "-qam", branch)
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "-q", "one")

    mode, _ = real_index.staged(place_of(repo), ["a.py"])["a.py"]
    assert mode == real_index.UNMERGED
