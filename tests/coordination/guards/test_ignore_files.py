"""Ignore files name what git says they name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.guards import ignore_files
from tests.examples import examples
from tests.support import environment


@pytest.mark.parametrize(
    ("lines", "ignored", "not_ignored"),
    [
        ("*.lock", ["uv.lock", "web/yarn.lock"], ["lock", "a.lock.txt"]),
        ("/dist", ["dist", "dist/a.js", "dist/deep/a.js"], ["web/dist", "distant"]),
        ("build/", ["build/a", "web/build/a"], ["build", "web/build"]),
        ("docs/*.md", ["docs/a.md"], ["docs/sub/a.md", "web/docs/a.md", "docs/.md.txt"]),
        ("**/gen/*.py", ["gen/a.py", "x/gen/a.py", "x/y/gen/a.py"], ["gen/x/a.py", "xgen/a.py"]),
        ("src/**", ["src/a", "src/x/y"], ["src", "lib/src/a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("*.log\n!keep.log", ["a.log"], ["keep.log", "x/keep.log"]),
        ("logs/\n!logs/keep.log", ["logs/keep.log"], ["keep.log"]),
        ("logs/*\n!logs/keep.log", ["logs/a"], ["logs/keep.log"]),
        ("!a\na", ["a"], []),
        ("# a\n\\#b\n\\!c", ["#b", "!c"], ["# a", "a", "b"]),
        ("a   \nb\\ ", ["a", "b "], ["a   ", "b", "b\\ "]),
        ("file.[ch]\n[!a-c]x\n[[:digit:]]y", ["file.c", "dx", "7y"], ["file.x", "ax", "ay"]),
        ("a?c", ["abc", "a.c"], ["ac", "a/c", "abbc", "aéc"]),
        ("é*\nb??c", ["é", "éa", "béc"], ["bc"]),
        ("\ufeffa\r\nb\r\n", ["a", "b"], ["a\r"]),
        ("[a\na\\\n[[:none:]]\n/\n!\n", [], ["[a", "a\\", "a", "/", "!"]),
        ("[]x]\n[a-]z\n[\\]]q", ["]", "x", "-z", "az", "]q"], ["[]x]", "bz"]),
    ],
)
def test_patterns_as_the_manual_of_git_has_them(lines: str, ignored: list[str], not_ignored: list[str]):
    rules = ignore_files.read(lines.encode())

    assert [path for path in [*ignored, *not_ignored] if rules.ignores(path)] == ignored


def test_a_submodule_is_a_folder():
    rules = ignore_files.read(b"vendor/")

    assert rules.ignores("vendor", is_folder=True)
    assert not rules.ignores("vendor")


def test_a_path_that_is_no_text_is_octets_like_any_other():
    rules = ignore_files.read(b"\xff*\n")

    assert rules.ignores("\udcff\udcfe")
    assert not rules.ignores("\udcfe")


def test_where_case_does_not_count_it_counts_nowhere():
    rules = ignore_files.read(b"/Docs/[A-C]*.MD\n", ignore_case=True)

    assert rules.ignores("docs/b.md")
    assert rules.ignores("DOCS/Change.Md")
    assert not rules.ignores("docs/d.md")


@pytest.mark.parametrize("pattern", ["*" * 3000 + "b", "*a" * 100 + "b", "**/" * 100 + "b", "a/**/" * 80 + "b"])
def test_no_pattern_takes_forever(pattern: str):
    assert not ignore_files.read(pattern.encode()).ignores("a/" * 20 + "a" * 200)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oracle")
    subprocess.run(["git", "init", "--quiet", str(path)], check=True, env=environment())
    return path


def ignored_by_git(oracle: Path, lines: bytes, paths: list[str]) -> list[str]:
    (oracle / ".gitignore").write_bytes(lines)
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "--stdin", "-z"],
        input="".join(f"{path}\0" for path in paths).encode(),
        cwd=oracle,
        env=environment(),
        capture_output=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return [os.fsdecode(path) for path in done.stdout.split(b"\0")[:-1]]


PIECES = st.sampled_from(
    [*"aabbc/*?[]!-^\\ #é.", "**", "**/", "/**", "[a-b]", "[!a]", "[[:alpha:]]", "\\*", "\\ ", "[^/]", "[]-]", "[:"]
)
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=4).map("\n".join)
NAMES = st.text("aabbc.é*[]!# \\-^", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@given(LINES, st.lists(PATHS, min_size=1, max_size=30, unique=True))
@examples(250)
def test_git_itself_ignores_the_same(oracle: Path, lines: str, paths: list[str]):
    rules = ignore_files.read(lines.encode())

    assert [path for path in paths if rules.ignores(path)] == ignored_by_git(oracle, lines.encode(), paths)
