"""The exit status of a command that judges is a verdict: its text is an answer on stdout, and no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.near import Near, near

AMBER, COBALT = "amber-otter", "cobalt-harbor"


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo")
    for name in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    assert made.bb("reserve", "src", "--bead", "bb-1", "--agent", COBALT).status == 0
    return made


def change(repo: Near) -> None:
    (repo.path / "src").mkdir()
    (repo.path / "src" / "a.py").write_text("x")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Change", "--trailer", f"BB-Agent: {AMBER}")


@pytest.mark.parametrize(
    ("words", "status", "code", "first", "hint"),
    [
        (["problems"], 4, "PROBLEMS_OPEN", "1 problem needs a person", ""),
        (["check", "src/a.py", "--agent", AMBER], 7, "PATH_HELD", "held    src/a.py", "Hint: "),
        (["ci", "check", "--base", "HEAD~1"], 7, "CI_INCURSION", "1 commit, 1 path", "Hint: "),
        (["cbcl", "verify", "--text", "(define planning)"], 4, "DIALECT_REJECTED", "<text>:1:1 R2", "Hint: "),
        (["doctor"], 4, "PROBLEMS_FOUND", "1 of ", ""),
    ],
)
def test_a_verdict_is_printed_as_an_answer(repo: Near, words: list[str], status: int, code: str, first: str, hint: str):
    repo.bb(
        "blocked", "user", "Two.", "--requested-action", "One.", "--urgency", "low", "--bead", "b", "--agent", AMBER
    )
    if "ci" in words:
        (repo.path / "x").write_text("x")
        repo.git("add", ".")
        repo.git("commit", "--quiet", "-m", "First")
        change(repo)
    settings = {"BB_AGENT": "../x"} if words == ["doctor"] else {}

    told, asked = repo.bb(*words, **settings), repo.json(*words, **settings)

    assert (told.status, asked.status, asked.code) == (status, status, code)
    assert told.out.startswith(first)
    assert [line[:6] for line in told.err.splitlines()] == ([hint] if hint else [])
    assert "Error:" not in told.out


def test_another_refusal_of_such_a_command_is_an_error(repo: Near):
    told = repo.bb("check", "src", "--staged")

    assert told.err.startswith("Error: [INVALID_VALUE]")


def test_every_code_of_a_verdict_is_a_code(repo: Near):
    from tests.faces.faces_support import statuses

    named = {code for op in catalogue.all_ops() for code in op.verdicts}
    assert named <= statuses().keys()
    assert {op.name for op in catalogue.all_ops() if op.verdicts} == {
        "problems",
        "doctor",
        "check",
        "ci.check",
        "cbcl.verify",
    }


def test_sarif_of_a_verdict_is_the_document_alone(repo: Near):
    (repo.path / "x").write_text("x")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "First")
    change(repo)

    told = repo.bb("ci", "check", "--base", "HEAD~1", "--format", "sarif")

    assert told.status == 7
    assert "Error" not in told.err
    assert told.out.strip().startswith("{")
    assert told.out.strip().endswith("}")
