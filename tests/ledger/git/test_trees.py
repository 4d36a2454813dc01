"""A tree that differs from a commit's in some files is the one that git would write."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from bb.ledger.git import place as places
from bb.ledger.git import program, trees
from bb.ledger.git.loose_objects import LooseObjects
from tests.support import Scratch, environment, made_once

Entry = tuple[str, str]  # mode and object id
FORMATS = {"sha1": 40, "sha256": 64}
NAMES = ["a", "a.py", "a-b", "a/x", "a/y/z", "b/c/d", "b/c.py", "b.py", "b0", "z", "Ä/ö", "sp ace/q", "b/c/e"]


@pytest.fixture(scope="module", params=FORMATS)
def repo(request: pytest.FixtureRequest) -> Scratch:
    made = Scratch(made_once(f"trees-{request.param}"))
    made.git("init", "-q", f"--object-format={request.param}")
    return made


def length(repo: Scratch) -> int:
    return FORMATS[repo.git("rev-parse", "--show-object-format").strip()]


def blob(repo: Scratch, text: str) -> str:
    place = places.find(str(repo.path), {})
    return LooseObjects(place.common, length(repo)).keep("blob", text.encode())


def by_git(repo: Scratch, files: dict[str, Entry]) -> str:
    """The tree of FILES as `git write-tree` makes it."""
    index = repo.path / ".git" / "test-index"
    index.unlink(missing_ok=True)
    rows = "".join(f"{mode} {name}\t{path}\0" for path, (mode, name) in files.items())
    env = environment(GIT_INDEX_FILE=str(index))
    subprocess.run(
        ["git", "update-index", "-z", "--index-info"], cwd=repo.path, env=env, input=rows.encode(), check=True
    )
    done = subprocess.run(["git", "write-tree"], cwd=repo.path, env=env, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def commit(repo: Scratch, files: dict[str, Entry]) -> str:
    return repo.git("commit-tree", "-m", "x", by_git(repo, files)).strip()


def fit(files: dict[str, Entry]) -> dict[str, Entry]:
    """FILES without those that would be files and folders at once."""
    folders = {path[:at] for path in files for at in range(len(path)) if path[at] == "/"}
    return {path: entry for path, entry in files.items() if path not in folders}


def test_a_changed_tree_is_the_one_that_git_writes(repo: Scratch):
    chance = random.Random(24)
    place = places.find(str(repo.path), {})
    contents = [blob(repo, f"content {n}\n") for n in range(5)]
    for _ in range(25):
        before = fit({name: ("100644", chance.choice(contents)) for name in NAMES if chance.random() < 0.6})
        after = dict(before)
        for name in NAMES:
            if chance.random() < 0.3:
                after.pop(name, None)
            elif chance.random() < 0.4:
                after[name] = (chance.choice(["100644", "100755", "120000"]), chance.choice(contents))
        after = fit(after)
        changes = {name: after.get(name) for name in NAMES if before.get(name) != after.get(name)}
        folders = {path for path in changes if any(other.startswith(f"{path}/") for other in before | after)}
        if folders:  # a file in the place of a folder is `removed_first`'s
            continue

        assert trees.changed(place, commit(repo, before), changes, length(repo)) == by_git(repo, after), (before, after)


def test_the_first_tree_of_a_repository_and_the_empty_one(repo: Scratch):
    place = places.find(str(repo.path), {})
    files = {"a/b/c.py": ("100644", blob(repo, "x"))}

    assert trees.changed(place, "", files, length(repo)) == by_git(repo, files)
    assert trees.changed(place, commit(repo, files), {"a/b/c.py": None}, length(repo)) == by_git(repo, {})


def test_git_reads_the_objects_and_finds_no_fault(repo: Scratch):
    place = places.find(str(repo.path), {})
    files = {name: ("100644", blob(repo, name)) for name in ("a.py", "a/x", "b/c/d")}
    tree = trees.changed(place, "", files, length(repo))

    repo.git("fsck", "--strict")
    assert repo.git("ls-tree", "-r", "--name-only", tree).splitlines() == ["a.py", "a/x", "b/c/d"]


def test_a_path_that_is_a_file_and_a_folder_is_refused(repo: Scratch):
    place = places.find(str(repo.path), {})
    entry = ("100644", blob(repo, "x"))

    with pytest.raises(program.GitFailed):
        trees.changed(place, "", {"a": entry, "a/b": entry}, length(repo))


def test_the_differences_of_two_trees_are_told(repo: Scratch):
    place = places.find(str(repo.path), {})
    one, two = blob(repo, "one"), blob(repo, "two")
    old = by_git(repo, {"a": ("100644", one), "b/c": ("100644", one), "d": ("100644", one)})
    new = by_git(repo, {"a": ("100755", one), "b/c": ("100644", two), "e f": ("100644", two)})

    assert trees.differences(place, old, new) == {
        "a": ("100755", one),
        "b/c": ("100644", two),
        "d": None,
        "e f": ("100644", two),
    }


def test_an_object_that_is_there_is_not_written_again(repo: Scratch, tmp_path: Path):
    name = blob(repo, "once\n")
    file = repo.path / ".git" / "objects" / name[:2] / name[2:]
    before = file.stat()

    assert blob(repo, "once\n") == name
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert repo.git("cat-file", "blob", name) == "once\n"
