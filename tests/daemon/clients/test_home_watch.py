"""A daemon whose home directory was deleted ends; one whose disk is away for a moment goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.daemon.clients.endpoint import Endpoint
from bb.daemon.clients.home_watch import GONE, HomeWatch


class Clockwork:
    """A loop whose time the test sets."""

    def __init__(self) -> None:
        self.time, self.next = 0.0, []  # type: tuple[float, list[Callable[[], None]]]

    def now(self) -> float:
        return self.time

    def later(self, _: float, do: Callable[[], None]) -> None:
        self.next.append(do)

    def look(self, after: float) -> None:
        self.time += after
        self.next.pop()()


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    made = Endpoint(str(tmp_path / "home"), {})
    made.claim()
    return made


@pytest.fixture
def watched(endpoint: Endpoint) -> tuple[Any, list[str]]:
    loop, ended = Clockwork(), []  # type: tuple[Any, list[str]]
    HomeWatch(endpoint, loop, lambda: ended.append("ended"))
    return loop, ended


def test_a_home_that_stays_away_ends_the_daemon(endpoint: Endpoint, watched: tuple[Any, list[str]], tmp_path: Path):
    loop, ended = watched
    loop.look(1)
    shutil.rmtree(tmp_path / "home")

    loop.look(1)
    loop.look(GONE - 1)
    assert not ended
    loop.look(1)

    assert ended == ["ended"]
    assert not loop.next
    endpoint.leave()
    assert not (tmp_path / "home").exists()


def test_a_disk_that_is_away_for_a_moment_ends_nothing(
    endpoint: Endpoint, watched: tuple[Any, list[str]], tmp_path: Path
):
    loop, ended = watched
    for _ in range(3):
        os.rename(tmp_path / "home", tmp_path / "away")
        loop.look(1)
        loop.look(GONE - 1)
        os.rename(tmp_path / "away", tmp_path / "home")
        loop.look(1)

    assert not ended
    endpoint.leave()


def test_a_home_that_was_deleted_and_made_anew_ends_the_daemon_at_once_and_keeps_its_files(
    endpoint: Endpoint, watched: tuple[Any, list[str]], tmp_path: Path
):
    loop, ended = watched
    shutil.rmtree(tmp_path / "home")
    other = Endpoint(str(tmp_path / "home"), {})
    other.claim()
    (tmp_path / "home" / "daemon" / "ccccd.pid").write_text("of the other")

    loop.look(1)
    assert ended == ["ended"]
    endpoint.leave()

    assert (tmp_path / "home" / "daemon" / "ccccd.pid").exists()
    other.leave()
