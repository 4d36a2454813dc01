"""A hot verb is answered by the lean way or by Typer. Nobody may be able to tell which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import NOON, ROOT, environment, scratch

# Runs lists of words, each as the whole program would (lean first) and as Typer alone would; says what each printed.
BOTH = """
import contextlib, io, json, os, sys
from bb.cli import app, fast_parser

def said(words, env, only_typer):
    before = dict(os.environ)
    os.environ.update(env)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = None if only_typer else fast_parser.answer(words)
        was_lean = status is not None
        status = app.answer(words) if status is None else status
    os.environ.clear()
    os.environ.update(before)
    return was_lean, [status, out.getvalue(), err.getvalue()]

os.chdir(sys.argv[1])
for words, env in json.loads(sys.stdin.read()):
    print(json.dumps(said(words, env, sys.argv[2] == "typer")))
"""

HEARTBEAT = ["agent", "heartbeat"]
TAILS = [
    [],
    ["--json"],
    ["--agent", "amber-otter"],
    ["--agent", "amber-otter", "--json"],
    ["--json", "--agent", "amber-otter"],
    ["--json", "--json", "--agent", "amber-otter"],
    ["--agent=amber-otter", "--json"],
    ["--agent="],
    ["--agent", ""],
    ["--agent", "", "--json"],
    ["--agent"],
    ["--agent", "--json"],
    ["--json", "--agent"],
    ["--agent", "nobody-here", "--json"],
    ["--agent", "nobody-here"],
    ["--agent", "../x", "--json"],
    ["--agent", "Amber-Otter"],
    ["--agent", "a--b"],
    ["--agent", "con", "--json"],
    ["--agent", "user"],
    ["--agent", "a" * 49],
    ["--agent", "-x"],
    ["--agent", "--agent", "amber-otter"],
    ["--agent=-x", "--json"],
    ["--agent", "ämber", "--json"],
    ["--agent", "amber-otter\x1b[2J", "--json"],
    ["--agent", "amber-otter", "--agent", "cobalt-harbor", "--json"],
    ["--agent", "cobalt-harbor", "--agent=amber-otter"],
    ["--ag", "amber-otter"],
    ["--Agent", "amber-otter"],
    ["-a", "amber-otter"],
    ["--json=1"],
    ["--json=false", "--agent", "amber-otter"],
    ["--jso"],
    ["--unknown"],
    ["--unknown", "x", "--json"],
    ["stray"],
    ["stray", "--json"],
    ["--agent", "amber-otter", "stray", "--json"],
    ["--", "--agent"],
    ["--", "--json"],
    ["--agent", "amber-otter", "--"],
    ["--agent", "--", "--json"],
    ["--help"],
    ["-h"],
    ["--help", "--json"],
    ["-h", "--agent"],
    ["-"],
    ["=", "--json"],
    ["--=x"],
    ["--agent", "amber otter"],
    ["--agent", "amber-otter "],
    ["--agent", "0123"],
    ["--agent", "--help"],
]
HEADS = [
    ["--json", *HEARTBEAT],
    ["agent", "--json", "heartbeat"],
    ["--json", "agent", "--json", "heartbeat", "--json"],
    ["agent", "heartbeat ", "--json"],
    ["agent", "Heartbeat"],
    ["agent.heartbeat"],
    ["--unknown", *HEARTBEAT],
]
SETTINGS: list[dict[str, str]] = [
    {"BB_AGENT": "amber-otter"},
    {"BB_AGENT": "nobody-here"},
    {"BB_AGENT": "../x"},
    {"BB_AGENT": ""},
    {"BB_AGENT": "amber-otter", "BB_NOW": "yesterday"},
    {"BB_AGENT": "amber-otter", "BB_AGENT_STALE_MINUTES": "0"},
    {"BB_AGENT": "amber-otter", "BB_AGENT_STALE_MINUTES": "-1"},
    {"BB_AGENT": "amber-otter", "BB_AGENT_STALE_MINUTES": "abc"},
    {"BB_AGENT": "amber-otter", "BB_AGENT_STALE_MINUTES": "40"},
]
CORPUS: list[tuple[list[str], dict[str, str]]] = [
    *(([*HEARTBEAT, *tail], {}) for tail in TAILS),
    *(([*HEARTBEAT, *tail], {"BB_AGENT": "cobalt-harbor"}) for tail in TAILS[:13]),
    *(([*head, *tail], {}) for head in HEADS for tail in (TAILS[2], TAILS[12])),
    *(([*HEARTBEAT, *tail], env) for env in SETTINGS for tail in ([], ["--json"])),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[bool, list[object]]]]:
    """What each way says to every list of words, in one and the same repository with the clock stopped."""
    repo = scratch(tmp_path_factory.mktemp("both") / "repo")
    repo.settings["BB_NOW"] = NOON
    for name in ("amber-otter", "cobalt-harbor"):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    presence = {file: file.read_bytes() for file in (repo.store / "presence").iterdir()}
    said = {}
    for way in ("whole", "typer"):
        for file, content in presence.items():
            file.write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", BOTH, str(repo.path), way],
            input=json.dumps(CORPUS),
            env=environment(BB_NOW=NOON, COLUMNS="100"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        said[way] = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    return said


@pytest.mark.parametrize("number", range(len(CORPUS)), ids=lambda number: " ".join(CORPUS[number][0])[:60])
def test_both_ways_answer_alike(answers: dict[str, list[tuple[bool, list[object]]]], number: int):
    (_, whole), (_, typer) = answers["whole"][number], answers["typer"][number]

    assert whole == typer


def test_the_plain_words_go_the_lean_way_and_the_odd_ones_do_not(answers: dict[str, list[tuple[bool, list[object]]]]):
    lean = {" ".join(words) for (words, env), (was_lean, _) in zip(CORPUS, answers["whole"], strict=True) if was_lean}

    assert {"agent heartbeat --agent amber-otter --json", "--json agent heartbeat --agent amber-otter"} <= lean
    assert not lean & {
        "agent heartbeat --help",
        "agent heartbeat stray",
        "agent heartbeat --agent",
        "agent heartbeat -h",
    }
    assert len(CORPUS) > 60


# -- what a verb loads

LOADED = """
import os, sys
def leave(status):
    sys.stdout.flush()
    print(" ".join(sorted(sys.modules)), file=sys.stderr, flush=True)
    os.kill(os.getpid(), 9)
os._exit = leave
sys.argv = ["bb", *sys.argv[1:]]
from bb.__main__ import main
main()
"""
TOO_HEAVY = [
    "argparse",
    "asyncio",
    "collections",
    "contextlib",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "functools",
    "hashlib",
    "importlib.util",
    "inspect",
    "json",
    "logging",
    "orjson",
    "pathlib",
    "random",
    "re",
    "shutil",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "typer",
    "typing",
    "uuid",
]


def loaded(path: Path, *words: str) -> set[str]:
    # -I and -S keep out what an environment's own start-up hooks load.
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{LOADED}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *words], cwd=path, env=environment(), capture_output=True, text=True
    )
    return set(done.stderr.split())


def test_a_heartbeat_loads_nothing_heavy(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")

    modules = loaded(repo.path, "agent", "heartbeat", "--agent", "amber-otter", "--json")

    assert "bb.ops.agents.heartbeat" in modules
    assert sorted(modules & set(TOO_HEAVY)) == []
    assert sorted(module for module in modules if module.startswith("bb.ledger.")) == [
        "bb.ledger.files",
        "bb.ledger.files.disk",
        "bb.ledger.git",
        "bb.ledger.git.ownership",
        "bb.ledger.git.place",
        "bb.ledger.journal",
        "bb.ledger.journal.clone",
        "bb.ledger.local",
        "bb.ledger.local.last_sync",
        "bb.ledger.local.pinned_threshold",
        "bb.ledger.local.presence",
    ]


def test_another_verb_loads_typer_but_nothing_that_it_does_not_use(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "agent", "name", "--json"],
        cwd=repo.path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    modules = set(done.stderr.split())

    assert "typer" in modules
    assert sorted(modules & {"asyncio", "rich", "pydantic", "mcp", "orjson", "starlette"}) == []


AMBER, COBALT = ["--agent", "amber-otter"], ["--agent", "cobalt-harbor"]
RESERVE, RELEASE = ["agent", "reserve"], ["agent", "release"]
SRC = ["--scope", "src", "--bead", "bb-1"]
# In order, because each finds what the ones before it have left. The flag says whether the short way takes it.
SEQUENCE: list[tuple[list[str], bool]] = [
    ([*RESERVE, *AMBER, *SRC, "--json"], True),
    ([*RESERVE, *AMBER, *SRC], True),
    ([*RESERVE, *COBALT, *SRC, "--json"], True),
    ([*RESERVE, *COBALT, "--scope=src/a.py", "--bead=bb-2", "--allow-overlap", "--json"], True),
    ([*RESERVE, *COBALT, "--scope", "docs", "--scope", "a", "--scope", "b/**/*.md", "--bead", "x", "--shared"], True),
    ([*RESERVE, *AMBER, "--scope", "docs", "--bead", "y", "--shared", "--ttl", "5", "--json"], True),
    ([*RESERVE, *AMBER, "--scope", "../out", "--bead", "y"], True),
    ([*RESERVE, *AMBER, "--scope", "src/{a,b}", "--bead", "y", "--json"], True),
    ([*RESERVE, *AMBER, "--scope", "", "--bead", "y", "--json"], True),
    ([*RESERVE, *AMBER, "--scope", "x", "--bead", " "], True),
    *(([*RESERVE, *AMBER, "--scope", "x", "--bead", "y", "--ttl", ttl], True) for ttl in ("4", "1441", "10.5", "abc")),
    ([*RESERVE, "--agent", "nobody-here", *SRC, "--json"], True),
    ([*RESERVE, "--agent", "No Body", *SRC], True),
    ([*RESERVE, *AMBER, "--bead", "y", "--json"], True),
    ([*RESERVE, *AMBER, "--scope", "x", "--bead"], False),
    ([*RESERVE, *AMBER, "--scope", "x", "--bead", "y", "--bead", "z"], False),
    ([*RESERVE, *AMBER, "--scope", "x", "--bead", "y", "--wait", "soon"], True),
    (["check", "src/a.py", *AMBER, "--json"], True),
    (["check", "src/a.py", "docs/x", "--json", *COBALT], True),
    (["check", "src/a.py"], True),
    (["check", "--json"], True),
    (["check", *AMBER, "zzz", "--", "-x"], False),
    (["check", "src/ä.py", "--json"], False),
    (["agent", "inbox", *AMBER, "--json"], True),
    (["agent", "inbox", *AMBER, "--state", "unread"], True),
    (["agent", "inbox", *AMBER, "--state", "lost"], True),
    (["agent", "inbox", *AMBER, "--limit", "0", "--json"], True),
    (["agent", "inbox", "--agent", "user"], True),
    (["agent", "inbox", "--json"], True),
    ([*RELEASE, *COBALT, "--scope", "src"], True),
    ([*RELEASE, *AMBER, "--scope", "./src/", "--json"], True),
    ([*RELEASE, *AMBER, "--scope", "src", "--json"], True),
    ([*RELEASE, *AMBER], True),
    ([*RELEASE, *AMBER, "--all", "--all"], False),
    ([*RELEASE, *COBALT, "--all"], True),
]


def test_the_verbs_that_leave_something_answer_alike_too(tmp_path: Path):
    said = {}
    for way in ("whole", "typer"):
        repo = scratch(tmp_path / "repo")  # both in one place, because answers name it
        for name in ("amber-otter", "cobalt-harbor"):
            assert repo.bb("agent", "register", "--name", name, "--role", "builder", BB_NOW=NOON).status == 0
        done = subprocess.run(
            [sys.executable, "-c", BOTH, str(repo.path), way],
            input=json.dumps([(words, {}) for words, _ in SEQUENCE]),
            env=environment(BB_NOW=NOON, COLUMNS="100"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        same = done.stdout.replace(repo.journal().parent.name, "WRITER")
        said[way] = [json.loads(line) for line in same.splitlines()]
        repo.path.rename(tmp_path / way)

    assert [answer for _, answer in said["whole"]] == [answer for _, answer in said["typer"]]
    assert [was_lean for was_lean, _ in said["whole"]] == [is_plain for _, is_plain in SEQUENCE]
    assert {answer[0] for _, answer in said["whole"]} == {0, 2, 3, 4, 5, 7}
