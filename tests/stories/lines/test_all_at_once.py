"""Processes of several agents edit and commit in one work tree at the same time."""

from __future__ import annotations

import multiprocessing
import re
import sys
from pathlib import Path

import pytest

from bb.coordination.lines.file_state import BEGUN, ENDED
from bb.ledger.files.lock import Lock
from bb.ledger.lines import uncommitted
from bb.ledger.lines.act import Act
from tests.stories.lines.world import AGENTS, LETTERS, MARK, World, git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")
FILES = ("read.py", "-dash", "shared.py")
PROCESSES = len(AGENTS)


def mark(number: int, turn: int) -> bytes:
    return f"{LETTERS[AGENTS[number]]}{1000 * (number + 1) + turn}".encode()


def work(world: World, number: int, rounds: int) -> None:
    """Edit files in brackets, and commit now and then."""
    agent = AGENTS[number]
    for turn in range(rounds):
        name = FILES[(number + turn) % len(FILES)]
        line = b"%s by %s\n" % (mark(number, turn), agent.encode())
        edited(world, agent, name, line, turn)
        if turn % 3 == number % 3:
            committed(world, agent)


def edited(world: World, agent: str, name: str, line: bytes, turn: int) -> None:
    """The tool's read and write are one step, as an editor's tool does it on what it has just read."""
    store = world.store()
    uncommitted.look(store, name, Act(BEGUN, agent), world.tick())
    with Lock(str(world.path.parent / "tool.lock")):
        before = (world.path / name).read_bytes().splitlines(keepends=True) if (world.path / name).exists() else []
        at = (turn * 7) % (len(before) + 1)
        (world.path / name).write_bytes(b"".join([*before[:at], line, *before[at:]]))
    uncommitted.look(store, name, Act(ENDED, agent), world.tick())


def committed(world: World, agent: str) -> None:
    for _ in range(20):
        status, said = world.bb("commit", "-m", "Mine", agent=agent)
        if status in (0, 3) or "LINES_SHARED" in said:
            return
        assert any(code in said for code in ("BRANCH_MOVED", "BUSY")), said
    raise AssertionError("never committed")


@pytest.mark.parametrize("rounds", [4, pytest.param(25, marks=pytest.mark.long)])
def test_eight_processes_lose_no_line_and_commit_only_their_own(tmp_path: Path, rounds: int):
    world = World(tmp_path, agents=8)
    (tmp_path / "tool.lock").touch()
    before = git(world.path, "rev-parse", "HEAD").decode().strip()
    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=work, args=(world, number, rounds)) for number in range(PROCESSES)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert [one.exitcode for one in running] == [0] * PROCESSES

    every = {mark(number, turn) for number in range(PROCESSES) for turn in range(rounds)}
    texts = {name: (world.path / name).read_bytes() for name in FILES}
    assert every == {mark for text in texts.values() for mark in MARK.findall(text) if mark[:1] != b"p"}
    for commit in git(world.path, "rev-list", f"{before}..HEAD").decode().split():
        shown = git(world.path, "show", "--format=%(trailers:key=BB-Agent,valueonly)", "-U0", commit)
        who = shown.splitlines()[0]
        added = re.findall(rb"^\+\w+ by (\S+)$", shown, re.MULTILINE)
        assert set(added) <= {who}, (commit, who, shown)
    assert not (world.path / ".git" / "index.lock").exists()

    for agent in AGENTS:
        world.bb("mine", *FILES[:1], "./-dash", FILES[2], agent=agent)
        committed(world, agent)
    world.committed(None, [])
    for name, text in texts.items():
        assert (world.path / name).read_bytes() == text
        assert git(world.path, "show", f"HEAD:{name}") == text
    assert git(world.path, "status", "--porcelain") == b""
    assert git(world.path, "fsck", "--no-dangling", "--no-progress") == b""


def commit_one_file(world: World, number: int) -> None:
    agent = AGENTS[number]
    for turn in range(3):
        name = f"of-{agent}-{turn}"
        store = world.store()
        uncommitted.look(store, name, Act(BEGUN, agent), world.tick())
        (world.path / name).write_bytes(mark(number, turn) + b"\n")
        uncommitted.look(store, name, Act(ENDED, agent), world.tick())
        committed(world, agent)


def test_commits_at_the_same_time_all_stay_on_the_branch(tmp_path: Path):
    world = World(tmp_path, agents=8)
    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=commit_one_file, args=(world, number)) for number in range(5)]
    for one in running:
        one.start()
    for one in running:
        one.join()

    assert [one.exitcode for one in running] == [0] * 5
    subjects = git(world.path, "log", "--format=%s").decode().split()
    assert subjects.count("Mine") == 15
    assert git(world.path, "status", "--porcelain") == b""
