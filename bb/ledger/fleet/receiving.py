"""Brings the lines of an engine's rows into the journals of this clone.

Nearly all lines are the next ones of another clone's journal, and were checked when their rows were folded. They are
appended at once, without waiting for the disk: the engine has them, and after a power failure the relay reads them
again. All others (lines of writers of this store, lines that are here already, or in another form) go the way of lines
from the git remote, `travel/importing.py`, which compares them.

The lock keeps `bb sync` from writing the same journals meanwhile.
"""

from __future__ import annotations

import os

from bb.kernel.digest import digest
from bb.ledger.files import disk
from bb.ledger.journal import received
from bb.ledger.journal.journal import SEGMENT_SIZE, Journal, LedgerDamaged
from bb.ledger.journal.line import DATA, START
from bb.ledger.journal.segments import NO_FOLLOW, path_of
from bb.ledger.journal.writers import JOURNALS
from bb.ledger.published.tip import Commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bb.ledger.carrier.door import Row
    from bb.ledger.journal.line import Link
    from bb.ledger.records.store import Store

    Chain = list[tuple[Row, Link, Link]]  # rows of one writer, each with the links before and after it

TO_APPEND = os.O_WRONLY | os.O_APPEND | NO_FOLLOW | getattr(os, "O_CLOEXEC", 0)


class _End:
    """The end of a received journal: its last segment, the size of it, and the link of its last line."""

    __slots__ = ("first", "link", "path", "size")

    def __init__(self, path: str, first: int, size: int, link: Link) -> None:
        self.path, self.first, self.size, self.link = path, first, size, link


class Receiving:
    """Writes rows into the journals of STORE."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ends: dict[str, _End] = {}
        self._here: dict[str, tuple[int, str]] = {}  # lines that were found in our journals: number and digest of head
        self.left: dict[str, None] = {}  # writers whose lines here were other ones than in the rows
        self.compared = 0  # rows that were compared with lines that are here

    def note(self, writer: str, n: int, line: bytes) -> None:
        """Line N of WRITER is in our journal, so the row that brings it back need not be compared."""
        self._here[writer] = n, digest(line.partition(DATA)[0])

    def write(self, chains: Mapping[str, Chain], own: Collection[str], patience: float) -> None:
        """Write the rows of some writers, in order. Their lines were checked. OWN are the writers of this store.
        LEDGER_BUSY if a sync imports lines for longer than PATIENCE seconds; then nothing was written."""
        others: dict[str, Chain] = {}
        quick: dict[str, Chain] = {}
        chains = {
            writer: rows
            for writer, rows in chains.items()
            if writer not in own or not self._is_here(writer, rows[-1][2])
        }
        if not chains:
            return
        with received.Turn(self._store.path, patience):
            for writer, rows in chains.items():
                kind = quick if self._fits(writer, rows[0][1]) else others
                kind[writer] = rows
            if quick:
                with received.Changing(self._store.path, quick, is_quick=True):
                    others |= {writer: rows for writer, rows in quick.items() if not self._append(writer, rows)}
            if others:
                self._compare(others)

    def forget(self) -> None:
        """Look at every journal again before the next write."""
        self._ends.clear()

    def differs(self, row: Row, last: Link) -> bool:
        """Whether our journal has other lines with the numbers of ROW, whose last line has the link LAST. Then another
        machine writes under our writer's id: one of the two is a copy."""
        if (last.n, last.head_digest) == self._here.get(row.writer):
            return False
        journal = Journal(self._store.path, row.writer)
        n = min(row.last, journal.tail().n)
        ours = journal.line(n) if n >= row.first else None
        theirs = row.octets.split(b"\n")[n - row.first] if ours is not None else b""
        return ours is not None and ours.partition(DATA)[0] != theirs.partition(DATA)[0]

    def _is_here(self, writer: str, last: Link) -> bool:
        """Whether our journal has the line with the link LAST. Then it has every line before it, by the chain."""
        if (last.n, last.head_digest) == self._here.get(writer):
            return True
        line = Journal(self._store.path, writer).line(last.n)
        if line is None or digest(line.partition(DATA)[0]) != last.head_digest:
            return False
        self._here[writer] = last.n, last.head_digest
        return True

    def _fits(self, writer: str, before: Link) -> bool:
        """Whether the received journal of WRITER ends exactly where the new lines begin."""
        end = self._ends.get(writer) or self._found(writer)
        if end is None or end.link != before:
            return False
        if end.size >= SEGMENT_SIZE:
            n = end.link.n + 1
            folder = Journal(self._store.path, writer).folder
            self._ends[writer] = _End(path_of(folder, n), n, 0, end.link)
        return True

    def _found(self, writer: str) -> _End | None:
        """The end of a journal, read from its files; None if it is not to be appended to at once."""
        store = self._store.path
        if os.path.isdir(os.path.join(store, JOURNALS, writer)):
            return None
        journal = Journal(store, writer)
        segments = journal.segments()
        if not segments:
            end = _End(path_of(journal.folder, 1), 1, 0, START)
        else:
            last = segments[-1]
            try:
                if not last.is_whole():
                    return None
                end = _End(last.path, last.first, last.size(), journal.tail())
            except LedgerDamaged.error:
                return None
        self._ends[writer] = end
        return end

    def _append(self, writer: str, rows: Chain) -> bool:
        """Append rows to a received journal. False if it does not end where it ended, because another process has
        written there."""
        end = self._ends[writer]
        octets = b"".join([row.octets for row, _, _ in rows])
        try:
            if end.size:
                fd = os.open(end.path, TO_APPEND)
            else:
                disk.make_folder(os.path.dirname(end.path))
                fd = disk.create(end.path, TO_APPEND)
            try:
                if os.fstat(fd).st_size != end.size:
                    del self._ends[writer]
                    return False
                disk.write_all(fd, octets)
            except OSError:
                os.ftruncate(fd, end.size)  # no line may be written twice, nor stay cut off
                raise
            finally:
                os.close(fd)
        except FileNotFoundError:
            self._ends.pop(writer, None)
            return False
        except OSError as error:
            self._ends.pop(writer, None)
            raise disk.refusal(error) from error
        end.size += len(octets)
        end.link = rows[-1][2]
        return True

    def write_again(self, rows: Sequence[Row], patience: float) -> None:
        """Import rows that may be here already. Rows that do not count must not be among them."""
        with received.Turn(self._store.path, patience):
            chains: dict[str, Chain] = {}
            for row in rows:
                chains.setdefault(row.writer, []).append((row, START, START))
            self._compare(chains)

    def _compare(self, chains: Mapping[str, Chain]) -> None:
        """Import lines as those of a published commit. Lines of ours that differ are set aside."""
        from bb.ledger.travel import importing  # noqa: PLC0415  (most rows have new lines only)

        added = []
        for writer, rows in chains.items():
            self._ends.pop(writer, None)
            added += [(writer, row.first, row.octets) for row, _, _ in rows]
            self.compared += len(rows)
        commit = Commit("", None, 0, tuple(added), ())
        incoming = importing.check(self._store, [commit], {})
        left = importing.leave_to_others(self._store, incoming)
        importing.write(self._store, incoming)
        left += [change.writer for change in incoming if change.cut is not None]
        if left:
            self.left |= dict.fromkeys(left)
            self._store.reopen()


def lines_of(store: str, writer: str, first: int, last: int) -> list[bytes]:
    """The lines of a journal from FIRST to LAST; fewer if it has fewer."""
    found: list[bytes] = []
    for raw in Journal(store, writer).lines_from(first):
        if len(found) > last - first:
            break
        found.append(raw)
    return found


def lacking(store: str, links: Sequence[tuple[str, Link]]) -> Sequence[str]:
    """The writers whose journals do not have the lines with these LINKS: their ends were lost in a power failure, or an
    earlier copy of the store was put back."""
    return [writer for writer, link in links if not _has(Journal(store, writer), link)]


def _has(journal: Journal, link: Link) -> bool:
    try:
        last = journal.tail()
    except LedgerDamaged.error:
        return False
    if last.n <= link.n:
        return (last.n, last.head_digest) == (link.n, link.head_digest)
    line = journal.line(link.n)
    return line is not None and digest(line.partition(DATA)[0]) == link.head_digest


def last_number(store: str, writer: str) -> int:
    """The number of the last whole line of a journal."""
    try:
        return Journal(store, writer).tail().n
    except LedgerDamaged.error:
        return 0
