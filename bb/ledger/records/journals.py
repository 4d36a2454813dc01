"""The journals of a store: those that processes here write, our own among them, and the received ones."""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.journal import writers
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.sources import Sources
from bb.ledger.journal.writers import JOURNALS


class Journals:
    """The journals in the store at PATH. WRITER is our own; None if we have none yet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.folder = os.path.join(path, JOURNALS)
        self.writer: str | None = None
        self._own: Journal | None = None
        self._names = disk.FolderListing(self.folder)
        self._listed: list[str] = []
        self._known: dict[str, Journal] = {}
        self._is_sure: str | None = None  # the state of the files by which our writer was last checked

    def find_writer(self, hint: str) -> None:
        """Find our writer. HINT is tried first."""
        self.writer = writers.own_writer(self.folder, hint)

    def sources(self, *, is_thorough: bool = False) -> Sources:
        """All journals, as an index reads them. If it IS_THOROUGH, it looks at each received one."""
        return Sources(self.local(), self._path, is_thorough=is_thorough)

    def local(self) -> list[Journal]:
        """The journals that processes here write, including ours."""
        names, before = self._names.now(), self._known
        if names is not self._listed:
            self._listed = names
            self._known = {
                writer: before.get(writer) or Journal(self._path, writer) for writer in writers.writer_ids_in(names)
            }
        return list(self._known.values())

    def own(self) -> Journal | None:
        """Our own journal. The object is kept, because it remembers its last write."""
        if self._own is None and self.writer is not None:
            self._own = Journal(self._path, self.writer)
        return self._own

    def close(self) -> None:
        """Close our own journal."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def is_unchanged(self) -> bool:
        """Whether our writer is as it was when it was last checked."""
        return self.writer is not None and self._is_sure == writers.owner_fingerprint(self.folder, self.writer)

    def ensure_writer(self, hint: str) -> bool:
        """Give a copied store, or a store shared with another kernel, a writer of its own before it is written to.
        Returns whether our writer is another one now."""
        before = self.writer
        if self.is_unchanged():
            return False
        self.find_writer(before or hint)
        if self.writer is None:
            with writers.store_lock(self._path):  # two processes in the same copy must not both make a writer
                self.writer = writers.own_writer(self.folder)
                self.writer = self.writer or writers.mint(self.folder, writers.new_id())
        self._is_sure = writers.owner_fingerprint(self.folder, self.writer)
        self.close()
        return self.writer != before
