"""Reads journals into the index: checks every link, folds every known fact, moves the cursor.

History may contain unknown kinds, members and lines; these are skipped. A line that breaks the chain is a damage: the
lines after it are not read, and the index stores its place.
"""

from __future__ import annotations

from itertools import islice

from bb.coordination.facts import Redacted
from bb.kernel import ids, json_text
from bb.kernel.event import MERGED, PUT_ASIDE, SIGNED
from bb.kernel.gc_pause import GcPause
from bb.ledger.index import accounts, known_lines
from bb.ledger.journal import folds, kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.cursors import UNREAD, Cursor, Damage
from bb.ledger.journal.journal_reader import Position
from bb.ledger.journal.line import BadLine, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType
    from typing import Any, TypeAlias

    from bb.coordination.records.redactions import Hidden
    from bb.coordination.records.signed_lines import Reach
    from bb.kernel.total_order import Place
    from bb.ledger.index.checked_segments import CheckedSegments, Task
    from bb.ledger.journal.journal import Journal
    from bb.ledger.journal.segments import Block, Segment
    from bb.ledger.signing.verdicts import Signatures, SigningLaw

Progress: TypeAlias = "Callable[..., None]"  # done, total, and the step's name unless it is reading, which counts bytes

BULK = 1 << 20  # bytes from which on the fast decoder is worth its import
SIGNED_KIND = SIGNED.encode()
PORTION = 1000  # lines that are folded at once when they begin to count
MOST_AT_ONCE = 500  # values of one query; SQLite allows 999


class Reader:
    """Reads journals from their cursors on and folds their facts, in one transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        total: int,
        progress: Progress | None,
        hidden: Hidden | None = None,
        law: SigningLaw | None = None,
    ) -> None:
        self._connection = connection
        self._law = law if law and law.may_exclude_lines else None
        self._is_order = _vouching().is_order if self._law else None
        self._reach: Reach | None = None  # how far lines of the journal that is being read count
        self._before: Reach | None = None  # how far they counted when they were read for the first time
        self._is_first = connection.execute("select 1 from state limit 1").fetchone() is None
        self._hidden = hidden or {}
        self._is_hidden = _redactions().is_hidden if hidden else None
        self._own = accounts.own_writers(connection)
        self._store = ""  # of the journal that is being read
        self.redacted: list[Redacted] = []  # the redactions that were read
        self._total = total
        self._done = 0
        self._progress = progress
        self._states: dict[tuple[str, str], Any] = {}
        self._terms: dict[tuple[str, str], list[tuple[str, str]]] = {}  # the terms stored in the index
        self._steps: list[tuple[ModuleType, tuple[str, str], Any, Place, str]] = []  # folding steps to be done
        self._keys: list[tuple[str, str, str, int]] = []
        self._bulk = _bulk() if total >= BULK else None
        self._decode = self._bulk.decode if self._bulk else None
        self._checked: CheckedSegments | None = None

    def read_all(self, grown: Sequence[tuple[Journal, int]]) -> None:
        """Read the journals that have GROWN, and by how many bytes."""
        if not self._bulk:
            for journal, _ in grown:
                self.read(journal)
            return
        from bb.ledger.index.checked_segments import WHOLE, CheckedSegments  # noqa: PLC0415

        tasks = [task for journal, size in grown if size >= WHOLE for task in self._tasks(journal)]
        with CheckedSegments(tasks) as self._checked:
            for journal, _ in grown:
                self.read(journal)

    def _tasks(self, journal: Journal) -> Iterator[Task]:
        """The segments of JOURNAL that are checked as a whole."""
        from bb.ledger.index.checked_segments import WHOLE, Task  # noqa: PLC0415

        former, done = None, self._cursor(journal.writer).segment
        for segment in journal.segments():
            if segment.first > done and segment.size() >= WHOLE:
                yield Task(journal.writer, segment, former)
            former = segment

    def read(self, journal: Journal) -> None:
        """Read JOURNAL from its cursor to its end or its first damaged line."""
        self._store = journal.store
        cursor = self._cursor(journal.writer)
        position, inode = cursor.position, cursor.inode
        damage: Damage | None = None
        if self._law:
            self._reach, self._before = self._counted(journal.writer), None
        sizes = journal.sizes(position.segment)
        if self._checked:
            position, inode = self._read_checked(self._checked, journal, position, inode)
        for segment, offset, block in journal.read(position):
            position, damage = self._read_block(journal.writer, segment, offset, block, position)
            inode = segment.status().st_ino
            self._note_progress(position.offset - offset)
            if damage:
                break
        if damage is None and (stuck := journal.stopped_at(position, sizes)):
            segment, offset, reason = stuck
            damage = Damage(journal.writer, position.link.n + 1, segment.path, offset, reason)
        link, seen = position.link, journal.signature() if damage else None
        written = json_text.dumps(damage.as_dict()) if damage else None
        self._connection.execute(
            "insert or replace into cursor values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(journal.writer, position.segment, position.offset),
                *(link.n, link.lamport, link.head_digest),
                *(inode, written, seen, not journal.is_received),
            ),
        )
        if link.n > cursor.n:
            accounts.note_growth(self._connection, self._own, journal.writer, link.n)
        if self._law:
            self._count(self._law, journal, link.n)

    def _read_checked(
        self, checked: CheckedSegments, journal: Journal, position: Position, inode: int | None
    ) -> tuple[Position, int | None]:
        """Fold the whole segments after POSITION that are CHECKED; return the position after them."""
        sizes = {segment.first: segment.size() for segment in journal.segments(position.segment)}
        for segment in journal.segments(position.link.n + 1):
            if position.segment and sizes[position.segment] != position.offset:
                break
            found = checked.of(segment)
            if found is None or found.previous != position.link or segment.first != position.link.n + 1:
                break
            self._fold_lines(journal.writer, found.known)
            position, inode = Position(segment.first, found.size, found.link), found.inode
            self._note_progress(found.size)
        return position, inode

    def _note_progress(self, octets: int) -> None:
        self._done += octets
        if self._progress:
            self._progress(self._done, self._total)

    def _counted(self, writer: str) -> Reach:
        """How far the lines of WRITER counted when last decided."""
        row = self._connection.execute("select upto, orders from counted where writer = ?", (writer,)).fetchone()
        if row or self._law is None:
            reach: Reach = _vouching().Reach(*(row or (0, 0)))
            return reach
        return self._law.reach(writer, self._signatures(self._law))

    def _signatures(self, law: SigningLaw) -> Signatures:
        from bb.ledger.signing.verdicts import Signatures  # noqa: PLC0415  (needed only under a law)

        def ask(query: str, *values: str) -> list[Any]:
            return self._connection.execute(query, values).fetchall()

        def tell(query: str, *values: str | int) -> None:
            self._connection.execute(query, values)

        return Signatures(law.repo, ask, tell)

    def _count(self, law: SigningLaw, journal: Journal, last: int) -> None:
        """Decide how far the lines count now, and fold those that did not count when they were read."""
        before, now = self._reach, law.reach(journal.writer, self._signatures(law))
        query = "insert or replace into counted values (?, ?, ?)"
        self._connection.execute(query, (journal.writer, now.upto, now.orders))
        if before is None or now == before:
            return
        self._before, self._reach = before, now
        first = min(before.upto, before.orders) + 1
        raws: list[bytes] = []
        for raw in islice(journal.lines_from(first), max(min(last, max(now.upto, now.orders)) - first + 1, 0)):
            raws.append(raw)
            if len(raws) == PORTION:
                self._fold_lines(journal.writer, known_lines.in_lines(raws, first))
                first, raws = first + len(raws), []
        self._fold_lines(journal.writer, known_lines.in_lines(raws, first))

    def _counts(self, n: int, kind: str, by: str) -> bool:
        """Whether a line counts under the law and has not been folded before. Markers always count."""
        if kind == MERGED or self._is_order is None:
            return self._before is None
        is_order = self._is_order(kind, by)
        counts, counted = (
            reach is not None and n <= reach.upto and (n <= reach.orders or not is_order)
            for reach in (self._reach, self._before)
        )
        return counts and not counted

    def _signed(self, writer: str, n: int, found: dict[str, Any], raw: bytes) -> None:
        """Store a signature over all lines before it. It is checked only when the result is needed."""
        signature = found["data"].get("signature")
        head = raw.partition(lines.DATA)[0][lines.P_START : lines.P_END].decode("ascii", "replace")
        row = (writer, n, found["ts"], head, signature if type(signature) is str else "", None)
        self._connection.execute("insert or ignore into signature values (?, ?, ?, ?, ?, ?)", row)

    def _cursor(self, writer: str) -> Cursor:
        row = self._connection.execute("select * from cursor where writer = ?", (writer,)).fetchone()
        return Cursor(*row[1:]) if row else UNREAD

    def _read_block(
        self, writer: str, segment: Segment, offset: int, block: Block, position: Position
    ) -> tuple[Position, Damage | None]:
        first = position.link.n + 1
        if self._bulk:
            count = block.octets.count(b"\n")
            if checked := self._bulk.check_octets(block.octets, count, writer, position.link):
                self._fold_lines(writer, known_lines.in_block(checked, first))
                return Position(segment.first, offset + len(block.octets), checked.link), None
        raws = block.lines()
        link = position.link
        for raw in raws:
            try:
                link = lines.check(raw, writer, link)
            except BadLine as error:
                damage = Damage(writer, link.n + 1, segment.path, offset, str(error))
                return Position(segment.first, offset, link), damage
            offset += len(raw) + 1
            self._fold_lines(writer, known_lines.in_lines([raw], link.n))
        return Position(segment.first, offset, link), None

    def _fold_lines(self, writer: str, known: list[tuple[int, bytes, bytes]]) -> None:
        """Parse and fold KNOWN lines, each with its number and its kind."""
        for n, line_kind, raw in known:
            try:
                members = lines.members(raw, self._decode)
            except Unreadable:
                continue
            if line_kind == SIGNED_KIND:
                self._signed(writer, n, members, raw)
                continue
            kind = line_kind.decode("utf-8", "replace")
            if self._reach is None or self._counts(n, kind, members["by"]):
                self._fold(writer, n, kind, members)
        if self._steps:
            self._do_steps()

    def _fold(self, writer: str, n: int, kind: str, found: dict[str, Any]) -> None:
        if kind == MERGED:
            accounts.note_marker(self._connection, self._own, self._store, writer, n, found["data"])
            return
        if found.get("k"):
            self._keys.append((found["by"], found["k"], writer, n))
        fact = kinds.fact_of(kind, found["data"], found["by"])
        if fact is None:
            return
        if self._is_hidden and self._is_hidden(ids.event_id(writer, n), found["by"], kind, self._hidden):
            return
        if isinstance(fact, Redacted):
            self.redacted.append(fact)
        at, ts = [found["l"], writer, n], found["ts"]
        if "salvaged_from" in found["data"] or PUT_ASIDE in found["data"]:
            at, ts = _origin(found["data"], at, ts)
        for fold, parts in folds.folds_for(type(fact)):
            for key, part in parts(fact, at) if parts else [(key, fact) for key in fold.keys(fact, at)]:
                entry = (fold.NAME, key)
                if self._is_first:
                    self._states[entry] = fold.step(self._states.get(entry), part, at, ts)
                else:
                    self._steps.append((fold, entry, part, at, ts))

    def _do_steps(self) -> None:
        """Fetch the entries of all waiting steps from the index, then do the steps."""
        steps, self._steps = self._steps, []
        missing: dict[str, dict[str, None]] = {}
        for fold, entry, *_ in steps:
            if entry not in self._states:
                missing.setdefault(fold.NAME, {})[entry[1]] = None
        for name, keys in missing.items():
            self._fetch(folds.fold_module(name), list(keys))
        for fold, entry, part, at, ts in steps:
            self._states[entry] = fold.step(self._states.get(entry), part, at, ts)

    def _fetch(self, fold: ModuleType, keys: list[str]) -> None:
        """Load entries from the index, with their terms."""
        for start in range(0, len(keys), MOST_AT_ONCE):
            some = keys[start : start + MOST_AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"select key, value from state where fold = ? and key in ({marks})"  # noqa: S608
            for key, value in self._connection.execute(query, (fold.NAME, *some)):
                entry = (fold.NAME, key)
                self._states[entry] = json_text.loads(value)
                if hasattr(fold, "terms"):
                    self._terms[entry] = fold.terms(key, self._states[entry])

    def folds(self) -> set[str]:
        """The folds whose entries have changed."""
        return {fold for fold, _ in self._states}

    def __enter__(self) -> None:
        self._undisturbed = GcPause() if self._bulk else None
        if self._undisturbed:
            self._undisturbed.__enter__()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._undisturbed:
            self._undisturbed.__exit__()
        if kind is None:
            self._write_back()

    def _write_back(self) -> None:
        """Write the folded states to the index."""
        dumps = self._bulk.encode if self._bulk else json_text.dumps
        self._connection.executemany(
            "insert or replace into state values (?, ?, ?)",
            ((fold, key, dumps(value)) for (fold, key), value in self._states.items()),
        )
        self._connection.executemany("insert or ignore into idempotency values (?, ?, ?, ?)", self._keys)
        self._write_terms()

    def _write_terms(self) -> None:
        """Write the terms by which the folded entries are found, and delete the former ones."""
        gone, come = [], []
        for (fold, key), state in self._states.items():
            if not (terms_of := getattr(folds.fold_module(fold), "terms", None)):
                continue
            now, before = terms_of(key, state), self._terms.get((fold, key), [])
            if now != before:
                gone += [(fold, *term, key) for term in before if term not in now]
                come += [(fold, *term, key) for term in now if term not in before]
        self._connection.executemany("delete from term where fold = ? and term = ? and place = ? and key = ?", gone)
        self._connection.executemany("insert or ignore into term values (?, ?, ?, ?)", sorted(come))


def _origin(data: dict[str, Any], at: Place, ts: str) -> tuple[Place, str]:
    """The original place and time of an event that was recorded again.

    If its journal was damaged, other events still refer to its original id. If it was set aside, another event has that
    id now, so only its original time is used.
    """
    try:
        writer, n = ids.split_event_id(data["salvaged_from"]) if "salvaged_from" in data else at[1:]
        lamport, then = data["salvaged_lamport"], data["salvaged_ts"]
    except (KeyError, AttributeError, ids.InvalidEventId.error):
        return at, ts
    is_right = type(lamport) is int and 0 < lamport < at[0] and type(then) is str
    return ([lamport, writer, n], then) if is_right else (at, ts)


def _vouching() -> ModuleType:
    """The rules by which lines count. They are loaded only under a law."""
    from bb.coordination.records import signed_lines as rule  # noqa: PLC0415

    return rule


def _redactions() -> ModuleType:
    """The rules of redactions. They are loaded only in a ledger that has some."""
    from bb.coordination.records import redactions as rule  # noqa: PLC0415

    return rule


def _bulk() -> ModuleType:
    """The fast check of lines. Its import is slow, so it is used only for many lines."""
    from bb.ledger.journal import bulk_check  # noqa: PLC0415

    return bulk_check
