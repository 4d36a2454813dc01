"""Fixtures for every kind of test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.forks import quick
from tests.support import Scratch

# How fast examples come depends on how busy the machine is, and no test is about that.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many a test waits for a process, or for time to pass."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with one commit and no ledger yet."""
    return quick(tmp_path / "repo")
