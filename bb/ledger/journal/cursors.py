"""The index's cursor in each journal, and the markers: our lines that merged lines of other writers.

They are needed often and change seldom. So they are kept in memory, and read again only if the file may have changed.
A cursor is read when it is needed, because there may be thousands.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.digest import NOTHING
from bb.kernel.record import Record
from bb.ledger.journal.journal_reader import Position
from bb.ledger.journal.line import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.journal.journal import Journal, Written


class Unusable(Exception):
    """This index cannot be used and must be rebuilt; the message says why."""


class Damage(Record):
    """The first damaged line of a journal. The lines after it are not read."""

    writer: str
    n: int
    path: str
    offset: int
    reason: str


class Cursor(Record):
    """How far a journal has been read: the segment, the offset, and the last line that was read."""

    segment: int
    offset: int
    n: int
    lamport: int
    head: str
    inode: int | None
    damage: str | None = None
    seen: str | None = None  # the signature of the journal's files when the damage was found
    is_local: int = True  # whether processes with access to this store write the journal

    @property
    def position(self) -> Position:
        return Position(self.segment, self.offset, Link(self.n, self.lamport, self.head))


UNREAD = Cursor(0, 0, 0, 0, NOTHING, None)


class Marker(Record):
    """A line that merged foreign lines: of each writer in RUNS, those after the first number up to the second one.
    FOREIGN_BEFORE foreign lines come before it in all.

    Of another clone's markers, only the second numbers are known.
    """

    n: int
    foreign_before: int
    runs: dict[str, tuple[int, int]]


class Cursors:
    """The cursors and markers of an index. ASK queries the index."""

    def __init__(self, ask: Callable[..., list[Any]]) -> None:
        self._ask = ask
        self._cursors: dict[str, Cursor] = {}
        self._local: list[str] | None = None  # the writers whose journals processes here write
        self._is_complete = False  # whether `_cursors` has every cursor
        self._markers: dict[str, list[Marker]] = {}
        self._as_of: int | None = None  # the version of the file at the time they were read
        self.is_ahead = False  # whether a cursor in memory has passed over lines and is not stored yet
        self.is_still = False  # whether changes by other processes are ignored for now

    def all(self) -> dict[str, Cursor]:
        """The cursors by writer."""
        self._refresh()
        if not self._is_complete:
            rows = self._ask("select * from cursor order by writer")
            self._cursors = {writer: self._cursors.get(writer) or Cursor(*row) for writer, *row in rows}
            self._is_complete = True
        return self._cursors

    def of(self, writer: str) -> Cursor:
        """The cursor of one writer."""
        self._refresh()
        cursor = self._cursors.get(writer)
        if cursor is None and not self._is_complete:
            rows = self._ask("select * from cursor where writer = ?", writer)
            if rows:
                cursor = self._cursors[writer] = Cursor(*rows[0][1:])
        return cursor or UNREAD

    def local(self, version: int | None = None) -> list[str]:
        """The writers of the journals in `j/` that were read. VERSION is the current version of the file, if the caller
        has just read it."""
        self._refresh(version)
        if self._local is None:
            rows = self._ask("select * from cursor where is_local order by writer")
            self._cursors |= {writer: Cursor(*row) for writer, *row in rows if writer not in self._cursors}
            self._local = [row[0] for row in rows]
        return self._local

    def _refresh(self, version: int | None = None) -> None:
        """Forget everything if the file may have changed."""
        version = self.version() if version is None else version
        if version != self._as_of:
            self._cursors, self._local, self._is_complete = {}, None, False
            self._markers.clear()
            self._as_of, self.is_ahead = version, False

    def version(self) -> int:
        """A number that changes when another process changes the file."""
        if self.is_still and self._as_of is not None:
            return self._as_of
        ((version,),) = self._ask("pragma data_version")
        return int(version)

    def forget(self) -> None:
        """Discard the cursors and markers in memory."""
        self._as_of = None

    def passes_over(self, writer: str, written: Written) -> bool:
        """Move the cursor past the lines WRITTEN, if it was directly before them; return whether it was.

        The new position is stored only with the next move. Until then, other processes read these lines themselves.
        """
        cursor = self.of(writer)
        if cursor.damage or (cursor.n, cursor.head) != (written.before.n, written.before.head_digest):
            return False
        end, link = written.end, written.end.link
        moved = Cursor(end.segment, end.offset, link.n, link.lamport, link.head_digest, written.inode)
        self._cursors[writer], self.is_ahead = moved, True
        return True

    def markers(self, writer: str) -> list[Marker]:
        """The markers of WRITER, in order. The first one is empty and stands for the beginning."""
        self._refresh()
        markers = self._markers.get(writer)
        if markers is None:
            rows = self._ask("select n, foreign_before, runs from merged where writer = ? order by n", writer)
            markers = [Marker(0, 0, {}), *(Marker(n, before, json_text.loads(runs)) for n, before, runs in rows)]
            self._markers[writer] = markers
        return markers


def unread_bytes(journal: Journal, cursor: Cursor) -> int:
    """The number of bytes of JOURNAL after a cursor. Unusable if the cursor points into another file.

    After a known damage the answer is 0, as long as the files have not changed.
    """
    segment, offset = cursor.segment, cursor.offset
    if cursor.seen is not None and cursor.seen == journal.signature():
        return 0
    segments = journal.segments(segment)
    if segment and (not segments or segments[0].first != segment):
        raise Unusable(f"a segment of the journal of {journal.writer} is missing")
    status = [file.status() for file in segments]
    if segment and (status[0].st_ino != cursor.inode or status[0].st_size < offset):
        raise Unusable(f"{segments[0].path} was replaced or truncated since it was read")
    return sum(file.st_size for file in status) - offset
