"""One writer at a time: whoever waits in vain is told for whom, and nobody waits for the dead.

The tests with a `kind` hold for every way there is to lock a file: by `flock`, and by filelock where there is none.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bb.ledger.files import lock as locks
from bb.ledger.files import lock_elsewhere
from bb.ledger.files.lock import QUEUE, LedgerBusy, Lock, ReusableLock
from tests.ledger.ledger_support import (
    ADA,
    WITHOUT_FLOCK,
    child,
    every_chain,
    hold,
    kept,
    make,
    note,
    only_segment,
    opened,
    refusal_of,
    repository,
    take_turns,
    together,
)
from tests.support import ROOT
from tests.waiting import PATIENCE

FLOCK, FILELOCK = "bb.ledger.files.lock", "bb.ledger.files.lock_elsewhere"


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "lock").touch()
    return str(tmp_path / "lock")


@pytest.fixture(params=[FLOCK, FILELOCK], ids=["flock", "filelock"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The module by which this process locks files."""
    if request.param == FILELOCK:
        monkeypatch.setattr(locks, "try_lock", lock_elsewhere.try_lock)
        monkeypatch.setattr(locks, "unlock", lock_elsewhere.unlock)

        def polled(fd: int, patience: float) -> bool:
            return locks._poll(lambda: lock_elsewhere.try_lock(fd), patience)

        monkeypatch.setattr(locks, "wait_for_lock", polled)
    return str(request.param)


@pytest.fixture(params=[Lock, ReusableLock])
def kind(request: pytest.FixtureRequest, way: str) -> type[Lock]:
    found: type[Lock] = request.param
    return found


@contextmanager
def held_by_another(path: str, way: str = FLOCK) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the lock."""
    holder = child(hold, path, 5, before=WITHOUT_FLOCK if way == FILELOCK else "")
    assert holder.stdout is not None
    assert holder.stdout.readline() == f"held by {holder.pid} by {way}\n"
    try:
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def test_the_wait_is_bounded_and_the_refusal_names_the_holder(path: str, kind: type[Lock], way: str):
    with held_by_another(path, way) as holder:
        start = time.monotonic()

        with pytest.raises(LedgerBusy.error) as refusal, kind(path, patience=0.2):
            pass

        assert 0.1 < time.monotonic() - start < 30
        assert refusal.value.code == "LEDGER_BUSY"
        assert str(holder.pid) in refusal.value.message


def test_no_patience_at_all_is_no_endless_wait(path: str, kind: type[Lock], way: str):
    with held_by_another(path, way):
        assert refusal_of(lambda: kind(path, patience=0).__enter__()) == "LEDGER_BUSY"


def test_the_lock_is_free_again_when_its_holder_is_killed(path: str, kind: type[Lock], way: str):
    with held_by_another(path, way) as holder:
        threading.Timer(0.1, holder.kill).start()

        with kind(path, patience=10):
            assert holder.wait(10) != 0


def test_the_lock_is_free_again_when_its_holder_lets_go(path: str, kind: type[Lock], way: str):
    with held_by_another(path, way) as holder:
        assert holder.stdin is not None
        holder.stdin.write("go\n")
        holder.stdin.flush()

        with kind(path, patience=10):
            pass


def test_who_waited_in_vain_holds_nothing_up(path: str, kind: type[Lock], way: str):
    with held_by_another(path, way) as holder:
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


def test_a_free_lock_is_taken_without_standing_in_line_unless_it_is_for_repeated_use(path: str, way: str):
    """Those in the line are asleep, and the lock would be idle until the first of them wakes up."""
    queue = os.open(path + QUEUE, os.O_RDWR | os.O_CREAT)
    assert locks.try_lock(queue)
    try:
        with Lock(path, patience=0.05), held_in_vain(path):
            pass
        assert refusal_of(lambda: ReusableLock(path, patience=0.05).__enter__()) == "LEDGER_BUSY"
    finally:
        locks.unlock(queue)
        os.close(queue)


def test_a_thread_waits_as_well_as_the_main_one(path: str, kind: type[Lock], way: str):
    """Where no alarm can end the wait, asking again and again does."""
    codes: list[str | None] = []
    with held_by_another(path, way):
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
    lock = ReusableLock(path, 5)
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
    lock, before = ReusableLock(path, 5), open_files()
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
        with pytest.raises(LedgerBusy.error) as refusal:
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


@pytest.mark.parametrize("theirs", [FLOCK, FILELOCK], ids=["flock", "filelock"])
def test_one_way_to_lock_keeps_out_the_other(path: str, way: str, theirs: str):
    with held_by_another(path, theirs):
        assert refusal_of(lambda: Lock(path, patience=0.05).__enter__()) == "LEDGER_BUSY"

    with Lock(path, patience=5):
        pass


def test_writers_with_and_without_flock_lose_no_line(tmp_path: Path):
    here = repository(tmp_path / "here")
    make(here)

    said = together([child(take_turns, here, f"agent-{n}", 20, before=(WITHOUT_FLOCK, "")[n == 2]) for n in range(3)])

    acknowledged = [event for out in said for event in out.split()]
    (chain,) = every_chain(kept(here)).values()
    assert len(acknowledged) == 60
    assert {line["id"] for line in chain[1:]} == set(acknowledged)


def test_filelock_is_loaded_only_where_a_file_is_locked_without_flock(tmp_path: Path):
    (tmp_path / "lock").touch()
    code = (
        "import sys; {}\n"
        "from bb.ledger.files.lock import Lock\n"
        "assert 'filelock' not in sys.modules\n"
        f"with Lock({str(tmp_path / 'lock')!r}): print('filelock' in sys.modules)\n"
    )
    # filelock finds no `flock` either, so nothing can be locked, and it must not go on by a file that only stands for
    # a lock.
    neither = "sys.modules['fcntl'] = None"

    with_flock = subprocess.run([sys.executable, "-c", code.format("")], cwd=ROOT, capture_output=True, text=True)
    without = subprocess.run([sys.executable, "-c", code.format(neither)], cwd=ROOT, capture_output=True, text=True)

    assert with_flock.stdout == "False\n", with_flock.stderr
    assert without.returncode != 0
    assert "bb.kernel.errors.DiskFailed" in without.stderr
    assert sorted(os.listdir(tmp_path)) == ["lock", "lock.queue"]


def test_a_holder_whose_name_the_system_keeps_is_an_unknown_process(path: str, monkeypatch: pytest.MonkeyPatch):
    """On Windows, nobody else can read a byte that a process has locked."""

    def denied(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "locked")

    with held_by_another(path):
        monkeypatch.setattr(os, "read", denied)
        with pytest.raises(LedgerBusy.error) as refusal, Lock(path, patience=0.05):
            pass
        monkeypatch.undo()

    assert refusal.value.message == "the ledger is held by an unknown process"
