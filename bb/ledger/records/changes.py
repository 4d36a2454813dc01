"""Waiting for something to happen in the ledger: a look at the ends of a few files, nothing more."""

from __future__ import annotations

import os
import time

from bb.ledger.files import disk
from bb.ledger.journal.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bb.ledger.records.store import Store

GLANCE, LONGEST_GLANCE = 0.02, 0.1  # seconds between two looks; they grow apart while nothing happens
MINUTE = 60.0


class Watch:
    """Looks at one store until something has changed."""

    def __init__(self, store: Store, *also: str) -> None:
        self._store = store
        self._also = also
        self._started = time.monotonic()

    @property
    def waited(self) -> float:
        """Seconds since the watch began."""
        return round(time.monotonic() - self._started, 3)

    def changes(
        self,
        seconds: float,
        *,
        every_minute: Callable[[], None],
        is_over: Callable[[], bool],
        at_least_every: float | None = None,
    ) -> Iterator[None]:
        """Now, and then whenever the ledger may have changed, for so many SECONDS or until it IS OVER."""
        deadline = self._started + seconds
        seen, glance, beat_at, turn_at = self._look(), GLANCE, self._started + MINUTE, self._started
        yield
        while (now := time.monotonic()) < deadline and not is_over():
            if now >= beat_at:
                every_minute()
                beat_at = now + MINUTE
            if (found := self._look()) != seen or (at_least_every and now - turn_at >= at_least_every):
                seen, glance, turn_at = found, GLANCE, now
                yield
            time.sleep(max(min(glance, deadline - time.monotonic()), 0))
            glance = min(glance * 1.3, LONGEST_GLANCE)

    def _look(self) -> list[tuple[str, int, int]]:
        found = []
        for journal in self._store.journals():
            segments = Journal(self._store.path, journal.writer).segments()
            if segments:
                found.append((segments[-1].path, segments[-1].size(), 0))
        for path in self._also:
            found += [(os.path.join(path, name), 0, 0) for name in disk.names(path)]
        return found
