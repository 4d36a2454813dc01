"""Any program that can read git can read a published ledger: the one in docs/examples does it with GitPython alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.published import layout, tip
from tests.stories.travel.branch_support import Branch, File, Name
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, settle
from tests.support import ROOT, environment

EXAMPLE = ROOT / "docs" / "examples" / "read_ledger.py"
LETTER = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}
SECRET = "the word is xyzzy"
Files = dict[Name, File]


def example(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the example as a reader of the page would."""
    program = [sys.executable, "-I", str(EXAMPLE), *map(str, words)]
    return subprocess.run(program, env=environment(), capture_output=True, text=True, timeout=60)


def read(*words: object) -> list[dict[str, Any]]:
    done = example(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(row) for row in done.stdout.splitlines()]


def logged(at: Clone) -> list[dict[str, Any]]:
    """What `bb ledger log --json` shows, but for the place that an event has in this clone alone."""
    found: list[dict[str, Any]] = at.json("ledger", "log", "--limit", "100000").data
    return [{name: value for name, value in event.items() if name != "seq"} for event in found]


def write(at: Clone, count: int) -> list[str]:
    """Record so many messages; their names."""
    return [str(at.ask("agent.send", **LETTER, body=f"häufig {n}")["message_id"]) for n in range(count)]


@pytest.fixture
def archived(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch) -> list[Clone]:
    """Two clones of a ledger whose files are full with eight lines, and that has archived some."""
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    monkeypatch.setattr(tip, "AT_LEAST", 20)
    write(pair[0], 30)
    settle(pair)
    assert "archive/000001.jsonl" in Branch(origin).files()
    return pair


def test_it_reads_what_bb_shows_in_the_same_order(origin: Path, pair: list[Clone]):
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["docs/**/*.md"], bead="bb-2")
    settle(pair)

    found = read(origin)

    assert found == logged(here) == logged(there)
    assert {"group.create", "actor.add", "x.bb.reserved", "x.bb.signed"} <= {event["kind"] for event in found}
    assert read(here.path, "refs/bb/remote/origin") == found


def test_it_reads_files_that_have_been_archived(origin: Path, archived: list[Clone]):
    write(archived[0], 30)
    settle(archived)
    files = Branch(origin).files()
    assert "archive/000002.jsonl" in files
    write(archived[0], 3)
    archived[0].sync()

    found = read(origin)

    assert found == logged(archived[0])
    assert len(found) > 60


def test_it_does_not_show_what_was_taken_back_where_the_archive_still_has_it(origin: Path, archived: list[Clone]):
    here, _ = archived
    early, late = (str(here.ask("agent.send", **LETTER, body=SECRET)["message_id"]) for _ in range(2))
    write(here, 30)
    settle(archived)
    here.ask("ledger.redact", event=early, reason="a password", agent=AMBER)
    here.ask("ledger.redact", event=late, reason="a password", agent="user")
    settle(archived)

    found = read(origin)

    assert found == logged(here)
    assert [event["data"] for event in found if event["id"] in (early, late)] == [{}, {}]
    assert SECRET not in str(found)


def test_it_reads_a_ledger_that_was_begun_anew(origin: Path, archived: list[Clone]):
    archived[0].ask("ledger.rotate", reason="a password", agent="user")

    assert read(origin) == logged(archived[0])


def changed(what: str, was: bytes, now: bytes) -> Callable[[Files], Files]:
    """A way to publish what no bb would: in each path that begins with WHAT, one text replaced once by another."""

    def change(files: Files) -> Files:
        found = dict(files)
        for path, file in files.items():
            if str(path).startswith(what):
                found[path] = File(file.octets.replace(was, now, 1))
        return found

    return change


def without_second_line(files: Files) -> Files:
    rows = {path: file.octets.split(b"\n") for path, file in files.items() if str(path).startswith("w/")}
    return files | {path: File(b"\n".join(row[:1] + row[2:])) for path, row in rows.items()}


def under_another_number(files: Files) -> Files:
    return {str(path).replace("000000000001.jsonl", "000000000002.jsonl"): file for path, file in files.items()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("w/", b'"role":"builder"', b'"role":"boulder"'), "has other data than it was written with"),
        (changed("w/", b'"kind":"actor.add"', b'"kind":"actor.odd"'), "does not follow from the line before it"),
        (changed("w/", b'"dh":"', b'"dx":"'), "is not a line"),
        (changed("w/", b"\n", b""), "line 1 of writer"),
        (changed("bb.json", b'"min_reader":1', b'"min_reader":2'), "for readers of version 2"),
        (without_second_line, "is another line"),
        (under_another_number, "comes after line 0 of its writer"),
    ],
    ids=["data", "head", "no line", "two in one", "too new", "a line gone", "a file gone"],
)
def test_it_shows_nothing_of_a_ledger_that_was_tampered_with(
    origin: Path, pair: list[Clone], change: Callable[[Files], Files], said: str
):
    branch = Branch(origin)
    branch.put(change(branch.files()))

    done = example(origin)

    assert (done.returncode, done.stdout) == (1, "")
    assert "not a sound ledger: " in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (b'"last":8', b'"last":7', "is not what was archived"),
        (b'"sha256":"', b'"sha256":"0', "is not what was archived"),
        (b'"path":"w/', b'"path":"x/', "the archive names 'x/"),
    ],
)
def test_it_does_not_believe_a_wrong_archive(origin: Path, archived: list[Clone], was: bytes, now: bytes, said: str):
    branch = Branch(origin)
    branch.put(changed("archive/", was, now)(branch.files()))

    done = example(origin)

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_branch_that_is_not_there_is_no_sound_ledger(origin: Path):
    assert "not a sound ledger" in example(origin).stderr


def test_it_needs_git_python_and_nothing_of_bb():
    tree = ast.parse(EXAMPLE.read_text())
    needed = {name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names}

    assert needed == {"git", "hashlib", "json", "re", "sys"}
    assert not [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
