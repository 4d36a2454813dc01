"""`bb-ci.pyz`, the check in one file without packages, answers as `bb ci check` does."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bb
from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project
from tests.stories.ci.program_support import alone, packed, packed_once
from tests.support import Ran, Scratch, scratch

LEX = "src/parser/lex.py"


@pytest.fixture(scope="module")
def program() -> Path:
    return packed_once()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An error, a warning, a doubt, and a global reservation."""
    made = project(tmp_path_factory.mktemp("program") / "work")
    made.publish()
    made.commit(HARBOR, {LEX: "2\n"}, "BB-Agent: ../x")
    made.commit(None, {"src/parser/new.py": "1\n", "docs/ä b.md": "1\n"})
    made.push("work")
    return made


BASE = ("--base", "origin/main")
PLAIN = [
    BASE,
    (*BASE, "--json"),
    (*BASE, "--declared", "--scope", "docs", "--scope=src/x"),
    (*BASE, "--strict", "--json"),
    (*BASE, "--agent", OTTER),
    (*BASE, "--local", "--json"),
    (*BASE, "--remote", "origin", "--head", "HEAD~1"),
]
FORMATS = [(*BASE, "--format", form) for form in ("text", "github", "sarif", "junit")]
UNREACHABLE = [
    (*BASE, "--remote", "file:///nowhere/at/all"),
    (*BASE, "--remote", "file:///nowhere/at/all", "--unreachable", "pass", "--json"),
    (*BASE, "--remote", "https://127.0.0.1:9/x.git", "--unreachable=pass"),
    (*BASE, "--remote", "nobody"),
]
MISTAKES = [
    *((), ("--json",), ("--bogus",), ("--bas", "x"), ("--base",), ("--base", "x", "--base", "y"), ("--base", "--json")),
    *((*BASE, "x"), (*BASE, "-"), ("x", "y"), (*BASE, "--", "x", "--json"), (*BASE, "--"), ("-x",), ("-hx",), ("-xh",)),
    *(
        (*BASE, "--strict=1"),
        (*BASE, "--json=1"),
        (*BASE, "--help=1"),
        ("--base", "--head"),
        ("--base", "-x"),
        ("--é",),
    ),
    *((*BASE, "--scopes", "docs"), (*BASE, "--sarif"), ("--path=src", *BASE), ("---base", "x"), ("--bogus", "-h")),
    *(
        (*BASE, "--format", "foo"),
        (*BASE, "--agent", "A B"),
        (*BASE, "--scope", "/"),
        (*BASE, "--unreachable", "maybe"),
    ),
    *(("--base", "é"), ("--base", "nowhere"), ("--base="), ("--base", "HEAD", b"--head=\xff"), (*BASE, "--scope")),
    *((*BASE, "--head", "x y"), ("help",), ("--help", "--bogus"), (*BASE, "--output"), (*BASE, "--remote", "-x")),
]


@pytest.mark.parametrize("words", [*PLAIN, *FORMATS, *UNREACHABLE, *MISTAKES], ids=repr)
def test_it_answers_as_bb_ci_check_does(program: Path, work: Project, words: tuple[str | bytes, ...]):
    expected = work.repo.bb("ci", "check", *words, COLUMNS="80")

    assert alone(program, work.repo, "check", *words) == expected


@pytest.mark.parametrize("form", ["text", "github", "sarif", "junit"])
def test_it_writes_the_same_report(program: Path, work: Project, tmp_path: Path, form: str):
    words = (*BASE, "--format", form, "--output")

    expected = work.repo.bb("ci", "check", *words, str(tmp_path / "expected"), GITHUB_ACTIONS="true")
    found = alone(program, work.repo, "check", *words, str(tmp_path / "found"), GITHUB_ACTIONS="true")

    assert found == expected
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("options", [(), ("--filter=blob:none",), ("--depth=1",), ("--no-tags", "--single-branch")])
def test_it_judges_a_checkout_as_bb_does(program: Path, work: Project, tmp_path: Path, options: tuple[str, ...]):
    path = tmp_path / "checkout"
    work.repo.git("clone", "--quiet", "--branch", "work", *options, work.url, str(path))
    at = Scratch(path, dict(work.repo.settings))

    for words in (BASE, ("--base", "HEAD"), (*BASE, "--json")):
        assert alone(program, at, "check", *words) == at.bb("ci", "check", *words)


def test_it_refuses_what_bb_refuses(program: Path, work: Project, tmp_path: Path):
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    empty = scratch(tmp_path / "empty", commit=False)

    for at in (Scratch(nowhere), empty):
        assert alone(program, at, "check", *BASE) == at.bb("ci", "check", *BASE)


def test_it_records_in_the_ledger_of_the_clone(program: Path, work: Project):
    found = alone(program, work.repo, "check", *BASE, "--local", "--record", "--json")

    assert found.status == 7
    recorded = found.envelope["error"]["details"]["recorded"]
    assert recorded
    assert work.repo.json("protocol", "incursions").data


def test_it_says_its_version_and_knows_no_other_command(program: Path, work: Project):
    assert alone(program, work.repo, "--version") == Ran(0, f"bb {bb.__version__}\n", "")
    assert alone(program, work.repo, "ci", "check", *BASE) == alone(program, work.repo, "check", *BASE)
    assert alone(program, work.repo).out == alone(program, work.repo, "check", "--help").out
    refused = alone(program, work.repo, "reserve", "src", "--json")
    assert (refused.status, refused.code) == (2, "UNKNOWN_COMMAND")


def test_it_has_modules_of_bb_only_and_the_same_sources_make_the_same_file(program: Path, tmp_path: Path):
    packed(tmp_path / "again.pyz")

    assert (tmp_path / "again.pyz").read_bytes() == program.read_bytes()
    with zipfile.ZipFile(program) as archive:
        names = archive.namelist()
        assert {name.partition("/")[0] for name in names} == {"bb", "__main__.py", "LICENSE"}
        assert not [name for name in names if name.startswith(("bb/web", "bb/mcp", "bb/daemon", "bb/cli/app"))]
    digest, name = Path(f"{program}.sha256").read_text().split()
    assert (len(digest), name) == (64, "bb-ci.pyz")


def test_it_runs_without_site_packages_from_a_folder_that_cannot_be_written(program: Path, work: Project):
    os.chmod(program.parent, 0o555)
    try:
        assert alone(program, work.repo, "check", *BASE).status == 7
    finally:
        os.chmod(program.parent, 0o755)


def test_an_old_python_is_told_which_one_is_needed(program: Path):
    with zipfile.ZipFile(program) as archive:
        start = archive.read("__main__.py").decode()
    old = f"import sys; sys.version_info = (3, 10, 9); exec({start!r})"

    done = subprocess.run([sys.executable, "-I", "-c", old], capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith("Error: bb-ci needs Python 3.11 or later, and this is 3.10: ")
