"""Waits for changes of the ledger by polling the names and sizes of its last files."""

from __future__ import annotations

import os
import time

from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bb.ledger.records.store import Store

GLANCE, LONGEST_GLANCE = 0.02, 0.1  # seconds between two polls; the interval grows while nothing changes
MINUTE = 60.0


class LedgerWatch:
    """Watches one store, and the folders ALSO, for changes."""

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
        """Yield at once, and then whenever the ledger may have changed, for SECONDS or until IS_OVER."""
        deadline = self._started + seconds
        seen, glance, beat_at, turn_at = self._look(), GLANCE, self._started + MINUTE, self._started
        yield
        while (now := time.monotonic()) < deadline and not is_over():
            if now >= beat_at:
                every_minute()
                beat_at = now + MINUTE
            if (current := self._look()) != seen or (at_least_every and now - turn_at >= at_least_every):
                seen, glance, turn_at = current, GLANCE, now
                yield
            time.sleep(max(min(glance, deadline - time.monotonic()), 0))
            glance = min(glance * 1.3, LONGEST_GLANCE)

    def _look(self) -> list[tuple[str, int, int]]:
        files = [(path, size, 0) for path, size in self._store.last_files()]
        for path in self._also:
            files += [(os.path.join(path, name), 0, 0) for name in disk.names(path)]
        return files
