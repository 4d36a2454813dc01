"""Eight clones race for the same scope in every clone: one has it, the others are told who, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.stories.races.races_support import Answer, Crew, Worker, crew
from tests.stories.travel.travel_support import Clone, agents_at_work, hub

NAMES = tuple(f"runner-{number}" for number in range(8))
SCOPES = ("src", "src/parser", "src/**/*.py", "src/parser/lexer.py")  # every two have a path in common
LOST = {"RESERVATION_CONFLICT", "CONTENDED"}  # who lost is told who holds it, or that others were faster all the time


@contextmanager
def runners(tmp_path: Path) -> Iterator[tuple[list[Clone], Crew]]:
    """Eight clones that publish to one hub, and a process in each."""
    clones = agents_at_work(hub(tmp_path / "hub.git"), *NAMES)
    with ExitStack() as closing:
        everybody = closing.enter_context(crew(clones[0].path))
        for name, each in zip(NAMES, clones, strict=True):
            everybody.repo = each.path
            everybody.hire(name)
        for one in everybody.workers:
            assert one.do("agent.heartbeat").code is None
        yield clones, everybody


@pytest.mark.parametrize("rounds", [2, pytest.param(1000, marks=pytest.mark.long)])
def test_one_of_eight_clones_wins_every_round(tmp_path: Path, rounds: int):
    with runners(tmp_path) as (clones, everybody):
        started = time.monotonic()
        tokens = [a_round(everybody, turn) for turn in range(rounds)]
        print(f"{rounds / (time.monotonic() - started):.2f} rounds/s")

        assert tokens == sorted(set(tokens)), "each round's token is higher than the one before"
        brought_together(clones, everybody)
        assert clones[0].holds() == set()
        assert clones[0].ask("agent.status")["summary"]["released"] >= rounds
        for each in clones:
            assert each.json("ledger", "verify").status == 0


def a_round(everybody: Crew, turn: int) -> int:
    """All ask at once; who wins gives it back and syncs before the next round. The winner's token."""
    answers = everybody.race(
        "agent.reserve",
        [
            (one, {"scope": [SCOPES[(turn + place) % len(SCOPES)]], "bead": f"bb-{turn}", "global": True})
            for place, one in enumerate(everybody.workers)
        ],
    )

    won = [(one, answer) for one, answer in zip(everybody.workers, answers, strict=True) if answer.code is None]
    assert len(won) == 1, [(answer.code, answer.details) for answer in answers]
    assert {answer.code for answer in answers} - {None} <= LOST
    ((winner, answer),) = won
    assert answer.data["global"] is True
    assert all(winner.agent in told(other) for other in answers if other.code == "RESERVATION_CONFLICT")
    assert winner.do("agent.release", all_=True).code is None
    assert winner.do("sync").code is None
    return int(answer.data["token"])


def told(answer: Answer) -> set[str]:
    """Who stood in the way, as the refusal says."""
    return {str(met["agent_id"]) for met in answer.details["conflicts"]}


@pytest.mark.parametrize("rounds", [1, pytest.param(100, marks=pytest.mark.long)])
def test_eight_clones_that_sync_at_once_all_get_through(tmp_path: Path, rounds: int):
    with runners(tmp_path) as (clones, everybody):
        for turn in range(rounds):
            for one in everybody.workers:
                given = {"scope": [f"own/{one.agent}/{turn}"], "bead": "bb-1"}
                assert one.do("agent.reserve", **given).code is None
            answers = everybody.race("sync", [(one, {}) for one in everybody.workers])

            assert [answer.code for answer in answers] == [None] * len(NAMES)
            assert all(answer.data["went"] >= 1 for answer in answers)

        brought_together(clones, everybody)
        held = {(who, scope) for who, scope, _ in clones[-1].holds()}
        assert held == {(name, f"own/{name}/{turn}") for name in NAMES for turn in range(rounds)}


def brought_together(clones: list[Clone], everybody: Crew) -> None:
    """Everybody syncs until it is quiet, and knows the same."""
    for _ in range(2):
        for one in everybody.workers:
            synced(one)
    digests = {each.digest for each in clones}
    assert len(digests) == 1
    events = {each.ask("ledger.digest")["events"] for each in clones}
    assert len(events) == 1


def synced(one: Worker) -> None:
    assert one.do("sync").code is None
