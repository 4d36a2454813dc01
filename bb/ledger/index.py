"""The index: what the journals add up to, in SQLite. A cache of current state that may be deleted at any time.

Truth is in the journals. The index keeps the folded state, idempotency keys and, per writer, how far it has read.
To catch up is to read on from there, check every link, fold, and move the cursor, all in one transaction. An index
that is corrupt, of another version, or does not fit its journals is thrown away and made again, never repaired.
"""

from __future__ import annotations

import os
import sqlite3

from bb.kernel import ids, jsontext
from bb.kernel.errors import Busy
from bb.kernel.record import Record
from bb.ledger import disk, kinds
from bb.ledger import line as lines
from bb.ledger.journal import Position
from bb.ledger.line import BadLine, Link, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType
    from typing import Any

    from bb.ledger.journal import Block, Journal, Segment

    Progress = Callable[[int, int], None]  # bytes read, bytes to read

VERSION = 1
PATIENCE = 10.0  # seconds to wait for another process that is catching up
BULK = 1 << 20  # from so many bytes on, the fast decoder repays its import
KNOWN = frozenset(kind.encode() for kind in [*kinds.BY_KIND, kinds.MERGED])
KEY_MARK = b',"k":"'
NETWORK_FILE_SYSTEMS = frozenset(["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "vboxsf", "prl_fs"])

SCHEMA = """
create table cursor (
    writer text primary key, segment integer, offset integer, n integer, lamport integer, head text, inode integer,
    damage text
) without rowid;
create table state (fold text, key text, value text, primary key (fold, key)) without rowid;
create table idempotency (by text, key text, event text, primary key (by, key)) without rowid;
create table merged (writer text, n integer, foreign_before integer, heads text, primary key (writer, n));
"""
TABLES = ("cursor", "state", "idempotency", "merged")


class IndexBusy(Busy):
    """Another process is rebuilding the index."""

    code = "INDEX_BUSY"
    hint = "try again in a few seconds"


class Unusable(Exception):
    """This index cannot be used; the message says why. It is rebuilt."""


class Damage(Record):
    """The first line of a journal that cannot be right; nothing behind it is read."""

    writer: str
    n: int
    path: str
    offset: int
    reason: str


class Marker(Record):
    """A line of ours that brought in foreign lines: those up to HEADS stand before it, FOREIGN_BEFORE in all."""

    n: int
    foreign_before: int
    heads: dict[str, int]


class Index:
    """The folded state of all journals of a store."""

    def __init__(self, path: str, own_writer: str | None) -> None:
        self.path = path
        self.own_writer = own_writer
        self.is_in_memory = False
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

    # -- what is known

    def state(self, fold: str, key: str) -> Any:
        """The folded state of one entry; None when there is none."""
        row = self._connection.execute("select value from state where fold = ? and key = ?", (fold, key)).fetchone()
        return jsontext.loads(row[0]) if row else None

    def states(self, fold: str) -> Iterator[tuple[str, Any]]:
        """Every entry of a fold, by key."""
        for key, value in self._connection.execute("select key, value from state where fold = ? order by key", (fold,)):
            yield key, jsontext.loads(value)

    def folds(self) -> list[str]:
        """The folds that have any state."""
        return [fold for (fold,) in self._connection.execute("select distinct fold from state order by fold")]

    def recorded_under(self, by: str, key: str) -> str | None:
        """The event that BY recorded under an idempotency key."""
        row = self._connection.execute("select event from idempotency where by = ? and key = ?", (by, key)).fetchone()
        return row[0] if row else None

    def lamport(self) -> int:
        """The highest Lamport time of any line read."""
        (highest,) = self._connection.execute("select coalesce(max(lamport), 0) from cursor").fetchone()
        return int(highest)

    def heads(self) -> dict[str, int]:
        """How many lines of each writer have been read."""
        return dict(self._connection.execute("select writer, n from cursor where n > 0 order by writer"))

    def damages(self) -> list[Damage]:
        """What is broken in the journals."""
        rows = self._connection.execute("select damage from cursor where damage is not null order by writer")
        return [Damage(**jsontext.loads(damage)) for (damage,) in rows]

    def unmerged(self) -> dict[str, int]:
        """Lines of other writers that no line of ours accounts for yet: the heads of those writers."""
        accounted = self.markers()[-1].heads
        return {w: n for w, n in self.heads().items() if w != self.own_writer and n > accounted.get(w, 0)}

    def markers(self) -> list[Marker]:
        """Where our own lines brought in other writers' lines, in order; the first is the empty beginning."""
        rows = self._connection.execute(
            "select n, foreign_before, heads from merged where writer = ? order by n", (self.own_writer or "",)
        )
        return [Marker(0, 0, {}), *(Marker(n, before, jsontext.loads(heads)) for n, before, heads in rows)]

    def position(self, writer: str) -> Position:
        """How far the journal of WRITER has been read."""
        return _cursor(self._connection, writer)[0]

    def behind(self, journals: Sequence[Journal]) -> int:
        """How many bytes of the journals have not been read yet."""
        try:
            return sum(size for _, size in self._unread(journals))
        except Unusable:
            return sum(segment.size() for journal in journals for segment in journal.segments())

    # -- keeping up

    def catch_up(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Read what the journals have gained."""
        try:
            self._catch_up(journals, progress)
        except Unusable:
            self.rebuild(journals, progress)
        except sqlite3.DatabaseError as error:
            self._start_over(error)
            self._catch_up(journals, progress)

    def rebuild(self, journals: Sequence[Journal], progress: Progress | None = None) -> None:
        """Forget everything and read the journals from the start."""
        try:
            self._connection.execute("begin immediate")
            with _Transaction(self._connection):
                self._create()
                self._read(journals, progress)
        except sqlite3.DatabaseError as error:
            self._start_over(error)
            self._catch_up(journals, progress)

    def _catch_up(self, journals: Sequence[Journal], progress: Progress | None) -> None:
        if not self._unread(journals):
            return
        self._connection.execute("begin immediate")
        with _Transaction(self._connection):
            before = self.damages()
            has_read = bool(self.heads())
            self._read(journals, progress)
            if has_read and self.damages() != before:
                # Either a journal is damaged, or it is another one than the index has read. A rebuild tells.
                raise Unusable("the index does not fit its journals")

    def _unread(self, journals: Sequence[Journal]) -> list[tuple[Journal, int]]:
        """The journals that have grown, and by how much. Unusable when one has shrunk or is another file now."""
        rows = self._connection.execute("select writer, segment, offset, inode from cursor")
        cursors = {writer: (segment, offset, inode) for writer, segment, offset, inode in rows}
        if gone := cursors.keys() - {journal.writer for journal in journals}:
            raise Unusable(f"the journal of {', '.join(sorted(gone))} is gone")
        growth = [(journal, _growth(journal, *cursors.get(journal.writer, (0, 0, None)))) for journal in journals]
        return [(journal, size) for journal, size in growth if size]

    def _read(self, journals: Sequence[Journal], progress: Progress | None) -> None:
        unread = self._unread(journals)
        total = sum(size for _, size in unread)
        reader = _Reader(self._connection, total, progress)
        with reader:
            for journal, _ in unread:
                reader.read(journal)

    # -- the file

    def _open(self) -> sqlite3.Connection:
        try:
            return self._opened(self.path)
        except sqlite3.DatabaseError as error:
            self._refuse_to_wait(error)
            if not isinstance(error, sqlite3.OperationalError):
                _set_aside(self.path)
                return self._opened(self.path)
            # A store that cannot be written can still be read: the index is made in memory, for this once.
            self.is_in_memory = True
            return self._opened(":memory:")

    def _opened(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            self._connection = connection
            if connection.execute("pragma user_version").fetchone()[0] != VERSION:
                self._prepare(path)
            connection.execute("pragma synchronous = normal")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, path: str) -> None:
        execute = self._connection.execute
        if path != ":memory:":
            execute(f"pragma journal_mode = {'delete' if file_system(path) in NETWORK_FILE_SYSTEMS else 'wal'}")
        execute("begin immediate")
        with _Transaction(self._connection):
            if execute("pragma user_version").fetchone()[0] != VERSION:  # else another process was faster
                self._create()

    def _create(self) -> None:
        for table in TABLES:
            self._connection.execute(f"drop table if exists {table}")
        for statement in SCHEMA.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"pragma user_version = {VERSION}")

    def _start_over(self, error: sqlite3.DatabaseError) -> None:
        """Put a broken index aside and open a new one; a read-only one is replaced by one in memory."""
        self._refuse_to_wait(error)
        self._connection.close()
        if "readonly" in str(error):
            self.is_in_memory = True
            self._connection = self._opened(":memory:")
        else:
            _set_aside(self.path)
            self._connection = self._open()

    def _refuse_to_wait(self, error: sqlite3.DatabaseError) -> None:
        if "locked" in str(error) or "busy" in str(error):
            raise IndexBusy from error
        if "full" in str(error):
            raise disk.DiskFull from error


class _Transaction:
    """Commit at the end, or leave no trace."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._connection.execute("commit")
        elif self._connection.in_transaction:
            self._connection.execute("rollback")


class _Reader:
    """Reads journals on from their cursors and folds what they say, within one transaction."""

    def __init__(self, connection: sqlite3.Connection, total: int, progress: Progress | None) -> None:
        self._connection = connection
        self._total = total
        self._done = 0
        self._progress = progress
        self._states: dict[tuple[str, str], Any] = {}
        self._keys: list[tuple[str, str, str]] = []
        self._bulk = _bulk() if total >= BULK else None
        self._decode = self._bulk.decode if self._bulk else None

    def read(self, journal: Journal) -> None:
        """Everything that JOURNAL has gained, up to its end or its first bad line."""
        position, inode = _cursor(self._connection, journal.writer)
        damage: Damage | None = None
        path = ""
        for segment, offset, block in journal.read(position):
            position, damage = self._read_block(journal.writer, segment, offset, block, position)
            path, inode = segment.path, segment.status().st_ino
            self._done += position.offset - offset
            if self._progress:
                self._progress(self._done, self._total)
            if damage:
                break
        if damage is None and (reason := journal.stuck(position.segment, position.offset)):
            damage = Damage(journal.writer, position.link.n + 1, path, position.offset, reason)
        if position.segment:
            self._move_cursor(journal.writer, position, inode, damage)

    def _move_cursor(self, writer: str, position: Position, inode: int | None, damage: Damage | None) -> None:
        link = position.link
        written = jsontext.dumps(damage.as_dict()) if damage else None
        self._connection.execute(
            "insert or replace into cursor values (?, ?, ?, ?, ?, ?, ?, ?)",
            (writer, position.segment, position.offset, link.n, link.lamport, link.head_digest, inode, written),
        )

    def _read_block(
        self, writer: str, segment: Segment, offset: int, block: Block, position: Position
    ) -> tuple[Position, Damage | None]:
        raws = block.lines()
        checked = self._bulk.check(raws, writer, position.link) if self._bulk else None
        if checked:
            said, link = checked
            self._fold_known(writer, position.link.n + 1, raws, said, has_keys=KEY_MARK in block.octets)
            return Position(segment.first, offset + len(block.octets), link), None
        link = position.link
        for raw in raws:
            try:
                link = lines.check(raw, writer, link)
            except BadLine as error:
                damage = Damage(writer, link.n + 1, segment.path, offset, str(error))
                return Position(segment.first, offset, link), damage
            offset += len(raw) + 1
            self._fold_known(writer, link.n, [raw], [lines.clock_and_kind(raw)[1]], has_keys=True)
        return Position(segment.first, offset, link), None

    def _fold_known(self, writer: str, first: int, raws: list[bytes], said: list[bytes], *, has_keys: bool) -> None:
        """Fold those of the lines that say something we know; only they are parsed."""
        known = [place for place, kind in enumerate(said) if kind in KNOWN]
        if has_keys:
            known = sorted({*known, *(place for place, raw in enumerate(raws) if KEY_MARK in raw)})
        for place in known:
            try:
                found = lines.members(raws[place], self._decode)
            except Unreadable:
                continue
            self._fold(writer, first + place, found)

    def _fold(self, writer: str, n: int, found: dict[str, Any]) -> None:
        if "k" in found:
            self._keys.append((found["by"], found["k"], ids.event_id(writer, n)))
        if found["kind"] == kinds.MERGED:
            self._account(writer, n, found["data"])
            return
        fact = kinds.fact_of(found["kind"], found["data"])
        if fact is None:
            return
        fold = kinds.FOLDS[type(fact)]
        entry = (fold.NAME, fold.key(fact))
        if entry not in self._states:
            row = self._connection.execute("select value from state where fold = ? and key = ?", entry).fetchone()
            self._states[entry] = jsontext.loads(row[0]) if row else None
        self._states[entry] = fold.step(self._states[entry], fact, [found["l"], writer, n], found["ts"])

    def _account(self, writer: str, n: int, data: dict[str, Any]) -> None:
        """A marker: in its writer's order, the foreign lines up to its heads stand before it."""
        row = self._connection.execute(
            "select heads, foreign_before from merged where writer = ? order by n desc limit 1", (writer,)
        ).fetchone()
        heads: dict[str, int] = jsontext.loads(row[0]) if row else {}
        count = int(row[1]) if row else 0
        claimed = data.get("heads")
        for other, head in (claimed if isinstance(claimed, dict) else {}).items():
            if type(head) is int and other != writer and heads.get(other, 0) < head < 1 << 53:
                count += head - heads.get(other, 0)
                heads[other] = head
        self._connection.execute("insert into merged values (?, ?, ?, ?)", (writer, n, count, jsontext.dumps(heads)))

    def __enter__(self) -> None:
        self._undisturbed = self._bulk.Undisturbed() if self._bulk else None
        if self._undisturbed:
            self._undisturbed.__enter__()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._undisturbed:
            self._undisturbed.__exit__()
        if kind is None:
            self._write_back()

    def _write_back(self) -> None:
        """Put the folded states into the index."""
        self._connection.executemany(
            "insert or replace into state values (?, ?, ?)",
            ((fold, key, jsontext.dumps(value)) for (fold, key), value in self._states.items()),
        )
        # The first use of a key counts; folding by order of arrival is safe because a key is checked under the lock.
        self._connection.executemany("insert or ignore into idempotency values (?, ?, ?)", self._keys)


def _cursor(connection: sqlite3.Connection, writer: str) -> tuple[Position, int | None]:
    """How far the journal of WRITER has been read, and in which file."""
    row = connection.execute(
        "select segment, offset, n, lamport, head, inode from cursor where writer = ?", (writer,)
    ).fetchone()
    if row is None:
        return Position(0, 0, lines.START), None
    segment, offset, n, lamport, head, inode = row
    return Position(segment, offset, Link(n, lamport, head)), inode


def _growth(journal: Journal, segment: int, offset: int, inode: int | None) -> int:
    """How many bytes JOURNAL has behind a cursor. Unusable when the cursor points into another file."""
    segments = [file for file in journal.segments() if file.first >= segment]
    if segment and (not segments or segments[0].first != segment):
        raise Unusable(f"a segment of {journal.writer} is gone")
    status = [file.status() for file in segments]
    if segment and (status[0].st_ino != inode or status[0].st_size < offset):
        raise Unusable(f"{segments[0].path} is not the file that was read")
    return sum(file.st_size for file in status) - offset


def _bulk() -> ModuleType:
    """The fast way to check lines: slow to import, so only for many."""
    from bb.ledger import bulk  # noqa: PLC0415

    return bulk


def _set_aside(path: str) -> None:
    """Take a broken index out of the way; the journals have all that was in it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        disk.remove_if_there(path + suffix)


def file_system(path: str) -> str:
    """The type of the file system that PATH is on, where Linux tells; else empty."""
    mounts = _read_mounts()
    real = os.path.realpath(path)
    holding = [(point, kind) for point, kind in mounts if real == point or real.startswith(point.rstrip("/") + "/")]
    return max(holding, key=lambda mount: len(mount[0]), default=("", ""))[1]


def _read_mounts() -> list[tuple[str, str]]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            rows = [row.split() for row in file]
    except OSError:
        return []
    return [(row[1], row[2]) for row in rows if len(row) > 2]
