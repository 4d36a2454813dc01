"""The pages over a repository in the middle of a day's work, with a browser where there is one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bb.ops.desk.desk import Desk
from tests.hostile import haunt
from tests.near import Near
from tests.scene import set_scene
from tests.support import copied, environment

YOUNG = 300  # seconds; after 15 minutes without a heartbeat its agents would be stale


@pytest.fixture(scope="session")
def a_scene(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes the day's work, or returns that of the last call if it is young. It must not be changed."""
    made: list[tuple[float, Path]] = []

    def scene() -> Path:
        if not made or time.monotonic() > made[-1][0] + YOUNG:
            made.append((time.monotonic(), set_scene(tmp_path_factory.mktemp("scene") / "scene").repo.path))
        return made[-1][1]

    return scene


@pytest.fixture(scope="module")
def the_scene(a_scene: Callable[[], Path]) -> Path:
    """The day's work. It must not be changed."""
    return a_scene()


@pytest.fixture
def day(a_scene: Callable[[], Path], tmp_path: Path) -> Near:
    """The day's work, to be gone on with."""
    return Near(copied(a_scene(), tmp_path / "scene"))


@pytest.fixture(scope="module")
def haunted(the_scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Near:
    """The same day, and all of it again with every text made hostile."""
    repo = Near(copied(the_scene, tmp_path_factory.mktemp("haunted") / "scene"))
    assert haunt(repo) > 20
    return repo


def desk_at(repo: Near) -> Desk:
    return Desk(str(repo.path), environment(**repo.settings))


@pytest.fixture
def desk(day: Near) -> Iterator[Desk]:
    found = desk_at(day)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent of whoever tests acts here."""
    for name in [name for name in os.environ if name.startswith(("BB_", "CCCC_"))]:
        monkeypatch.delenv(name)
