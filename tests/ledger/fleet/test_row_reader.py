"""How often a relay reads what nobody waits for."""

from __future__ import annotations

import pytest

from bb.ledger.fleet.row_reader import PACE, SLOWEST, pause_after


@pytest.mark.parametrize(
    ("time", "processor", "pause"),
    [
        (0.0, 0.0, PACE),
        (0.002, 0.0002, PACE),  # one row, on a machine that has nothing else to do
        (0.02, 0.0002, PACE),  # the same while others use the processors: to wait for one is no work
        (0.02, 0.002, 0.6),  # dozens of rows: the more come together, the less each of them costs
        (0.1, 0.001, 0.5),  # the engine is slow to answer
        (0.1, 0.05, SLOWEST),
        (30.0, 0.0, SLOWEST),
    ],
)
def test_the_pause_follows_from_what_the_last_step_took(time: float, processor: float, pause: float):
    assert pause_after((time, processor)) == pytest.approx(pause)
