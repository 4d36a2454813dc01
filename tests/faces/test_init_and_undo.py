"""`bb init` makes a ledger and nothing else; `--undo` takes away that and nothing else; nobody's work is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bb.kernel.escaping import name as name_of
from tests.faces.faces_support import everything_in
from tests.forks import Call
from tests.near import Near, near, run_all
from tests.support import NOON, Scratch, environment, scratch


@pytest.fixture
def busy(tmp_path: Path) -> Scratch:
    """A repository in the middle of work: staged, changed, untracked, ignored files, a stash, a branch, a worktree."""
    repo = near(tmp_path / "repo")
    repo.settings["BB_NOW"] = NOON
    (repo.path / ".gitignore").write_text("ignored\n")
    (repo.path / "kept").write_text("one\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Kept")
    (repo.path / "kept").write_text("stashed\n")
    repo.git("stash", "push", "--quiet")
    repo.git("checkout", "--quiet", "-b", "topic")
    (repo.path / "kept").write_text("two\n")
    (repo.path / "staged").write_text("staged\n")
    repo.git("add", "staged")
    (repo.path / "untracked").write_text("x\n")
    (repo.path / "ignored").write_text("x\n")
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    repo.git("status")  # so that git has refreshed its index, as it would by itself
    return repo


def work(repo: Scratch) -> tuple[object, ...]:
    """All that is the user's: every file outside the ledger, every ref, what git says of it."""
    return (
        everything_in(repo.path, but=repo.store),
        repo.git("for-each-ref"),
        repo.git("rev-parse", "HEAD"),
        repo.git("symbolic-ref", "HEAD"),
        repo.git("status", "--porcelain=v2", "--branch", "--ignored"),
        repo.git("stash", "list"),
        repo.git("worktree", "list"),
    )


ALL_THAT_WRITES = [
    ["init", "--dry-run"],
    ["init"],
    ["init"],
    ["agent", "register", "--name", "amber-otter", "--role", "builder"],
    ["agent", "heartbeat", "--agent", "amber-otter"],
    ["ledger", "rebuild"],
    ["doctor", "--fix"],
    ["init", "--undo", "--dry-run"],
    ["init", "--undo", "--delete-history", "--dry-run"],
    ["init", "--undo", "--delete-history"],
]


def test_nothing_of_the_users_is_touched_by_anything(busy: Scratch):
    before = work(busy)

    for words in ALL_THAT_WRITES:
        assert busy.bb(*words).status == (4 if words == ["init", "--undo", "--dry-run"] else 0), words
        assert work(busy) == before, words

    assert not busy.store.exists()
    assert "dangling" not in busy.git("fsck", "--strict", "--no-dangling")


def test_git_finds_nothing_wrong_with_a_repository_that_has_a_ledger(busy: Scratch):
    busy.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    before = everything_in(busy.store / "j")

    busy.git("fsck", "--full", "--strict")
    busy.git("gc", "--quiet", "--prune=now")
    busy.git("repack", "-a", "-d", "--quiet")

    assert everything_in(busy.store / "j") == before
    assert busy.json("ledger", "verify").data["events"] == 2


def test_a_clone_does_not_bring_the_ledger_along(busy: Scratch, tmp_path: Path):
    busy.bb("init")
    busy.git("clone", "--quiet", str(busy.path), str(tmp_path / "clone"))

    clone = Near(tmp_path / "clone")

    assert clone.json("ledger", "status").data["exists"] is False
    assert clone.json("init").data["repo"] == busy.json("init").data["repo"]


def test_a_dry_run_says_what_a_real_one_does(repo: Scratch):
    before = everything_in(repo.path)

    planned = repo.json("init", "--dry-run").data
    assert everything_in(repo.path) == before
    done = repo.json("init").data

    assert planned == {"store": done["store"], "created": False, "would_create": True}
    assert repo.bb("init", "--dry-run").out == f"{repo.store} already has a ledger\n"


@pytest.mark.parametrize(
    "foreign", [[], ["notes.txt"], ["extra/deep/notes.txt"], ["j/notes.txt", "presence/notes.txt"]]
)
def test_a_dry_run_of_undo_counts_what_a_real_one_removes(repo: Scratch, foreign: list[str]):
    repo.bb("init")
    for name in foreign:
        (repo.store / name).parent.mkdir(parents=True, exist_ok=True)
        (repo.store / name).write_text("mine")
    before = everything_in(repo.path)

    planned = repo.json("init", "--undo", "--dry-run").data["would_remove"]
    assert everything_in(repo.path) == before
    removed = repo.json("init", "--undo").data["removed"]

    assert removed == len(before) - len(everything_in(repo.path))
    assert planned == removed


FOREIGN = [
    *(
        "notes.txt",
        "extra/deep/notes.txt",
        "j/notes.txt",
        "j/aaaabbbbcccc/notes.txt",
        "presence/README",
        "clone.json.bak",
    ),
    *("presence/My notes.json", "index.sqlite.backup", "scratch.tmp"),
]


@pytest.mark.parametrize("name", FOREIGN)
def test_undo_leaves_a_file_that_is_not_its_own_and_names_it(repo: Scratch, name: str):
    repo.bb("init")
    mine = repo.store / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")

    told = repo.bb("init", "--undo")

    assert told.status == 0
    assert mine.read_text() == "mine"
    assert [path for path in repo.store.rglob("*") if path.is_file()] == [mine]
    assert f"Kept, because bb did not create it: {name_of(str(mine))}\n" in told.out
    assert repo.json("ledger", "status").data["exists"] is False


def test_undo_does_not_follow_a_link_out_of_the_store(repo: Scratch, tmp_path: Path):
    repo.bb("init")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "clone.json").write_text("mine")
    (outside / "x.json").write_text("mine")
    (repo.store / "linked").symlink_to(outside)
    os.rename(repo.store / "presence", repo.store / "was")
    (repo.store / "presence").symlink_to(outside)

    assert repo.json("init", "--undo").status == 0

    assert sorted(path.name for path in outside.iterdir()) == ["clone.json", "x.json"]


def test_undo_where_there_is_nothing_is_no_mistake(repo: Scratch):
    before = everything_in(repo.path)

    assert repo.json("init", "--undo").data["removed"] == 0
    assert repo.json("init", "--undo", "--delete-history").data["events_deleted"] == 0
    assert repo.json("init", "--undo", "--dry-run").data["would_remove"] == 0
    assert everything_in(repo.path) == before


def test_history_is_deleted_only_when_that_is_said_and_the_number_is_named(repo: Scratch):
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    before = everything_in(repo.store / "j")

    refused = repo.json("init", "--undo")
    told = repo.bb("init", "--undo")

    assert (refused.code, refused.status) == ("HISTORY_PRESENT", 4)
    assert refused.envelope["error"]["details"] == {"events": 2}
    assert "--delete-history" in told.err
    assert everything_in(repo.store / "j") == before
    assert repo.json("init", "--undo", "--delete-history", "--dry-run").data["events_deleted"] == 0
    assert everything_in(repo.store / "j") == before
    assert repo.json("init", "--undo", "--delete-history").data["events_deleted"] == 2
    assert repo.json("agent", "list").data == []


def test_to_delete_history_without_undo_is_a_mistake_and_not_passed_over(repo: Scratch):
    """Whoever types that expects history to go; to be told that all is well would be a lie."""
    asked = repo.json("init", "--delete-history")

    assert asked.status == 2, asked.out


def test_a_ledger_that_was_made_again_starts_afresh(repo: Scratch):
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    repo.bb("init", "--undo", "--delete-history")

    assert repo.json("agent", "heartbeat", "--agent", "amber-otter").code == "AGENT_NOT_FOUND"
    assert repo.json("agent", "register", "--name", "amber-otter", "--role", "tester").data["version"] == 1
    assert len(repo.json("ledger", "log").data) == 2


@pytest.mark.parametrize("damage", ["clone.json", "journal and clone.json", "index.sqlite", "presence"])
def test_undo_takes_away_a_ledger_that_is_broken_too(repo: Scratch, damage: str):
    """The hint of a ledger that is lost says to start again in just this way."""
    repo.bb("init")
    if "journal" in damage:
        repo.journal().unlink()
    if "clone.json" in damage:
        (repo.store / "clone.json").write_text("{")
    if damage == "index.sqlite":
        (repo.store / "index.sqlite").write_bytes(b"\0" * 5000)
    if damage == "presence":
        (repo.store / "presence" / "amber-otter.json").write_text("{")

    undone = repo.json("init", "--undo", "--delete-history")

    assert undone.status == 0, undone.out
    assert not repo.store.exists()
    assert repo.json("init").data["created"] is True


def test_who_makes_the_ledger_is_named_in_it(repo: Scratch, tmp_path: Path):
    repo.bb("init", BB_AGENT="amber-otter")
    other = near(tmp_path / "other")
    other.bb("init", BB_AGENT="../x")

    assert repo.json("ledger", "log").data[0]["by"] == "amber-otter"
    assert other.json("ledger", "log").data[0]["by"] == "user"


def test_many_at_once_make_one_ledger(tmp_path: Path):
    repo = near(tmp_path / "repo")
    starting = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", "init", "--json"],
            cwd=repo.path,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    said = [process.communicate()[0] for process in starting]

    assert [process.returncode for process in starting] == [0] * 6
    assert sum('"created":true' in one for one in said) == 1
    assert len(repo.json("ledger", "log").data) == 1


# -- at home


@pytest.fixture
def outside(tmp_path: Path) -> Scratch:
    (tmp_path / "outside").mkdir()
    settings = {"BB_HOME": str(tmp_path / "home"), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    return Near(tmp_path / "outside", settings)


def test_outside_a_repository_the_ledger_at_home_is_looked_for(outside: Scratch, tmp_path: Path):
    words = [
        ["ledger", "log"],
        ["ledger", "verify"],
        ["ledger", "export"],
        ["ledger", "rebuild"],
        ["ledger", "show", "a" * 12 + ".1"],
    ]

    missing = run_all(outside, [Call([*one, "--json"]) for one in words])
    assert {answer.code for answer in missing} == {"NOT_INITIALIZED"}
    assert {"bb init --home" in answer.envelope["error"]["hint"] for answer in missing} == {True}
    assert not (tmp_path / "home").exists()

    outside.bb("init", "--home")
    found = run_all(outside, [Call([*one, "--json"]) for one in words])
    assert [answer.status for answer in found] == [0, 0, 0, 0, 3]


def test_outside_a_repository_no_hint_leads_to_a_command_that_is_refused_there(outside: Scratch):
    assert "`bb init --home`" in outside.bb("ledger", "status").out
    assert "agent register" not in outside.bb("init", "--home").out


def test_agents_need_a_repository_even_where_a_ledger_is_at_home(outside: Scratch):
    outside.bb("init", "--home")
    words = [
        ["agent", "list"],
        ["agent", "show", "--agent", "amber-otter"],
        ["agent", "heartbeat", "--agent", "amber-otter"],
        ["agent", "register", "--name", "amber-otter", "--role", "builder"],
        ["init"],
    ]

    for answer in run_all(outside, [Call([*one, "--json"]) for one in words]):
        assert (answer.code, answer.status) == ("NOT_A_REPOSITORY", 3)


def test_a_dry_run_at_home_makes_no_home(outside: Scratch, tmp_path: Path):
    assert outside.json("init", "--home", "--dry-run").data["would_create"] is True
    assert outside.json("init", "--home", "--undo").data["removed"] == 0
    assert not (tmp_path / "home").exists()


def test_undo_at_home_leaves_home_as_it_was(outside: Scratch, tmp_path: Path):
    outside.bb("init", "--home")

    outside.bb("init", "--home", "--undo")

    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_in_a_repository_home_is_another_ledger(repo: Scratch, tmp_path: Path):
    repo.settings["BB_HOME"] = str(tmp_path / "home")
    here, home = repo.json("init").data, repo.json("init", "--home").data

    assert here["store"] != home["store"]
    assert home["store"].startswith(str(tmp_path / "home"))
    assert repo.json("init", "--home", "--undo").status == 0
    assert repo.json("ledger", "status").data["store"] == here["store"]


def test_a_home_that_cannot_be_made_is_refused_and_no_bug(outside: Scratch, tmp_path: Path):
    (tmp_path / "home").write_text("a file in the way")

    asked = outside.json("init", "--home")

    assert asked.status in (3, 4, 5), asked.out
    assert (tmp_path / "home").read_text() == "a file in the way"


def test_a_bare_repository_has_a_ledger_of_its_own(tmp_path: Path):
    bare = Near(tmp_path / "bare.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare")

    assert bare.json("init").data["store"] == str(bare.path / "bb")
    assert bare.json("agent", "register", "--name", "amber-otter", "--role", "x").status == 0
    bare.git("fsck", "--strict")


def test_a_repository_without_a_commit_has_one_too(tmp_path: Path):
    unborn = scratch(tmp_path / "unborn", commit=False)

    assert unborn.json("init").data["created"] is True
    assert unborn.git("status", "--porcelain") == ""
