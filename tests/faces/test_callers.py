"""`--agent` is accepted by every command: it is the caller."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.cli import own_commands
from bb.ops import catalogue
from tests.faces.good_calls import AMBER, COBALT, commands
from tests.near import Near, near
from tests.support import NOON

COMMANDS = [*(op.words for op in commands().values()), *own_commands.COMMANDS, *catalogue.SHORT]


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo", BB_NOW=NOON)
    for name in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return made


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS))
def test_every_command_takes_agent(tmp_path: Path, command: str):
    ran = Near(tmp_path).bb(*command.split(), "--agent", AMBER, "--help")

    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "member"),
    [
        (["send", COBALT, "Done."], "from_agent"),
        (["agent", "send", "--to", COBALT, "--body", "Done."], "from_agent"),
        (["handoff", COBALT, "Done.", "--next-action", "Dates.", "--bead", "bb-1"], "from_agent"),
        (["reserve", "src", "--bead", "bb-1"], "agent_id"),
    ],
)
def test_the_agent_is_the_caller(repo: Near, words: list[str], member: str):
    answer = repo.json(*words, "--agent", AMBER).data

    assert answer.get("reservations", [answer])[0][member] == AMBER


def test_a_command_of_cccc_has_its_caller_from_agent_too(repo: Near):
    sent = repo.json("chat", "send", "Ready.", "--agent", AMBER).data["event"]

    assert sent["by"] == AMBER


def test_a_call_by_name_has_its_caller_from_agent_too(repo: Near):
    sent = repo.json("call", "agent.reserve", "--args", '{"scope": ["src"], "bead": "bb-1"}', "--agent", AMBER).data

    assert sent["reservations"][0]["agent_id"] == AMBER


@pytest.mark.parametrize("words", [["send", COBALT, "Done.", "--from", COBALT], ["chat", "send", "x", "--by", COBALT]])
def test_two_different_callers_are_refused(repo: Near, words: list[str]):
    refused = repo.json(*words, "--agent", AMBER)

    assert (refused.status, refused.code) == (2, "TWO_CALLERS")
    assert repo.json(*[AMBER if word == COBALT and place else word for place, word in enumerate(words)]).status == 0


def test_the_same_caller_may_be_named_twice(repo: Near):
    assert repo.json("send", COBALT, "Done.", "--from", AMBER, "--agent", AMBER).data["from_agent"] == AMBER


@pytest.mark.parametrize("words", [["send", COBALT, "Done."], ["doctor"], ["status"], ["chat", "send", "x"]])
def test_another_caller_than_bb_agent_is_refused(repo: Near, words: list[str]):
    refused = repo.json(*words, "--agent", AMBER, BB_AGENT=COBALT)

    assert (refused.status, refused.code) == (5, "NOT_YOUR_NAME")


@pytest.mark.parametrize("words", [["doctor"], ["status"], ["demo"], ["hooks", "status"]])
def test_a_caller_that_cannot_be_is_refused_where_nobody_asks_for_it(repo: Near, words: list[str]):
    assert repo.json(*words, "--agent", "../x").code == "AGENT_NOT_FOUND"


def test_an_order_of_the_person_stays_the_persons(repo: Near):
    assert repo.json("freeze", "src", "--agent", AMBER).code == "PERSON_ONLY"
