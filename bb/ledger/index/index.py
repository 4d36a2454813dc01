"""The index: the current state in SQLite, folded from the journals. It is a cache and may be deleted at any time.

The index contains the folded state, the idempotency keys and, for each writer, a cursor. Catching up means: read from
the cursor on, check every link, fold, and move the cursor, all in one transaction. An index that is corrupt, that has
another version, or that does not match its journals is rebuilt, never repaired.
"""

from __future__ import annotations

from bb.kernel import ids, json_text
from bb.kernel.record import Record
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.index.database import ConsistentRead, Database, Transaction
from bb.ledger.index.folded_state import FoldedState, parsed_first
from bb.ledger.journal import line as lines
from bb.ledger.journal.cursors import Cursors, Damage, Marker, Unusable, unread_bytes
from bb.ledger.journal.received import Mark
from bb.ledger.journal.sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from sqlite3 import Cursor
    from typing import Any, TypeAlias

    from bb.coordination.facts import Redacted
    from bb.coordination.records.redactions import Hidden
    from bb.ledger.index.reader import Progress, Reader
    from bb.ledger.journal.journal import Journal
    from bb.ledger.journal.journal_reader import Position
    from bb.ledger.signing.verdicts import SigningLaw

    Journals: TypeAlias = "Sources | Sequence[Journal]"

REDACTION = "redaction"  # the fold of redactions
MOST_NAMED = 12  # missing journals
PATIENCE = 10.0  # seconds to wait while another process is catching up


class MadeByAnotherVersion(Unusable):
    """Another version of bb has rebuilt this file. This process continues in memory and leaves the file alone."""


class Unread(Record):
    """The journals that have grown, and by how many bytes; the mark in the log of received lines after them, and
    whether it is a new one."""

    grown: list[tuple[Journal, int]]
    mark: Mark
    is_marked: bool

    @property
    def is_nothing(self) -> bool:
        return not (self.grown or self.is_marked)


class Index(FoldedState):
    """The folded state of all journals of a store."""

    def __init__(self, path: str, own_writer: str | None, patience: float = PATIENCE) -> None:
        self.own_writer = own_writer
        self._found_hidden: dict[str, frozenset[str]] = {}
        self._journals = Sources(())
        self.cursors = Cursors(self.ask)
        # The connection, the version of its file, and the law, when this version of bb was last found to have made it.
        self._found_ours_in: tuple[int, int, str] | None = None
        self._changes: dict[str, int] = {}  # by fold, how often this process has changed it
        self.rebuilt = 0  # how often it was rebuilt in this process
        self._database = Database(path, patience, self.cursors.forget)

    def close(self, *, at_exit: bool = False) -> None:
        self._database.close(at_exit=at_exit)

    @property
    def path(self) -> str:
        return self._database.path

    @property
    def is_in_memory(self) -> bool:
        return self._database.is_in_memory

    @property
    def law(self) -> SigningLaw | None:
        """Decides which lines count; None if all count."""
        return self._database.law

    @law.setter
    def law(self, law: SigningLaw | None) -> None:
        self._database.law = law

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._database.connection

    # -- what was read of each journal

    def recorded_under(self, by: str, key: str) -> list[str]:
        """The events that BY recorded under an idempotency key, in order."""
        query = "select writer, n from idempotency where by = ? and key = ? order by writer, n"
        return [ids.event_id(writer, n) for writer, n in self._ask(list, query, by, key)]

    def lamport(self) -> int:
        """The highest Lamport time of any line read."""
        here = [self.cursors.of(writer).lamport for writer in self.cursors.local()]
        return max([*here, *(lamport for (lamport,) in self.ask("select lamport from received"))], default=0)

    def heads(self) -> dict[str, int]:
        """The number of lines of each writer that have been read."""
        return {writer: cursor.n for writer, cursor in self.cursors.all().items() if cursor.n}

    def head_of(self, writer: str) -> int:
        """The number of the last line of WRITER that has been read."""
        return self.cursors.of(writer).n

    def count_received(self, most: int) -> int:
        """The number of received journals that have been read, counted up to MOST."""
        query = "select count(*) from (select 1 from cursor where not is_local limit ?)"
        return int(self.ask(query, most)[0][0])

    def has_company(self) -> bool:
        """Whether lines of more than one writer have been read."""
        return len(self.ask("select 1 from cursor where n > 0 limit 2")) > 1

    def damages(self) -> list[Damage]:
        """The damages in the journals."""
        rows = self.ask("select damage from cursor where damage is not null order by writer")
        return [Damage(**json_text.loads(damage)) for (damage,) in rows]

    def damage_of(self, writer: str) -> Damage | None:
        """The damage in the journal of WRITER, or None."""
        damage = self.cursors.of(writer).damage
        return None if damage is None else Damage(**json_text.loads(damage))

    def unmerged(self) -> dict[str, int]:
        """The heads of the other writers with lines that no marker of ours has merged yet."""
        return {writer: last for writer, (_, last) in self.unmerged_runs().items()}

    def unmerged_runs(self) -> dict[str, tuple[int, int]]:
        """The lines of other writers that no marker of ours has merged yet: after which number, up to which."""
        query = """
            select unmerged.writer, coalesce(accounted.head, 0), unmerged.head from unmerged
            left join accounted on accounted.own = unmerged.own and accounted.writer = unmerged.writer
            where unmerged.own = ? order by unmerged.writer"""
        return {writer: (after, last) for writer, after, last in self.ask(query, self.own_writer or "")}

    def markers(self, writer: str | None = None) -> list[Marker]:
        """The markers of WRITER, or ours, in order. The first one is empty and stands for the beginning."""
        return self.cursors.markers(writer or self.own_writer or "")

    def marker(self, n: int) -> Marker | None:
        """The marker in our line N; None if that line is not a marker."""
        query = "select runs, n, foreign_before from merged where writer = ? and n = ?"
        rows = self._ask(parsed_first, query, self.own_writer or "", n)
        return Marker(n, rows[0][2], rows[0][0]) if rows else None

    def position(self, writer: str) -> Position:
        """How far the journal of WRITER has been read."""
        return self.cursors.of(writer).position

    def skip_written(self, journal: Journal) -> bool:
        """Move the cursor past the lines last written to JOURNAL, if none of them needs folding; whether it moved."""
        written = journal.written
        from bb.ledger.index.known_lines import needs_no_folding  # noqa: PLC0415

        return (
            written is not None
            and needs_no_folding(written.octets)
            and self.cursors.passes_over(journal.writer, written)
        )

    # -- the database

    def _ask(self, read: Callable[[Cursor], list[Any]], query: str, *values: str | int | None) -> list[Any]:
        """The rows of QUERY. An index that turns out to be corrupt is rebuilt first."""
        try:
            return read(self._connection.execute(query, values))
        except (sqlite3.DatabaseError, ValueError) as error:
            if self._connection.in_transaction:
                raise
            self.start_over(sqlite3.DatabaseError(str(error)))
            self.catch_up(self._journals)
            return read(self._connection.execute(query, values))

    def ask(self, query: str, *values: str | int | None) -> list[Any]:
        """The rows of a QUERY of another module, such as a view with its own tables (`add_view`)."""
        return self._ask(list, query, *values)

    def ask_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run QUERY for each of ROWS."""
        self._connection.executemany(query, rows)

    def compact(self) -> None:
        """Free space that the index does not need."""
        self._connection.execute("pragma optimize")
        self._connection.execute("pragma wal_checkpoint(truncate)")

    def add_view(self, schema: str) -> None:
        """Make the tables of a view, unless they exist. Whenever the index is rebuilt, they are emptied."""
        try:
            self._database.add_view(schema)
        except sqlite3.DatabaseError as error:
            self.start_over(error)
            self.catch_up(self._journals)

    def return_if_possible(self) -> None:
        """Move an index in memory back to its file, once the disk has room."""
        self._database.return_if_possible()

    def start_over(self, error: sqlite3.DatabaseError) -> None:
        """Replace a database that is corrupt or cannot be written."""
        self._database.start_over(error)
        self.rebuilt += 1

    def is_busy(self) -> bool:
        """Whether a transaction is open; no other change may be mixed into it."""
        return self._connection.in_transaction

    def writing(self) -> Transaction:
        """`with index.writing():` makes all changes or none."""
        return self._database.changes()

    def consistent_read(self) -> ConsistentRead:
        """`with index.consistent_read():` reads one consistent state, whatever other processes change meanwhile."""
        return ConsistentRead(self._connection)

    def writers_since(self, lamport: int) -> set[str]:
        """The writers with a line from that Lamport time on, and all that write here."""
        rows = self.ask("select writer from cursor where lamport >= ?", lamport)
        return {*self.cursors.local(), *(writer for (writer,) in rows)}

    def behind(self, journals: Journals) -> int:
        """The number of bytes of the journals that have not been read yet."""
        sources = _sources(journals)
        try:
            return sum(size for _, size in self._unread(sources).grown)
        except (Unusable, sqlite3.DatabaseError):  # the next catch-up will rebuild it
            return sum(segment.size() for journal in sources.everything() for segment in journal.segments())

    # -- keeping up

    def catch_up(self, journals: Journals, progress: Progress | None = None) -> None:
        """Read the new lines of the journals."""
        self._journals = sources = _sources(journals)
        try:
            self._catch_up(sources, progress)
        except MadeByAnotherVersion:
            self._database.leave_file()
            self._catch_up(sources, progress)
        except Unusable:
            self.rebuild(sources, progress)
        except (sqlite3.DatabaseError, ValueError) as error:
            self.start_over(sqlite3.DatabaseError(str(error)))
            self._catch_up(sources, progress)

    def read_on(self, journal: Journal) -> None:
        """Read the lines just recorded in JOURNAL. The other journals have been read already."""
        if self.is_in_memory:
            self.catch_up(self._journals)
            return
        try:
            with self._database.changes():
                self._refuse_another_version()
                size = len(journal.written.octets) if journal.written else 0
                reader = self._reader(size, None, self.hidden())
                with reader:
                    reader.read(journal)
            self.folded(reader)
            for fact in reader.redacted:
                self._hide(fact)
        except (MadeByAnotherVersion, sqlite3.DatabaseError, ValueError):
            self.catch_up(self._journals)
            return
        if any(_is_readable(self._journals, fact.event) for fact in reader.redacted):
            self.rebuild(self._journals)  # a redacted event has been folded

    def folded(self, reader: Reader) -> None:
        """Note the folds that READER has changed."""
        for fold in reader.folds():
            self._changes[fold] = self._changes.get(fold, 0) + 1

    def version_of(self, fold: str) -> tuple[int, int, int, int]:
        """A value that changes whenever a fold may have changed, in this process or another."""
        return self._database.opening, self.rebuilt, self.cursors.version(), self._changes.get(fold, 0)

    def rebuild(self, journals: Journals, progress: Progress | None = None) -> None:
        """Delete everything and read the journals from the start."""
        self._journals = sources = _sources(journals)
        self.rebuilt += 1
        try:
            with self._database.changes():
                self._database.create()
                if not self._read(sources, progress):
                    self._database.create()  # a redacted event was folded; now all redactions are known
                    self._read(sources, progress)
        except sqlite3.DatabaseError as error:
            self.start_over(error)
            self._catch_up(sources, progress)

    def _catch_up(self, sources: Sources, progress: Progress | None) -> None:
        unread = self._unread(sources, self._as_ours())
        if unread.is_nothing and self._knows_own_writer():
            return
        with self._database.changes():
            self._refuse_another_version()
            before = self.damages()
            has_read = bool(self.ask("select 1 from cursor where n > 0 limit 1"))
            if not self._read(sources, progress):
                raise Unusable("an event that was read has been redacted")
            if has_read and self.damages() != before:
                # Either a journal is damaged, or it was replaced. A rebuild finds out which.
                raise Unusable("the index does not match its journals")

    def _unread(self, sources: Sources, version: int | None = None) -> Unread:
        """The journals that have grown, and by how many bytes. Unusable if one was truncated or replaced."""
        local = self.cursors.local(version)
        before = next(((Mark(*mark)) for mark in self.ask("select inode, size from received")), Mark())
        received = sources.grown_since(before)
        here = {journal.writer for journal in sources.local}
        gone = [writer for writer in local if writer not in here]
        if received.is_every:
            here |= {journal.writer for journal in received.journals}
            gone = [writer for writer in self.cursors.all() if writer not in here]
        if gone:
            raise Unusable(f"the journal of {', '.join(sorted(gone)[:MOST_NAMED])} is missing")
        candidates = [*sources.local, *received.journals]
        sizes = [(journal, unread_bytes(journal, self.cursors.of(journal.writer))) for journal in candidates]
        return Unread([(journal, size) for journal, size in sizes if size], received.mark, received.mark != before)

    def _read(self, sources: Sources, progress: Progress | None) -> bool:
        """Read the new lines. Return False if an event was folded that a later line redacts."""
        self._know_own_writer()
        unread = self._unread(sources)
        total = sum(size for _, size in unread.grown)
        redacted = self.hidden()
        reader = self._reader(total, progress, redacted)
        with reader:
            reader.read_all(unread.grown)
        if unread.is_marked:
            ((highest,),) = self.ask("select coalesce(max(lamport), 0) from cursor where not is_local")
            self.ask("delete from received")
            self.ask("insert into received values (?, ?, ?)", unread.mark.inode, unread.mark.size, highest)
        self.cursors.forget()
        self.folded(reader)
        for fact in reader.redacted:
            self._hide(fact)
        return not any(_is_readable(sources, fact.event) for fact in reader.redacted if fact.event not in redacted)

    def _knows_own_writer(self) -> bool:
        return self.own_writer is None or bool(self.ask("select 1 from own where writer = ?", self.own_writer))

    def _know_own_writer(self) -> None:
        """Account for the lines of other writers from the view of our writer, from now on."""
        own = self.own_writer
        if own is None or self._knows_own_writer():
            return
        from bb.ledger.index import accounts  # noqa: PLC0415  (once for each writer)

        self.ask("insert into own values (?)", own)
        accounts.recount(self._connection, own)

    def _reader(self, total: int, progress: Progress | None, hidden: Hidden) -> Reader:
        from bb.ledger.index.reader import Reader  # noqa: PLC0415  (it imports every fact)

        return Reader(self._connection, total, progress, hidden, self.law)

    def _hide(self, fact: Redacted) -> None:
        self._found_hidden[fact.event] = self._found_hidden.get(fact.event, frozenset()) | {fact.agent}

    def hidden(self) -> dict[str, frozenset[str]]:
        """The redacted events, each with the agents that redacted it."""
        states, hidden = self.states(REDACTION), {}
        if states:
            from bb.coordination.records import redactions  # noqa: PLC0415  (few ledgers have any)

            hidden = redactions.hidden(states)
        for event, wishes in self._found_hidden.items():
            hidden[event] = hidden.get(event, frozenset()) | wishes
        return hidden

    def _refuse_another_version(self) -> None:
        if not self._database.has_version():
            raise MadeByAnotherVersion("another version of bb has rebuilt the index")

    def _as_ours(self) -> int:
        """The version of the index's file. Raises Replaced or Unusable if another version of bb or another law made it.

        This is checked again only after the file has changed.
        """
        database, version = self._database, self.cursors.version()
        current = database.opening, version, database.basis
        if current != self._found_ours_in:
            self._refuse_another_version()
            if not database.has_basis():
                raise Unusable("the index was made under another law")
            self._found_ours_in = current
        return version


def _sources(journals: Journals) -> Sources:
    return journals if isinstance(journals, Sources) else Sources(journals)


def _is_readable(sources: Sources, event: str) -> bool:
    """Whether the line of a redacted event is here and still has its payload."""
    writer, n = ids.split_event_id(event)
    journal = sources.of(writer)
    raw = journal.line(n) if journal else None
    return raw is not None and not lines.is_blank(raw)
