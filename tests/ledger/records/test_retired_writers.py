"""A writer that another process retires while this one is about to record: no line may be added to its journal after
that, because its lines are moved, and nobody would send the new one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from bb.coordination.facts import Reserved
from bb.kernel import ids
from bb.ledger.files.lock import Lock, ReusableLock
from bb.ledger.fleet.clone_state import CloneState
from bb.ledger.journal import writers
from bb.ledger.journal.journal import Journal
from bb.ledger.records import set_aside
from bb.ledger.records.store import Store
from tests.ledger.course_support import Place, clones, writer_of
from tests.ledger.fleet.fleet_support import NOW, Machine, fleet
from tests.ledger.ledger_support import audited, problems
from tests.ledger.records.test_batch import said


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with clones(tmp_path) as (only,):
        yield only


@pytest.mark.parametrize("kind", [Lock, ReusableLock])  # without a batch, and in one
def test_no_line_is_added_to_a_writer_that_was_retired_before_its_lock_was_taken(
    here: Place, monkeypatch: pytest.MonkeyPatch, kind: type[Lock]
):
    here.say("before")
    former = writer_of(here)
    lines = Journal(here.store.path, former).tail().n
    taken = kind.__enter__

    def takes_it_too_late(lock: Lock) -> Lock:
        monkeypatch.undo()
        writers.retire(str(Path(here.store.path) / "j"), former, "a test", None)
        return taken(lock)

    monkeypatch.setattr(kind, "__enter__", takes_it_too_late)
    with here.store.batch() if kind is ReusableLock else nullcontext():
        event = here.say("after")

    assert ids.split_event_id(event.id)[0] == writer_of(here) != former
    assert Journal(here.store.path, former).tail().n == lines
    assert said(here) == ["before", "after"]
    assert problems(audited(here.path)) == []


def test_a_line_that_is_recorded_while_its_writer_is_given_up_is_recorded_again(tmp_path: Path):
    """The relay gives up a writer because the engine has other lines of it. It waits for who records just then."""
    with fleet(tmp_path, starts=False) as (here, _):
        former = here.writer

        def give_up() -> None:
            state = CloneState(here.place)
            try:
                state.begin()
                state.leave(former)
                state.record_again(NOW)
            finally:
                state.close()

        event = recorded_meanwhile(here, threading.Thread(target=give_up))

        assert ids.split_event_id(event)[0] == former
        assert here.writer != former
        assert Journal(here.path, former).line(ids.split_event_id(event)[1]) is None
        assert b'"scope":"src"' in here.lines()[here.writer]
        assert set_aside.owed_files(here.path) == []


def recorded_meanwhile(machine: Machine, other: threading.Thread) -> str:
    """The id of an event that MACHINE records while the OTHER thread runs and waits for the lock."""
    store = Store(machine.place)
    fact = Reserved(machine.agent, "src", "bb-1", 120, False, False)
    try:
        with store.batch():
            store.record(lambda _: [], by=machine.agent, now=NOW)  # which takes the lock
            other.start()
            other.join(0.5)
            assert other.is_alive(), "it did not wait for the lock"
            event = store.record(lambda _: [fact], by=machine.agent, now=NOW)[-1]
    finally:
        store.close()
    other.join(30)
    assert not other.is_alive()
    return event.id
