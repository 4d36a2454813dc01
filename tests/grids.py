"""Every verb with every value: an ordinary run tries a part of the pairs, `--long` tries all of them.

Most pairs of such a grid show what others have shown already. In an ordinary run each row is tried with a few columns,
and each column with a few rows. A hash of the row's name and the column's place decides which ones. So every run tries
the same pairs, and a new verb or value changes the choice for few others.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")

is_whole = False  # set by `--long`


def some(values: Iterable[Value], most: int, of: object = None) -> list[Value]:
    """MOST of the VALUES for one row OF a grid, in their order; all of them in a long run. The row is the test that
    runs, unless it is named."""
    every = list(values)
    row = of or os.environ["PYTEST_CURRENT_TEST"].partition(" (")[0]
    return every if is_whole else [every[at] for at in _chosen(len(every), row, most)]


def repeats(few: int, many: int) -> range:
    """How often something is repeated that may go wrong at any time: FEW times, or MANY times in a long run."""
    return range(many if is_whole else few)


def grid(rows: Sequence[Any], columns: Sequence[Any], most: int = 2, least: int = 1) -> list[Any]:
    """Parameters for every pair of a row and a column: MOST columns of each row, and LEAST rows of each column at
    least. The others are marked long."""
    chosen = {(row, column) for row, of in enumerate(rows) for column in _chosen(len(columns), of, most)}
    chosen |= {(row, column) for column, of in enumerate(columns) for row in _chosen(len(rows), of, least)}
    return [
        pytest.param(
            *(row if isinstance(row, tuple) else (row,)),
            *(column if isinstance(column, tuple) else (column,)),
            id=f"{name_of(row)}-{name_of(column)[:40]}",
            marks=[] if (i, j) in chosen else pytest.mark.long,
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def part(cases: Iterable[Any], most: int) -> list[Any]:
    """Parameters for each of the CASES. An ordinary run tries MOST of them. The others are marked long."""
    every = list(cases)
    chosen = _chosen(len(every), name_of(every[0]), most)
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=[] if place in chosen else pytest.mark.long)
        for place, case in enumerate(every)
    ]


def some_of_each(items: Sequence[pytest.Item], most: Callable[[str], int | None]) -> list[pytest.Item]:
    """Each test with some of its sets of parameters, in their order. MOST says how many, or None for all."""
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [each[at] for test, each in by_test.items() for at in _chosen(len(each), test, most(test) or len(each))]


def _chosen(count: int, of: object, most: int) -> list[int]:
    """MOST of COUNT places: those that have the least hashes together with the name of what they are chosen for."""
    ranks = sorted(range(count), key=lambda at: zlib.crc32(f"{name_of(of)} {at}".encode()))
    return sorted(ranks[:most])


def name_of(value: object) -> str:
    """What a row or a column is called."""
    if isinstance(value, tuple):
        return " ".join(map(name_of, value))
    found = value if isinstance(value, str) else getattr(value, "name", None)
    return ascii(found)[1:-1] if isinstance(found, str) else ascii(value)
