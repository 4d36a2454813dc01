"""An engine that has lost lines which it acknowledged, and which nobody had read."""

from __future__ import annotations

from pathlib import Path

from bb.ledger.fleet.outbox import Batch, Outbox
from tests.ledger.fleet.fleet_support import fleet, wait_for
from tests.ledger.fleet.memory_carrier import MemoryEngine, nothing

OURS, OTHERS = "a" * 12, "b" * 12


def test_lines_that_were_acknowledged_and_have_no_place_are_forgotten():
    outbox = Outbox(lambda _: {})
    outbox.begin({OURS: 3}, {OURS: 5}, 100)
    outbox.was_acknowledged(Batch(OURS, 4, 5), 101)

    assert outbox.forgotten == "", "the row at place 101 is not read yet"
    outbox.has_folded(101, {OURS: 3})
    assert outbox.forgotten == OURS
    outbox.has_folded(101, {OURS: 5})
    assert outbox.forgotten == ""


def test_a_relay_notices_that_the_engine_has_other_rows_in_the_place_of_its_own(tmp_path: Path):
    """A standby became the primary that lacks our row, and another machine was quicker. All digests that this relay has
    read are right, and the log is as long as before; our reservation would wait for ever."""
    engine = MemoryEngine()

    with fleet(tmp_path, engine) as (here, there):
        there.stop()
        here.result("flush")
        old = engine.backup()

        def lose(name: str) -> None:
            if name == "append":
                engine.after = nothing
                engine.restore(old)
                engine.log.append(OTHERS, 1, [b"{}"], 0)
                engine.log.append(OTHERS, 2, [b"{}"], 0)

        engine.after = lose
        event = here.reserved("src")

        assert here.code("settle", events=[event]) == "ENGINE_REWOUND"
        wait_for(lambda: here.result("status")["state"] == "stopped")
