"""How many lines the writers of this store have recorded. Asking costs little while nothing changes."""

from __future__ import annotations

import os

from bb.ledger.fleet import receiving
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.writers import JOURNALS, KnownWriters


class OwnLines:
    """The journals in the store at PATH that its processes write."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writers = KnownWriters(os.path.join(path, JOURNALS))
        self._journals: dict[str, Journal] = {}
        self._known: dict[str, tuple[tuple[int, int], int]] = {}  # segment and size, and the number of the last line

    def recorded(self) -> dict[str, int]:
        """The number of the last line of each writer."""
        names = self._writers.all()
        if names != list(self._journals):
            self._journals = {name: self._journals.get(name) or Journal(self._path, name) for name in names}
        numbers = {}
        for writer, journal in self._journals.items():
            segments = journal.segments()
            state = (segments[-1].first, segments[-1].size()) if segments else (0, 0)
            known = self._known.get(writer)
            if known is None or known[0] != state:
                known = self._known[writer] = state, receiving.last_number(self._path, writer)
            if known[1]:
                numbers[writer] = known[1]
        return numbers

    def forget(self) -> None:
        """Read every journal again at the next call."""
        self._known.clear()
