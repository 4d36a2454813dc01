"""A repository with two agents, and harnesses for them that are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.attention.attach_support import Attached
from tests.stories.attention.harness_support import World, world_at


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path) as found:
        yield found


@pytest.fixture
def attached(tmp_path: Path) -> Iterator[Attached]:
    found = Attached(tmp_path)
    yield found
    found.close()
