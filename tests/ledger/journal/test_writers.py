"""Ids of writers."""

from __future__ import annotations

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
