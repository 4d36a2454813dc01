"""Ids of writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.kernel import ids
from bb.ledger.journal import writers


def test_two_machines_with_the_same_random_numbers_make_different_writers(monkeypatch: pytest.MonkeyPatch):
    moments = iter([1_767_614_400_000_000_000, 1_767_614_400_000_000_001])
    monkeypatch.setattr("os.urandom", bytes)
    monkeypatch.setattr("time.time_ns", lambda: next(moments))

    one, other = writers.new_id(), writers.new_id()

    assert one != other
    assert ids.is_writer_id(one)
    assert ids.is_writer_id(other)


ONE, OTHER = "a" * 12, "b" * 12


def test_a_writer_that_comes_in_the_same_moment_as_the_others_are_listed_is_found(tmp_path: Path):
    """The clock of a file system is coarse, so the folder above may have the same time before and after."""
    known = writers.KnownWriters(str(tmp_path))
    (tmp_path / ONE).mkdir()
    assert known.all() == [ONE]
    moment = tmp_path.stat().st_mtime_ns

    (tmp_path / OTHER).mkdir()
    os.utime(tmp_path, ns=(moment, moment))

    assert known.all() == [ONE, OTHER]


def test_a_folder_of_writers_is_listed_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    known = writers.KnownWriters(str(tmp_path / "j"))
    assert known.all() == []
    (tmp_path / "j" / ONE).mkdir(parents=True)
    os.utime(tmp_path / "j", ns=(1, 1))
    assert known.all() == [ONE]

    with monkeypatch.context() as at_rest:
        at_rest.setattr(writers, "all_in", lambda _: pytest.fail("it is listed again"))
        assert known.all() == [ONE]
    (tmp_path / "j" / OTHER).mkdir()

    assert known.all() == [ONE, OTHER]
