"""Every test of the checklist is run against each host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attention.hosts import CommandLine, Host, InMemory
from tests.forks import quick


@pytest.fixture(params=["replay", "command line"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    """Where the steps of a test are done."""
    return InMemory() if request.param == "replay" else CommandLine(quick(tmp_path / "repo"))


@pytest.fixture
def memory() -> InMemory:
    """For what only the rules in memory can be asked: harnesses that come and go, several clones."""
    return InMemory()


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    """For what only processes and files can show."""
    return CommandLine(quick(tmp_path / "repo"))
