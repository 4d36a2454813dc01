"""Processes that append to one journal share a sync. Each is told what became of its own line, and never of less."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.files import numbered_locks
from bb.ledger.files.lock import Lock
from bb.ledger.journal import group_sync
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import Link
from bb.ledger.journal.segments import OpenSegment
from bb.ledger.records.batch import SingleRecord
from tests.ledger.ledger_support import (
    WRITER,
    FaultyDisk,
    bare_journal,
    chained,
    message,
    refusal_of,
    say,
)
from tests.support import ROOT, environment
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not group_sync.is_possible(), reason="needs shared locks")


@pytest.fixture(autouse=True, params=[True, False], ids=["numbered", "one"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the system has several locks in one file."""
    monkeypatch.setattr(numbered_locks, "HAS_NUMBERS", request.param and numbered_locks.HAS_NUMBERS)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / ".git" / "bb"  # only a disk with such a path fails in tests
    say(bare_journal(path), "the first")
    return path


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    with FaultyDisk().patched() as faulty:
        yield faulty


def texts(store: Path) -> list[str]:
    """The texts in the journal, whose chain holds."""
    return [line["data"]["text"] for line in chained(store / "j" / WRITER)]


def write(journal: Journal, text: str) -> None:
    """Write a line; the caller must hold the lock."""

    def events(link: Link) -> list[Event]:
        return [message(journal.writer, link.n + 1, link.lamport + 1, text)]

    journal.append(events, lambda: os.urandom(4).hex(), is_synced=False)


def append(store: Path | str, text: str) -> None:
    """Append a line as any other process would, and return once it is on the disk."""
    with SingleRecord(Journal(str(store), WRITER), lambda: True) as journal:
        write(journal, text)


def append_and_die_in_the_sync(store: str) -> None:
    os.fdatasync = lambda _: os._exit(9)
    append(store, "of a dead leader")


def append_and_die_before_announcing(store: str) -> None:
    group_sync.GroupSync.announce = lambda *_: os._exit(9)  # type: ignore[assignment,return-value]
    append(store, "not announced")


class Others:
    """Others who append while a sync is running: each has written its line when `begin` returns."""

    def __init__(self, store: Path, *said: str) -> None:
        self.refusals: dict[str, str | None] = {}
        self._store = store
        self._written = {text: threading.Event() for text in said}
        self._threads = [threading.Thread(target=self._append, args=[text], name=text) for text in said]
        self._announce = group_sync.GroupSync.announce

    def _append(self, text: str) -> None:
        self.refusals[text] = refusal_of(lambda: append(self._store, text))

    def begin(self) -> None:
        def announced(group: group_sync.GroupSync, segment: OpenSegment) -> None:
            self._announce(group, segment)
            self._written[threading.current_thread().name].set()

        group_sync.GroupSync.announce = announced  # type: ignore[method-assign]
        for thread, written in zip(self._threads, self._written.values(), strict=True):
            thread.start()
            assert written.wait(PATIENCE)
        group_sync.GroupSync.announce = self._announce  # type: ignore[method-assign]

    def end(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def in_the_next_sync(disk: FaultyDisk, call: Callable[[], None]) -> None:
    def look(_: int, name: str, path: str) -> None:
        if name == "fdatasync" and path.endswith(".jsonl"):
            disk.on_call = lambda *_: None
            call()

    disk.on_call = look


def syncs(disk: FaultyDisk) -> int:
    return sum(name == "fdatasync" and path.endswith(".jsonl") for name, path in disk.log)


def test_lines_that_are_written_during_a_sync_share_the_next_one(store: Path, disk: FaultyDisk):
    append(store, "now the state is known")
    before = syncs(disk)
    others = Others(store, "one", "two", "three")
    in_the_next_sync(disk, others.begin)

    append(store, "the leader's")
    others.end()

    assert others.refusals == {"one": None, "two": None, "three": None}
    assert texts(store)[2:] == ["the leader's", "one", "two", "three"]
    assert syncs(disk) == before + 2


def test_a_process_whose_line_is_on_the_disk_does_not_wait_for_the_next_sync(store: Path, disk: FaultyDisk):
    """The leader of the next sync begins at once, but the others of this one are already told."""
    if not numbered_locks.HAS_NUMBERS:
        pytest.skip("with one lock, they may have to wait")
    append(store, "now the state is known")
    others, late = Others(store, "one", "two"), Others(store, "three")
    told: list[bool] = []

    def begin_the_last_sync() -> None:
        others.end()
        told.append(True)

    def in_the_second_sync() -> None:
        late.begin()
        in_the_next_sync(disk, begin_the_last_sync)

    def begin() -> None:
        others.begin()
        in_the_next_sync(disk, in_the_second_sync)

    in_the_next_sync(disk, begin)
    append(store, "the leader's")
    others.end()
    late.end()

    assert told == [True]
    assert texts(store)[2:] == ["the leader's", "one", "two", "three"]


def test_a_failed_sync_is_told_to_everybody_whose_line_it_took(store: Path, disk: FaultyDisk):
    append(store, "stays")
    others = Others(store, "one", "two")
    in_the_next_sync(disk, others.begin)
    disk.fail("fdatasync", errno.EIO)

    assert refusal_of(lambda: append(store, "the leader's")) == "DISK_FAILED"
    others.end()

    assert others.refusals == {"one": "DISK_FAILED", "two": "DISK_FAILED"}
    assert texts(store) == ["the first", "stays"]
    append(store, "after it")
    assert texts(store) == ["the first", "stays", "after it"]


def test_what_is_on_the_disk_stays_there_when_the_next_sync_fails(store: Path, disk: FaultyDisk):
    append(store, "stays")
    disk.fail("fdatasync", errno.ENOSPC)

    assert refusal_of(lambda: append(store, "gone")) == "DISK_FULL"

    assert texts(store) == ["the first", "stays"]


def test_lines_that_could_not_be_removed_are_removed_before_anything_else_is_written(store: Path, disk: FaultyDisk):
    append(store, "stays")
    disk.fail("fdatasync", errno.EIO)
    disk.fail("ftruncate", errno.EIO)
    assert refusal_of(lambda: append(store, "not on the disk")) == "DISK_FAILED"

    append(store, "after it")

    assert texts(store) == ["the first", "stays", "after it"]


def test_the_next_leader_writes_again_what_a_killed_one_may_have_lost(store: Path, monkeypatch: pytest.MonkeyPatch):
    """The system tells of a failed write only once, perhaps to the process that is dead."""
    append(store, "stays")
    size = os.path.getsize(store / "j" / WRITER / "000000000001.jsonl")
    assert child_of(append_and_die_in_the_sync, store) == 9
    again: list[int] = []
    real = os.pwrite

    def pwrite(fd: int, octets: bytes, place: int) -> int:
        again.extend([place] * (b"of a dead leader" in octets))
        return real(fd, octets, place)

    monkeypatch.setattr(os, "pwrite", pwrite)
    append(store, "after it")

    assert texts(store) == ["the first", "stays", "of a dead leader", "after it"]
    assert again == [size]


def test_a_line_whose_writer_was_killed_is_on_the_disk_before_the_next_one(store: Path, disk: FaultyDisk):
    append(store, "stays")
    assert child_of(append_and_die_before_announcing, store) == 9
    before = syncs(disk)

    append(store, "after it")

    assert texts(store) == ["the first", "stays", "not announced", "after it"]
    assert syncs(disk) == before + 2


def test_an_answer_that_records_nothing_waits_for_the_lines_it_may_depend_on(store: Path, disk: FaultyDisk):
    """A repeated call finds the line of the first call, which may still be waiting for the disk."""
    append(store, "stays")
    assert child_of(append_and_die_in_the_sync, store) == 9
    before = syncs(disk)

    with SingleRecord(Journal(str(store), WRITER), lambda: True):
        pass
    assert syncs(disk) == before + 1
    with SingleRecord(Journal(str(store), WRITER), lambda: True):
        pass
    assert syncs(disk) == before + 1, "all is on the disk"

    disk.fail("fdatasync", errno.EIO)
    assert child_of(append_and_die_in_the_sync, store) == 9
    with pytest.raises(BbError), SingleRecord(Journal(str(store), WRITER), lambda: True):
        pass
    assert texts(store) == ["the first", "stays", "of a dead leader"]


@pytest.mark.parametrize("octets", [b"", b"x", b"x" * 200, b"\0" * 182])
def test_a_state_that_makes_no_sense_is_made_anew(store: Path, octets: bytes):
    append(store, "stays")
    (store / "j" / WRITER / "tail").write_bytes(octets)

    append(store, "after it")

    assert texts(store) == ["the first", "stays", "after it"]


def test_what_was_opened_before_the_lock_was_taken_is_written_at_its_new_end(store: Path):
    journal = Journal(str(store), WRITER)
    journal.open_ahead()
    append(store, "meanwhile")

    with SingleRecord(journal, lambda: True):
        write(journal, "mine")

    assert texts(store) == ["the first", "meanwhile", "mine"]


def test_a_segment_that_was_replaced_since_it_was_opened_is_opened_again(store: Path, tmp_path: Path):
    append(store, "the second")
    journal = Journal(str(store), WRITER)
    journal.open_ahead()
    (segment,) = (store / "j" / WRITER).glob("*.jsonl")
    (tmp_path / "copy").write_bytes(segment.read_bytes())
    (tmp_path / "copy").replace(segment)

    with SingleRecord(journal, lambda: True):
        write(journal, "mine")

    assert texts(store) == ["the first", "the second", "mine"]


def test_a_segment_that_ended_since_it_was_opened_is_not_written(store: Path, monkeypatch: pytest.MonkeyPatch):
    append(store, "the second")
    journal = Journal(str(store), WRITER)
    journal.open_ahead()
    monkeypatch.setattr("bb.ledger.journal.journal.SEGMENT_SIZE", 10)
    append(store, "in a new segment")
    monkeypatch.undo()

    with SingleRecord(journal, lambda: True):
        write(journal, "mine")

    first, second = sorted((store / "j" / WRITER).glob("*.jsonl"))
    assert len(first.read_bytes().splitlines()) == 2
    assert len(second.read_bytes().splitlines()) == 2
    assert texts(store)[-1] == "mine"


def test_nothing_stays_open(store: Path):
    append(store, "one")
    before = os.listdir("/dev/fd")
    for _ in range(5):
        append(store, "more")
    assert len(os.listdir("/dev/fd")) == len(before)


def test_nothing_stays_open_after_a_write_that_could_not_begin(store: Path, monkeypatch: pytest.MonkeyPatch):
    append(store, "one")
    monkeypatch.setattr(Lock.__init__, "__defaults__", (0.01,))
    before = os.listdir("/dev/fd")
    journal = Journal(str(store), WRITER)

    with Journal(str(store), WRITER).standing_lock():
        assert refusal_of(SingleRecord(journal, lambda: True).__enter__) == "LEDGER_BUSY"
    journal.close()

    assert len(os.listdir("/dev/fd")) == len(before) + 2, "the files of the other lock"


def child_of(function: Callable[[str], None], store: Path) -> int:
    """The exit status of a process of its own that runs FUNCTION."""
    program = f"import tests.ledger.journal.test_group_sync as test; test.{function.__name__}({str(store)!r})"
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment(), check=False).returncode
