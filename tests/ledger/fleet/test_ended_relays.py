"""A relay that has ended may still be woken: by a background job that outlives it, and by commands. The file numbers of
its pipe belong to other files of the daemon by then."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from bb.ledger.fleet import background_jobs
from bb.ledger.fleet.relay import Relay
from bb.ledger.fleet.shared import Shared
from tests.ledger.fleet.fleet_support import Machine, fleet
from tests.waiting import until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs os.pread")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Machine]:
    with fleet(tmp_path) as (made, other):
        made.result("fresh")
        other.stop()  # which could open files of its own meanwhile
        yield made


def test_a_command_that_wakes_it_writes_into_no_other_file(here: Machine, tmp_path: Path):
    relay, numbers = ended(here)

    with Opened(tmp_path, *numbers) as opened:
        answers: list[Any] = []
        relay.ask({"ask": "wake"}, answers.append)
        relay.stop()

        assert answers == [{"ok": True, "result": {}}]
        assert opened.read() == b""


def test_a_job_of_git_that_outlives_it_writes_into_no_other_file(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    goes_on = threading.Event()
    monkeypatch.setattr(background_jobs, "look", lambda *_: goes_on.wait())
    assert here.relay
    git = here.relay._loop.housekeeping.git
    here.relay._loop.housekeeping.look_for_charter()
    job = git._thread
    assert job
    _, numbers = ended(here)

    with Opened(tmp_path, *numbers) as opened:
        goes_on.set()
        job.join()

        assert opened.read() == b""


def test_it_reads_from_no_other_file(tmp_path: Path):
    shared = Shared(str(tmp_path), lambda _: {}, print)
    numbers = shared.wake_fd, shared._waking_fd
    shared.close()
    shared.close()

    with Opened(tmp_path, *numbers) as opened:
        os.pwrite(shared.wake_fd, b"of another file", 0)
        shared.drain()

        assert os.read(shared.wake_fd, 100) == b"of another file"
        assert opened.read() == b"of another file"


def ended(machine: Machine) -> tuple[Relay, tuple[int, int]]:
    """The relay of MACHINE, which has ended, and the former file numbers of its pipe."""
    relay = machine.relay
    assert relay
    numbers = relay._shared.wake_fd, relay._shared._waking_fd
    machine.stop()
    return relay, numbers


class Opened:
    """Files that have the file NUMBERS, as whatever the daemon opens next may have them."""

    def __init__(self, folder: Path, *numbers: int) -> None:
        self._folder, self._numbers = folder, numbers
        self._all: list[int] = []

    def __enter__(self) -> Self:
        until(self._has_all, "the file numbers are free")
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._all:
            os.close(number)

    def _has_all(self) -> bool:
        self._all.append(os.open(self._folder / f"file-{len(self._all)}", os.O_RDWR | os.O_CREAT))
        return set(self._numbers) <= set(self._all)

    def read(self) -> bytes:
        """What is in all these files."""
        return b"".join(os.pread(number, 100, 0) for number in self._all)
