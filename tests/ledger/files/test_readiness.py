"""Waiting for file descriptors, with `poll` and without."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator

import pytest

from bb.ledger.files import readiness

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there, only sockets can be waited for")


@pytest.fixture(params=["poll", "select"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "select":
        monkeypatch.delattr(select, "poll")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):  # the test has closed it
            os.close(end)


def test_what_can_be_read_and_written_is_named(pipe: tuple[int, int]):
    reads, writes = pipe
    assert readiness.ready([reads], [writes], 0) == (set(), {writes})
    os.write(writes, b"x")
    assert readiness.ready([reads], [writes], 600) == ({reads}, {writes})
    assert readiness.readable([reads], 600) == {reads}


def test_a_time_that_is_over_is_no_time(pipe: tuple[int, int]):
    assert readiness.readable([pipe[0]], -1) == set()


def test_the_end_of_the_other_side_can_be_read(pipe: tuple[int, int]):
    os.close(pipe[1])
    assert readiness.readable([pipe[0]], 600) == {pipe[0]}


def test_a_pipe_that_nobody_reads_can_be_written_to_and_says_so_then(pipe: tuple[int, int]):
    os.close(pipe[0])
    assert readiness.ready((), [pipe[1]], 600) == (set(), {pipe[1]})


def test_a_descriptor_that_is_closed_is_an_error(pipe: tuple[int, int]):
    os.close(pipe[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        readiness.readable([pipe[0]], 600)
