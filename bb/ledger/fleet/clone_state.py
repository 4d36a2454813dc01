"""What one clone has of its fleet's log: the fold, the journals and the saved results, and the lines that it records.

The saved results may be lost at any time, and a process may be killed between any two steps. Everything begins again
from the archive, `pins.json`: its results are those of a place, and the engine has the rows after it.

    read a row -> fold it -> its lines into the journals -> save the results

If a process is killed in between, the results lag behind, and the rows after them are read and compared again.
"""

from __future__ import annotations

import os

from bb.coordination.agents.hearing import Hearing
from bb.coordination.holdings import holdings
from bb.kernel import ids
from bb.kernel.errors import Busy
from bb.ledger.carrier.door import first_digest
from bb.ledger.carrier.sound_rows import has_lines
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.fleet import receiving
from bb.ledger.fleet.receiving import Receiving
from bb.ledger.fleet.results_file import ResultsFile
from bb.ledger.fleet.row_fold import Base, RowFold
from bb.ledger.fleet.verdicts import Verdicts
from bb.ledger.index import counting
from bb.ledger.journal import kinds, received, writers
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import START, Link
from bb.ledger.published import fleet_results, pins
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.fleet_terms import NoFleet
from bb.ledger.records import payload_removal, set_aside
from bb.ledger.records.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.holdings.admission import Admitted
    from bb.coordination.holdings.ordered_admission import Changes
    from bb.ledger.carrier.door import Row
    from bb.ledger.fleet.results_file import Saved
    from bb.ledger.fleet.row_fold import FoldedRow
    from bb.ledger.git.place import Place
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip

REDACTED = b'"kind":"x.bb.redacted"'
MOST_OCTETS = 1 << 20  # in one append, unless one line has more
MOST_SHOWN = 20  # rows that do not count
LONG = 30.0  # seconds to wait for a sync that imports lines
SHORT = 1.0  # and again, if that was too short: the relay must be able to end meanwhile
FORKED = "other lines have the numbers of these on the engine, so they were recorded again under another writer"

LawBehind = Busy.declare(
    "FLEET_LAW_BEHIND",
    "The list of signers has changed, and the results of the published ledger are not computed by it yet",
    hint="`bb sync --pull` computes them; the relay does it by itself, too",
)

LinesLacking = Busy.declare(
    "FLEET_LINES_LACKING",
    "Published lines are missing in this clone, perhaps because of a power failure",
    hint="the relay fetches them again by itself; `bb sync --pull` does that at once",
)


class ResultsLost(Exception):
    """The file of results was removed or is damaged. The relay begins again from the archive."""


class CloneState:
    """The state of the clone at PLACE."""

    def __init__(self, place: Place) -> None:
        self.store = Store(place)
        self.path = place.store
        self._writers = writers.KnownWriters(os.path.join(self.path, writers.JOURNALS))
        self._file = ResultsFile(self.path)
        self._receiving = Receiving(self.store)
        self._chains: dict[str, receiving.Chain] = {}
        self.terms: FleetTerms | None = None
        self._began_under = ""  # the law
        self.repo = ""
        self.fold: RowFold | None = None
        self.imported = 0
        self.is_from_archive = False  # whether the relay began with the archive, for want of results
        self._is_to_blank = False  # whether a withdrawal was written whose payload may still be here
        self._is_lost = False  # whether the answering thread has found the file of results lost or damaged
        self._floor = 0  # places before it are to be forgotten, once the lines up to it are imported
        self.broken: dict[str, str] = {}  # writers of this store that the engine has other lines of, and why
        self.verdicts = Verdicts("", self._results, self._fact_on)
        self.shown_flaws: list[dict[str, Any]] = []  # the newest rows that do not count
        self.received = 0  # rows of other clones since the start
        self.signs: dict[str, int] = {}  # when holders of other clones last recorded something, by the engine's clock
        self.newcomers: dict[str, int] = {}  # when agents of other clones registered, by the same; until that is told

    # -- where it begins

    def begin(self) -> RowFold:
        """Begin with the saved results, or with those of the archive. Refused if the charter names no fleet."""
        self.store.reopen()
        known = pins.read(self.path)
        tip, terms = _tip(known), known.terms
        if tip is None or terms is None:
            raise NoFleet("the published ledger, as this clone knows it, has no fleet")
        self.terms, self.repo = terms, tip.charter.repo
        law = self._began_under = self._law()
        if law and known.law != law:
            raise LawBehind()
        received.settle(self.path)
        self._receiving.forget()
        self._chains.clear()
        self._is_lost = False
        self.broken.clear()
        self.signs.clear()
        self.newcomers.clear()
        saved = self._file.load()
        is_usable = saved is not None and (saved.incarnation, saved.repo, saved.law) == (
            terms.incarnation,
            self.repo,
            law,
        )
        self.is_from_archive = saved is None or not is_usable or saved.place < tip.place
        if saved is not None and not self.is_from_archive:
            base: Base = saved
            self.imported = self._imported(saved, tip)
        else:
            base = self._from_archive(known, tip, terms)
            self.imported = base.place
            about = {"began": base.place, "imported": base.place, "repo": self.repo, "law": law}
            self._file.make(base, about, tip.last_lines.items(), {})
        # After a power failure, some lines may be missing in the journals, and others may not be noted as new.
        self.store.look_at_everything()
        names = ("place", "writer", "first", "lines", "reason")
        self.shown_flaws = [dict(zip(names, flaw, strict=True)) for flaw in reversed(self._file.flaws(MOST_SHOWN))]
        self.fold = RowFold(base, self._last_link)
        self.verdicts = Verdicts(terms.incarnation, self._results, self._fact_on)
        return self.fold

    def _from_archive(self, known: Pins, tip: Tip, terms: FleetTerms) -> Base:
        digest = tip.digest or first_digest(tip.charter.repo, terms.incarnation)
        counted = known.counted if self.store.law is not None else None
        return Base(terms.incarnation, tip.place, digest, known.admitted, counted)

    def _law(self) -> str:
        """The basis of the law that decides which lines count; empty if all lines count."""
        law = self.store.law
        return law.basis if law else ""

    def _imported(self, saved: Saved, tip: Tip) -> int:
        """The place up to which every line is in the journals. A sync may have brought those up to the place of TIP
        since the results were saved, and the engine may not have their rows any more."""
        lacking = receiving.lacking(self.path, self._file.links())
        if not lacking:
            return min(max(saved.imported, tip.place), saved.place)
        has_published = all(receiving.last_number(self.path, writer) >= tip.last_line(writer) for writer in lacking)
        return tip.place if has_published else min(saved.imported, tip.place)

    def _last_link(self, writer: str) -> Link:
        """The link of a writer's last line in a row or, before the first one, in the archive where the fold began."""
        try:
            found = self._file.link(writer)
            last = 0 if found else self._file.published(writer)
        except sqlite3.DatabaseError as error:
            raise _results_failed(error) from error
        if found:
            return found
        return Journal(self.path, writer).link_before(last + 1) if last else START

    def _saved(self) -> fleet_results.FleetResults | None:
        """What is saved; nothing if the file is damaged, which is found at the next save or note."""
        try:
            return fleet_results.read(self.path)
        except fleet_results.ResultsDamaged.error:
            return None

    def _results(self) -> Admitted | None:
        found = self._saved()
        return found.in_force if found else None

    def _fact_on(self, event: str) -> object:
        raw = Journal(self.path, (about := ids.split_event_id(event))[0]).line(about[1])
        return kinds.fact_on(raw) if raw else None

    def is_current(self) -> bool:
        """Whether the charter still names the log that this state is of, and the same lines count."""
        known = pins.read(self.path)
        return known.terms == self.terms and self._law() == self._began_under

    def placed(self) -> dict[str, int]:
        """The number of the last line that is placed or was published before, of each writer of this store."""
        fold = self.must_fold()
        return {writer: fold.link(writer).n for writer in self.own_writers()}

    def must_fold(self) -> RowFold:
        if self.fold is None:
            raise NoFleet()
        return self.fold

    def writer(self) -> str | None:
        """Our own writer; None if there is none yet. Other processes make it, or another one in its place."""
        if writers.own_writer(os.path.join(self.path, writers.JOURNALS), self.store.writer) != self.store.writer:
            self.store.reopen()
        return self.store.writer

    def own_writers(self) -> list[str]:
        return self._writers.all()

    # -- our lines

    def lines(self, writer: str, first: int, last: int) -> list[bytes]:
        """Lines of a writer of this store to send: at least one, if it exists, and at most as many as fit."""
        found = receiving.lines_of(self.path, writer, first, last)
        size = count = 0
        for raw in found:
            size += len(raw) + 1
            if count and size > MOST_OCTETS:
                break
            count += 1
        if count:
            self._receiving.note(writer, first + count - 1, found[count - 1])
        return found[:count]

    # -- rows

    def take(self, rows: Sequence[Row]) -> None:
        """Fold ROWS. Their lines are written into the journals by `write_lines`."""
        try:
            self._take(rows)
        except sqlite3.DatabaseError as error:  # the fold looks up what is older than its memory
            raise _results_failed(error) from error

    def _take(self, rows: Sequence[Row]) -> None:
        fold, own = self.must_fold(), set(self.own_writers())
        for row in rows:
            folded = fold.take(row)
            if folded.flaw:
                self._show_flaw(folded)
                if row.writer in own:
                    self.broken[row.writer] = (
                        f"the row at place {row.place} of this writer does not count: {folded.flaw}"
                    )
                continue
            if row.writer not in own:
                self.received += 1
                self._note_signs(row, folded.changes)
            self._chains.setdefault(row.writer, []).append((row, folded.before, folded.after))
            if row.writer in own and self._receiving.differs(row, folded.after):
                self.verdicts.are_of_another(row, FORKED)
                self.broken[row.writer] = f"the row at place {row.place} has other lines of this writer than this clone"
            elif row.writer in own and not fold.judges:
                self.verdicts.note(row.place, folded.changes, fold.grant)
        if fold.judges:
            self._count(fold, own, LONG)

    def _note_signs(self, row: Row, changes: Changes) -> None:
        """A holder that recorded something in ROW was alive then, by the engine's clock, and so was an agent that
        registered in it."""
        for agent in changes.seen:
            self.signs[agent] = row.at
        for grant in changes.grants.values():
            if grant.token == row.place:
                self.signs[grant.agent] = row.at
        for agent, registrations in changes.names.items():
            if registrations:
                self.newcomers[agent] = self.signs[agent] = row.at

    def _show_flaw(self, folded: FoldedRow) -> None:
        row = folded.row
        about = {"place": row.place, "writer": row.writer, "first": row.first, "lines": row.octets.count(b"\n")}
        if has_lines(row):  # void rows are nobody's fault
            self.shown_flaws = [*self.shown_flaws[-MOST_SHOWN:], about | {"reason": folded.flaw}]

    def _count(self, fold: RowFold, own: set[str], patience: float) -> None:
        """Judge the lines by the law. Their signatures must be in the index for that, so LEDGER_BUSY if a sync holds
        the journals longer than PATIENCE."""
        self.write_lines(patience)
        law = self.store.law
        if law is None:
            raise LawBehind()
        counts = law.counting(counting.signatures(self.store.caught_up(), self.repo))
        for place, writer, changes in fold.count(counts):
            if writer in own:
                self.verdicts.note(place, changes, fold.grant)

    @property
    def waits(self) -> bool:
        """Whether lines wait to be written, or results to be saved."""
        fold = self.fold
        return fold is not None and (
            bool(self._chains) or self.imported < fold.place or bool(fold.moved or fold.flawed)
        )

    @property
    def has_unwritten(self) -> bool:
        """Whether lines of rows that this process has folded wait in memory to be written, or what they withdraw to be
        removed. Those of every earlier row are in the journals."""
        return bool(self._chains) or self._is_to_blank

    def write_lines(self, patience: float) -> None:
        """Write the lines of the rows that were folded into the journals. LEDGER_BUSY if a sync holds them longer than
        PATIENCE; then they wait on."""
        fold = self.must_fold()
        chains = self._chains
        if chains:
            try:
                self._receiving.write(chains, self.own_writers(), patience)
            except NotALedger as refusal:
                raise _lines_lacking(refusal) from refusal
            self._chains = {}
            self._note_withdrawals(row for rows in chains.values() for row, _, _ in rows)
        self._blank()
        self.imported = fold.place

    def write_again(self, rows: Sequence[Row], upto: int) -> None:
        """Import rows that were folded before, in an earlier process, up to place UPTO."""
        flawed = self._file.flawed_places()
        try:
            self._receiving.write_again([row for row in rows if row.place not in flawed and has_lines(row)], LONG)
        except NotALedger as refusal:
            raise _lines_lacking(refusal) from refusal
        self._note_withdrawals(rows)
        self._blank()
        self.imported = max(self.imported, upto)

    def _note_withdrawals(self, rows: Iterable[Row]) -> None:
        self._is_to_blank = self._is_to_blank or any(REDACTED in row.octets for row in rows)

    def _blank(self) -> None:
        """Remove the payload of withdrawn lines. If that fails, it is tried again: the rows do not count as imported
        before, neither here nor in the next process."""
        if self._is_to_blank:
            payload_removal.blank(self.store)
            self._is_to_blank = False
            self._receiving.forget()

    def save(self, current_at: int) -> None:
        """Save the results, which were last known to be current at CURRENT_AT. If the file was removed, it is made
        anew, from the state in memory. If rows were not judged yet, because that failed, it is tried again first: what
        is saved is called read, and nobody would judge them after the next start."""
        fold = self.must_fold()
        try:
            if fold.has_uncounted:
                self._count(fold, set(self.own_writers()), SHORT)
            if not self._is_lost and self._file.is_in_place():
                self._floor = max(self._floor, fold.changed.floor, fold.changed_counted.floor)
                self._file.save(fold, self.imported, current_at)
                if self._floor and self.imported >= self._floor:
                    self._forget_places(self._floor)
                return
        except sqlite3.DatabaseError as error:
            raise _results_failed(error) from error
        raise ResultsLost

    def remove_results(self) -> None:
        """Remove the file of results, which is lost or damaged. Otherwise a relay that begins again would take what can
        be read of it, and fail at the same place."""
        self._file.remove()

    def _forget_places(self, floor: int) -> None:
        """Forget the places before FLOOR of reservations that were ended by a word. They decide nothing any more."""
        index = self.store.caught_up()
        if not list(index.damages()):
            self._floor = 0
            live = {name for name, _ in index.entries_by_term(holdings.NAME, "live")}
            self._file.forget_places(floor, live)

    def note(self, **about: int) -> None:
        """Save only these numbers."""
        if self._is_lost or not (self._file.is_in_place() and self._file.is_sound()):
            raise ResultsLost
        try:
            self._file.note(**about)
        except sqlite3.DatabaseError as error:
            raise _results_failed(error) from error

    def noted(self) -> tuple[Hearing, int]:
        """When an earlier process heard the machines that use this log, and when its results were last current."""
        found = self._saved()
        if found is None or self.terms is None or found.incarnation != self.terms.incarnation:
            return Hearing(), 0
        return found.hearing, found.current_at

    def verdict(self, event: str) -> dict[str, Any]:
        """What became of an event of ours whose line is placed. If the results are lost or damaged, the relay makes
        them anew when it saves something, or with the next beat."""
        fold = self.must_fold()
        try:
            return self.verdicts.of(event, fold.place, fold.grant(event))
        except sqlite3.DatabaseError as error:
            failure = _results_failed(error)
            self._is_lost = self._is_lost or isinstance(failure, ResultsLost)
            raise failure from error
        except fleet_results.ResultsDamaged.error:
            self._is_lost = True
            raise

    # -- lines of ours that the engine has in another form

    def leave(self, writer: str) -> str:
        """Set the lines of WRITER aside that are not placed, and record them again under another writer. Returns the
        reason, for those who ask."""
        placed = self.must_fold().link(writer).n
        journal, journals = Journal(self.path, writer), os.path.join(self.path, writers.JOURNALS)
        with journal.lock_to_change():  # a process that waits for the lock sees then that the writer is retired
            has_more = journal.tail().n > placed
            if not has_more and not writers.is_retired(journals, writer):
                writers.retire(journals, writer, "the engine has other lines of it", None)
        if has_more:
            set_aside.set_lines_aside(self.path, journal, placed + 1, is_fork=True, upto=placed)
        self.broken.pop(writer, None)
        self.store.reopen()
        return FORKED

    def left(self) -> list[str]:
        """The writers of ours whose lines were set aside since the last call, because rows have other ones."""
        left, self._receiving.left = self._receiving.left, {}
        own = self.own_writers()
        return [writer for writer in left if writer in own]

    def record_again(self, now: int) -> None:
        """Record the events of our lines again that were set aside."""
        if set_aside.owed_files(self.path):
            set_aside.record_again(self.store, now)

    def close(self) -> None:
        self._file.close()
        self.store.close()


def _lines_lacking(refusal: NotALedger) -> Exception:
    """What the relay does if lines do not follow those in the journals. They were checked, so the journals lack some:
    received lines are appended without waiting for the disk, and the verified tip is on the disk."""
    return LinesLacking(
        f"published lines are missing in this clone, perhaps because of a power failure: {refusal.message}"
    )


def _results_failed(error: sqlite3.DatabaseError) -> Exception:
    """What the relay does if the file of results fails with ERROR: try again later, or make it anew."""
    if isinstance(error, sqlite3.OperationalError) and fleet_results.NO_TABLES not in str(error):
        return fleet_results.ResultsNotSaved(f"the results of the fleet cannot be saved or read: {error}")
    return ResultsLost(str(error))


def _tip(known: Pins) -> Tip | None:
    return known.remote(known.home).tip if known.home else None
