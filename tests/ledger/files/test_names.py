"""The names in a folder, asked for again and again: what comes and goes is seen, however quickly it does."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bb.ledger.files import disk

LONG_AGO = time.time_ns() - 10 * disk.LONGEST_TICK


def settle(folder: Path, moment: int = LONG_AGO) -> None:
    os.utime(folder, ns=(moment, moment))


def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    listed: list[str] = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: [listed.append(path), real(path)][1])
    return listed


def test_a_folder_that_has_not_changed_for_long_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("b", "a"):
        (tmp_path / name).touch()
    settle(tmp_path)
    listed, names = listings(monkeypatch), disk.FolderListing(str(tmp_path))

    first = names.now()
    assert [names.now() is first for _ in range(3)] == [True] * 3
    assert first == ["a", "b"]
    assert listed == [str(tmp_path)]


def test_what_comes_and_goes_is_seen(tmp_path: Path):
    names = disk.FolderListing(str(tmp_path))
    settle(tmp_path)
    assert names.now() == []

    (tmp_path / "a").touch()
    assert names.now() == ["a"]
    (tmp_path / "a").unlink()
    assert names.now() == []


def test_what_comes_within_one_tick_of_the_clock_is_seen(tmp_path: Path):
    names, now = disk.FolderListing(str(tmp_path)), time.time_ns()
    for name in ("a", "b", "c"):
        (tmp_path / name).touch()
        settle(tmp_path, now)  # as a coarse clock would leave it
        assert names.now()[-1] == name


def test_a_clock_that_is_ahead_of_ours_hides_nothing(tmp_path: Path):
    names, ahead = disk.FolderListing(str(tmp_path)), time.time_ns() + 3600 * 10**9
    for name in ("a", "b"):
        (tmp_path / name).touch()
        settle(tmp_path, ahead)
        assert names.now()[-1] == name


def test_a_folder_that_is_not_there_has_no_names_until_it_is(tmp_path: Path):
    names = disk.FolderListing(str(tmp_path / "later"))
    assert names.now() == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a").touch()
    assert names.now() == ["a"]
    settle(tmp_path / "later")
    assert names.now() == ["a"]
    (tmp_path / "later" / "a").unlink()
    (tmp_path / "later").rmdir()
    assert names.now() == []
