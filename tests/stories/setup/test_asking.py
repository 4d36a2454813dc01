"""`bb setup` at a terminal: the plan is shown, and the person is asked once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.near import Near
from tests.stories.setup.setup_support import empty, to_the_byte
from tests.terminals import Terminal

QUESTION = "Carry this out? [Y/n]"


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return empty(tmp_path / "repo")


def asked(repo: Near, answer: str, *words: str) -> tuple[int, str]:
    """`bb setup WORDS` by a person who types ANSWER: the exit status, and what was printed."""
    with Terminal(repo, "setup", *words, columns=200, lines=60) as terminal:
        terminal.until(lambda seen: QUESTION in seen.printed)
        terminal.type(answer)
        status = terminal.ends()
        return status, terminal.printed


@pytest.mark.parametrize("answer", ["n\n", "what\n", "\x04"])
def test_anything_but_yes_changes_nothing(repo: Near, answer: str):
    before = to_the_byte(repo.path)

    status, printed = asked(repo, answer)

    assert status == 0
    assert "Plan: set up bb in" in printed
    assert "Nothing was changed." in printed
    assert to_the_byte(repo.path) == before


@pytest.mark.parametrize("answer", ["\n", "y\n", "Yes\n"])
def test_yes_is_the_default(repo: Near, answer: str):
    status, printed = asked(repo, answer, "--only", "ledger")

    assert status == 0
    assert "installed" in printed
    assert repo.store.exists()


def test_undoing_is_asked_too(repo: Near):
    before = to_the_byte(repo.path)
    repo.bb("setup", "--yes")

    status, printed = asked(repo, "y\n", "--undo")

    assert (status, "Undid bb setup in" in printed) == (0, True)
    assert to_the_byte(repo.path) == before


def test_nobody_is_asked_when_there_is_nothing_to_do(repo: Near):
    repo.bb("setup", "--yes")

    with Terminal(repo, "setup", columns=200, lines=60) as terminal:
        assert terminal.ends() == 0
        assert "Nothing to change in" in terminal.printed
        assert QUESTION not in terminal.printed
