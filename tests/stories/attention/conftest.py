"""A repository with two agents, and harnesses for them that are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.attention.harness_support import World, world_at


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path) as found:
        yield found
