"""A line of progress on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE, PAUSE = 1.0, 0.1  # seconds before the first output, and between updates
READING = "Reading the ledger"
CLEAR = "\r\x1b[K"

_is_shown = False


def is_watched() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def shown() -> Callable[..., None] | None:
    """The function that shows progress: called with the amount done, the total, and the activity. The default activity
    is reading the ledger, counted in bytes. None if stderr is not a terminal."""
    if not is_watched():
        return None
    next_time = time.monotonic() + PATIENCE

    def show(done: int, total: int, doing: str = READING) -> None:
        global _is_shown  # noqa: PLW0603  (there is one terminal)
        nonlocal next_time
        if (now := time.monotonic()) >= next_time and total:
            next_time = now + PAUSE
            _is_shown = True
            size = f" of {total / 1e6:,.0f} MB" if doing == READING else ""
            sys.stderr.write(f"{CLEAR}{doing}: {100 * done // total} %{size}")
            sys.stderr.flush()

    return show


def done() -> None:
    """Clear the progress line."""
    global _is_shown  # noqa: PLW0603
    if _is_shown:
        sys.stderr.write(CLEAR)
        sys.stderr.flush()  # before the answer is written to stdout
        _is_shown = False
