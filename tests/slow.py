"""Tests that take long by themselves: `--quick` leaves them out.

`tests/data/slow.txt` lists them, a file and a test a line. `pytest --quick --note-slow` tries them and writes the
list anew for the files that it tests. A test is slow if it takes longer than half a second with one set of parameters.
A test that is not listed is run.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

LIST = Path(__file__).parent / "data" / "slow.txt"
SLOW = 0.5  # seconds


def name_of(node: str) -> str:
    """A test as it is listed: its file may be moved to another folder."""
    return node.partition("[")[0].rpartition("/")[2]


def listed() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").split())


class Notes:
    """A plugin that writes the list when the tests have ended."""

    def __init__(self) -> None:
        self._took: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        each: defaultdict[str, list[float]] = defaultdict(list)
        for node, seconds in self._took.items():
            each[name_of(node)].append(seconds)
        tested = {name.partition("::")[0] for name in each}
        kept = {name for name in listed() if name.partition("::")[0] not in tested}
        found = {name for name, took in each.items() if sum(took) / len(took) > SLOW}
        LIST.write_text("".join(f"{name}\n" for name in sorted(kept | found)), encoding="utf-8")
