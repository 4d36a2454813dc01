"""Polling, for commands that run until they are interrupted or their reader closes the pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import NoReturn

from bb.ops.overview.changes import GLANCE

OUTPUT = 1


def sleep_or_stop() -> None:
    """Sleep between two polls. Detects a closed pipe even if there is no output."""
    if reader_is_gone():
        raise BrokenPipeError
    time.sleep(GLANCE)


def reader_is_gone() -> bool:
    """Whether the reader of our output has closed the pipe, if the system can tell."""
    if os.name == "nt":
        return False
    import select  # noqa: PLC0415  (on Windows it supports sockets only)

    poll = select.poll()
    poll.register(OUTPUT, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that cleanup code runs."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
    before = [(number, signal.signal(number, leave)) for number in (getattr(signal, name) for name in names)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
