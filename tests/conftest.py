"""Fixtures for every kind of test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.attention import minimal
from tests.forks import quick
from tests.support import Scratch

# How fast examples come depends on how busy the machine is, and no test is about that.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--profile minimal`: what the first useful implementation of C2A has to pass (`tests/attention/minimal.py`)."""
    parser.addoption("--profile", choices=["minimal"], help="only the tests of C2A that this profile names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a profile, only what it names."""
    if not config.getoption("--profile"):
        return
    is_wanted = [not minimal.NUMBERS.isdisjoint(minimal.numbers(item.name)) for item in items]
    others = [item for item, wanted in zip(items, is_wanted, strict=True) if not wanted]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item, wanted in zip(items, is_wanted, strict=True) if wanted]


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many a test waits for a process, or for time to pass."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with one commit and no ledger yet."""
    return quick(tmp_path / "repo")
