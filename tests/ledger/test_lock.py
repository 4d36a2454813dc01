"""One writer at a time: whoever waits in vain is told for whom, and nobody waits for the dead."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bb.ledger.lock import LedgerBusy, Lock, StandingLock
from tests.ledger.ledger_support import ADA, child, hold, kept, make, note, only_segment, opened, refusal_of, repository
from tests.waiting import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "lock").touch()
    return str(tmp_path / "lock")


@pytest.fixture(params=[Lock, StandingLock])
def kind(request: pytest.FixtureRequest) -> type[Lock]:
    found: type[Lock] = request.param
    return found


@contextmanager
def held_by_another(path: str) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the lock."""
    holder = child(hold, path, 5)
    assert holder.stdout is not None
    assert holder.stdout.readline() == f"held by {holder.pid}\n"
    try:
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def test_the_wait_is_bounded_and_the_refusal_names_the_holder(path: str, kind: type[Lock]):
    with held_by_another(path) as holder:
        start = time.monotonic()

        with pytest.raises(LedgerBusy) as refusal, kind(path, patience=0.2):
            pass

        assert 0.1 < time.monotonic() - start < 30
        assert refusal.value.code == "LEDGER_BUSY"
        assert str(holder.pid) in refusal.value.message


def test_no_patience_at_all_is_no_endless_wait(path: str, kind: type[Lock]):
    with held_by_another(path):
        assert refusal_of(lambda: kind(path, patience=0).__enter__()) == "LEDGER_BUSY"


def test_the_lock_is_free_again_when_its_holder_is_killed(path: str, kind: type[Lock]):
    with held_by_another(path) as holder:
        threading.Timer(0.1, holder.kill).start()

        with kind(path, patience=10):
            assert holder.wait(10) != 0


def test_the_lock_is_free_again_when_its_holder_lets_go(path: str, kind: type[Lock]):
    with held_by_another(path) as holder:
        assert holder.stdin is not None
        holder.stdin.write("go\n")
        holder.stdin.flush()

        with kind(path, patience=10):
            pass


def test_who_waited_in_vain_holds_nothing_up(path: str, kind: type[Lock]):
    with held_by_another(path) as holder:
        assert refusal_of(lambda: kind(path, patience=0.05).__enter__()) == "LEDGER_BUSY"
        holder.kill()
        holder.wait()

        with kind(path, patience=5), held_in_vain(path):
            pass


@contextmanager
def held_in_vain(path: str) -> Iterator[None]:
    """While this process holds the lock, another that waits for it is refused, and told of us."""
    waiter = child(hold, path, 0.1, stderr=subprocess.PIPE)
    _, said = waiter.communicate(timeout=PATIENCE)
    assert waiter.returncode != 0
    assert "LedgerBusy" in said
    assert str(os.getpid()) in said
    yield


def test_a_thread_waits_as_well_as_the_main_one(path: str, kind: type[Lock]):
    """Where no alarm can end the wait, asking again and again does."""
    codes: list[str | None] = []
    with held_by_another(path):
        thread = threading.Thread(target=lambda: codes.append(refusal_of(lambda: kind(path, patience=0.1).__enter__())))
        thread.start()
        thread.join(10)

    assert codes == ["LEDGER_BUSY"]


def test_an_error_while_it_is_held_lets_go_of_it(path: str, kind: type[Lock]):
    with pytest.raises(RuntimeError), kind(path):
        raise RuntimeError

    with kind(path, patience=0.5):
        pass


def open_files() -> int:
    """How many files this process has open, where the system tells."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_no_file_handle_is_left_behind(path: str):
    before = open_files()
    for _ in range(5):
        with Lock(path):
            pass
    with held_by_another(path):
        for _ in range(5):
            assert refusal_of(lambda: Lock(path, patience=0.02).__enter__()) == "LEDGER_BUSY"

    assert open_files() == before


def test_a_standing_lock_is_free_between_two_times_and_its_files_stay_open(path: str):
    lock = StandingLock(path, 5)
    before = open_files()
    for _ in range(3):
        with lock, held_in_vain(path):
            assert open_files() == before + 2
        with Lock(path, 0.2):
            pass
    lock.close()

    assert open_files() == before
    with lock, held_in_vain(path):
        pass
    lock.close()


def test_a_standing_lock_that_is_closed_while_it_is_held_is_held_to_the_end(path: str):
    lock, before = StandingLock(path, 5), open_files()
    with lock:
        lock.close()
        with held_in_vain(path):
            pass

    assert open_files() == before
    with Lock(path, 0.2):
        pass


def test_the_lock_file_stays_the_same_for_ever(tmp_path: Path):
    """Its inode and change time tell a store from a copy of it."""
    here = repository(tmp_path / "here")
    make(here, ADA)
    lock = only_segment(here).parent / "lock"
    before = lock.stat()
    for _ in range(3):
        with opened(here) as store:
            note(store, ADA)

    after = lock.stat()
    assert (after.st_ino, after.st_ctime_ns, after.st_size) == (before.st_ino, before.st_ctime_ns, 0)


def test_a_lock_that_is_a_symbolic_link_is_not_followed(tmp_path: Path):
    (tmp_path / "elsewhere").touch()
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")

    assert refusal_of(lambda: Lock(str(tmp_path / "lock")).__enter__()) is not None


def test_a_writer_that_cannot_get_the_lock_says_so_and_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here = repository(tmp_path / "here")
    make(here, ADA)
    before = only_segment(here).read_bytes()
    monkeypatch.setattr(Lock.__init__, "__defaults__", (0.1,))

    with held_by_another(str(only_segment(here).parent / "lock")) as holder, opened(here) as store:
        with pytest.raises(LedgerBusy) as refusal:
            note(store, ADA)
        assert str(holder.pid) in refusal.value.message
        assert only_segment(here).read_bytes() == before

    with opened(here) as store:
        note(store, ADA)
    assert kept(here).exists()


def test_reading_does_not_wait_for_the_lock(tmp_path: Path):
    here = repository(tmp_path / "here")
    make(here, ADA)

    with held_by_another(str(only_segment(here).parent / "lock")), opened(here) as store:
        start = time.monotonic()
        assert store.caught_up().heads()
        assert time.monotonic() - start < 2
