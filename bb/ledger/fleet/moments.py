"""The clock of a relay for everything that it waits for. It only rises, and it counts the time in which the machine
slept: after a night, every deadline is over, and everything that is done now and then is due."""

from __future__ import annotations

import time

_SLEEPS_TOO = getattr(
    time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None)
)  # macOS counts sleep in the latter


def time_of(then: float) -> int:
    """The time in milliseconds at a moment that was a little while ago."""
    return time.time_ns() // 1_000_000 - round((moment() - then) * 1000)


def moment() -> float:
    """Seconds since some moment."""
    return time.monotonic() if _SLEEPS_TOO is None else time.clock_gettime(_SLEEPS_TOO)
