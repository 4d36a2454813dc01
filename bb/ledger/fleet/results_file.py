"""Writes `fleet/results.sqlite`, which `published/fleet_results.py` reads. Only the relay of a clone does.

The file is a cache of the fold: a delta is saved after each batch of rows, in one transaction. It may lag behind the
disk's truth after a power failure, never be ahead of itself: SQLite syncs its log before it moves pages into the file.
A file that is lost, damaged or of another version is made anew from the state in memory or from the archive.
"""

from __future__ import annotations

import os

from bb.coordination.holdings.admission import Admitted, still_open
from bb.kernel import json_text
from bb.ledger.files import disk
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet.row_fold import Base
from bb.ledger.journal.line import Link
from bb.ledger.published import fleet_results
from bb.ledger.published.fleet_results import ALL, COUNTED, VERSION, Reading, admitted_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Any

    from bb.coordination.holdings.admission import Grant
    from bb.ledger.fleet.row_fold import Delta, FoldedRow, RowFold

TABLES = """
create table about (name text primary key, value text) without rowid;
create table writer (writer text primary key, n integer, lamport integer, head text) without rowid;
create table published (writer text primary key, n integer) without rowid;
create table flawed (place integer primary key, writer text, first integer, lines integer, reason text);
"""
RESULTS = """
create table {0}_reservation (key text primary key, place integer, agent text, scope text, is_file integer,
    shared integer, token integer, ended integer, seen integer) without rowid;
create index {0}_token on {0}_reservation (token) where token is not null;
create index {0}_open on {0}_reservation (token) where token is not null and ended is null;
create index {0}_ended on {0}_reservation (ended) where ended is not null;
create table {0}_seen (holder text primary key, holder_seen integer) without rowid;
create table {0}_name (key text primary key, value text) without rowid;
"""
# A reservation has a place and, if it was admitted, a grant. Both are in one entry, and the indexes grow at their ends:
# entries of many writers lie on many pages of the file, and each page that changes is written.
PLACED = "insert or replace into {0}_reservation values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
CHANGED = """insert into {0}_reservation values (?, null, ?, ?, ?, ?, ?, ?, ?)
    on conflict (key) do update set ended = excluded.ended, seen = excluded.seen"""
FORGOTTEN = (
    "delete from {0}_reservation where ended < ? and place is null",
    """update {0}_reservation set agent = null, scope = null, is_file = null, shared = null, token = null, seen = null,
    ended = null where ended < ?""",
)
NO_GRANT = (None,) * 7
REST = ("", "-wal", "-shm", "-journal")


class Saved(Base):
    """The saved state, and the place up to which the lines are in the journals."""

    imported: int = 0
    repo: str = ""
    law: str = ""


class ResultsFile:
    """The file of one store."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._path = fleet_results.path_of(store)
        self._connection: sqlite3.Connection | None = None
        self._opened_files: list[int] = []  # their inodes, when they were opened

    def load(self) -> Saved | None:
        """The saved state; None if there is none that can be used. Its mappings are read when they are needed, because
        a fleet makes any number of reservations, and few of them are open."""
        if not os.path.exists(self._path):
            return None
        reading = Reading(self._path)
        try:
            found = reading.results()
            known = dict(reading.ask("select name, value from about")) if found else {}
            if found is None or not known.get("is_whole"):
                return None
            admitted, counted = admitted_in(self, ALL), None if found.counted is None else admitted_in(self, COUNTED)
            for state in (admitted, counted or admitted):
                still_open(state.grants)
                dict(state.names.items())
            about = found.incarnation, found.place, found.digest, admitted, counted
            return Saved(*about, found.imported, known.get("repo", ""), known.get("law", ""))
        except (ValueError, TypeError, KeyError, sqlite3.DatabaseError, fleet_results.ResultsDamaged.error):
            return None
        finally:
            reading.close()

    def ask(self, query: str, *values: object) -> list[Any]:
        """The rows that a QUERY finds."""
        return self._open().execute(query, values).fetchall()

    def link(self, writer: str) -> Link | None:
        """The link of the last line of WRITER in a row that counts; None if none of its rows were folded."""
        found = self._open().execute("select n, lamport, head from writer where writer = ?", (writer,)).fetchone()
        return Link(*found) if found else None

    def published(self, writer: str) -> int:
        """The number of the last published line of WRITER where the fold began; 0 if there was none."""
        found = self._open().execute("select n from published where writer = ?", (writer,)).fetchone()
        return int(found[0]) if found else 0

    def links(self) -> list[tuple[str, Link]]:
        """The link of the last line that counts, of each writer with a row."""
        rows = self._open().execute("select writer, n, lamport, head from writer").fetchall()
        return [(writer, Link(*link)) for writer, *link in rows]

    def flawed_places(self) -> set[int]:
        """The places of all rows that do not count."""
        return {place for (place,) in self._open().execute("select place from flawed")}

    def flaws(self, most: int = 20) -> list[tuple[int, str, int, int, str]]:
        """The newest rows that do not count: place, writer, first line, number of lines, reason."""
        query = "select place, writer, first, lines, reason from flawed where writer <> '-' order by place desc limit ?"
        return self._open().execute(query, (most,)).fetchall()

    def is_in_place(self) -> bool:
        """Whether the file that was opened, and the log that SQLite keeps beside it, are still there under their names.
        The file must not be opened for this: closing it would release all locks that this process has on it, and then
        the next reader to leave takes itself for the last one, and removes the log."""
        return self._connection is not None and self._files() == self._opened_files

    def is_sound(self) -> bool:
        """Whether other processes can read the file now. An open connection does not notice that the file was
        overwritten while it has the pages in memory."""
        reading = Reading(self._path)
        try:
            return reading.ask("pragma user_version") == [(VERSION,)]
        except (fleet_results.ResultsBusy.error, fleet_results.ResultsNotSaved.error):
            return True
        except fleet_results.ResultsDamaged.error:
            return False
        finally:
            reading.close()

    def make(
        self,
        base: Base,
        about: Mapping[str, object],
        published: Iterable[tuple[str, int]],
        links: Mapping[str, Link],
    ) -> None:
        """Make the file anew, with the whole state BASE, where each writer had so many PUBLISHED lines."""
        self.remove()
        connection = self._open()
        with _Changes(connection):
            self._fill(connection, ALL, base.admitted)
            self._fill(connection, COUNTED, base.counted or Admitted())
            connection.executemany("insert into published values (?, ?)", published)
            connection.executemany("insert into writer values (?, ?, ?, ?)", _link_rows(links))
            self._note(connection, incarnation=base.incarnation, place=base.place, digest=base.digest)
            self._note(connection, **about, is_whole=1)

    def save(self, fold: RowFold, imported: int, current_at: int) -> None:
        """Save what has changed in FOLD since the last time."""
        connection = self._open()
        with _Changes(connection):
            self._change(connection, ALL, fold.changed)
            self._change(connection, COUNTED, fold.changed_counted)
            if fold.moved:
                connection.executemany("insert or replace into writer values (?, ?, ?, ?)", _link_rows(fold.moved))
            if fold.flawed:
                connection.executemany("insert or replace into flawed values (?, ?, ?, ?, ?)", map(_flaw, fold.flawed))
            self._note(connection, place=fold.place, digest=fold.digest, imported=imported, current_at=current_at)
        fold.saved(admitted_in(self, ALL), admitted_in(self, COUNTED))

    def forget_places(self, floor: int, live: Container[str]) -> None:
        """Remove the places before FLOOR, except those of reservations that are LIVE."""
        connection = self._open()
        with _Changes(connection):
            for table in (f"{ALL}_reservation", f"{COUNTED}_reservation"):
                old = connection.execute(f"select key from {table} where place < ?", (floor,)).fetchall()  # noqa: S608
                gone = [(name,) for (name,) in old if name not in live]
                connection.executemany(f"delete from {table} where key = ? and token is null", gone)  # noqa: S608
                connection.executemany(f"update {table} set place = null where key = ?", gone)  # noqa: S608

    def note(self, **about: object) -> None:
        """Save only these numbers or texts."""
        connection = self._open()
        with _Changes(connection):
            self._note(connection, **about)

    def remove(self) -> None:
        """Remove the file: what is in it cannot be used."""
        self.close()
        for rest in REST:
            disk.remove_if_there(self._path + rest)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            disk.make_folder(fleet_results.folder_of(self._store))
            try:
                self._connection = self._opened()
            except sqlite3.DatabaseError:
                self.remove()
                self._connection = self._opened()
            self._opened_files = self._files()
        return self._connection

    def _files(self) -> list[int]:
        """The inodes of the file and of its log; 0 for one that is not there."""
        return [_inode(self._path + rest) for rest in ("", "-wal")]

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=fleet_results.PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            if connection.execute("pragma user_version").fetchone() != (VERSION,):
                connection.execute("pragma journal_mode = wal")
                with _Changes(connection):
                    for (table,) in connection.execute(
                        "select name from sqlite_master where type = 'table'"
                    ).fetchall():
                        connection.execute(f"drop table {table}")
                    for statement in (TABLES + RESULTS.format(ALL) + RESULTS.format(COUNTED)).split(";"):
                        connection.execute(statement)
                    connection.execute(f"pragma user_version = {VERSION}")
            connection.execute("pragma synchronous = normal")
        except BaseException:
            connection.close()
            raise
        return connection

    def _fill(self, connection: sqlite3.Connection, which: str, state: Admitted) -> None:
        self._put(connection, which, dict(state.grants.items()), dict(state.generations.items()))
        connection.executemany(f"insert into {which}_name values (?, ?)", _name_rows(state.names))  # noqa: S608
        self._note(connection, **{f"{which}_floor": state.floor})

    def _change(self, connection: sqlite3.Connection, which: str, delta: Delta) -> None:
        if not delta:
            return
        replace = "insert or replace into"
        self._put(connection, which, delta.grants, delta.generations)
        if delta.seen:
            connection.executemany(f"{replace} {which}_seen values (?, ?)", delta.seen.items())
        if delta.floor:  # some of the new ones may be forgotten already
            for statement in FORGOTTEN:
                connection.execute(statement.format(which), (delta.floor,))
            self._note(connection, **{f"{which}_floor": delta.floor})
        if delta.names:
            kept = {name: events for name, events in delta.names.items() if events}
            gone = [(name,) for name, events in delta.names.items() if not events]
            connection.executemany(f"{replace} {which}_name values (?, ?)", _name_rows(kept))
            connection.executemany(f"delete from {which}_name where key = ?", gone)  # noqa: S608

    def _put(
        self, connection: sqlite3.Connection, which: str, grants: Mapping[str, Grant], places: Mapping[str, int]
    ) -> None:
        """Save GRANTS, and reservations that got PLACES."""
        placed = [(name, place, *_grant_row(grants.get(name))) for name, place in places.items()]
        changed = [(name, *_grant_row(grant)) for name, grant in grants.items() if name not in places]
        connection.executemany(PLACED.format(which), placed)
        connection.executemany(CHANGED.format(which), changed)

    def _note(self, connection: sqlite3.Connection, **about: object) -> None:
        connection.executemany("insert or replace into about values (?, ?)", [(k, str(v)) for k, v in about.items()])


class _Changes:
    """A transaction: commits at the end, or rolls back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("begin immediate")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._connection.execute("commit")
        finally:  # on a full disk, the commit itself may fail
            if self._connection.in_transaction:
                self._connection.execute("rollback")


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _link_rows(links: Mapping[str, Link]) -> Iterable[tuple[str, int, int, str]]:
    return [(writer, link.n, link.lamport, link.head_digest) for writer, link in links.items()]


def _grant_row(grant: Grant | None) -> tuple[str | int | None, ...]:
    if grant is None:
        return NO_GRANT
    return grant.agent, grant.scope, grant.is_file, grant.shared, grant.token, grant.ended, grant.seen


def _name_rows(names: Mapping[str, Iterable[str]]) -> Iterable[tuple[str, str]]:
    return [(name, json_text.dumps(list(events))) for name, events in names.items()]


def _flaw(folded: FoldedRow) -> tuple[int, str, int, int, str]:
    row = folded.row
    return row.place, row.writer, row.first, row.octets.count(b"\n"), folded.flaw
