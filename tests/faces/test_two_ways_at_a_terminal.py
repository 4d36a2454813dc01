"""At a terminal, too, the short way and Typer answer alike: width, height, colours, hints, and what is asked there.

Each call runs on a pseudo-terminal, once by the whole program and once by Typer alone, in a repository that is put back
as it was before. Compared is every octet that the terminal was sent, and the exit status.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from bb.ops import catalogue
from tests.faces.good_calls import AMBER, COBALT, good_words, prepare
from tests.forks import TYPER, WHOLE, Call, run_all
from tests.grids import some
from tests.support import NOON, ROOT, Ran, Scratch, copied, environment, scratch
from tests.terminals import Terminal

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals")

WIDE, NARROW, LOW = (200, 60), (38, 24), (100, 8)
# What a terminal may be like: its size, and what is set beside.
TERMINALS: dict[str, tuple[tuple[int, int], dict[str, str]]] = {
    "narrow": (NARROW, {}),
    "wide, without colours": (WIDE, {"NO_COLOR": "1"}),
    "low": (LOW, {}),
    "of another width than it has": (WIDE, {"COLUMNS": "44", "LINES": "12"}),
    "dumb": (NARROW, {"TERM": "dumb"}),
    "of no size": ((0, 0), {}),
}
SOME = ("narrow", "wide, without colours")  # the others only in a long run
LATER = "2026-01-05T14:00:00Z"  # when everybody has fallen silent
# What chance makes: who writes in a copy of a ledger, how the end of a message is marked, and the time of a commit.
CHANCE = re.compile(
    r"\b[a-z2-7]{12}(?=\.\d)|(?:(?<=boundary: )|(?<=OF MESSAGE ))[0-9a-f]{12}\b|(?<=Committed )[0-9a-f]{10}\b"
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = scratch(tmp_path_factory.mktemp("terminal") / "repo")
    made.settings |= {"BB_NOW": NOON, "COLUMNS": "", "LINES": "", "TERM": "xterm-256color"}
    prepare(made)
    return made


@pytest.fixture(scope="module")
def words(repo: Scratch) -> dict[str, list[str]]:
    """Words that call each hot verb."""
    return {name: good_words(catalogue.find(name), repo) for name in sorted(catalogue.HOT)}


def both(repo: Scratch, calls: Sequence[Call]) -> list[tuple[Ran, Ran]]:
    """What each call says by either way, in the repository as it is."""
    kept = repo.path.parent / "kept"
    copied(repo.path, kept)
    answers: dict[str, list[Ran]] = {WHOLE: [], TYPER: []}
    for call in calls:
        for way, said in answers.items():
            (ran,) = run_all(repo, [call], way)
            said.append(Ran(ran.status, CHANCE.sub("CHANCE", ran.out), ran.err))
            shutil.rmtree(repo.path)
            copied(kept, repo.path)
    shutil.rmtree(kept)
    return list(zip(answers[WHOLE], answers[TYPER], strict=True))


def assert_alike(repo: Scratch, calls: Sequence[Call]) -> list[Ran]:
    """What the calls say, which is the same by either way."""
    found = both(repo, calls)
    different = [
        f"bb {call}\n  {whole}\n  {typer}" for call, (whole, typer) in zip(calls, found, strict=True) if whole != typer
    ]
    assert not different, f"{len(different)} of {len(calls)}:\n" + "\n".join(different[:8])
    return [whole for whole, _ in found]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in SOME else pytest.mark.long) for kind in TERMINALS]
)
def test_every_hot_verb_looks_the_same_at_a_terminal(repo: Scratch, words: dict[str, list[str]], kind: str):
    size, settings = TERMINALS[kind]
    said = assert_alike(repo, [Call(each, settings, size=size) for each in words.values()])

    assert any("\x1b[" in each.out for each in said) is ("NO_COLOR" not in settings and settings.get("TERM") != "dumb")


def test_refusals_and_their_hints_look_the_same_at_a_terminal(repo: Scratch, words: dict[str, list[str]]):
    tails = [["--json"], ["stray", "words"], ["--agent", "nobody-here"]]
    calls = [Call([*each, *tail], size=NARROW) for each in words.values() for tail in tails]
    bare = [Call(name.replace(".", " ").split(), size=NARROW) for name in words]

    assert_alike(repo, [*some(calls, 16), *some(bare, 8)])


def test_what_is_asked_at_a_terminal_is_asked_by_either_way(repo: Scratch):
    """Who takes over from an agent that is known to be alive is asked; and who is silent has left something open."""
    taken = ["agent", "reserve", "--agent", AMBER, "--scope", "web", "--bead", "bb-1"]
    later = {"BB_NOW": LATER}
    lists: list[tuple[list[str], dict[str, str]]] = [
        (taken, {}),
        (taken, later),
        ([*taken, "--takeover-stale"], later),
        (["agent", "send", "--from", AMBER, "--to", COBALT, "--bead", "b", "--category", "INFO"], {}),
        (["protocol", "handoff", "--to", COBALT], {}),
        (["agent", "register"], {}),
        (["doctor", "--fix"], {}),
        (["problems"], later),
        (["status"], later),
        (["chat", "progress"], {}),
        (["sync"], {}),
        (["sync", "--publish"], {}),
    ]
    answers = ("y\n", "n\n", "\x04")
    calls = [
        Call(words, more, typed, NARROW)
        for row, (words, more) in enumerate(lists)
        for typed in some(answers, 3 if "reserve" in words else 1, f"what is typed at {row}")
    ]

    assert_alike(repo, calls)


# -- what a process is about: a reader that goes, a stream that is closed, Ctrl-C

BY_TYPER = "from bb.cli import fast_parser, main; fast_parser.answer = lambda *_, **__: None; main.main()"
WAYS = {WHOLE: [sys.executable, "-m", "bb"], TYPER: [sys.executable, "-c", BY_TYPER]}
MANY = 20  # messages of ten kilobytes: more than a pipe takes


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A ledger whose log is longer than a pipe takes at once."""
    made = scratch(tmp_path_factory.mktemp("long") / "repo")
    made.settings["BB_NOW"] = NOON
    prepare(made)
    sent = ["agent", "send", "--from", AMBER, "--to", COBALT, "--bead", "b", "--category", "INFO", "--subject", "x"]
    calls = [Call([*sent, "--body", f"{number} {'word ' * 2000}"]) for number in range(MANY)]
    assert {ran.status for ran in run_all(made, calls)} == {0}
    return made


def in_a_shell(repo: Scratch, start: list[str], command: str, end: str) -> tuple[int, str, str]:
    """What a shell hears of a command; at last, on stderr, the exit status of each part."""
    ran = subprocess.run(
        ["bash", "-c", f'exec 7>&2; "$@" {command} {end}; echo "${{PIPESTATUS[@]}}" >&7', "bash", *start],
        cwd=repo.path,
        env=environment(**repo.settings, PYTHONPATH=str(ROOT), PYTHONUNBUFFERED=""),
        capture_output=True,
        text=True,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("end", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "> /dev/full"])
@pytest.mark.parametrize(
    "command",
    [
        "agent list",
        "ledger log --limit 1000 --json",
        pytest.param("timeline --limit 1000 --json", marks=pytest.mark.long),
        pytest.param("doctor", marks=pytest.mark.long),
    ],
)
def test_a_stream_that_is_closed_ends_both_ways_alike(long: Scratch, command: str, end: str):
    found = [in_a_shell(long, start, command, end) for start in WAYS.values()]

    assert found[0] == found[1]
    assert "Traceback" not in found[0][2]


@pytest.mark.parametrize("end", ["| head -1", "| head -c 9"])
def test_a_reader_that_goes_ends_both_ways_alike(long: Scratch, end: str):
    """What is said is far more than a pipe takes, so that neither way can have said all of it before."""
    found = [in_a_shell(long, start, "ledger log --limit 1000 --json", end) for start in WAYS.values()]

    assert found[0] == found[1]
    assert end == "| head -1" or found[0][2] == "141 0\n"


@pytest.mark.parametrize("tail", [[], ["--json"]], ids=["text", "json"])
def test_ctrl_c_ends_both_ways_alike(long: Scratch, tail: list[str]):
    ends = []
    for start in WAYS.values():
        words = ["ledger", "log", "--limit", "2", "--follow", *tail]
        with Terminal(long, command=[*start, *words], columns=60, PYTHONPATH=str(ROOT)) as screen:
            screen.until(lambda screen: screen.printed.count("\n") >= 2)
            time.sleep(0.2)  # until it waits
            screen.type("\x03")
            ends.append((screen.ends(), screen.written))

    assert ends[0] == ends[1]
    assert ends[0][0] in (130, -signal.SIGINT)
    assert "Traceback" not in ends[0][1]
