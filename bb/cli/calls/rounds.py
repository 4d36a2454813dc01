"""Looking again and again, for commands that go on until they are interrupted or nobody reads what they say."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from bb.ops.overview.changes import GLANCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

OUTPUT = 1


def rest() -> None:
    """A moment's rest between two looks. That a reader has gone away is noticed here, even with nothing to say."""
    if is_unread():
        raise BrokenPipeError
    time.sleep(GLANCE)


def is_unread() -> bool:
    """Whether whoever read our output has gone away, as far as the system can tell."""
    if os.name == "nt":
        return False
    import select  # noqa: PLC0415  (on Windows it knows sockets only)

    poll = select.poll()
    poll.register(OUTPUT, 0)
    return any(found & select.POLLERR for _, found in poll.poll(0))


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Who is ended from outside leaves everything in order, too."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows knows no hang-ups
    before = [(number, signal.signal(number, leave)) for number in (getattr(signal, name) for name in names)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
