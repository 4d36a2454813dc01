"""Exclusive means exclusive: whoever races for paths in common, one has them and all others are refused."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests import preloaded
from tests.grids import repeats
from tests.stories.races.doers import COVERING, stir, take_turns
from tests.stories.races.races_support import (
    Crew,
    crew,
    in_order,
    meetings,
    of_kind,
    run,
    standing,
)
from tests.support import Scratch
from tests.waiting import PATIENCE


def a_round(everybody: Crew, wanted: list[str], bead: str) -> None:
    """Every worker races for its scope; one wins, the others are told who holds it, and the winner gives it back."""
    answers = everybody.race(
        "agent.reserve",
        [(one, {"scope": [scope], "bead": bead}) for one, scope in zip(everybody.workers, wanted, strict=True)],
    )

    won = [place for place, answer in enumerate(answers) if answer.code is None]
    assert len(won) == 1, [(answer.code, answer.data) for answer in answers]
    winner, scope = everybody.workers[won[0]], wanted[won[0]]
    assert {answer.code for answer in answers} == {None, "RESERVATION_CONFLICT"}
    for answer in answers:
        if answer.code:
            assert [met["agent_id"] for met in answer.details["conflicts"]] == [winner.agent]
    assert winner.do("agent.release", scope=[scope]).code is None


@pytest.mark.parametrize(
    ("processes", "rounds"), [(12, 12), pytest.param(64, 1000, marks=pytest.mark.long)], ids=["12", "64"]
)
def test_one_of_many_wins_every_round(repo: Scratch, processes: int, rounds: int):
    chance = random.Random(processes)
    repo.bb("init")
    with crew(repo.path) as everybody:
        names = [f"runner-{number}" for number in range(processes)]
        everybody.registered(*names[::2])
        everybody.registered(*names[1::2], is_fresh=True)
        for turn in range(rounds):
            chance.shuffle(everybody.workers)
            # A third of the rounds is for one and the same scope, the others are for parents, children and patterns.
            one = chance.choice(COVERING)
            a_round(everybody, [one if turn % 3 == 0 else chance.choice(COVERING) for _ in names], f"bb-{turn}")

    lines = in_order(repo.path)
    assert meetings(lines) == []
    assert len(of_kind(lines, "x.bb.reserved")) == len(of_kind(lines, "x.bb.released")) == rounds
    assert {line["data"]["bead_id"] for line in of_kind(lines, "x.bb.reserved")} == {f"bb-{n}" for n in range(rounds)}
    assert repo.json("ledger", "verify").status == 0


@pytest.mark.parametrize(
    ("processes", "turns"), [(6, 25), pytest.param(32, 300, marks=pytest.mark.long)], ids=["6", "32"]
)
def test_nobody_is_met_inside(repo: Scratch, tmp_path: Path, processes: int, turns: int):
    names = [f"runner-{number}" for number in range(processes)]
    with crew(repo.path) as everybody:
        everybody.registered(*names)

    children = [run(take_turns, repo.path, name, turns, tmp_path / "inside") for name in names]
    said = [child.communicate(timeout=PATIENCE * (1 + turns // 100))[0].splitlines() for child in children]

    assert [lines[:-1] for lines in said] == [[]] * processes
    held = sum(int(lines[-1].removeprefix("held ")) for lines in said)
    lines = in_order(repo.path)
    assert len(of_kind(lines, "x.bb.reserved")) == len(of_kind(lines, "x.bb.released")) == held > 0
    assert meetings(lines) == []


def test_several_scopes_are_had_all_or_none(repo: Scratch):
    """Everybody wants its own path and two of three that others want too."""
    names = [f"runner-{number}" for number in range(6)]
    shared = ("docs", "src", "web/**/*.css")
    with crew(repo.path) as everybody:
        workers = everybody.registered(*names)
        for turn in repeats(5, 10):
            wanted = [[f"own/{one.agent}", shared[n % 3], shared[(n + 1) % 3]] for n, one in enumerate(workers)]
            answers = everybody.race(
                "agent.reserve",
                [(one, {"scope": each, "bead": f"bb-{turn}"}) for one, each in zip(workers, wanted, strict=True)],
            )

            # Any two of these wants have one of the three in common.
            assert sorted(str(answer.code) for answer in answers) == ["None"] + ["RESERVATION_CONFLICT"] * 5
            held = workers[0].do("agent.status").data["reservations"]
            (won,) = (each for answer, each in zip(answers, wanted, strict=True) if answer.code is None)
            assert [each["scope"] for each in held] == won
            assert all(one.do("agent.release", all_=True).code is None for one in workers)

    assert meetings(in_order(repo.path)) == []


def test_shared_reservations_let_each_other_in_and_nobody_else(repo: Scratch):
    names = [f"runner-{number}" for number in range(6)]
    with crew(repo.path) as everybody:
        workers = everybody.registered(*names)
        for turn in repeats(5, 10):
            wanted = [{"scope": ["src"], "bead": "bb-1", "shared": n % 2 == turn % 2} for n in range(6)]
            answers = everybody.race("agent.reserve", list(zip(workers, wanted, strict=True)))

            won = [given["shared"] for answer, given in zip(answers, wanted, strict=True) if answer.code is None]
            assert won in ([True] * 3, [False])
            assert {answer.code for answer in answers} == {None, "RESERVATION_CONFLICT"}
            for one, answer in zip(workers, answers, strict=True):
                if answer.code is None:
                    assert one.do("agent.release", all_=True).code is None


@pytest.mark.parametrize("processes", [2, 6])
def test_the_same_key_records_once(repo: Scratch, processes: int):
    with crew(repo.path) as everybody:
        everybody.registered("amber-otter")
        workers = [*everybody.workers, *everybody.hire(*["amber-otter"] * (processes - 1), is_fresh=True)]
        for turn in repeats(8, 15):
            given = {"scope": [COVERING[turn % len(COVERING)], f"docs/{turn}"], "bead": "bb-1", "key": f"turn-{turn}"}
            answers = everybody.race("agent.reserve", [(one, given) for one in workers])

            (seen,) = {tuple(each["reservation_id"] for each in answer.data["reservations"]) for answer in answers}
            assert len(seen) == 2
    keys = [line["k"] for line in of_kind(in_order(repo.path), "x.bb.reserved")]
    assert keys == [f"turn-{turn}" for turn in repeats(8, 15) for _ in range(2)]


def test_the_same_key_for_different_scopes_serves_the_faster_one(repo: Scratch):
    with crew(repo.path) as everybody:
        workers = [*everybody.registered("amber-otter"), *everybody.hire("amber-otter")]
        for turn in repeats(8, 15):
            given = [{"scope": [scope], "bead": "bb-1", "key": f"turn-{turn}"} for scope in ("docs", "src")]
            answers = everybody.race("agent.reserve", list(zip(workers, given, strict=True)))

            assert {answer.code for answer in answers} == {None, "KEY_REUSED"}
    assert len(of_kind(in_order(repo.path), "x.bb.reserved")) == len(repeats(8, 15))


@pytest.mark.parametrize(
    ("processes", "seconds"), [(5, 2.0), pytest.param(16, 120.0, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_processes_killed_at_any_moment_leave_a_sound_ledger(repo: Scratch, processes: int, seconds: float):
    chance = random.Random(processes)
    names = [f"runner-{number}" for number in range(processes)]
    with crew(repo.path) as everybody:
        everybody.registered(*names)

    said, kills = b"", 0
    children = {name: run(stir, repo.path, name, name) for name in names}
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end or b"agent.reserve " not in said:  # on a busy machine little happens
            assert time.monotonic() < end + PATIENCE, "nobody has reserved anything"
            time.sleep(chance.random() * 0.12)  # a forked process is at work at once
            name = chance.choice(names)
            said += killed(children[name])
            kills += 1
            children[name] = run(stir, repo.path, name, f"{name} {kills}")
    finally:
        for child in children.values():
            said += killed(child)

    assert repo.json("ledger", "verify").data["is_index_right"] is True
    assert standing(repo.path) <= processes
    lines = in_order(repo.path)
    assert meetings(lines) == []
    acknowledged = {word for word in said.decode().split() if "." in word and not word.startswith("agent.")}
    assert acknowledged <= {line["id"] for line in lines}
    assert len(acknowledged) > 0
    assert_that_it_goes_on(repo)


def killed(child: preloaded.Process) -> bytes:
    """What a child said until it was killed, but for a line it was saying."""
    child.kill()
    return child.communicate()[0].encode()


def assert_that_it_goes_on(repo: Scratch) -> None:
    """Whoever gives back all it has, and somebody else gets it: no line of the dead and no lock is in the way."""
    held = repo.json("agent", "status").data["reservations"]
    for agent in {each["agent_id"] for each in held}:
        assert repo.json("agent", "release", "--agent", agent, "--all").status == 0
    repo.json("agent", "register", "--name", "late-heron", "--role", "builder")
    found = repo.json("agent", "reserve", "--agent", "late-heron", "--scope", "src", "--bead", "bb-1")
    assert found.data["agent_id"] == "late-heron"
    assert repo.json("ledger", "verify").status == 0
