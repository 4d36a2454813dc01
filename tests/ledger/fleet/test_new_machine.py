"""A machine that has joined and recorded nothing yet: it has no writer, and gets one while its relay runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.fleet import housekeeping
from tests.ledger.fleet.fleet_support import Machine, fleet, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine
from tests.stories.travel.test_signed import listed, review
from tests.stories.travel.travel_support import clone

DELTA = "delta-heron"


@contextlib.contextmanager
def newcomer(tmp_path: Path, engine: MemoryEngine) -> Iterator[Machine]:
    """A clone that has joined, whose relay runs."""
    made = clone(tmp_path / "hub.git", "new")
    made.sync(pull=True)
    machine = Machine(made, engine, DELTA)
    machine.start()
    try:
        yield machine
    finally:
        machine.stop()


@pytest.fixture(autouse=True)
def brief_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BEAT", 0.05)


def test_it_hears_the_others_and_is_heard_once_it_has_recorded_something(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _), newcomer(tmp_path, engine) as new:
        wait_for(lambda: here.agent in new.heard, new)
        assert new.result("status")["connects"] == 1, "no beat was refused"
        assert all(engine.beats), "and none is without a writer"

        new.clone.ask("agent.register", name=DELTA, role="builder")
        wait_for(lambda: DELTA in here.heard, new)
        assert new.writer in engine.beats


def test_its_first_lines_are_signed_like_all_others(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, _), newcomer(tmp_path, engine) as new:
        review([here.clone, new.clone], listed(here.clone, here.writer))
        new.clone.sync(pull=True)
        new.clone.ask("agent.register", name=DELTA, role="builder")
        new.result("flush")

        wait_for(lambda: b"x.bb.signed" in b"".join(row.octets for row in engine.log.rows if row.writer == new.writer))
