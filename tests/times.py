"""The times that tests take, and which parameters an ordinary run tries because of them.

`tests/data/times.txt` lists each test that takes more than half a second with all its sets of parameters: the seconds
of one set, the file, the test. A test that is not listed is taken for a fast one.

- `--quick` leaves out a test that takes more than half a second with one set.
- An ordinary run tries as many sets of a test as a third of a second has room for, and at least one. A hash chooses
  them, so every run tries the same ones. `--long`, or a test named on the command line, tries all. So does every run
  for a test marked `each`, whose sets are different things, such as engines.
- Files that take long are started first. Otherwise one of them may still run when all others have ended.

`--note-times` tries all sets, and writes the list anew for the files that the run tests.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests import grids

LIST = Path(__file__).parent / "data" / "times.txt"
LONG = 0.5  # seconds
ROOM = 0.3
UNLISTED = 0.1  # what a test may take that is not listed, for the order of the files


def name_of(node: str) -> str:
    """A test without its parameters."""
    return node.partition("[")[0]


def file_of(item: pytest.Item) -> str:
    """The file of a test. `item.location` has it too, but takes a tenth of the collection to find it."""
    return item.nodeid.partition("::")[0]


def listed() -> dict[str, float]:
    """The seconds that one set of parameters of each listed test takes."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {name: float(seconds) for seconds, name in map(str.split, lines)}


def fast(items: list[pytest.Item]) -> list[pytest.Item]:
    """ITEMS without the slow tests."""
    times = listed()
    return [item for item in items if times.get(name_of(item.nodeid), 0) <= LONG]


def affordable(items: list[pytest.Item]) -> list[pytest.Item]:
    """ITEMS with as many sets of parameters of each test as there is time for."""
    each = {name_of(item.nodeid) for item in items if item.get_closest_marker("each")}
    times = {test: seconds for test, seconds in listed().items() if test not in each}
    return grids.some_of_each(items, lambda test: max(1, int(ROOM / times[test])) if test in times else None)


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """ITEMS with the files that take longest at the beginning, each in its own order."""
    times = listed()
    files: Counter[str] = Counter()
    for item in items:
        files[file_of(item)] += times.get(name_of(item.nodeid), 0)
    for name in {name_of(item.nodeid) for item in items} - times.keys():
        files[name.partition("::")[0]] += UNLISTED
    return sorted(items, key=lambda item: (-files[file_of(item)], file_of(item)))


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
        kept = {name: seconds for name, seconds in listed().items() if name.partition("::")[0] not in tested}
        found = {name: sum(took) / len(took) for name, took in each.items() if sum(took) > LONG}
        lines = [f"{_rounded(seconds)} {name}\n" for name, seconds in sorted((kept | found).items())]
        LIST.write_text("".join(lines), encoding="utf-8")


def _rounded(seconds: float) -> str:
    """Hundredths of a second; thousandths of a set that takes less, of which a test may have hundreds."""
    return f"{seconds:.2f}" if seconds >= 0.01 else f"{max(seconds, 0.001):.3f}"
