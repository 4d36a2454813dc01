"""Where most stories of a travelling ledger begin: a hub, and two clones that have published and know each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return hub(tmp_path / "hub.git")


@pytest.fixture
def pair(origin: Path) -> list[Clone]:
    return agents_at_work(origin, AMBER, COBALT)
