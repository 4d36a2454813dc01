"""Batches: several records with one disk sync, for a server that handles concurrent requests.

A batch takes the journal's lock at its first record and releases it at its end, after the sync. So decisions within a
batch see each other, no other process records in between, and there is one wait for the disk. A batch looks for lines
of other processes once, and once more after it has taken the lock.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, Self

    from bb.ledger.files.lock import Lock
    from bb.ledger.index.index import Index
    from bb.ledger.journal.journal import Journal

    class Store(Protocol):
        """What a batch needs of the store it belongs to."""

        @property
        def index(self) -> Index: ...
        def end_batch(self) -> None: ...
        def has_read(self, journal: Journal) -> bool: ...
        def may_still_write(self) -> bool: ...


class WriterRetired(Exception):
    """Our writer was retired before its lock was taken. Nothing must be added to its journal any more: its lines were
    moved, or nobody would send a new one."""


class Batch:
    """`with Batch(store):` syncs everything recorded within it at its end; if that fails, everything is removed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock: Lock | None = None
        self.journal: Journal | None = None  # the locked journal
        self.is_current = False  # whether the index has caught up in this batch
        self.has_recorded = False
        self.is_behind = False  # whether the index lacks events recorded in this batch

    def hold(self, journal: Journal) -> Journal:
        """Lock the journal at the first call; return the journal to record in."""
        if self.journal is None:
            self._lock = _held(journal, journal.standing_lock(), self._store.may_still_write)
            self.journal = journal
            # Another process may have recorded something before the lock was taken.
            self.is_current = self.is_current and self._store.has_read(journal)
        return self.journal

    def must_fold(self) -> bool:
        """Whether the index lacks events recorded in this batch. The caller must then fold them: the flag is reset."""
        must, self.is_behind = self.is_behind, False
        return must

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.end_batch()
        if self._lock is None or self.journal is None:
            return
        try:
            self.journal.sync()
        except BaseException:
            self._store.index.cursors.forget()  # a cursor may have passed over the removed lines
            raise
        finally:
            self._lock.__exit__()


class SingleRecord:
    """A record outside of a batch: `with SingleRecord(journal) as journal:` holds the journal's lock.

    At the end, the lock is released, and then what was written is synced, together with the lines of other processes.
    """

    def __init__(self, journal: Journal, may_still_write: Callable[[], bool]) -> None:
        self._journal, self._may_still_write = journal, may_still_write

    def __enter__(self) -> Journal:
        self._journal.open_ahead()
        self._lock = _held(self._journal, self._journal.lock(), self._may_still_write)
        return self._journal

    def __exit__(self, *_: object) -> None:
        self._journal.sync(self._lock)


def _held(journal: Journal, lock: Lock, may_still_write: Callable[[], bool]) -> Lock:
    """Take the LOCK of JOURNAL, and prepare the journal for writing."""
    lock.__enter__()
    try:
        is_ours = may_still_write()
        if is_ours:
            journal.keep_segments()
    except BaseException:
        lock.__exit__()
        raise
    if not is_ours:
        lock.__exit__()
        raise WriterRetired
    return lock


class RecordInBatch:
    """A record within a batch, which keeps the lock afterwards."""

    def __init__(self, batch: Batch, journal: Journal) -> None:
        self._journal = batch.hold(journal)

    def __enter__(self) -> Journal:
        return self._journal

    def __exit__(self, *_: object) -> None: ...
