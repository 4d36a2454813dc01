"""The index: what the journals add up to, in SQLite. A cache of current state that may be deleted at any time.

Truth is in the journals. The index keeps the folded state, idempotency keys and, per writer, how far it has read.
To catch up is to read on from there, check every link, fold, and move the cursor, all in one transaction. An index
that is corrupt, of another version, or does not fit its journals is thrown away and made again, never repaired.
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
from bb.ledger.journal.cursors import UNREAD, Cursors, Damage, Marker, Unusable, growth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Cursor
    from typing import Any

    from bb.coordination.facts import Redacted
    from bb.ledger.index.reader import Progress, Reader
    from bb.ledger.journal.journal import Journal, Position
    from bb.ledger.journal.line import Link
    from bb.ledger.signing.verdicts import Law, Signatures

VERSION = 20
FEW, MANY = 12, 200  # rows that are read at once
MOST_AT_ONCE = 500  # of SQLite's 999 values in one question
PAUSE = 0.01
PATIENCE = 10.0  # seconds to wait for another process that is catching up

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
BEYOND = chr(0x10FFFF)  # sorts behind every character of a place


class IndexBusy(Busy):
    """Another process is rebuilding the index."""

    code = "INDEX_BUSY"
    hint = "try again in a few seconds"


class Replaced(Unusable):
    """Another version of bb uses this file now. What we know is kept in memory, so that neither spoils the other's."""


OPENINGS = itertools.count()  # no two in a process are alike: what SQLite counts begins anew with each
LOOK_AGAIN, NEVER = 60.0, float("inf")  # seconds


class Index:
    """The folded state of all journals of a store."""

    def __init__(self, path: str, own_writer: str | None, patience: float = PATIENCE) -> None:
        self.path = path
        self._patience = patience
        self.own_writer = own_writer
        self.is_in_memory = False
        self._look_again_at = NEVER  # whether an index in memory could be in its file again
        self._found_hidden: dict[str, frozenset[str]] = {}
        self._journals: Sequence[Journal] = ()
        self.cursors = Cursors(self.ask)
        # The version of the file, and the law, with which we saw that it is still ours.
        self._found_ours_in: tuple[int, str] | None = None
        self._changes: dict[str, int] = {}  # by fold, how often we have changed something
        self.rebuilt = 0  # how often it had to be made anew meanwhile
        self.law: Law | None = None  # by which lines count; None where all do
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

    # -- what is known

    def state(self, fold: str, key: str) -> Any:
        """The folded state of one entry; None when there is none."""
        rows = self._ask(_parsed_first, "select value from state where fold = ? and key = ?", fold, key)
        return rows[0][0] if rows else None

    def states_of(self, fold: str, keys: Sequence[str]) -> dict[str, Any]:
        """The folded states of those of the entries that there are."""
        found: dict[str, Any] = {}
        for start in range(0, len(keys), MOST_AT_ONCE):
            some = keys[start : start + MOST_AT_ONCE]
            query = f"select value, key from state where fold = ? and key in ({', '.join('?' * len(some))})"  # noqa: S608
            found |= {key: value for value, key in self._ask(_parsed_first, query, fold, *some)}
        return found

    def states(self, fold: str) -> list[tuple[str, Any]]:
        """Every entry of a fold, by key."""
        rows = self._ask(_parsed_first, "select value, key from state where fold = ? order by key", fold)
        return [(key, value) for value, key in rows]

    def found(self, fold: str, term: str, *, below: str = "", sieve: str = "*") -> list[tuple[str, Any]]:
        """The entries that are found by TERM at a place that starts with BELOW and fits the GLOB pattern SIEVE, in the
        order of their places."""
        query = """
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place >= ? and term.place < ? and term.place glob ?
            order by term.place"""
        rows = self._ask(_parsed_first, query, fold, term, below, below + BEYOND, sieve)
        return [(key, value) for value, key in rows]

    def newest_first(self, fold: str, term: str) -> Iterator[tuple[str, str, Any]]:
        """The place, key and state of the entries that are found by TERM, last place first, read as they are wanted.

        What comes meanwhile does not shift what is still to come.
        """
        query = """
            select state.value, term.place, term.key from term
            join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place < ? order by term.place desc limit ?"""
        before, many = BEYOND, FEW  # mostly the first few are wanted, and sometimes all
        while rows := self._ask(_parsed_first, query, fold, term, before, many):
            for value, place, key in rows:
                yield place, key, value
            before, many = rows[-1][1], min(4 * many, MANY)

    def found_at(self, fold: str, term: str, places: Sequence[str]) -> list[tuple[str, Any]]:
        """The entries that are found by TERM at one of PLACES."""
        query = f"""
            select state.value, term.key from term join state on state.fold = term.fold and state.key = term.key
            where term.fold = ? and term.term = ? and term.place in ({", ".join("?" * len(places))})"""  # noqa: S608
        return [(key, value) for value, key in self._ask(_parsed_first, query, fold, term, *places)]

    def terms(self, fold: str, start: str) -> list[str]:
        """The terms of a fold that begin with START, each once."""
        query = "select distinct term from term where fold = ? and term >= ? and term < ?"
        return [term for (term,) in self._ask(list, query, fold, start, start + BEYOND)]

    def count(self, fold: str, term: str) -> int:
        """How many entries are found by TERM."""
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
        """How many lines of each writer have been read."""
        return {writer: cursor.n for writer, cursor in self.cursors.all().items() if cursor.n}

    def damages(self) -> list[Damage]:
        """What is broken in the journals."""
        found = [cursor.damage for cursor in self.cursors.all().values()]
        return [Damage(**json_text.loads(damage)) for damage in found if damage is not None]

    def unmerged(self) -> dict[str, int]:
        """Lines of other writers that no line of ours accounts for yet: the heads of those writers."""
        accounted = self.markers()[-1].heads
        return {w: n for w, n in self.heads().items() if w != self.own_writer and n > accounted.get(w, 0)}

    def markers(self, writer: str | None = None) -> list[Marker]:
        """Where the lines of WRITER, or ours, brought in others' lines, in order; the first is the empty beginning."""
        return self.cursors.markers(writer or self.own_writer or "")

    def marker(self, n: int) -> Marker | None:
        """The marker in line N of ours; None when that line is none."""
        query = "select heads, n, foreign_before from merged where writer = ? and n = ?"
        rows = self._ask(_parsed_first, query, self.own_writer or "", n)
        return Marker(n, rows[0][2], rows[0][0]) if rows else None

    def position(self, writer: str) -> Position:
        """How far the journal of WRITER has been read."""
        return self.cursors.all().get(writer, UNREAD).position

    def passes_over(self, journal: Journal) -> bool:
        """Whether nothing needs to be folded of what was written last into JOURNAL; then the cursor passes over it."""
        written = journal.written
        from bb.ledger.index.reader import says_nothing  # noqa: PLC0415

        return (
            written is not None and says_nothing(written.octets) and self.cursors.passes_over(journal.writer, written)
        )

    def _ask(self, read: Callable[[Cursor], list[Any]], query: str, *values: str | int | None) -> list[Any]:
        """The rows of QUERY. An index that turns out to be broken is made again first."""
        try:
            return read(self._connection.execute(query, values))
        except (sqlite3.DatabaseError, ValueError) as error:
            if self._connection.in_transaction:
                raise
            self.start_over(sqlite3.DatabaseError(str(error)))
            self.catch_up(self._journals)
            return read(self._connection.execute(query, values))

    def ask(self, query: str, *values: str | int | None) -> list[Any]:
        """The rows of a QUERY of those who keep tables of their own here (`ledger/views/chat.py`)."""
        return self._ask(list, query, *values)

    def ask_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Do the same for each of ROWS."""
        self._connection.executemany(query, rows)

    def tidy(self) -> None:
        """Give back what space the index does not need."""
        self._connection.execute("pragma optimize")
        self._connection.execute("pragma wal_checkpoint(truncate)")

    def forget_talk(self, since: int | None = None) -> None:
        """Empty the tables of `ledger/views/chat.py`; only of what stands at SINCE or behind, if that is given."""
        if since is None:
            for table in TALK:
                self._connection.execute(f"delete from {table}")  # noqa: S608
        else:
            for table in PLACED:
                self._connection.execute(f"delete from {table} where seq >= ?", (since,))  # noqa: S608
            self._connection.execute("delete from talk_floating")

    def is_busy(self) -> bool:
        """Whether a transaction is under way, into which nothing else may be mixed."""
        return self._connection.in_transaction

    def writing(self) -> _Transaction:
        """`with index.writing():` changes all of it or nothing."""
        self._connection.execute("begin immediate")
        return _Transaction(self, self._connection)

    def held_still(self) -> HeldStill:
        """`with index.held_still():` answers everything as of one moment, whatever other processes do to it."""
        return HeldStill(self, self._connection)

    def behind(self, journals: Sequence[Journal]) -> int:
        """How many bytes of the journals have not been read yet."""
        try:
            return sum(size for _, size in self._unread(journals))
        except (Unusable, sqlite3.DatabaseError):  # whoever catches up makes it anew
            return sum(segment.size() for journal in journals for segment in journal.segments())

    # -- keeping up

    def catch_up(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Read what the journals have gained."""
        self._journals = journals
        try:
            self._catch_up(journals, progress)
        except Replaced:
            self._connection.close()
            self._connection = self._in_memory(for_good=True)
            self._catch_up(journals, progress)
        except Unusable:
            self.rebuild(journals, progress)
        except (sqlite3.DatabaseError, ValueError) as error:
            self.start_over(sqlite3.DatabaseError(str(error)))
            self._catch_up(journals, progress)

    def read_on(self, journal: Journal) -> None:
        """Read what was just recorded in JOURNAL, the others being read already."""
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
        except (Replaced, sqlite3.DatabaseError, ValueError):
            self.catch_up(self._journals)
            return
        if any(_is_readable(self._journals, fact.event) for fact in reader.redacted):
            self.rebuild(self._journals)  # what was taken back has been folded

    def folded(self, reader: Reader) -> None:
        """Remember of which folds READER has changed something."""
        for fold in reader.folds():
            self._changes[fold] = self._changes.get(fold, 0) + 1

    def version_of(self, fold: str) -> tuple[int, int, int, int]:
        """What is another once anything of a fold may have changed, through us or anybody else."""
        return self._opening, self.rebuilt, self.cursors.version(), self._changes.get(fold, 0)

    def start_from(self, links: Mapping[str, Link], rows: Iterable[tuple[str, str, Any]]) -> None:
        """Begin with the states of ROWS, which the lines up to LINKS have come to, as if those had been read."""
        from bb.ledger.journal import folds  # noqa: PLC0415

        self.cursors.forget()
        execute = self._connection.executemany
        at = (
            (writer, 0, 0, link.n, link.lamport, link.head_digest, None, None, None) for writer, link in links.items()
        )
        execute("insert into cursor values (?, ?, ?, ?, ?, ?, ?, ?, ?)", at)
        for fold, key, state in rows:
            self._connection.execute("insert into state values (?, ?, ?)", (fold, key, json_text.dumps(state)))
            terms_of = getattr(folds.named(fold), "terms", None)
            found = ((fold, *term, key) for term in (terms_of(key, state) if terms_of else ()))
            execute("insert or ignore into term values (?, ?, ?, ?)", found)

    def rebuild(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Forget everything and read the journals from the start."""
        self._journals = journals
        self.rebuilt += 1
        try:
            self._connection.execute("begin immediate")
            with _Transaction(self, self._connection):
                self._create()
                if not self._read(journals, progress):
                    self._create()  # now it is known what is hidden
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
                raise Unusable("something that was read has been taken back")
            if has_read and self.damages() != before:
                # Either a journal is damaged, or it is another one than the index has read. A rebuild tells.
                raise Unusable("the index does not fit its journals")

    def _unread(self, journals: Sequence[Journal], version: int | None = None) -> list[tuple[Journal, int]]:
        """The journals that have grown, and by how much. Unusable when one has shrunk or is another file now."""
        cursors = self.cursors.all(version)
        if gone := cursors.keys() - {journal.writer for journal in journals}:
            raise Unusable(f"the journal of {', '.join(sorted(gone))} is gone")
        grown = [(journal, growth(journal, cursors.get(journal.writer, UNREAD))) for journal in journals]
        return [(journal, size) for journal, size in grown if size]

    def _read(self, journals: Sequence[Journal], progress: Progress | None) -> bool:
        """Read on; whether that is all, because nothing was folded that turned out to be taken back."""
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
        """The events that were taken back, and by whose wish."""
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
                _set_aside(self.path)
                try:
                    return self._opened(self.path)
                except sqlite3.DatabaseError as again:  # others found it broken too, and are making it anew
                    self._refuse_to_wait(again)
            # A store that cannot be written can still be read: the index is made in memory, for this once.
            return self._in_memory()

    def _in_memory(self, *, for_good: bool = False) -> sqlite3.Connection:
        self.is_in_memory, self._look_again_at = True, NEVER if for_good else time.monotonic() + LOOK_AGAIN
        return self._opened(":memory:")

    def return_if_possible(self) -> None:
        """Go back to the file where an index that had to be made in memory belongs, once there is room; looked at now
        and then."""
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
            if self._version() != VERSION:  # else another process was faster
                self._create()

    def _choose_journal_mode(self, mode: str) -> None:
        """SQLite does not wait for others with this as it does with everything else, so we do."""
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
            raise Replaced("another version of bb has made the index anew")

    def _as_ours(self) -> int:
        """Which version of its file the index is in; refused once another version of bb has made it anew. That it has
        not is asked again only when somebody has changed the file since."""
        version = self.cursors.version()
        if (version, self._basis) != self._found_ours_in:
            self._refuse_another_version()
            if self._connection.execute("select basis from law").fetchone() != (self._basis,):
                raise Unusable("the index was made by another law")
            self._found_ours_in = version, self._basis
        return version

    @property
    def _basis(self) -> str:
        return self.law.basis if self.law else ""

    def signatures(self, repo: str) -> Signatures:
        """The signatures that were met in the chains here, as those of a REPO."""
        from bb.ledger.signing.verdicts import Signatures  # noqa: PLC0415  (only where somebody asks whose lines they are)

        def tell(query: str, *values: str | int) -> None:
            try:
                self._connection.execute(query, values)
            except sqlite3.OperationalError:  # it is written down another time
                return

        return Signatures(repo, self.ask, tell)

    def signed_upto(self, writer: str) -> tuple[int, str]:
        """The last line of WRITER that is a signature, and what it says; 0 when there is none."""
        rows = self.ask("select n, said from signature where writer = ? order by n desc limit 1", writer)
        return rows[0] if rows else (0, "")

    def signatures_behind(self, heads: Mapping[str, int], out: Mapping[str, int]) -> int:
        """How many lines of these writers, behind those that are OUT, are signatures."""
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
        """Put a broken index aside and open a new one; one that cannot be written is replaced by one in memory."""
        self._refuse_to_wait(error)
        self.rebuilt += 1
        self._connection.close()
        if "readonly" in str(error) or "full" in str(error):
            self._connection = self._in_memory()
        else:
            _set_aside(self.path)
            self._connection = self._open()

    def _refuse_to_wait(self, error: sqlite3.DatabaseError) -> None:
        if "locked" in str(error) or "busy" in str(error):
            raise IndexBusy from error


def _make_file(path: str) -> None:
    """Make an empty file for an index: SQLite gives the files beside it the same permissions. Whether it can be made is
    SQLite's to say."""
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
    law: Law | None,
) -> Reader:
    """What reads journals on. It knows every fact there is, so who finds all read already does without it."""
    from bb.ledger.index.reader import Reader  # noqa: PLC0415

    return Reader(connection, total, progress, hidden, law)


def _is_readable(journals: Sequence[Journal], event: str) -> bool:
    """Whether a line that was taken back is here, and still says what it said."""
    writer, n = ids.split_event_id(event)
    raw = next((journal.line(n) for journal in journals if journal.writer == writer), None)
    return raw is not None and not lines.is_blank(raw)


def _parsed_first(rows: Cursor) -> list[Any]:
    """The rows, with their first value read as JSON."""
    return [(json_text.loads(first), *others) for first, *others in rows]


class HeldStill:
    """One read transaction around several questions."""

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
    """Commit at the end, or leave no trace."""

    def __init__(self, index: Index, connection: sqlite3.Connection) -> None:
        self._index = index
        self._connection = connection

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._index.cursors.forget()
        try:
            if kind is None:
                self._connection.execute("commit")
        finally:  # where the disk is full, the commit itself may fail
            if self._connection.in_transaction:
                self._connection.execute("rollback")


def _set_aside(path: str) -> None:
    """Take a broken index out of the way; the journals have all that was in it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        disk.remove_if_there(path + suffix)
