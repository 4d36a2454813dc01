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
PAUSE = 0.005


def until(
    is_so: Callable[[], Found],
    what: str | Callable[[], object] = "it",
    *,
    seconds: float = PATIENCE,
    pause: Callable[[], object] = lambda: time.sleep(PAUSE),
) -> Found:
    """Wait until IS_SO gives something true, and return that. In between, PAUSE: sleep, or read what has come.

    WHAT says what was waited for. It may be a function, for what is known only once the wait was in vain.
    """
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"waited in vain for {what() if callable(what) else what}"
        pause()
    return found
