"""Fixtures for every kind of test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Scratch, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with one commit and no ledger yet."""
    return scratch(tmp_path / "repo")
