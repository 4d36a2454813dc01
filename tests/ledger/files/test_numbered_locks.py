"""A file has several locks: each excludes others of its number only."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.kernel.errors import BbError
from bb.ledger.files import numbered_locks
from bb.ledger.files.numbered_locks import NumberedLocks
from tests.ledger.ledger_support import refusal_of

pytestmark = pytest.mark.skipif(not numbered_locks.HAS_NUMBERS, reason="needs locks of an open file")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[list[int]]:
    """The same file, opened twice."""
    (tmp_path / "file").touch()
    fds = [os.open(tmp_path / "file", os.O_RDWR) for _ in range(2)]
    yield fds
    for fd in fds:
        os.close(fd)


@pytest.fixture
def two(opened: list[int]) -> list[NumberedLocks]:
    return [NumberedLocks(fd) for fd in opened]


def test_a_number_is_taken_once_and_others_stay_free(two: list[NumberedLocks]):
    one, other = two
    assert one.try_take(7)

    assert not other.try_take(7)
    assert not other.try_take(7, shared=True)
    assert other.try_take(8)
    assert not one.try_take(8)

    one.release(7)
    assert other.try_take(7)


def test_a_shared_lock_excludes_only_exclusive_ones(two: list[NumberedLocks]):
    one, other = two
    assert one.try_take(1, shared=True)

    assert other.try_take(1, shared=True)
    assert not one.try_take(1)


def test_numbers_of_any_size_are_locks(two: list[NumberedLocks]):
    one, other = two
    assert one.try_take(10**12)

    assert not other.try_take(10**12)
    assert other.try_take(10**12 + 1)


def test_a_wait_in_vain_ends(two: list[NumberedLocks]):
    one, other = two
    assert one.take(3, 5)

    assert not other.take(3, 0.05)
    assert not other.take(3, 0.05, shared=True)


@pytest.mark.parametrize("number", numbered_locks.UNKNOWN)
def test_where_the_file_system_has_no_such_locks_all_numbers_are_one(
    two: list[NumberedLocks], monkeypatch: pytest.MonkeyPatch, number: int
):
    def unknown(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(numbered_locks, "_set", unknown)
    one, other = two
    assert one.try_take(1)

    assert not other.try_take(2)
    assert not one.are_several
    one.release(1)
    assert other.take(2, 5)


def test_a_disk_that_fails_is_refused_as_that(two: list[NumberedLocks], monkeypatch: pytest.MonkeyPatch):
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(numbered_locks, "_set", failing)
    with pytest.raises(BbError):
        two[0].try_take(1)
    assert refusal_of(lambda: two[0].take(1, 5)) == "DISK_FAILED"
