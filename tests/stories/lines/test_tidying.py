"""What bb keeps of uncommitted lines goes when it is no longer needed, and not before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.kernel import clock
from bb.ledger.git import place
from bb.ledger.lines import tidying
from bb.ledger.lines.lines_store import LinesStore
from tests.support import Scratch, scratch

AMBER, HARBOR = "amber-otter", "cobalt-harbor"
NOON = clock.parse("2026-01-05T12:00:00Z")


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "parser", BB_HOME=str(tmp_path / "home"), BB_NOW=clock.text(NOON))
    for name in ("open.py", "done.py"):
        (made.path / name).write_text(f"{name}\n")
    made.git("config", "user.name", "Someone")
    made.git("config", "user.email", "someone@example.invalid")
    made.git("add", "--all")
    made.git("commit", "--quiet", "-m", "Start")
    for agent in (AMBER, HARBOR):
        made.bb("agent", "register", "--name", agent, "--role", "builder")
        for name in ("open.py", "done.py"):
            made.bb("edit", "begin", name, "--agent", agent)
            with (made.path / name).open("a") as file:
                file.write(f"{agent}\n")
            made.bb("edit", "end", "--agent", agent)
    for agent in (AMBER, HARBOR):
        assert made.bb("commit", "-m", "Done", "done.py", "--agent", agent).status == 0
    return made


def store_of(repo: Scratch) -> LinesStore:
    return LinesStore(place.find(str(repo.path), {}))


def make_old(store: LinesStore) -> None:
    for folder, _, names in os.walk(os.path.join(store.folder, "objects")):
        for name in names:
            os.utime(os.path.join(folder, name), (1, 1))


def test_the_log_of_a_file_without_changes_stays_for_a_day(repo: Scratch):
    store = store_of(repo)
    tidying.tidy(store, NOON + clock.DAY - 1)
    assert store.paths() == ["done.py", "open.py"]

    tidying.tidy(store, NOON + clock.DAY)
    assert store.paths() == ["open.py"]


def test_contents_that_no_log_names_go_and_those_of_open_changes_stay(repo: Scratch):
    store = store_of(repo)
    before = repo.bb("diff", "--json").data
    tidying.tidy(store, NOON + clock.DAY)
    needed = store.log("open.py").contents()
    assert needed < set(store.contents.names()), "young contents may belong to a line that is about to be written"

    make_old(store)
    tidying.tidy(store, NOON + clock.DAY)
    assert set(store.contents.names()) == needed
    assert repo.bb("diff", "--json").data == before
    assert [row["agents"] for row in before["files"][0]["lines"]] == [[AMBER], [HARBOR]]


def test_it_is_done_rarely(repo: Scratch):
    store = store_of(repo)
    tidying.tidy_if_due(store, NOON + clock.DAY)
    assert store.paths() == ["done.py", "open.py"], "a commit has done it a moment ago"

    os.utime(os.path.join(store.folder, tidying.STAMP), (1, 1))
    tidying.tidy_if_due(store, NOON + clock.DAY)
    assert store.paths() == ["open.py"]
