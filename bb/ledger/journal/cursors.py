"""How far the index has read each journal, and where our lines brought in those of others.

They are asked for at every turn, and change seldom. So they are read once, and again when somebody may have moved one.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.digest import NOTHING
from bb.kernel.record import Record
from bb.ledger.journal.journal import Position
from bb.ledger.journal.line import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.journal.journal import Journal, Written


class Unusable(Exception):
    """This index cannot be used; the message says why. It is rebuilt."""


class Damage(Record):
    """The first line of a journal that cannot be right; nothing behind it is read."""

    writer: str
    n: int
    path: str
    offset: int
    reason: str


class Cursor(Record):
    """How far a journal has been read: in which segment and file, up to which offset, and behind which line."""

    segment: int
    offset: int
    n: int
    lamport: int
    head: str
    inode: int | None
    damage: str | None = None
    seen: str | None = None  # the files in which there was nothing to read behind the damage

    @property
    def position(self) -> Position:
        return Position(self.segment, self.offset, Link(self.n, self.lamport, self.head))


UNREAD = Cursor(0, 0, 0, 0, NOTHING, None)


class Marker(Record):
    """A line of ours that brought in foreign lines: those up to HEADS stand before it, FOREIGN_BEFORE in all."""

    n: int
    foreign_before: int
    heads: dict[str, int]


class Cursors:
    """The cursors and markers of an index, of which one can ASK."""

    def __init__(self, ask: Callable[..., list[Any]]) -> None:
        self._ask = ask
        self._cursors: dict[str, Cursor] = {}
        self._markers: dict[str, list[Marker]] = {}
        self._as_of: int | None = None  # the version of the file in which they were read
        self.is_ahead = False  # whether a cursor has passed over lines, and is not written down
        self.is_still = False  # whether what others do to the file meanwhile is not looked at

    def all(self, version: int | None = None) -> dict[str, Cursor]:
        """The cursors by writer, in the file as of VERSION, should that have been asked for just now."""
        version = self.version() if version is None else version
        if version != self._as_of:
            rows = self._ask("select * from cursor order by writer")
            self._cursors = {writer: Cursor(*row) for writer, *row in rows}
            self._markers.clear()
            self._as_of, self.is_ahead = version, False
        return self._cursors

    def version(self) -> int:
        """What is another number once somebody else has changed the file."""
        if self.is_still and self._as_of is not None:
            return self._as_of
        ((version,),) = self._ask("pragma data_version")
        return int(version)

    def forget(self) -> None:
        """What is known of them may be otherwise now."""
        self._as_of = None

    def passes_over(self, writer: str, written: Written) -> bool:
        """Let the cursor pass over what was WRITTEN, if it stood right before it; whether it did.

        That is written down with whatever moves it next: until then, whoever else looks reads on by himself.
        """
        cursor = self.all().get(writer)
        if cursor is None or cursor.damage or (cursor.n, cursor.head) != (written.before.n, written.before.head_digest):
            return False
        end, link = written.end, written.end.link
        moved = Cursor(end.segment, end.offset, link.n, link.lamport, link.head_digest, written.inode)
        self._cursors[writer], self.is_ahead = moved, True
        return True

    def markers(self, writer: str) -> list[Marker]:
        """Where the lines of WRITER brought in others' lines, in order; the first is the empty beginning."""
        self.all()
        found = self._markers.get(writer)
        if found is None:
            rows = self._ask("select n, foreign_before, heads from merged where writer = ? order by n", writer)
            found = [Marker(0, 0, {}), *(Marker(n, before, json_text.loads(heads)) for n, before, heads in rows)]
            self._markers[writer] = found
        return found


def growth(journal: Journal, cursor: Cursor) -> int:
    """How many bytes JOURNAL has behind a cursor. Unusable when the cursor points into another file.

    None behind a damage that has been seen already, as long as the files are what they were.
    """
    segment, offset = cursor.segment, cursor.offset
    if cursor.seen is not None and cursor.seen == journal.signature():
        return 0
    segments = journal.segments(segment)
    if segment and (not segments or segments[0].first != segment):
        raise Unusable(f"a segment of {journal.writer} is gone")
    status = [file.status() for file in segments]
    if segment and (status[0].st_ino != cursor.inode or status[0].st_size < offset):
        raise Unusable(f"{segments[0].path} is not the file that was read")
    return sum(file.st_size for file in status) - offset
