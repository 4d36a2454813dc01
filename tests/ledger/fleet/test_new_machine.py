"""A machine that was copied from another one with its clone: it has no writer of its own until it records something,
and its relay may run before that."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.fleet import housekeeping
from tests.ledger.fleet.fleet_support import Machine, fleet, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine
from tests.stories.travel.test_signed import listed, review
from tests.stories.travel.travel_support import Clone

DELTA = "delta-heron"


@contextlib.contextmanager
def copied(tmp_path: Path, machine: Machine) -> Iterator[Machine]:
    """A copy of the clone of a MACHINE that has stopped, in which a relay runs."""
    machine.result("flush")
    machine.stop()
    shutil.copytree(machine.clone.path, tmp_path / "copy", symlinks=True)
    clone = Clone(tmp_path / "copy")
    clone.settings = {**clone.settings, "BB_DAEMON": "off"}
    made = Machine(clone, machine.engine, DELTA)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def brief_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BEAT", 0.05)


def test_it_hears_the_others_and_is_heard_once_it_has_recorded_something(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there), copied(tmp_path, there) as new:
        wait_for(lambda: here.agent in new.heard, new)
        assert new.result("status")["connects"] == 1, "no beat was refused"
        assert all(engine.beats), "and none is without a writer"

        new.clone.ask("agent.register", name=DELTA, role="builder")
        wait_for(lambda: DELTA in here.heard, new)
        assert new.writer in engine.beats


def test_its_first_lines_are_signed_like_all_others(tmp_path: Path):
    engine = MemoryEngine()
    with fleet(tmp_path, engine) as (here, there), copied(tmp_path, there) as new:
        wait_for(lambda: new.result("status")["state"] == "connected", new)
        review([new.clone], listed(here.clone, here.writer))
        new.clone.ask("agent.register", name=DELTA, role="builder")
        new.result("flush")

        wait_for(lambda: b"x.bb.signed" in b"".join(row.octets for row in engine.log.rows if row.writer == new.writer))
