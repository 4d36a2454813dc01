"""What bb says when it meets a bug of its own: a report worth pasting, and nothing in it that is nobody's business.

The bugs are put in the place of an op in the child that is started; everything around them is real.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import bb
from tests.near import near
from tests.support import Ran, Scratch, environment, scratch

CHILD = """
import sys
from bb.ops import catalogue
def broken(desk, **given):
    {bug}
for name in ("agent.list", "agent.heartbeat", "ledger.log"):
    catalogue._declared[name] = catalogue.find(name).replace(call=broken)
sys.argv = ["bb", *sys.argv[1:]]
from bb.__main__ import main
main()
"""
GITHUB = "gh" + "p_" + "aB3d" * 9
AWS = "AK" + "IA" + "ABCD1234" * 2
URL = "https://ada:" + "hunter22" + "@example.invalid/x"
KEY = "-----BEGIN " + "PRIVATE KEY-----\\n" + "QUJD" * 12 + "\\n-----END " + "PRIVATE KEY-----"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("bugs") / "repo")
    made.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    return made


def broken(repo: Scratch, bug: str, *words: str, **settings: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-c", CHILD.replace("{bug}", bug), *words],
        cwd=repo.path,
        env=environment(**settings),
        capture_output=True,
        text=True,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_person_gets_what_went_wrong_first_and_then_what_to_paste(repo: Scratch):
    told = broken(repo, "raise ValueError('it is too late')", "agent", "list", "--role", "builder")

    lines = told.err.splitlines()
    assert (told.status, told.out) == (1, "")
    assert lines[0] == "Error: [INTERNAL_ERROR] bb ran into a bug: ValueError: it is too late"
    assert lines[1].startswith("Hint: please report it")
    assert lines[2] == ""
    assert lines[3].startswith(f"bb {bb.__version__}, Python {platform.python_version()}, {platform.system()} ")
    assert lines[4] == "command: bb agent list --role builder"
    assert lines[5] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: it is too late"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("agent list", ["agent", "list", "--json"]),
        ("agent list", ["--json", "agent", "list"]),
        ("agent list", ["agent", "--json", "list"]),
        ("agent heartbeat", ["agent", "heartbeat", "--agent", "amber-otter", "--json"]),
        ("ledger log", ["ledger", "log", "--follow", "--json"]),
    ],
)
def test_a_program_gets_one_document_about_the_command_it_ran(repo: Scratch, command: str, words: list[str]):
    asked = broken(repo, "raise ValueError('it is too late')", *words)

    assert (asked.status, asked.err) == (1, "")
    assert asked.code == "INTERNAL_ERROR"
    assert asked.envelope["error"]["message"] == "bb ran into a bug: ValueError: it is too late"
    assert "Traceback" in asked.envelope["error"]["details"]["report"]
    assert asked.envelope["command"] == command


@pytest.mark.parametrize("words", [["agent", "list"], ["agent", "list", "--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    ("secret", "marks"),
    [(GITHUB, ["aB3daB3d"]), (AWS, ["ABCD1234"]), (URL, ["hunter22"]), (KEY, ["QUJDQUJD"])],
    ids=["token", "key id", "url", "private key"],
)
def test_no_secret_gets_into_a_report(repo: Scratch, words: list[str], secret: str, marks: list[str]):
    ran = broken(repo, f"secret = '{secret}'; raise RuntimeError('cannot use ' + secret)", *words)

    assert ran.status == 1
    assert "cannot use" in ran.out + ran.err
    assert not [mark for mark in marks if mark in ran.out + ran.err]


def test_a_secret_among_the_words_is_masked_in_the_command(repo: Scratch):
    told = broken(repo, "raise ValueError", "agent", "list", "--role", f"x {GITHUB}")

    assert "command: bb agent list --role x [GitHub token]" in told.err
    assert GITHUB not in told.err


@pytest.mark.parametrize("words", [["agent", "list"], ["agent", "list", "--json"]], ids=["text", "json"])
def test_the_home_directory_is_written_as_a_tilde(tmp_path: Path, words: list[str]):
    home = tmp_path / "home" / "ada.lovelace"
    repo = scratch(home / "project")

    ran = broken(repo, "open(desk.cwd + '/missing')", *words, HOME=str(home))

    assert "~/project/missing" in ran.out + ran.err
    assert "ada.lovelace" not in ran.out + ran.err


@pytest.mark.parametrize("home", ["/", ""])
def test_where_home_is_the_root_paths_stay_legible(repo: Scratch, home: str):
    """Containers with a user of their own often have no other home."""
    told = broken(repo, "raise ValueError('in /some/where')", "agent", "list", HOME=home)

    assert "in /some/where" in told.err
    assert f'File "{Path(bb.__file__).parent / "cli" / "main.py"}"' in told.err


@pytest.mark.parametrize(
    "bug",
    [
        "raise ValueError('\\x1b[2J\\x07\\nError: [FORGED]\\u202e')",
        "raise ValueError('\\udcff\\ud800')",
        "raise KeyError(b'\\xff')",
        "1 / 0",
        "broken(desk)",
        "raise ExceptionGroup('two', [ValueError('one'), TypeError('two')])",
        "raise MemoryError",
        "raise NotImplementedError",
        "raise AssertionError",
        "raise OSError(2, 'No such file', 'x')",
        "import sqlite3; raise sqlite3.OperationalError('disk I/O error')",
        "return {1, 2}",
        "return object()",
        "return {'x': float('nan')}",
        "return {'x': '\\ud800'}",
        "yield 1; raise ValueError('late')",
    ],
)
def test_whatever_the_bug_the_form_is_kept(repo: Scratch, bug: str):
    asked = broken(repo, bug, "agent", "list", "--json")
    told = broken(repo, bug, "agent", "list")

    assert asked.envelope["ok"] is (asked.status == 0)
    assert asked.status in (0, 1)
    assert told.status in (0, 1)
    assert not [line for line in told.err.splitlines()[:3] if line.startswith("Error: [FORGED]")]
    assert "\x1b" not in told.err + told.out
    if told.status:
        assert told.err.startswith("Error: [INTERNAL_ERROR] bb ran into a bug: ")


def test_a_bug_in_the_short_way_is_reported_too(repo: Scratch):
    told = broken(repo, "raise ValueError('beat')", "agent", "heartbeat", "--agent", "amber-otter")

    assert told.status == 1
    assert "command: bb agent heartbeat --agent amber-otter" in told.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("redirection", [">/dev/full", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full"])
def test_a_report_that_cannot_be_written_is_still_status_1(repo: Scratch, redirection: str):
    code = CHILD.replace("{bug}", "raise ValueError('x')")
    for tail in ([], ["--json"]):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", code, "agent", "list", *tail],
            cwd=repo.path,
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "During handling of" not in done.stderr


@pytest.mark.parametrize("words", [["agent", "list"], ["agent", "heartbeat", "--agent", "amber-otter"]], ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_an_interrupt_is_no_bug(repo: Scratch, words: list[str], form: list[str]):
    ran = broken(repo, "raise KeyboardInterrupt", *words, *form)

    assert (ran.status, ran.out, ran.err) == (130, "", "")


def test_a_ledger_is_let_go_of_when_an_op_breaks(repo: Scratch):
    bug = "desk.store.caught_up(); raise ValueError"

    assert broken(repo, bug, "agent", "list").status == 1
    assert repo.json("agent", "list").data[0]["agent_id"] == "amber-otter"
    assert repo.json("agent", "register", "--name", "dusty-wren", "--role", "builder").status == 0
