"""The journals that an index reads: those of this store, which it looks at each time, and the received ones, which it
looks at only after they have changed."""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ledger.journal import received
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.received import Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Grown(Record):
    """The received journals that may have grown since a mark, and the mark after them. IS_EVERY: all that there are."""

    journals: Sequence[Journal]
    mark: Mark
    is_every: bool = False


class Sources:
    """Journals that are always looked at, and those received in STORE; none are received if STORE is None.

    If it IS_THOROUGH, the received journals are looked at too, whatever the log says.
    """

    def __init__(self, local: Sequence[Journal], store: str | None = None, *, is_thorough: bool = False) -> None:
        self.local = local
        self._store = store
        self._is_thorough = is_thorough

    def grown_since(self, mark: Mark) -> Grown:
        """The received journals that may have grown since MARK."""
        if self._store is None:
            return Grown((), mark)
        changes = received.changes_since(self._store, mark)
        names = None if self._is_thorough else changes.writers
        journals = self.received() if names is None else [Journal(self._store, name) for name in names]
        return Grown([journal for journal in journals if journal.is_received], changes.mark, names is None)

    def received(self) -> list[Journal]:
        """All received journals."""
        return [Journal(self._store, name) for name in received.all_in(self._store)] if self._store else []

    def everything(self) -> list[Journal]:
        """All journals."""
        return [*self.local, *self.received()]

    def of(self, writer: str) -> Journal | None:
        """The journal of WRITER; None if it is not here."""
        local = next((journal for journal in self.local if journal.writer == writer), None)
        return local or (Journal(self._store, writer) if self._store else None)
