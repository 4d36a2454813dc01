"""Many processes on one ledger: no line lost, none interleaved, every rule decided once, readers undisturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import grids, preloaded
from tests.grids import repeats
from tests.ledger.ledger_support import (
    ADA,
    WRITER,
    agents,
    audited,
    bare_journal,
    chained,
    child,
    every_chain,
    every_line,
    finished,
    kept,
    make,
    make_it,
    note,
    opened,
    problems,
    read_for,
    rebuild_for,
    registrations,
    repository,
    take_the_same,
    take_turns,
    talk,
    together,
    write_for,
    write_until_killed,
)
from tests.support import environment, scratch
from tests.waiting import PATIENCE

SMALL_SEGMENT = 2000


def worktrees(path: Path, count: int) -> list[Path]:
    """A repository and its linked worktrees."""
    repo = scratch(path / "repo")
    trees = [repo.path]
    for number in range(1, count):
        trees.append(path / f"tree-{number}")
        repo.git("worktree", "add", "--quiet", "--detach", str(trees[-1]))
    return trees


@pytest.mark.parametrize(
    ("processes", "each"), [(16, 5), pytest.param(64, 20, marks=pytest.mark.long)], ids=["16", "64"]
)
def test_processes_in_many_worktrees_lose_no_line(tmp_path: Path, processes: int, each: int):
    trees = worktrees(tmp_path, 4)
    make(trees[0])

    said = together([child(take_turns, trees[number % 4], f"agent-{number}", each) for number in range(processes)])

    acknowledged = [event for out in said for event in out.split()]
    (chain,) = every_chain(kept(trees[0])).values()
    assert len(acknowledged) == len(set(acknowledged)) == processes * each
    assert [line["id"] for line in chain[1:]] == sorted(acknowledged, key=lambda event: int(event.split(".")[1]))
    assert agents(trees[-1]) == sorted(f"agent-{number}-{turn}" for number in range(processes) for turn in range(each))
    assert problems(audited(trees[1])) == []


@pytest.mark.parametrize(
    ("processes", "each"), [(16, 30), pytest.param(64, 100, marks=pytest.mark.long)], ids=["16", "64"]
)
def test_lines_of_every_length_are_never_interleaved(tmp_path: Path, processes: int, each: int):
    journal = bare_journal(tmp_path)

    said = together([child(talk, tmp_path, WRITER, f"process {number}", each) for number in range(processes)])

    lines = chained(Path(journal.folder))
    assert sorted(line["id"] for line in lines) == sorted(event for out in said for event in out.split())
    texts = [line["data"]["text"].rstrip("x").split() for line in lines]
    assert sorted(texts) == sorted(["process", str(p), str(turn)] for p in range(processes) for turn in range(each))
    for number in range(processes):
        assert [int(turn) for _, who, turn in texts if who == str(number)] == list(range(each)), "in its own order"


@pytest.mark.parametrize("processes", [16, pytest.param(64, marks=pytest.mark.long)])
def test_of_many_that_want_the_same_name_one_gets_it(tmp_path: Path, processes: int):
    trees = worktrees(tmp_path, 3)
    make(trees[0])

    said = together([child(take_the_same, trees[number % 3], 5) for number in range(processes)])

    for turn in range(5):
        answers = sorted(out.split("\n")[turn] for out in said)
        assert answers == ["DUPLICATE_AGENT_ID"] * (processes - 1) + ["mine"]
        assert len(registrations(kept(trees[0]), f"wanted-{turn}")) == 1
    assert problems(audited(trees[0])) == []


def test_a_ledger_that_is_made_by_many_at_once_is_made_once(tmp_path: Path):
    for turn in repeats(1, 3):
        path = repository(tmp_path / str(turn))

        said = together([child(make_it, path) for _ in range(8)])

        assert sorted(said) == ["False\n"] * 7 + ["True\n"]
        assert [line["kind"] for line in every_line(kept(path))] == ["group.create"]
        assert problems(audited(path)) == []


def test_two_inits_at_once_make_one_ledger(tmp_path: Path):
    for turn in repeats(1, 3):
        trees = worktrees(tmp_path / str(turn), 2)
        racing = [
            subprocess.Popen(
                [sys.executable, "-m", "bb", "init", "--json"], cwd=tree, env=environment(), stdout=subprocess.PIPE
            )
            for tree in trees
        ]
        said = [one.communicate(timeout=PATIENCE)[0] for one in racing]

        assert [one.returncode for one in racing] == [0, 0]
        assert sorted(b'"created":true' in out for out in said) == [False, True]
        assert [line["kind"] for line in every_line(kept(trees[0]))] == ["group.create"]


def test_readers_are_undisturbed_by_appends_and_rebuilds(tmp_path: Path):
    """Nobody who only looks is refused, or shown a damage that is none."""
    path = repository(tmp_path / "here")
    make(path, ADA)
    seconds = 3 if grids.is_whole else 1

    said = together(
        [child(write_for, path, f"writer-{number}", seconds, SMALL_SEGMENT) for number in range(3)]
        + [child(read_for, path, seconds) for _ in range(3)]
        + [child(rebuild_for, path, seconds)]
    )

    assert said == ["", "", "", "done\n", "done\n", "done\n", "done\n"]
    every_chain(kept(path))
    assert problems(audited(path)) == []


def test_the_index_may_be_deleted_at_any_time(tmp_path: Path):
    path = repository(tmp_path / "here")
    make(path, ADA)
    seconds = 2 if grids.is_whole else 1
    running = [
        child(write_for, path, "writer-one", seconds, SMALL_SEGMENT),
        child(read_for, path, seconds),
        child(read_for, path, seconds),
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdin is not None
        one.stdout.readline()
        one.stdin.write("go\n")
        one.stdin.flush()
    chance = random.Random(11)

    while running[0].poll() is None:
        for file in kept(path).glob("index.sqlite*"):
            if chance.random() < 0.7:
                file.unlink(missing_ok=True)
        time.sleep(chance.random() / 20)

    assert [finished(one) for one in running] == ["", "done\n", "done\n"]
    every_chain(kept(path))
    assert problems(audited(path)) == []


# -- killed


def storm(path: Path, logs: Path, seconds: float, writers: int) -> tuple[list[str], int]:
    """Writers that are killed at random moments and started again: what was acknowledged, and how many died.

    Each has acknowledged something before it dies, so a slow machine makes for fewer deaths, not for idle ones.
    """
    chance = random.Random(5)
    alive: list[tuple[preloaded.Process, Path]] = []
    killed = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end or killed < 5:
            while len(alive) < writers:
                log = logs / f"{killed}-{len(alive)}"
                alive.append((child(write_until_killed, path, f"writer-{log.name}", log, SMALL_SEGMENT), log))
            victim, log = alive.pop(chance.randrange(len(alive)))
            while not (log.exists() and log.stat().st_size):
                assert victim.poll() is None, "a writer ended by itself"
                time.sleep(0.002)
            time.sleep(chance.random() * 0.05)
            os.kill(victim.pid, signal.SIGKILL)
            victim.communicate()
            killed += 1
    finally:
        for one, _ in alive:
            one.kill()
            one.communicate()
    acknowledged = []
    for log in logs.iterdir():
        whole, _, _ = log.read_text().rpartition("\n")  # the last one may have been cut off itself
        acknowledged += whole.split()
    return acknowledged, killed


@pytest.mark.parametrize(
    ("seconds", "writers"), [(2, 4), (2, 16), pytest.param(60, 16, marks=pytest.mark.long)], ids=["few", "many", "long"]
)
def test_what_was_acknowledged_survives_any_number_of_kills(tmp_path: Path, seconds: float, writers: int):
    path, logs = repository(tmp_path / "here"), tmp_path / "logs"
    logs.mkdir()
    make(path, ADA)

    acknowledged, killed = storm(path, logs, seconds, writers)

    with opened(path) as store:
        note(store, ADA)
    (chain,) = every_chain(kept(path)).values()
    survived = {line["id"] for line in chain}
    assert len(acknowledged) >= killed >= 5
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= survived
    assert problems(audited(path)) == []
