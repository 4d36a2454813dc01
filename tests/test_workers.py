"""Tests that run at a time: each is run once, what fails is told, and who crashes takes no other test along."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, environment

TESTS = """
import os, pytest

@pytest.fixture(scope="module")
def shared(): return os.getpid()

@pytest.mark.parametrize("n", range(4))
def test_passes(n, shared, tmp_path): assert shared == os.getpid()

def test_fails(): assert 1 == 2

def test_crashes():
    if DIES: os._exit(7)

@pytest.mark.skip
def test_is_skipped(): pass

def test_comes_after(capfd):
    os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"
"""


def ran(folder: Path, *words: str) -> tuple[int, str]:
    """The exit status of the tests in FOLDER, and what was said."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", *words, str(folder)]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "--basetemp", str(folder.parent / "temporary")],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def numbers(said: str) -> dict[str, int]:
    return {word: int(number) for number, word in re.findall(r"(\d+) (failed|passed|skipped)", said.splitlines()[-1])}


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """Four files, one of which crashes."""
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(TESTS.replace("DIES", str(name == "b")))
    return tmp_path


def test_each_test_runs_once_and_a_crash_is_one_failure(four: Path):
    status, said = ran(four, "-n", "3")

    assert (status, numbers(said)) == (1, {"failed": 5, "passed": 23, "skipped": 4}), said
    assert "ended with status 7 while it ran this test" in said
    assert len(re.findall(r"^FAILED .*test_b\.py::test_crashes", said, re.MULTILINE)) == 1


def test_the_tests_of_one_file_are_dealt_out(four: Path):
    status, said = ran(four / "test_a.py", "-n", "2", "-vv")

    assert (status, numbers(said)) == (1, {"failed": 1, "passed": 6, "skipped": 1}), said
    assert len(re.findall(r"::test_\S+ (?:PASSED|FAILED|SKIPPED)", said)) == 8


def test_after_as_many_failures_as_are_wanted_no_other_test_begins(four: Path):
    status, said = ran(four, "-n", "2", "-x")

    assert status == 1, said
    assert "stopping after" in said
    assert numbers(said)["passed"] < 20
