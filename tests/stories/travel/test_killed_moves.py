"""A move of the arbiter, or a change of a name, that is killed between any two of its steps is simply run again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stories.travel.test_kill_between_steps import KILLED, RAN_THROUGH, mortal
from tests.stories.travel.travel_support import AMBER, COBALT, clone, hub, settle

HERON = "coral-heron"


def move_killed_at(folder: Path, steps: int) -> bool:
    """Move the arbiter, killed after so many STEPS, and again; whether it was killed."""
    fork, upstream = hub(folder / "fork.git"), hub(folder / "upstream.git")
    here, there = clone(fork, "here"), clone(upstream, "there")
    here.git("remote", "add", "upstream", str(upstream))
    here.ask("agent.register", name=AMBER, role="builder")
    for name in ("origin", "upstream"):
        here.sync(publish=True, remote=name)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})
    there.sync(pull=True)
    there.ask("agent.register", name=COBALT, role="builder")
    there.sync(publish=True)
    words = ["ledger", "arbiter", "upstream", "--reason", "moved", "--agent", "user"]

    ran = mortal(here, steps, *words)

    assert ran.returncode in (KILLED, RAN_THROUGH), ran.stdout + ran.stderr
    there.sync()
    early = there.refused_or("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", **{"global": True})
    assert early in ("NOT_THE_ARBITER", "RESERVATION_CONFLICT"), "it is granted to nobody else at any moment"
    again = here.refused_or("ledger.arbiter", remote="upstream", reason="moved", agent="user")
    assert again in ("", "IS_THE_ARBITER"), f"after {steps} steps"
    there.sync()
    assert there.refused_or("agent.reserve", agent=COBALT, scope=["docs"], bead="b", **{"global": True}) == ""
    for _ in range(2):
        here.sync()
        here.sync(remote="origin")
        there.sync()
    assert here.holds() == there.holds() == {(AMBER, "src", "active"), (COBALT, "docs", "active")}, f"{steps} steps"
    assert here.digest == there.digest
    for each in (here, there):
        each.ask("ledger.verify", published=True)
    return ran.returncode == KILLED


def rename_killed_at(folder: Path, steps: int) -> bool:
    """Take another name, killed after so many STEPS, and again; whether it was killed."""
    origin = hub(folder / "hub.git")
    here, there = clone(origin, "here"), clone(origin, "there")
    for each, scope in ((here, "src"), (there, "lib")):
        each.ask("agent.register", name=AMBER, role="builder")
        each.ask("agent.reserve", agent=AMBER, scope=[scope], bead="bb-1")
        each.sync(publish=True)

    ran = mortal(there, steps, "agent", "rename", HERON, "--agent", AMBER)

    assert ran.returncode in (KILLED, RAN_THROUGH), ran.stdout + ran.stderr
    again = there.refused_or("agent.rename", to=HERON, agent=AMBER)
    assert again in ("", "NAME_NOT_TAKEN"), f"after {steps} steps"
    assert there.refused_or("agent.heartbeat", agent=HERON) == ""
    settle([here, there])
    assert here.holds() == there.holds() == {(AMBER, "src", "active"), (HERON, "lib", "active")}, f"{steps} steps"
    assert here.digest == there.digest
    return ran.returncode == KILLED


ACTS: dict[str, Callable[[Path, int], bool]] = {"move": move_killed_at, "rename": rename_killed_at}


def every_step(folder: Path, act: str, stride: Callable[[int], int]) -> None:
    steps = turn = 0
    while ACTS[act](folder / f"world-{turn}", steps):
        shutil.rmtree(folder / f"world-{turn}")
        turn, steps = turn + 1, stride(steps)
    assert turn > 1, "it was killed at all"


@pytest.mark.parametrize("act", ACTS)
def test_a_kill_between_some_steps_changes_nothing_in_the_end(tmp_path: Path, act: str):
    every_step(tmp_path, act, lambda steps: steps * 3 + 4)


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS)
def test_a_kill_between_any_two_steps_changes_nothing_in_the_end(tmp_path: Path, act: str):
    every_step(tmp_path, act, lambda steps: steps + 1)
