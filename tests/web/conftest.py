"""The pages over a repository in the middle of a day's work, with a browser where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ops.desk.desk import Desk
from tests.hostile import haunt
from tests.near import Near
from tests.scene import set_scene
from tests.support import environment


@pytest.fixture(scope="session")
def the_scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The day's work, made once; never to be changed."""
    return set_scene(tmp_path_factory.mktemp("scene") / "scene").repo.path


@pytest.fixture
def day(the_scene: Path, tmp_path: Path) -> Near:
    """The day's work, to be gone on with."""
    return Near(Path(shutil.copytree(the_scene, tmp_path / "scene")))


@pytest.fixture(scope="session")
def haunted(the_scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Near:
    """The same day, and all of it again with every text made hostile."""
    repo = Near(Path(shutil.copytree(the_scene, tmp_path_factory.mktemp("haunted") / "scene")))
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
