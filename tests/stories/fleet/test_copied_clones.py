"""A clone of a fleet is copied or moved while bb's daemon runs its relay: each clone has a relay of its own."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines import Postgres
from tests.stories.fleet.client_support import Fleet, Side, fleet
from tests.support import Scratch
from tests.waiting import until


@pytest.fixture
def two(tmp_path: Path, postgres: Postgres) -> Iterator[Fleet]:
    with fleet(tmp_path, postgres) as made:
        yield made


def at(side: Side, path: Path) -> Side:
    """The same agent with the same daemon, in a clone at PATH."""
    return replace(side, at=Scratch(path, side.at.settings))


def test_a_copy_has_a_relay_of_its_own_and_the_original_goes_on(two: Fleet, tmp_path: Path):
    here, there = two.here, two.there
    assert there.reserve("lib").status == 0
    shutil.copytree(there.at.path, tmp_path / "copy", symlinks=True, copy_function=copied)
    copy = at(there, tmp_path / "copy")

    assert copy.text("send", here.agent, "--subject", "from the copy", "--body", "x", BB_SYNC="").status == 0
    until(lambda: "from the copy" in here.text("inbox").out, "the message of the copy")
    granted = copy.reserve("src")
    assert granted.status == 0, granted.err + granted.out
    assert here.reserve("src").code == "RESERVATION_CONFLICT"

    assert there.text("send", here.agent, "--subject", "from the original", "--body", "x").status == 0
    until(lambda: "from the original" in here.text("inbox").out, "the message of the original")
    assert there.reserve("docs").status == 0
    assert copy.daemon() == there.daemon(), "one daemon runs both relays"
    assert "Connected" in copy.text("fleet", "status").out


def test_a_clone_that_is_moved_goes_on(two: Fleet, tmp_path: Path):
    here, there = two.here, two.there
    first = there.reserve("lib").data["token"]
    there.at.path.rename(tmp_path / "moved")
    moved = at(there, tmp_path / "moved")

    granted = moved.reserve("src")
    assert granted.status == 0, granted.err + granted.out
    assert moved.token("lib") == first
    assert here.reserve("src").code == "RESERVATION_CONFLICT"
    there.at.path.mkdir()  # for the command that ends the daemon


def copied(source: str, to: str) -> None:
    """Copy a file with its times, as `cp -a` does. A socket is no file to copy, and a file of a moment may be gone."""
    if not Path(source).is_socket():
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(source, to)
