"""The short way and Typer answer alike, for every short list of words and for many long ones.

Each list runs twice in one repository, with the clock stopped and the presence files put back: once by the whole
program and once by Typer alone. Compared are stdout, stderr and the exit status.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.forks import TYPER, WHOLE, Call
from tests.grids import some
from tests.near import Near, near, run_all
from tests.support import NOON, Scratch, environment

AGENT = {"BB_AGENT": "cobalt-harbor"}
# What the lists of words are made of: everything that either way looks at, and a word that neither knows.
PARTS = ["--agent", "amber-otter", "--agent=amber-otter", "--json", "--", "-h", "stray"]
ODD_PARTS = [
    *PARTS,
    "",
    "--agent=",
    "--help",
    "--json=1",
    "--json=",
    "--ag",
    "--AGENT",
    "--agent=--json",
    "--agent=-h",
    "--agent=amber=otter",
    "--=amber-otter",
    "=",
    "-",
    "---",
    "-x",
    "--x",
    "--x=1",
    "../x",
    "a--b",
    "CON",
    "con",
    "x" * 48,
    "x" * 49,
    "bö-bö",
    "会-議",
    "a\u200bb-c",
    "amber-otter\n",
    "amber\x7f",
    "\x1b[31m",
    "%s {0} $HOME",
    "agent",
    "heartbeat",
    "help",
    "@file",
    "--force-update",
    "--role",
]
BOTH_KINDS = ("agent.heartbeat", "check")  # with an option, with an argument; the others only in a long run
VERBS = {name: name.replace(".", " ").replace("_", "-").split() for name in sorted(catalogue.HOT)}
SOME_VERBS = [
    pytest.param(verb, id=name, marks=[] if name in BOTH_KINDS else pytest.mark.long) for name, verb in VERBS.items()
]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("widely") / "repo")
    made.settings["BB_NOW"] = NOON
    for name in ("amber-otter", "cobalt-harbor", "x" * 48):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return made


def assert_alike(repo: Scratch, calls: list[Call]) -> None:
    keep = repo.store / "presence"
    differences = [
        f"bb {call}\n  {WHOLE}: {whole}\n  {TYPER}: {typer}"
        for call, whole, typer in zip(
            calls, run_all(repo, calls, WHOLE, keep=keep), run_all(repo, calls, TYPER, keep=keep), strict=True
        )
        if whole != typer
    ]
    assert not differences, f"{len(differences)} of {len(calls)}:\n" + "\n".join(differences[:8])


@pytest.mark.parametrize("most", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("verb", SOME_VERBS)
def test_every_list_of_a_few_words_is_answered_alike(repo: Scratch, verb: list[str], most: int):
    calls = [Call([*verb, *tail]) for count in range(most + 1) for tail in itertools.product(PARTS, repeat=count)]

    assert_alike(repo, calls)


@pytest.mark.parametrize("verb", SOME_VERBS)
def test_odd_words_anywhere_are_answered_alike(repo: Scratch, verb: list[str]):
    def lists() -> Iterator[Call]:
        for part in ODD_PARTS:
            yield Call([*verb, part])
            yield Call([*verb, part], AGENT)
            yield Call([*verb, "--agent", part])
            yield Call([*verb, "--agent", part, "--json"])
            yield Call([part, *verb, "--agent", "amber-otter"])
            yield Call([verb[0], part, *verb[1:], "--agent", "amber-otter", "--json"])
        chance = random.Random(20260105)
        for _ in range(150):
            words = [*verb, *chance.choices(ODD_PARTS, k=chance.randint(3, 6))]
            if chance.random() < 0.3:
                chance.shuffle(words)
            yield Call(words, AGENT if chance.random() < 0.5 else {})

    assert_alike(repo, some(lists(), 90))


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_bytes_that_are_no_utf_8_are_answered_alike(repo: Scratch, verb: list[str]):
    broken = os.fsdecode(b"a\xffb-c")
    tails = [
        ["--agent", broken],
        ["--agent", broken, "--json"],
        [f"--agent={broken}"],
        [broken],
        [f"--{broken}"],
        ["--json", broken],
    ]
    calls = [Call([*verb, *tail]) for tail in tails] + [Call(verb, {"BB_AGENT": broken}), Call([broken, *verb])]

    assert_alike(repo, some(calls, 4))


SETTINGS = {
    "BB_AGENT": ["", "amber-otter", "nobody-here", "../x", "a--b", "CON", "x" * 49, " amber-otter", "bö-bö", "-h"],
    "BB_NOW": ["tomorrow", "2026-01-05", "2026-01-05T12:14:59Z", "2026-01-05T12:15:00+02:00", "0001-01-01T00:00:00Z"],
    "BB_AGENT_STALE_MINUTES": ["", "0", "-1", "abc", "1.5", " 15", "15 ", "1", "40", "10080", "10081", "9" * 40, "١٥"],
}


TAILS = [[], ["--agent=amber-otter", "--json"]]
OTHER_TAILS = [["--json"], ["--agent", "amber-otter"]]


@pytest.mark.parametrize("tails", [TAILS, pytest.param(OTHER_TAILS, marks=pytest.mark.long)], ids=["", "other"])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_the_environment_means_the_same_to_both(repo: Scratch, verb: list[str], tails: list[list[str]]):
    calls = [
        Call([*verb, *tail], {name: value}) for name, values in SETTINGS.items() for value in values for tail in tails
    ]

    assert_alike(repo, some(calls, 7))


@pytest.mark.parametrize("after", [[], ["--json"]])
def test_a_return_from_silence_is_answered_and_recorded_alike(tmp_path: Path, after: list[str]):
    """This is the one heartbeat that opens the ledger, so the two ways need a repository each."""
    left = {}
    for way in (WHOLE, TYPER):
        repo = near(tmp_path / way)
        for name in ("amber-otter", "cobalt-harbor"):
            assert repo.bb("agent", "register", "--name", name, "--role", "builder", BB_NOW=NOON).status == 0
        calls = [
            Call(["agent", "heartbeat", "--agent", "amber-otter", *after], {"BB_NOW": f"2026-01-05T{moment}:00Z"})
            for moment in ("12:14", "12:29", "12:59", "12:59", "12:00", "13:40")
        ]
        said = run_all(repo, calls, way)
        events = [(event["kind"], event["by"], event["ts"], event["data"]) for event in repo.json("ledger", "log").data]
        left[way] = said, events[1:]

    assert left[WHOLE] == left[TYPER]
    assert [kind for kind, *_ in left[WHOLE][1]].count("x.bb.seen") == 3


@pytest.mark.parametrize("way", ["whole", "typer"])
def test_outside_a_repository_both_refuse_with_the_same_words(tmp_path: Path, way: str):
    outside = Near(tmp_path, {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    calls = [Call(["agent", "heartbeat", "--agent", "amber-otter", *tail]) for tail in ([], ["--json"])]

    told, asked = run_all(outside, calls, way)

    assert (told.status, asked.status, asked.code) == (3, 3, "NOT_A_REPOSITORY")
    assert told.err.startswith(f"Error: [NOT_A_REPOSITORY] {tmp_path} is not in a git repository\nHint: ")


def test_a_started_process_says_what_a_command_in_this_process_says(repo: Scratch):
    """The many lists above run in the process of the test; here a few run as a user starts them."""
    lists = [
        ["--agent", "amber-otter"],
        ["--agent", "amber-otter", "--json"],
        ["--agent", "nobody-here"],
        ["--agent", "--json"],
        ["stray"],
    ]
    calls = [Call(["agent", "heartbeat", *tail]) for tail in lists]
    keep = repo.store / "presence" / "amber-otter.json"
    before = keep.read_bytes()
    here = run_all(repo, calls, keep=keep.parent)
    started = Scratch(repo.path, repo.settings)
    alone = "import sys; from bb.cli import app; sys.exit(app.answer(sys.argv[1:]))"

    for call, expected in zip(calls, here, strict=True):
        keep.write_bytes(before)
        assert started.bb(*call.words) == expected
        keep.write_bytes(before)
        typer = subprocess.run(
            [sys.executable, "-c", alone, *call.words],
            cwd=repo.path,
            env=environment(**repo.settings),
            capture_output=True,
            text=True,
        )
        assert (typer.returncode, typer.stdout, typer.stderr) == (expected.status, expected.out, expected.err)
