"""The pages of docs/bridges/: their programs look alike, and are in order."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.bridges.bot import PAGES, program
from tests.support import ROOT

PLATFORMS = ("slack", "github", "discord", "matrix")
SKELETON = ("bb", "ingest", "call", "place", "find", "post", "attempt", "deliver")
SAME = ("bb", "deliver")  # the same text in all programs, but for the name of the platform


def functions(platform: str) -> dict[str, str]:
    """The functions of a program, in their order."""
    tree = ast.parse(program(platform))
    return {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_programs_have_the_same_functions_in_the_same_order(platform: str):
    own = [name for name in functions(platform) if name in SKELETON]

    assert own == [name for name in SKELETON if name in own]
    assert set(SKELETON) - set(own) <= {"find"}


def test_what_is_the_same_is_written_alike():
    for name in SAME:
        assert len({functions(platform)[name].replace(platform, "…") for platform in PLATFORMS}) == 1


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_program_passes_the_linter(platform: str, tmp_path: Path):
    (tmp_path / "bot.py").write_text(program(platform))
    # Imports on one line and single blank lines keep the program on one page.
    rules = ("--select", "E,F,B,W,UP,C90", "--ignore", "E301,E302,E305,E401", "--line-length", "120")
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--target-version", "py311", *rules, "bot.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def test_every_option_that_the_pages_name_exists():
    from tests.near import Near

    text = "".join(page.read_text() for page in PAGES.glob("*.md"))
    here = Near(ROOT)
    for verb, options in {
        "ingest": ("--follow", "--external", "--secret-env", "--format"),
        "outbox": ("--follow", "--results", "--platform"),
    }.items():
        shown = here.bb("chat", verb, "--help").out
        assert [option for option in options if option not in text or option not in shown] == []
