"""Several records, one sync: what a server does for all who ask at the same moment.

The journal's lock is taken when something is recorded for the first time, and let go at the end, when all of it is on
the disk. So decisions within a batch see each other, nobody else comes between them, and the disk is waited for once.
What others have recorded is looked for once in a batch, and once more when the lock has been taken.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from bb.ledger.files.lock import Lock
    from bb.ledger.journal.journal import Journal
    from bb.ledger.records.store import Store


class Batch:
    """`with Batch(store):` everything that is recorded within it reaches the disk at its end, or is taken back."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock: Lock | None = None
        self._end = (0, 0)
        self.journal: Journal | None = None  # the one that is held
        self.is_current = False  # whether the index has been brought up to date in this batch
        self.has_recorded = False
        self.is_behind = False  # whether the index lacks what was recorded here

    def hold(self, journal: Journal) -> Journal:
        """The journal to record in, its lock held from the first time on."""
        if self.journal is None:
            lock = _held(journal, journal.standing_lock())
            try:
                end = journal.end()
            except BaseException:
                lock.__exit__()
                raise
            self._lock, self.journal, self._end = lock, journal, end
            # Somebody may have recorded something between our look and the lock.
            self.is_current = self.is_current and self._store.has_read(journal, self._end)
        return self.journal

    def must_fold(self) -> bool:
        """Whether something was recorded that the index does not know yet; asked once, it is the asker's to do."""
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
            self._store.index.cursors.forget()  # it may have passed over what was taken back
            raise
        finally:
            self._lock.__exit__()


class Alone:
    """One record by itself: `with Alone(journal) as journal:` holds the journal's lock."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __enter__(self) -> Journal:
        self._lock = _held(self._journal, self._journal.lock())
        return self._journal

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()


def _held(journal: Journal, lock: Lock) -> Lock:
    """The LOCK of JOURNAL, taken, and the journal ready to be written to."""
    lock.__enter__()
    try:
        journal.keep()
    except BaseException:
        lock.__exit__()
        raise
    return lock


class Within:
    """One record of several, in a batch that goes on afterwards."""

    def __init__(self, batch: Batch, journal: Journal) -> None:
        self._journal = batch.hold(journal)

    def __enter__(self) -> Journal:
        return self._journal

    def __exit__(self, *_: object) -> None: ...
