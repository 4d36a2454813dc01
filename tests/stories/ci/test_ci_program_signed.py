"""`bb-ci.pyz` checks signatures with ssh-keygen, and refuses where they cannot be checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.stories.ci.program_support import alone, packed_once
from tests.stories.travel.test_signed import NEEDS_SSH, listed, review
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub
from tests.support import NOON, environment


@pytest.fixture
def base(two: list[Clone]) -> str:
    """COBALT changes what AMBER has reserved."""
    one, other = two
    one.ask("agent.reserve", scope=["src"], bead="bb-1", agent=AMBER)
    one.sync()
    return other.git("rev-parse", "HEAD").strip()


@pytest.fixture
def two(tmp_path: Path) -> list[Clone]:
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


def changed(other: Clone) -> str:
    """A change within src on top of a reviewed file; the commit before."""
    base = other.git("rev-parse", "HEAD").strip()
    (other.path / "src").mkdir()
    (other.path / "src" / "a.py").write_text("")
    other.git("add", "--force", "src")
    other.git("commit", "--quiet", "-m", f"Change\n\nBB-Agent: {COBALT}")
    return base


@NEEDS_SSH
@pytest.mark.parametrize("mode", ["warn", "require"])
@pytest.mark.parametrize("whose", [0, 1], ids=["the holder's key is listed", "another key is listed"])
def test_it_counts_the_lines_that_bb_counts(two: list[Clone], base: str, mode: str, whose: int):
    other = two[1]
    review([other], listed(two[whose], "laptop"), f"#bb mode {mode}")
    words = ("--base", changed(other), "--json")
    other.settings["BB_NOW"] = NOON

    expected = other.bb("ci", "check", *words)
    found = alone(packed_once(), other, "check", *words)

    assert found == expected
    assert (found.status, mode) in ((7, "warn"), (7 if whose == 0 else 0, "require"))


def test_without_a_program_that_checks_signatures_it_refuses(two: list[Clone], base: str, tmp_path: Path):
    other = two[1]
    review([other], listed(two[0], "laptop"), "#bb mode require")
    base = changed(other)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").symlink_to(str(shutil.which("git", path=environment()["PATH"])))

    refused = alone(packed_once(), other, "check", "--base", base, "--json", PATH=str(tools), BB_NOW=NOON)
    assert (refused.status, refused.code) == (4, "CANNOT_VERIFY")

    passed = alone(
        packed_once(), other, "check", "--base", base, "--unreachable=pass", "--json", PATH=str(tools), BB_NOW=NOON
    )
    assert passed.code == "CANNOT_VERIFY"

    (tools / "ssh-keygen").write_text("#!/bin/sh\necho 'unknown option -- Y' >&2\nexit 1\n")
    (tools / "ssh-keygen").chmod(0o755)
    refused = alone(packed_once(), other, "check", "--base", base, "--json", PATH=str(tools), BB_NOW=NOON)
    assert (refused.status, refused.code) == (4, "CANNOT_VERIFY")
