"""A sync, or a global reservation, that is killed between any two of its steps is simply run again: what comes of it
is what would have come of it without the kill. And a push whose answer is lost has arrived or not: that is looked up.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bb.ledger.published.layout import BRANCH
from bb.ledger.travel import remote
from tests.stories.travel.branch_support import Branch, Chain, File
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub, settle
from tests.support import NOON, ROOT, environment

KILLED, RAN_THROUGH = 137, 0

# Runs `bb` and dies before, or behind, the k-th act that somebody outside could see. Nothing in bb knows of it. Each
# sync makes a snapshot, so that it can be killed while doing so.
MORTAL = """
import os, sys
from bb.ledger.files import disk, processes
from bb.ledger.git import git
from bb.ledger.journal import journal, rewriting, writers
from bb.ledger.published import pins, tip
from bb.ledger.travel import remote

tip.AT_LEAST = 1

left = int(sys.argv.pop(1))

def step():
    global left
    left -= 1
    if left < 0:
        os._exit(137)

def watch(where, name):
    act = getattr(where, name)
    def watched(*given, **named):
        step()
        try:
            return act(*given, **named)
        finally:
            step()
    setattr(where, name, watched)

for where, names in {
    disk: ["replace", "make_folder", "remove_if_there"],
    journal.Journal: ["_write", "repair_tail"],
    rewriting: ["cut"],
    writers: ["mint", "retire"],
    git: ["ask", "output", "start"],
    git.Asked: ["done"],
    git.Conversation: ["__init__", "write", "close", "__exit__"],
}.items():
    for name in names:
        watch(where, name)

from bb.cli.main import main
sys.argv[0] = "bb"
main()
"""


@pytest.fixture
def pair(origin: Path) -> list[Clone]:
    """Both have something to say that the other does not know."""
    made = agents_at_work(origin, AMBER, COBALT)
    settle(made)
    both_reserve(made)
    return made


def both_reserve(made: list[Clone]) -> None:
    made[0].ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    made[1].ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")


def mortal(at: Clone, steps: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", MORTAL, str(steps), *words, "--json"]
    return subprocess.run(command, cwd=at.path, env=environment(BB_NOW=NOON), capture_output=True)


def outcome(pair: list[Clone]) -> set[tuple[str, str, str]]:
    """What it all came to: who holds what, alike in both clones and in one that comes fresh."""
    settle(pair)
    here, there = pair
    fresh = clone(here.path.parent / "hub.git", f"fresh-{time.monotonic_ns()}")
    fresh.sync(pull=True)
    assert here.digest == there.digest == fresh.digest
    for each in (here, there, fresh):
        each.ask("ledger.verify")
    return here.holds()


ACTS: dict[str, list[str]] = {
    "sync": ["sync"],
    "pull": ["sync", "--pull"],
    "push": ["sync", "--push"],
    "commit": ["ledger", "commit"],
    "rotate": ["ledger", "rotate", "--reason", "too long", "--agent", "user"],
    "reserve": ["agent", "reserve", "--agent", AMBER, "--scope", "web", "--bead", "bb-1", "--global"],
}


def _deleted(branch: Branch) -> None:
    branch.git("update-ref", "-d", BRANCH)


def _set_back(branch: Branch) -> None:
    branch.point_at(branch.parents()[0])


def _parted(branch: Branch) -> None:
    """It was set back, and somebody has published there since."""
    _set_back(branch)
    chain = Chain("abcdefghijkl", ())
    branch.put(branch.files() | {chain.path: File(chain.and_then(chain.forged()).octets)})


def _strayed(branch: Branch) -> None:
    branch.put(branch.files() | {"NOTES.md": File(b"mine\n")})


RESTORE = ["ledger", "restore", "--agent", "user"]
ACCIDENTS: dict[str, Callable[[Branch], None]] = {
    "put back": _deleted,
    "put forward": _set_back,
    "replace": _parted,
    "adopt": _parted,
    "skip": _strayed,
    "skip by reserve": _strayed,
}
ACTS |= {
    "put back": RESTORE,
    "put forward": RESTORE,
    "replace": RESTORE,
    "adopt": [*RESTORE, "--adopt", "LEDGER"],
    "skip": ACTS["sync"],
    "skip by reserve": ACTS["reserve"],
}


def killed_at(pair: list[Clone], act: str, steps: int) -> bool:
    """Run an ACT, killed after so many STEPS, then run it again and see what came of it; whether it was killed."""
    here, there = pair
    words = [here.ask("ledger.status")["repo"] if word == "LEDGER" else word for word in ACTS[act]]
    there.sync()
    if accident := ACCIDENTS.get(act):
        here.sync(pull=True)
        accident(Branch(here.path.parent / "hub.git"))
    ran = mortal(here, steps, *words)
    assert ran.returncode in (KILLED, RAN_THROUGH), ran.stdout + ran.stderr
    again = here.json(*words, BB_NOW=NOON)
    assert again.status == 0, f"after {steps} steps: {again.out}{again.err}"
    wanted = {(AMBER, "src", "active"), (COBALT, "docs", "active")}
    if "--global" in words:
        assert again.data["global"] is True, f"after {steps} steps: {again.out}"
        wanted |= {(AMBER, "web", "active")}
    if act == "adopt":  # the other clone has to follow, too
        there.json(*words, BB_NOW=NOON)
    assert outcome(pair) == wanted, f"after {steps} steps"
    return ran.returncode == KILLED


def every_step(tmp_path: Path, act: str, pick: Callable[[int], int]) -> None:
    steps, turn = 0, 0
    while True:
        folder = tmp_path / f"world-{turn}"
        made = agents_at_work(hub(folder / "hub.git"), AMBER, COBALT, after=both_reserve)
        if not killed_at(made, act, steps):
            break
        shutil.rmtree(folder)
        turn += 1
        steps = pick(steps)
    assert turn > 2, "it was killed at all"


@pytest.mark.parametrize("act", ACTS)
def test_a_kill_between_some_steps_changes_nothing_in_the_end(tmp_path: Path, act: str):
    start = random.Random(act).randrange(1, 9)
    every_step(tmp_path, act, lambda steps: steps * 2 + start + 12)


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS)
def test_a_kill_between_any_two_steps_changes_nothing_in_the_end(tmp_path: Path, act: str):
    every_step(tmp_path, act, lambda steps: steps + 1)


def _killed_at_some_moments(pair: list[Clone], rounds: int, seed: int) -> None:
    here, there = pair
    chance = random.Random(seed)
    for turn in range(rounds):
        here.ask("agent.reserve", agent=AMBER, scope=[f"a{turn}"], bead="bb-1")
        there.ask("agent.reserve", agent=COBALT, scope=[f"b{turn}"], bead="bb-1")
        for each in pair:
            running = subprocess.Popen(
                [sys.executable, "-m", "bb", "sync", "--json"],
                cwd=each.path,
                env=environment(BB_NOW=NOON, PYTHONPATH=str(ROOT)),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(chance.uniform(0.01, 0.25))
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    settle(pair)
    settle(pair)
    assert here.digest == there.digest
    scopes = {scope for _, scope, _ in here.holds()}
    assert scopes == {"src", "docs", *(f"{one}{turn}" for turn in range(rounds) for one in "ab")}


def test_kills_at_any_moment_lose_nothing(pair: list[Clone]):
    _killed_at_some_moments(pair, 6, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_at_any_moment_lose_nothing(pair: list[Clone], seed: int):
    _killed_at_some_moments(pair, 40, seed)


# -- an answer that is lost


def _lost_answer(monkeypatch: pytest.MonkeyPatch, *, arrives: bool) -> None:
    """The next push ends without an answer, having arrived or not."""
    push, left = remote.push, [1]

    def answerless(*given: object, **named: object) -> None:
        if left[0]:
            left[0] -= 1
            if arrives:
                push(*given, **named)  # type: ignore[arg-type]
            raise remote.Offline("the line went dead")
        push(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(remote, "push", answerless)


def test_a_push_that_arrived_without_an_answer_has_arrived(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    _lost_answer(monkeypatch, arrives=True)

    here.sync()

    monkeypatch.undo()
    assert outcome(pair) == {(AMBER, "src", "active"), (COBALT, "docs", "active")}
    assert there.digest == here.digest


def test_a_push_that_did_not_arrive_is_refused_and_made_again(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, _ = pair
    tip = here.tip
    _lost_answer(monkeypatch, arrives=False)

    assert here.refused("sync").code == "OFFLINE"

    assert here.tip == tip
    assert outcome(pair) == {(AMBER, "src", "active"), (COBALT, "docs", "active")}


@pytest.mark.parametrize("arrives", [True, False])
def test_a_global_reservation_whose_answer_was_lost_is_found_out_about(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch, arrives: bool
):
    here, there = pair
    settle(pair)
    _lost_answer(monkeypatch, arrives=arrives)
    asked = {"agent": AMBER, "scope": ["web"], "bead": "bb-1", "global": True}

    answer = here.ask("agent.reserve", **asked)

    assert answer["global"] is True
    assert there.refused("agent.reserve", **asked | {"agent": COBALT}).code == "RESERVATION_CONFLICT"
    assert (AMBER, "web", "active") in outcome(pair)


def test_a_global_reservation_that_cannot_be_found_out_about_is_pending_and_settled_by_the_next_sync(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    settle(pair)
    fetch, fetched = remote.fetch, [0]

    def once(*given: object, **named: object) -> str | None:
        fetched[0] += 1
        if fetched[0] > 1:
            raise remote.Offline("the line is dead")
        return fetch(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(remote, "fetch", once)
    _lost_answer(monkeypatch, arrives=True)

    asked = {"agent": AMBER, "scope": ["web"], "bead": "bb-1", "global": True}
    assert here.refused("agent.reserve", **asked).code == "GRANT_PENDING"

    monkeypatch.undo()
    assert there.refused("agent.reserve", **asked | {"agent": COBALT}).code == "RESERVATION_CONFLICT"
    assert (AMBER, "web", "active") in outcome(pair)
