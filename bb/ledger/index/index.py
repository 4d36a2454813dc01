"""The index: the current state in SQLite, folded from the journals. It is a cache and may be deleted at any time.

The index contains the folded state, the idempotency keys and, for each writer, a cursor. Catching up means: read from
the cursor on, check every link, fold, and move the cursor, all in one transaction. An index that is corrupt, that has
another version, or that does not match its journals is rebuilt, never repaired.
"""

from __future__ import annotations

import itertools
import os
import time

from bb.coordination.records import redactions
from bb.kernel import ids, json_text
from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.index.sqlite import sqlite3
from bb.ledger.journal import line as lines
from bb.ledger.journal.cursors import UNREAD, Cursors, Damage, Marker, Unusable, unread_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Cursor
    from typing import Any

    from bb.coordination.facts import Redacted
    from bb.ledger.index.reader import Progress, Reader
    from bb.ledger.journal.journal import Journal, Position
    from bb.ledger.journal.line import Link
    from bb.ledger.signing.verdicts import Signatures, SigningLaw

VERSION = 20
FEW, MANY = 12, 200  # rows that are read at once
MOST_AT_ONCE = 500  # values of one query; SQLite allows 999
PAUSE = 0.01
PATIENCE = 10.0  # seconds to wait while another process is catching up

SCHEMA = """
create table cursor (
    writer text primary key, segment integer, offset integer, n integer, lamport integer, head text, inode integer,
    damage text, seen text
) without rowid;
create table state (fold text, key text, value text, primary key (fold, key)) without rowid;
create table term (fold text, term text, place text, key text, primary key (fold, term, place, key)) without rowid;
create table idempotency (by text, key text, writer text, n integer, primary key (by, key, writer, n)) without rowid;
create table merged (writer text, n integer, foreign_before integer, heads text, primary key (writer, n));
create table signature (
    writer text, n integer, ts text, head text, said text, flaw text, primary key (writer, n)
) without rowid;
create table counted (writer text primary key, upto integer, orders integer) without rowid;
create table law (basis text);
create table talk (spot text);
create table talk_post (
    seq integer primary key, writer text, n integer, segment integer, offset integer, by text, flags integer, at integer
);
create unique index talk_post_name on talk_post (writer, n);
create table talk_to (token text, seq integer, flags integer, primary key (token, seq)) without rowid;
create table talk_of (
    event text, what text, who text, seq integer, primary key (event, what, who, seq)
) without rowid;
create table talk_read (
    actor text primary key, seq integer, event text, ts text, updated_at text, said_at integer
) without rowid;
create table talk_seen (actor text, seq integer, primary key (actor, seq)) without rowid;
create table talk_floating (heads text);
create table talk_skipped (
    writer text, is_order integer, n integer, primary key (writer, is_order)
) without rowid;
create table talk_floor (actor text primary key, tokens text, seq integer) without rowid;
"""
TALK = (
    *("talk", "talk_post", "talk_to", "talk_of", "talk_read", "talk_seen", "talk_floor", "talk_floating"),
    "talk_skipped",
)
PLACED = ("talk_post", "talk_to", "talk_of")
TABLES = ("cursor", "state", "term", "idempotency", "merged", "signature", "counted", "law", *TALK)
BEYOND = chr(0x10FFFF)  # sorts after every character of a place


class IndexBusy(Busy):
    """Another process is rebuilding the index."""

    code = "INDEX_BUSY"
    hint = "try again in a few seconds"


class MadeByAnotherVersion(Unusable):
    """Another version of bb has rebuilt this file. This process continues in memory and leaves the file alone."""


OPENINGS = itertools.count()  # numbers the connections of this process, because SQLite's counters restart with each
LOOK_AGAIN, NEVER = 60.0, float("inf")  # seconds


class Index:
    """The folded state of all journals of a store."""

    def __init__(self, path: str, own_writer: str | None, patience: float = PATIENCE) -> None:
        self.path = path
        self._patience = patience
        self.own_writer = own_writer
        self.is_in_memory = False
        self._look_again_at = NEVER  # when to check whether an index in memory can return to its file
        self._found_hidden: dict[str, frozenset[str]] = {}
        self._journals: Sequence[Journal] = ()
        self.cursors = Cursors(self.ask)
        # The version of the file and the law at the last check that this version of bb made the file.
        self._found_ours_in: tuple[int, str] | None = None
        self._changes: dict[str, int] = {}  # by fold, how often this process has changed it
        self.rebuilt = 0  # how often it was rebuilt in this process
        self.law: SigningLaw | None = None  # decides which lines count; None if all count
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

    # -- queries

    def state(self, fold: str, key: str) -> Any:
        """The folded state of one entry; None if it does not exist."""
        rows = self._ask(_parsed_first, "select value from state where fold = ? and key = ?", fold, key)
        return rows[0][0] if rows else None

    def states_of(self, fold: str, keys: Sequence[str]) -> dict[str, Any]:
        """The folded states of the entries KEYS, without those that do not exist."""
        found: dict[str, Any] = {}
        for start in range(0, len(keys), MOST_AT_ONCE):
            some = keys[start : start + MOST_AT_ONCE]
            query = f"select value, key from state where fold = ? and key in ({', '.join('?' * len(some))})"  # noqa: S608
            found |= {key: value for value, key in self._ask(_parsed_first, query, fold, *some)}
        return found

    def states(self, fold: str) -> list[tuple[str, Any]]:
        """Every entry of a fold, sorted by key."""
        rows = self._ask(_parsed_first, "select value, key from state where fold = ? order by key", fold)
        return [(key, value) for value, key in rows]

    def entries_by_term(self, fold: str, term: str, *, below: str = "", sieve: str = "*") -> list[tuple[str, Any]]:
        """The entries of TERM whose place starts with BELOW and matches the GLOB pattern SIEVE, ordered by place."""
        query = """
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place >= ? and term.place < ? and term.place glob ?
            order by term.place"""
        rows = self._ask(_parsed_first, query, fold, term, below, below + BEYOND, sieve)
        return [(key, value) for value, key in rows]

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        """The place, key and state of the entries of TERM, last place first, read lazily.

        Entries that are added meanwhile do not shift the following ones.
        """
        query = """
            select state.value, term.place, term.key from term
            join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place < ? order by term.place desc limit ?"""
        before, many = BEYOND, FEW  # callers mostly need the first few, sometimes all
        while rows := self._ask(_parsed_first, query, fold, term, before, many):
            for value, place, key in rows:
                yield place, key, value
            before, many = rows[-1][1], min(4 * many, MANY)

    def entries_at_places(self, fold: str, term: str, places: Sequence[str]) -> list[tuple[str, Any]]:
        """The entries of TERM at one of PLACES."""
        query = f"""
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place in ({", ".join("?" * len(places))})"""  # noqa: S608
        return [(key, value) for value, key in self._ask(_parsed_first, query, fold, term, *places)]

    def terms(self, fold: str, start: str) -> list[str]:
        """The distinct terms of a fold that begin with START."""
        query = "select distinct term from term where fold = ? and term >= ? and term < ?"
        return [term for (term,) in self._ask(list, query, fold, start, start + BEYOND)]

    def count(self, fold: str, term: str) -> int:
        """The number of entries of TERM."""
        return int(self._ask(list, "select count(*) from term where fold = ? and term = ?", fold, term)[0][0])

    def folds(self) -> list[str]:
        """The folds that have any state."""
        return [fold for (fold,) in self._ask(list, "select distinct fold from state order by fold")]

    def recorded_under(self, by: str, key: str) -> list[str]:
        """The events that BY recorded under an idempotency key, in order."""
        query = "select writer, n from idempotency where by = ? and key = ? order by writer, n"
        return [ids.event_id(writer, n) for writer, n in self._ask(list, query, by, key)]

    def lamport(self) -> int:
        """The highest Lamport time of any line read."""
        return max((cursor.lamport for cursor in self.cursors.all().values()), default=0)

    def heads(self) -> dict[str, int]:
        """The number of lines of each writer that have been read."""
        return {writer: cursor.n for writer, cursor in self.cursors.all().items() if cursor.n}

    def damages(self) -> list[Damage]:
        """The damages in the journals."""
        damages = [cursor.damage for cursor in self.cursors.all().values()]
        return [Damage(**json_text.loads(damage)) for damage in damages if damage is not None]

    def unmerged(self) -> dict[str, int]:
        """The heads of the other writers with lines that no marker of ours has merged yet."""
        accounted = self.markers()[-1].heads
        return {w: n for w, n in self.heads().items() if w != self.own_writer and n > accounted.get(w, 0)}

    def markers(self, writer: str | None = None) -> list[Marker]:
        """The markers of WRITER, or ours, in order. The first one is empty and stands for the beginning."""
        return self.cursors.markers(writer or self.own_writer or "")

    def marker(self, n: int) -> Marker | None:
        """The marker in our line N; None if that line is not a marker."""
        query = "select heads, n, foreign_before from merged where writer = ? and n = ?"
        rows = self._ask(_parsed_first, query, self.own_writer or "", n)
        return Marker(n, rows[0][2], rows[0][0]) if rows else None

    def position(self, writer: str) -> Position:
        """How far the journal of WRITER has been read."""
        return self.cursors.all().get(writer, UNREAD).position

    def skip_written(self, journal: Journal) -> bool:
        """Move the cursor past the lines last written to JOURNAL, if none of them needs folding; whether it moved."""
        written = journal.written
        from bb.ledger.index.reader import needs_no_folding  # noqa: PLC0415

        return (
            written is not None
            and needs_no_folding(written.octets)
            and self.cursors.passes_over(journal.writer, written)
        )

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
        """The rows of a QUERY of another module that has its own tables here (`ledger/views/chat.py`)."""
        return self._ask(list, query, *values)

    def ask_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run QUERY for each of ROWS."""
        self._connection.executemany(query, rows)

    def compact(self) -> None:
        """Free space that the index does not need."""
        self._connection.execute("pragma optimize")
        self._connection.execute("pragma wal_checkpoint(truncate)")

    def clear_chat_tables(self, since: int | None = None) -> None:
        """Empty the tables of `ledger/views/chat.py`; with SINCE, delete only the rows from that number on."""
        if since is None:
            for table in TALK:
                self._connection.execute(f"delete from {table}")  # noqa: S608
        else:
            for table in PLACED:
                self._connection.execute(f"delete from {table} where seq >= ?", (since,))  # noqa: S608
            self._connection.execute("delete from talk_floating")

    def is_busy(self) -> bool:
        """Whether a transaction is open; no other change may be mixed into it."""
        return self._connection.in_transaction

    def writing(self) -> _Transaction:
        """`with index.writing():` makes all changes or none."""
        self._connection.execute("begin immediate")
        return _Transaction(self, self._connection)

    def consistent_read(self) -> ConsistentRead:
        """`with index.consistent_read():` reads one consistent state, whatever other processes change meanwhile."""
        return ConsistentRead(self, self._connection)

    def behind(self, journals: Sequence[Journal]) -> int:
        """The number of bytes of the journals that have not been read yet."""
        try:
            return sum(size for _, size in self._unread(journals))
        except (Unusable, sqlite3.DatabaseError):  # the next catch-up will rebuild it
            return sum(segment.size() for journal in journals for segment in journal.segments())

    # -- keeping up

    def catch_up(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Read the new lines of the journals."""
        self._journals = journals
        try:
            self._catch_up(journals, progress)
        except MadeByAnotherVersion:
            self._connection.close()
            self._connection = self._in_memory(for_good=True)
            self._catch_up(journals, progress)
        except Unusable:
            self.rebuild(journals, progress)
        except (sqlite3.DatabaseError, ValueError) as error:
            self.start_over(sqlite3.DatabaseError(str(error)))
            self._catch_up(journals, progress)

    def read_on(self, journal: Journal) -> None:
        """Read the lines just recorded in JOURNAL. The other journals have been read already."""
        if self.is_in_memory:
            self.catch_up(self._journals)
            return
        try:
            self._connection.execute("begin immediate")
            with _Transaction(self, self._connection):
                self._refuse_another_version()
                size = len(journal.written.octets) if journal.written else 0
                reader = _reader(self._connection, size, None, self.hidden(), self.law)
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
        return self._opening, self.rebuilt, self.cursors.version(), self._changes.get(fold, 0)

    def start_from(self, links: Mapping[str, Link], rows: Iterable[tuple[str, str, Any]]) -> None:
        """Begin with the states of ROWS, the result of the lines up to LINKS, as if those lines had been read."""
        from bb.ledger.journal import folds  # noqa: PLC0415

        self.cursors.forget()
        execute = self._connection.executemany
        at = (
            (writer, 0, 0, link.n, link.lamport, link.head_digest, None, None, None) for writer, link in links.items()
        )
        execute("insert into cursor values (?, ?, ?, ?, ?, ?, ?, ?, ?)", at)
        for fold, key, state in rows:
            self._connection.execute("insert into state values (?, ?, ?)", (fold, key, json_text.dumps(state)))
            terms_of = getattr(folds.fold_module(fold), "terms", None)
            terms = ((fold, *term, key) for term in (terms_of(key, state) if terms_of else ()))
            execute("insert or ignore into term values (?, ?, ?, ?)", terms)

    def rebuild(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Delete everything and read the journals from the start."""
        self._journals = journals
        self.rebuilt += 1
        try:
            self._connection.execute("begin immediate")
            with _Transaction(self, self._connection):
                self._create()
                if not self._read(journals, progress):
                    self._create()  # a redacted event was folded; now all redactions are known
                    self._read(journals, progress)
        except sqlite3.DatabaseError as error:
            self.start_over(error)
            self._catch_up(journals, progress)

    def _catch_up(self, journals: Sequence[Journal], progress: Progress | None) -> None:
        if not self._unread(journals, self._as_ours()):
            return
        self._connection.execute("begin immediate")
        with _Transaction(self, self._connection):
            self._refuse_another_version()
            before = self.damages()
            has_read = bool(self.heads())
            if not self._read(journals, progress):
                raise Unusable("an event that was read has been redacted")
            if has_read and self.damages() != before:
                # Either a journal is damaged, or it was replaced. A rebuild finds out which.
                raise Unusable("the index does not match its journals")

    def _unread(self, journals: Sequence[Journal], version: int | None = None) -> list[tuple[Journal, int]]:
        """The journals that have grown, and by how many bytes. Unusable if one was truncated or replaced."""
        cursors = self.cursors.all(version)
        if gone := cursors.keys() - {journal.writer for journal in journals}:
            raise Unusable(f"the journal of {', '.join(sorted(gone))} is missing")
        grown = [(journal, unread_bytes(journal, cursors.get(journal.writer, UNREAD))) for journal in journals]
        return [(journal, size) for journal, size in grown if size]

    def _read(self, journals: Sequence[Journal], progress: Progress | None) -> bool:
        """Read the new lines. Return False if an event was folded that a later line redacts."""
        unread = self._unread(journals)
        total = sum(size for _, size in unread)
        known = self.hidden()
        reader = _reader(self._connection, total, progress, known, self.law)
        with reader:
            for journal, _ in unread:
                reader.read(journal)
        self.cursors.forget()
        self.folded(reader)
        for fact in reader.redacted:
            self._hide(fact)
        return not any(_is_readable(journals, fact.event) for fact in reader.redacted if fact.event not in known)

    def _hide(self, fact: Redacted) -> None:
        self._found_hidden[fact.event] = self._found_hidden.get(fact.event, frozenset()) | {fact.agent}

    def hidden(self) -> dict[str, frozenset[str]]:
        """The redacted events, each with the agents that redacted it."""
        known = redactions.hidden(self.states(redactions.NAME))
        for event, wishes in self._found_hidden.items():
            known[event] = known.get(event, frozenset()) | wishes
        return known

    # -- the file

    def _open(self) -> sqlite3.Connection:
        try:
            return self._opened(self.path)
        except sqlite3.DatabaseError as error:
            self._refuse_to_wait(error)
            if not isinstance(error, sqlite3.OperationalError):
                _remove(self.path)
                try:
                    return self._opened(self.path)
                except sqlite3.DatabaseError as again:  # another process found it corrupt too, and is rebuilding it
                    self._refuse_to_wait(again)
            # A store that cannot be written can still be read: the index is built in memory.
            return self._in_memory()

    def _in_memory(self, *, for_good: bool = False) -> sqlite3.Connection:
        self.is_in_memory, self._look_again_at = True, NEVER if for_good else time.monotonic() + LOOK_AGAIN
        return self._opened(":memory:")

    def return_if_possible(self) -> None:
        """Move an index in memory back to its file, once the disk has room. This is checked once a minute."""
        if not self.is_in_memory or time.monotonic() < self._look_again_at:
            return
        self._look_again_at = time.monotonic() + LOOK_AGAIN
        if disk.has_room(self.path):
            self._connection.close()
            self.is_in_memory = False
            self._connection = self._open()

    def _opened(self, path: str) -> sqlite3.Connection:
        _make_file(path)
        connection = sqlite3.connect(path, timeout=self._patience, isolation_level=None)
        self.cursors.forget()
        self._found_ours_in, self._opening = None, next(OPENINGS)
        try:
            self._connection = connection
            if self._version() != VERSION:
                self._prepare(path)
            connection.execute("pragma synchronous = normal")
            connection.execute("pragma cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, path: str) -> None:
        execute = self._connection.execute
        if path != ":memory:":
            self._choose_journal_mode("delete" if disk.file_system(path) in disk.NETWORK_FILE_SYSTEMS else "wal")
        execute("begin immediate")
        with _Transaction(self, self._connection):
            if self._version() != VERSION:  # otherwise another process has created it
                self._create()

    def _choose_journal_mode(self, mode: str) -> None:
        """Set the journal mode, with retries: SQLite does not wait for other processes in this statement."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute(f"pragma journal_mode = {mode}")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)
            else:
                return

    def _refuse_another_version(self) -> None:
        if self._version() != VERSION:
            raise MadeByAnotherVersion("another version of bb has rebuilt the index")

    def _as_ours(self) -> int:
        """The version of the index's file. Raises Replaced or Unusable if another version of bb or another law made it.

        This is checked again only after the file has changed.
        """
        version = self.cursors.version()
        if (version, self._basis) != self._found_ours_in:
            self._refuse_another_version()
            if self._connection.execute("select basis from law").fetchone() != (self._basis,):
                raise Unusable("the index was made under another law")
            self._found_ours_in = version, self._basis
        return version

    @property
    def _basis(self) -> str:
        return self.law.basis if self.law else ""

    def signatures(self, repo: str) -> Signatures:
        """The signatures in the chains here, to be checked against the id REPO."""
        from bb.ledger.signing.verdicts import Signatures  # noqa: PLC0415  (needed only to verify signatures)

        def tell(query: str, *values: str | int) -> None:
            try:
                self._connection.execute(query, values)
            except sqlite3.OperationalError:  # the result is stored another time
                return

        return Signatures(repo, self.ask, tell)

    def signed_upto(self, writer: str) -> tuple[int, str]:
        """The number of WRITER's last signature line, and the signature; 0 if there is none."""
        rows = self.ask("select n, said from signature where writer = ? order by n desc limit 1", writer)
        return rows[0] if rows else (0, "")

    def signatures_behind(self, heads: Mapping[str, int], out: Mapping[str, int]) -> int:
        """The number of signature lines of these writers after the lines OUT, which are published."""
        query = "select count(*) from signature where writer = ? and n > ?"
        return sum(self.ask(query, writer, out.get(writer, 0))[0][0] for writer in heads)

    def _version(self) -> int:
        return int(self._connection.execute("pragma user_version").fetchone()[0])

    def _create(self) -> None:
        self.cursors.forget()
        for table in TABLES:
            self._connection.execute(f"drop table if exists {table}")
        for statement in SCHEMA.split(";"):
            self._connection.execute(statement)
        self._connection.execute("insert into law values (?)", (self._basis,))
        self._connection.execute(f"pragma user_version = {VERSION}")

    def start_over(self, error: sqlite3.DatabaseError) -> None:
        """Remove a corrupt index and open a new one; replace one that cannot be written by one in memory."""
        self._refuse_to_wait(error)
        self.rebuilt += 1
        self._connection.close()
        if "readonly" in str(error) or "full" in str(error):
            self._connection = self._in_memory()
        else:
            _remove(self.path)
            self._connection = self._open()

    def _refuse_to_wait(self, error: sqlite3.DatabaseError) -> None:
        if "locked" in str(error) or "busy" in str(error):
            raise IndexBusy from error


def _make_file(path: str) -> None:
    """Create an empty file for an index, because SQLite gives its side files the same permissions. If that fails,
    SQLite reports the error."""
    if path == ":memory:" or os.path.exists(path):
        return
    try:
        os.close(disk.create(path, os.O_RDWR))
    except OSError:
        return


def _reader(
    connection: sqlite3.Connection,
    total: int,
    progress: Progress | None,
    hidden: redactions.Hidden | None,
    law: SigningLaw | None,
) -> Reader:
    """Make a reader of journals. Its module imports every fact, so it is loaded only if there is something to read."""
    from bb.ledger.index.reader import Reader  # noqa: PLC0415

    return Reader(connection, total, progress, hidden, law)


def _is_readable(journals: Sequence[Journal], event: str) -> bool:
    """Whether the line of a redacted event is here and still has its payload."""
    writer, n = ids.split_event_id(event)
    raw = next((journal.line(n) for journal in journals if journal.writer == writer), None)
    return raw is not None and not lines.is_blank(raw)


def _parsed_first(rows: Cursor) -> list[Any]:
    """The rows, with their first value decoded from JSON."""
    return [(json_text.loads(first), *others) for first, *others in rows]


class ConsistentRead:
    """One read transaction around several queries."""

    def __init__(self, index: Index, connection: sqlite3.Connection) -> None:
        self._index = index
        self._connection = connection

    def __enter__(self) -> Index:
        self._connection.execute("begin")
        return self._index

    def __exit__(self, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")


class _Transaction:
    """A transaction: commits at the end, or rolls back."""

    def __init__(self, index: Index, connection: sqlite3.Connection) -> None:
        self._index = index
        self._connection = connection

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._index.cursors.forget()
        try:
            if kind is None:
                self._connection.execute("commit")
        finally:  # on a full disk, the commit itself may fail
            if self._connection.in_transaction:
                self._connection.execute("rollback")


def _remove(path: str) -> None:
    """Remove a corrupt index. The journals contain everything that was in it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        disk.remove_if_there(path + suffix)
