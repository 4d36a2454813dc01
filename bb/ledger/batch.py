"""Several records, one sync: what a server does for all who ask at the same moment.

The journal's lock is taken when something is recorded for the first time, and let go at the end, when all of it is on
the disk. So decisions within a batch see each other, nobody else comes between them, and the disk is waited for once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from bb.ledger.journal import Journal
    from bb.ledger.lock import Lock
    from bb.ledger.store import Store


class Batch:
    """`with Batch(store):` everything that is recorded within it reaches the disk at its end, or is taken back."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._journal: Journal | None = None
        self._lock: Lock | None = None
        self._end = (0, 0)

    def on(self, journal: Journal) -> _Held:
        """Hold the lock of JOURNAL, from the first record on."""
        if self._lock is None:
            lock = journal.lock()
            lock.__enter__()
            self._journal, self._lock = journal, lock
            journal.mend()
            self._end = journal.end()
        return _Held()

    @property
    def has_recorded(self) -> bool:
        """Whether there is anything to wait for."""
        return self._journal is not None and self._journal.end() != self._end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.end_batch()
        if self._lock is None or self._journal is None:
            return
        try:
            if self.has_recorded:
                self._journal.sync(self._end)
        finally:
            self._lock.__exit__()


class _Held:
    """A lock that is let go later."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
