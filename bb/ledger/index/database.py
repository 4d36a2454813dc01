"""The database of the index: a SQLite file, or memory if the file cannot be used.

A corrupt file is removed and made again. A file that cannot be written is replaced by a database in memory.
"""

from __future__ import annotations

import itertools
import os
import time

from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.files.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.ledger.signing.verdicts import SigningLaw

VERSION = 27  # of the folded states; published snapshots of states have this number too
FILE_VERSION = 100 * VERSION + 4  # raised also if only the tables change
PAUSE = 0.01
LOOK_AGAIN, NEVER = 60.0, float("inf")  # seconds
MEMORY = ":memory:"
SHORT_LOG = 1 << 18  # bytes; a process that opens the index reads the log in a fraction of a millisecond
LEFT_OPEN: list[sqlite3.Connection] = []  # a connection without a reference would be closed
OPENINGS = itertools.count()  # numbers the connections of this process, because SQLite's counters restart with each

SCHEMA = """
create table cursor (
    writer text primary key, segment integer, offset integer, n integer, lamport integer, head text, inode integer,
    damage text, seen text, is_local integer
) without rowid;
create index local_cursor on cursor (writer) where is_local;
create index damaged_cursor on cursor (writer) where damage is not null;
create table received (inode integer, size integer, lamport integer);
create table own (writer text primary key) without rowid;
create table accounted (own text, writer text, head integer, primary key (own, writer)) without rowid;
create table unmerged (own text, writer text, head integer, primary key (own, writer)) without rowid;
create table state (fold text, key text, value text, primary key (fold, key)) without rowid;
create table term (fold text, term text, place text, key text, primary key (fold, term, place, key)) without rowid;
create table idempotency (by text, key text, writer text, n integer, primary key (by, key, writer, n)) without rowid;
create table merged (writer text, n integer, foreign_before integer, runs text, primary key (writer, n));
create table signature (
    writer text, n integer, ts text, head text, said text, flaw text, primary key (writer, n)
) without rowid;
create table counted (writer text primary key, upto integer, orders integer) without rowid;
create table law (basis text);
"""
TABLES = (
    *("cursor", "received", "own", "accounted", "unmerged"),
    *("state", "term", "idempotency", "merged", "signature", "counted", "law"),
)

IndexBusy = Busy.declare("INDEX_BUSY", "Another process is rebuilding the index", hint="try again in a few seconds")


class Database:
    """The database of an index. FORGET is called whenever its content may have changed."""

    def __init__(self, path: str, patience: float, forget: Callable[[], None]) -> None:
        self.path = path
        self._patience = patience
        self._forget = forget
        self.is_in_memory = False
        self._look_again_at = NEVER  # when to check whether a database in memory can return to its file
        self.law: SigningLaw | None = None  # the law under which the tables are filled
        self._view_schemas: list[str] = []
        self.opening = 0  # the number of this connection
        self.connection = self._open()

    @property
    def basis(self) -> str:
        """The basis of the law; empty if there is no law."""
        return self.law.basis if self.law else ""

    def changes(self) -> Transaction:
        """`with database.changes():` makes all changes or none."""
        self.connection.execute("begin immediate")
        return Transaction(self.connection, self._forget)

    def has_version(self) -> bool:
        """Whether this version of bb made the tables."""
        return bool(self.connection.execute("pragma user_version").fetchone() == (FILE_VERSION,))

    def has_basis(self) -> bool:
        """Whether the tables were filled under this law."""
        return bool(self.connection.execute("select basis from law").fetchone() == (self.basis,))

    def create(self) -> None:
        """Make the tables anew. The tables of views are emptied; those of another version of bb are removed."""
        self._forget()
        execute = self.connection.execute
        has_version = self.has_version()
        for (table,) in execute("select name from sqlite_master where type = 'table'").fetchall():
            is_view = has_version and table not in TABLES
            execute(f"delete from {table}" if is_view else f"drop table {table}")  # noqa: S608
        for statement in SCHEMA.split(";"):
            execute(statement)
        self._create_views()
        execute("insert into law values (?)", (self.basis,))
        execute(f"pragma user_version = {FILE_VERSION}")

    def add_view(self, schema: str) -> None:
        """Make the tables of a view, if they do not exist. Each statement of SCHEMA has `if not exists`."""
        if schema not in self._view_schemas:
            self._view_schemas.append(schema)
            self._create_views()

    def _create_views(self) -> None:
        for schema in self._view_schemas:
            for statement in schema.split(";"):
                self.connection.execute(statement)

    # -- opening and closing it

    def close(self, *, at_exit: bool = False) -> None:
        """Close the connection. AT_EXIT, a process that ends at once may leave it open if the log is short.

        SQLite moves the log into the file when the last connection is closed, and waits for the disk several times.
        Without that, the next process reads the log.
        """
        if at_exit and self._log_size() <= SHORT_LOG:
            LEFT_OPEN.append(self.connection)
        else:
            self.connection.close()

    def _log_size(self) -> float:
        """The size of the write-ahead log; infinite if there is none."""
        try:
            return os.stat(self.path + "-wal").st_size
        except OSError:
            return NEVER

    def _open(self) -> sqlite3.Connection:
        try:
            return self._opened(self.path)
        except sqlite3.DatabaseError as error:
            _refuse_to_wait(error)
            if not isinstance(error, sqlite3.OperationalError):
                _remove(self.path)
                try:
                    return self._opened(self.path)
                except sqlite3.DatabaseError as again:  # another process found it corrupt too, and is rebuilding it
                    _refuse_to_wait(again)
            # A store that cannot be written can still be read: the index is built in memory.
            return self._in_memory()

    def _in_memory(self, *, for_good: bool = False) -> sqlite3.Connection:
        self.is_in_memory, self._look_again_at = True, NEVER if for_good else time.monotonic() + LOOK_AGAIN
        return self._opened(MEMORY)

    def leave_file(self) -> None:
        """Continue in memory, because another version of bb has rebuilt the file."""
        self.connection.close()
        self.connection = self._in_memory(for_good=True)

    def return_if_possible(self) -> None:
        """Move an index in memory back to its file, once the disk has room. This is checked once a minute."""
        if not self.is_in_memory or time.monotonic() < self._look_again_at:
            return
        self._look_again_at = time.monotonic() + LOOK_AGAIN
        from bb.ledger.files import file_systems  # noqa: PLC0415  (needed only if the disk was full)

        if file_systems.has_room(self.path):
            self.connection.close()
            self.is_in_memory = False
            self.connection = self._open()

    def start_over(self, error: sqlite3.DatabaseError) -> None:
        """Remove a corrupt index and open a new one; replace one that cannot be written by one in memory."""
        _refuse_to_wait(error)
        self.connection.close()
        if "readonly" in str(error) or "full" in str(error):
            self.connection = self._in_memory()
        else:
            _remove(self.path)
            self.connection = self._open()

    def _opened(self, path: str) -> sqlite3.Connection:
        _make_file(path)
        connection = sqlite3.connect(path, timeout=self._patience, isolation_level=None)
        self._forget()
        self.opening = next(OPENINGS)
        try:
            self.connection = connection
            if not self.has_version():
                self._prepare(path)
            self._create_views()
            connection.execute("pragma synchronous = normal")
            connection.execute("pragma cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, path: str) -> None:
        if path != MEMORY:
            from bb.ledger.files import file_systems  # noqa: PLC0415  (an index is made once)

            is_networked = file_systems.file_system(path) in file_systems.NETWORK_FILE_SYSTEMS
            self._choose_journal_mode("delete" if is_networked else "wal")
        with self.changes():
            if not self.has_version():  # otherwise another process has created it
                self.create()

    def _choose_journal_mode(self, mode: str) -> None:
        """Set the journal mode, with retries: SQLite does not wait for other processes in this statement."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self.connection.execute(f"pragma journal_mode = {mode}")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)
            else:
                return


class Transaction:
    """A transaction: commits at the end, or rolls back."""

    def __init__(self, connection: sqlite3.Connection, forget: Callable[[], None]) -> None:
        self._connection = connection
        self._forget = forget

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._forget()
        try:
            if kind is None:
                self._connection.execute("commit")
        finally:  # on a full disk, the commit itself may fail
            if self._connection.in_transaction:
                self._connection.execute("rollback")


class ConsistentRead:
    """One read transaction around several queries."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("begin")

    def __exit__(self, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")


def _refuse_to_wait(error: sqlite3.DatabaseError) -> None:
    """IndexBusy if ERROR says that another process holds the database."""
    if "locked" in str(error) or "busy" in str(error):
        raise IndexBusy() from error


def _make_file(path: str) -> None:
    """Create an empty file for an index, because SQLite gives its side files the same permissions. If that fails,
    SQLite reports the error."""
    if path == MEMORY or os.path.exists(path):
        return
    try:
        os.close(disk.create(path, os.O_RDWR))
    except OSError:
        return


def _remove(path: str) -> None:
    """Remove a corrupt index. The journals contain everything that was in it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        disk.remove_if_there(path + suffix)
