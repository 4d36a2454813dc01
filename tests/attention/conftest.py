"""Every test of the checklist is run against each host. An ordinary run asks two of the three: the rules in memory, and
the command line or a harness.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attention.hosts import CommandLine, Host, InMemory
from tests.attention.rpc import JsonRpc
from tests.grids import some
from tests.near import near
from tests.support import scratch

BEYOND_MEMORY = ("command line", "json-rpc")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave one of the two to a long run."""
    host = getattr(item, "callspec", None) and item.callspec.params.get("host")  # type: ignore[attr-defined]
    if host in BEYOND_MEMORY and host not in some(BEYOND_MEMORY, 1, item.nodeid.replace(host, "")):
        item.add_marker(pytest.mark.long)


@pytest.fixture(params=["replay", *BEYOND_MEMORY])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """Where the steps of a test are done."""
    if request.param == "json-rpc":
        made = JsonRpc(scratch(tmp_path / "repo"))
        yield made
        made.close()
    else:
        yield InMemory() if request.param == "replay" else CommandLine(near(tmp_path / "repo"))


@pytest.fixture
def memory() -> InMemory:
    """For what only the rules in memory can be asked: harnesses that come and go, several clones."""
    return InMemory()


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    """For what only processes and files can show."""
    return CommandLine(near(tmp_path / "repo"))
