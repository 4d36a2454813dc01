"""A disk that fails: the call is refused by the right name, nothing is acknowledged, and the next call works."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.agents import roster
from bb.kernel.errors import BbError
from bb.ledger.care import checkup
from bb.ledger.files import file_systems as real
from bb.ledger.index import database
from bb.ledger.journal import journal as journals
from bb.ledger.records import creation, event_filters
from bb.ledger.records.store import Store
from tests.grids import some
from tests.ledger.ledger_support import (
    ADA,
    BO,
    NOW,
    FaultyDisk,
    agents,
    audited,
    child,
    die_in_every_call,
    every_chain,
    every_line,
    finished,
    forget_index,
    kept,
    make,
    note,
    opened,
    prepare_damage,
    problems,
    refusal_of,
    register,
    registrations,
    repository,
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A ledger in which one agent is registered."""
    path = repository(tmp_path / "here")
    make(path, ADA)
    return path


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    with FaultyDisk().patched() as faulty:
        yield faulty


def sound(path: Path) -> None:
    """Every chain holds, by our own reading and by that of the ledger itself."""
    every_chain(kept(path))
    assert problems(audited(path)) == []


APPEND_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"call": "write", "number": errno.ENOSPC}, "DISK_FULL"),
    ({"call": "write", "number": errno.ENOSPC, "after": 1}, "DISK_FULL"),
    ({"call": "write", "number": errno.ENOSPC, "after": 200}, "DISK_FULL"),
    ({"call": "write", "number": errno.EDQUOT, "after": 200}, "DISK_FULL"),
    ({"call": "write", "number": errno.EFBIG}, "DISK_FULL"),
    ({"call": "write", "number": errno.EIO}, "DISK_FAILED"),
    ({"call": "write", "number": errno.EIO, "after": 330}, "DISK_FAILED"),
    ({"call": "fdatasync", "number": errno.EIO}, "DISK_FAILED"),
    ({"call": "fdatasync", "number": errno.ENOSPC}, "DISK_FULL"),
    ({"call": "open", "number": errno.EROFS, "writing": True}, "STORE_READ_ONLY"),
    ({"call": "open", "number": errno.EACCES, "writing": True}, "NO_PERMISSION"),
    ({"call": "open", "number": errno.EPERM, "writing": True}, "NO_PERMISSION"),
    ({"call": "open", "number": errno.ENOSPC, "writing": True}, "DISK_FULL"),
    ({"call": "open", "number": errno.EMFILE, "writing": True}, "TOO_MANY_FILES"),
    ({"call": "open", "number": errno.EIO, "writing": True}, "DISK_FAILED"),
    ({"call": "open", "number": errno.EROFS, "on": "lock"}, "STORE_READ_ONLY"),
    ({"call": "open", "number": errno.EACCES, "on": "lock"}, "NO_PERMISSION"),
]


@pytest.mark.parametrize("in_new_segment", [False, True])
@pytest.mark.parametrize(("fault", "code"), APPEND_FAULTS)
def test_a_failed_append_is_refused_and_can_be_repeated(
    here: Path,
    disk: FaultyDisk,
    fault: dict[str, Any],
    code: str,
    in_new_segment: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    if in_new_segment:
        monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    before = every_line(kept(here))
    disk.fail(**fault)

    assert refusal_of(lambda: make(here, BO)) == code

    disk.mend()
    assert every_line(kept(here)) == before, "what was not acknowledged is not there"
    assert agents(here) == [ADA]
    make(here, BO)
    assert len(registrations(kept(here), BO)) == 1
    assert len(every_line(kept(here))) == len(before) + 1
    sound(here)


def test_a_new_segment_whose_name_cannot_be_synced_is_refused(
    here: Path, disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    (writer,) = (kept(here) / "j").iterdir()
    disk.fail("fsync", errno.EIO, on=writer.name)

    assert refusal_of(lambda: make(here, BO)) == "DISK_FAILED"

    make(here, BO)
    assert len(registrations(kept(here), BO)) == 1
    sound(here)


@pytest.mark.parametrize("to", [1, 7, 100, 341])
def test_short_writes_are_gone_on_with(here: Path, disk: FaultyDisk, to: int):
    disk.shorten(to=to, times=3)

    make(here, BO)

    assert len(registrations(kept(here), BO)) == 1
    sound(here)


def test_a_write_that_takes_nothing_is_a_full_disk(here: Path, disk: FaultyDisk):
    disk.shorten(to=0, times=1000)

    assert refusal_of(lambda: make(here, BO)) == "DISK_FULL"

    disk.mend()
    make(here, BO)
    sound(here)


def test_what_was_only_half_written_and_cannot_be_taken_back_is_put_aside_later(here: Path, disk: FaultyDisk):
    disk.fail("write", errno.ENOSPC, after=200)
    disk.fail("ftruncate", errno.EIO)

    assert refusal_of(lambda: make(here, BO)) is not None

    make(here, BO)
    assert len(registrations(kept(here), BO)) == 1
    assert [file.stat().st_size for file in (kept(here) / "torn").iterdir()] == [200]
    sound(here)


def test_what_cannot_be_synced_nor_taken_back_is_not_recorded_twice_under_its_key(here: Path, disk: FaultyDisk):
    disk.fail("fdatasync", errno.EIO)
    disk.fail("ftruncate", errno.EIO)
    with opened(here) as store:
        assert refusal_of(lambda: register(store, BO, key="once")) is not None

    with opened(here) as store:
        event = register(store, BO, key="once")

    assert registrations(kept(here), BO) == [event.id]
    sound(here)


def test_the_store_goes_on_after_its_own_failure(here: Path, disk: FaultyDisk):
    with opened(here) as store:
        for call in ("write", "fdatasync", "write"):
            disk.fail(call, errno.EIO)
            assert refusal_of(lambda: note(store, ADA)) == "DISK_FAILED"
            note(store, ADA)

    assert len(every_line(kept(here))) == 5
    sound(here)


def test_a_reader_that_saw_what_was_taken_back_forgets_it(here: Path, disk: FaultyDisk):
    """Between the write and its failed sync, another process may have read the line."""
    seen: list[str] = []

    def look(_: int, call: str, path: str) -> None:
        if call == "fdatasync" and path.endswith(".jsonl"):
            disk.on_call = lambda *_: None
            seen.extend(agents(here))

    disk.on_call = look
    disk.fail("fdatasync", errno.EIO)

    assert refusal_of(lambda: make(here, BO)) == "DISK_FAILED"

    assert seen == [ADA, BO]
    assert agents(here) == [ADA]
    make(here, "coral-heron")
    assert agents(here) == [ADA, "coral-heron"]
    sound(here)


def test_a_follower_that_saw_what_was_taken_back_goes_on(here: Path, disk: FaultyDisk):
    with opened(here) as store:
        follower = event_filters.Follower(store, event_filters.Filter())
        seen: list[str] = []

        def look(_: int, call: str, path: str) -> None:
            if call == "fdatasync" and path.endswith(".jsonl"):
                disk.on_call = lambda *_: None
                seen.extend(event.by for event in follower.new())

        disk.on_call = look
        disk.fail("fdatasync", errno.EIO)
        assert refusal_of(lambda: make(here, BO)) == "DISK_FAILED"
        make(here, "coral-heron-with-a-longer-name")

        assert [event.by for event in follower.new()] == ["coral-heron-with-a-longer-name"]


# -- mending while the disk fails


MEND_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"call": "ftruncate", "number": errno.EIO}, "DISK_FAILED"),
    ({"call": "write", "number": errno.ENOSPC, "on": ".tmp"}, "DISK_FULL"),
    ({"call": "fsync", "number": errno.EIO, "on": ".tmp"}, "DISK_FAILED"),
    ({"call": "fsync", "number": errno.EIO, "on": "torn"}, "DISK_FAILED"),
    ({"call": "fdatasync", "number": errno.EIO}, "DISK_FAILED"),
    ({"call": "open", "number": errno.EROFS, "writing": True}, "STORE_READ_ONLY"),
]


@pytest.mark.parametrize(("fault", "code"), MEND_FAULTS)
def test_a_fragment_is_not_lost_when_it_cannot_be_put_aside(
    here: Path, disk: FaultyDisk, fault: dict[str, Any], code: str
):
    (segment,) = kept(here).glob("j/*/*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"v":1,"id":"a fragment')
    disk.fail(**fault)

    assert refusal_of(lambda: make(here, BO)) == code

    disk.mend()
    make(here, BO)
    assert {file.read_bytes() for file in (kept(here) / "torn").iterdir() if not file.name.endswith(".tmp")} == {
        b'{"v":1,"id":"a fragment'
    }
    sound(here)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_line_that_only_lacks_its_end_is_not_lost_when_it_cannot_be_finished(
    here: Path, disk: FaultyDisk, number: int
):
    make(here, BO)
    (segment,) = kept(here).glob("j/*/*.jsonl")
    segment.write_bytes(segment.read_bytes()[:-1])
    disk.fail("write", number)

    assert refusal_of(lambda: make(here, "coral-heron")) is not None

    disk.mend()
    make(here, "coral-heron")
    assert agents(here) == [ADA, BO, "coral-heron"]
    sound(here)


# -- whichever call fails


def _first_steps(path: Path) -> None:
    make(path, ADA)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_whichever_call_fails_in_the_first_steps_they_can_be_repeated(tmp_path: Path, number: int):
    for nth in range(1, 200):
        path = repository(tmp_path / str(nth))
        with FaultyDisk().patched() as disk:

            def fail(count: int, call: str, name: str, nth: int = nth) -> None:
                if count == nth:
                    raise OSError(number, os.strerror(number), name)

            disk.on_call = fail
            refusal = refusal_of(lambda path=path: _first_steps(path))
            calls = len(disk.log)

        assert refusal in (None, {errno.ENOSPC: "DISK_FULL", errno.EIO: "DISK_FAILED"}[number]), disk.log[nth - 1]
        if refusal:
            assert registrations(kept(path), ADA) == [], "what was not acknowledged is not there"
            _first_steps(path)
        assert [line["kind"] for line in every_line(kept(path))] == ["group.create", "actor.add"], disk.log[nth - 1]
        sound(path)
        if calls < nth:
            break
    assert nth > 20


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_whichever_call_fails_in_a_repair_it_can_be_repeated(tmp_path: Path, number: int):
    """What stands whole behind a damage must come back, if not this time then the next."""
    forgotten = []
    for nth in some(range(1, 400), 150):
        path = tmp_path / str(nth)
        prepare_damage(path)
        with FaultyDisk().patched() as disk:

            def fail(count: int, call: str, name: str, nth: int = nth) -> None:
                if count == nth:
                    raise OSError(number, os.strerror(number), name)

            disk.on_call = fail
            code = refusal_of(lambda path=path: checkup.mend(str(path), {}, NOW))
            calls = len(disk.log)

        assert code in (None, {errno.ENOSPC: "DISK_FULL", errno.EIO: "DISK_FAILED"}[number]), disk.log[nth - 1]
        checkup.mend(str(path), {}, NOW)
        if agents(path) != [ADA, BO, "quiet-heron"]:
            forgotten.append((nth, *disk.log[nth - 1]))
        if calls < nth:
            break
    assert nth > 20
    assert forgotten == []


# -- killed in the midst of any call


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("scene", ["first-steps", "roll", "mend"])
def test_killed_in_any_system_call_the_same_steps_lead_on(tmp_path: Path, scene: str):
    last = int(finished(child(die_in_every_call, tmp_path, scene)))
    assert last > 10
    wrong = []

    for nth in range(1, last + 1):
        path, log = tmp_path / str(nth), tmp_path / f"{nth}.log"
        acknowledged = log.read_text().split("\n") if log.exists() else []
        try:
            if scene == "first-steps":
                _again(path, ADA)
                assert [line["kind"] for line in every_line(kept(path))] == ["group.create", "actor.add"]
                assert agents(path) == [ADA]
            elif scene == "roll":
                _again(path, BO)
                assert len(registrations(kept(path), BO)) == 1
                assert not acknowledged or acknowledged == registrations(kept(path), BO)
                assert agents(path) == [ADA, BO]
            else:
                checkup.mend(str(path), {}, NOW)
                assert agents(path) == [ADA, BO, "quiet-heron"]
                make(path, "coral-heron")
            if scene != "mend":
                sound(path)
        except (AssertionError, BbError) as error:
            wrong.append((nth, str(error).splitlines()[0]))
    assert wrong == []


def _again(path: Path, agent: str) -> None:
    """The same steps once more, as a client would repeat them: under the same key."""
    with opened(path) as store:
        creation.make(store, "test", "user", NOW)
        if agent not in agents(path):
            register(store, agent, key="once")


# -- a store that can only be read


@pytest.fixture
def read_only_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite may read files but not write them."""
    connect = sqlite3.connect

    def connect_to_read(path: str, **named: Any) -> sqlite3.Connection:
        if path == ":memory:":
            return connect(path, **named)
        return connect(f"file:{path}?mode=ro", uri=True, **named)

    monkeypatch.setattr(database.sqlite3, "connect", connect_to_read)


@pytest.mark.parametrize("state", ["current", "behind", "missing"])
def test_a_store_that_can_only_be_read_is_read(here: Path, read_only_index: None, state: str):
    if state == "missing":
        forget_index(here)
    with FaultyDisk().patched() as disk:
        disk.fail("open", errno.EROFS, on="", writing=True, times=1000)

        assert agents(here) == [ADA]
        with opened(here) as store:
            assert store.caught_up().is_in_memory is (state == "missing")
            assert [event.kind for event in event_filters.latest(store, event_filters.Filter(), 9)] == [
                "group.create",
                "actor.add",
            ]
            assert refusal_of(lambda: register(store, BO)) == "STORE_READ_ONLY"
        assert agents(here) == [ADA]


def is_in_memory(store: Store) -> bool:
    return store.caught_up().is_in_memory


def test_an_index_that_had_to_be_made_in_memory_is_in_its_file_again_once_there_is_room(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "LOOK_AGAIN", 0)
    monkeypatch.setattr(real, "ENOUGH_ROOM", 1 << 62)
    with opened(here) as store:
        store.caught_up().start_over(sqlite3.OperationalError("database or disk is full"))
        register(store, BO)
        assert is_in_memory(store)
        assert [name for name, _ in store.index.states(roster.NAME)] == [ADA, BO]

        monkeypatch.setattr(real, "ENOUGH_ROOM", 0)
        assert not is_in_memory(store)
        assert [name for name, _ in store.index.states(roster.NAME)] == [ADA, BO]
    with opened(here) as store:
        assert not store.index.behind(store.journals())
    sound(here)


def test_nobody_looks_all_the_time_whether_there_is_room_again(here: Path, monkeypatch: pytest.MonkeyPatch):
    looks: list[str] = []
    with opened(here) as store:
        store.caught_up().start_over(sqlite3.OperationalError("attempt to write a readonly database"))
        monkeypatch.setattr(real, "has_room", looks.append)
        for _ in range(3):
            assert is_in_memory(store)
    assert looks == []


def test_an_index_that_cannot_be_opened_is_made_in_memory(here: Path):
    forget_index(here)
    (kept(here) / "index.sqlite").mkdir()

    assert agents(here) == [ADA]
    make(here, BO)
    assert agents(here) == [ADA, BO]
    with opened(here) as store:
        assert store.caught_up().is_in_memory
    sound(here)
