"""A line of progress on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE, PAUSE = 1.0, 0.1  # seconds before the first word, and between two
CLEAR = "\r\x1b[K"

_is_shown = False


def is_watched() -> bool:
    """Whether somebody sees what is said meanwhile."""
    return sys.stderr is not None and sys.stderr.isatty()


def shown() -> Callable[[int, int], None] | None:
    """What to call with the bytes read and to be read; None when nobody would see it."""
    if not is_watched():
        return None
    next_time = time.monotonic() + PATIENCE

    def show(done: int, total: int) -> None:
        global _is_shown  # noqa: PLW0603  (there is one terminal)
        nonlocal next_time
        if (now := time.monotonic()) >= next_time and total:
            next_time = now + PAUSE
            _is_shown = True
            sys.stderr.write(f"{CLEAR}Reading the ledger: {100 * done // total} % of {total / 1e6:,.0f} MB")
            sys.stderr.flush()

    return show


def done() -> None:
    """Take the line away again."""
    global _is_shown  # noqa: PLW0603
    if _is_shown:
        sys.stderr.write(CLEAR)
        _is_shown = False
