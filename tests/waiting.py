"""Waiting for something that another process or thread is about to do.

A test waits for an event, never for a time: how long anything takes depends on how busy the machine is. The patience is
an upper limit, after which the test fails; nothing takes as long, even on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 120.0  # seconds
PAUSE, LONGEST = 0.005, 0.25


def until(
    is_so: Callable[[], Found],
    what: str | Callable[[], object] = "it",
    *,
    seconds: float = PATIENCE,
    pause: Callable[[], object] | None = None,
) -> Found:
    """Wait until IS_SO gives something true, and return that. In between, PAUSE: read what has come. Without it, sleep.

    WHAT says what was waited for. It may be a function, for what is known only once the wait was in vain.
    """
    begun = asked = time.monotonic()
    while not (found := is_so()):
        now = time.monotonic()
        assert now < begun + seconds, f"waited in vain for {what() if callable(what) else what}"
        if pause:
            pause()
        else:
            _sleep(waited=now - begun, took=now - asked)
        asked = time.monotonic()
    return found


def _sleep(waited: float, took: float) -> None:
    """Sleep longer, the longer the wait has been, and the longer it takes to ask: a question may be a command, and who
    asks all the time takes the processor from what is waited for."""
    time.sleep(min(LONGEST, max(PAUSE, waited / 10, 2 * took)))
