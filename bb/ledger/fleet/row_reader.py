"""Reads the rows of the engine's log, and keeps them: in the fold, in the journals, and in the saved results.

Rows that were read and not kept are read again by the next process. What an answer depends on is saved before the
outbox is told.
"""

from __future__ import annotations

from contextlib import suppress
from time import thread_time

from bb.ledger.carrier import door
from bb.ledger.carrier.door import EngineRewound
from bb.ledger.files.lock import LedgerBusy
from bb.ledger.fleet.moments import moment, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.carrier.door import Head
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.connection import Connection
    from bb.ledger.fleet.shared import Shared

PACE, SLOWEST = 0.1, 1.0  # seconds between two reads, or imports, if nobody waits; more if they take long
# What nobody waits for may take a 300th of a processor and, because a busy engine answers late, a fifth of the time.
SHARE_OF_PROCESSOR, SHARE_OF_TIME = 300, 5
IMPORT_PATIENCE = 0.05  # seconds to wait for a sync that imports lines
NEVER = float("-inf")
NOTHING = (0.0, 0.0)


class RowReader:
    """Reads through CONNECTION what the clone of STATE keeps."""

    def __init__(self, state: CloneState, shared: Shared, connection: Connection) -> None:
        self._state, self._shared, self._outbox = state, shared, shared.outbox
        self._connection = connection
        self._catches_up_to = 0  # the engine's last place at the connect
        self._is_withheld = False  # the engine has said that there are rows, and given none
        self.may_be_rows = True
        self.reads = 0
        self._read_at = self._written_at = NEVER
        self._reading_took = self._writing_took = NOTHING  # the last time
        self.came_at = NEVER  # when rows came last

    def has_connected(self, head: Head) -> None:
        """There may be rows that this clone has not read, up to HEAD at least."""
        self._catches_up_to = head.place
        self.may_be_rows = True
        self.came_at = moment()  # rows could not come before, so this is no quiet moment
        if self._state.has_unwritten:  # then every row before these is imported
            self.keep(is_last=True)
        else:
            self._import_again()

    # -- reading

    @property
    def has_caught_up(self) -> bool:
        """Whether everything was read that the engine had at the connect."""
        return self._catches_up_to <= self._state.must_fold().place

    @property
    def must_read(self) -> bool:
        """Whether somebody waits for rows that were not read yet, and the engine may give them now."""
        if self._is_withheld and moment() < self.next_read():
            return False
        is_behind = self._outbox.acknowledged_place > self._state.must_fold().place or not self.has_caught_up
        return is_behind or self._outbox.waits_for_reading

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for what is yet to be read, or written."""
        return self.must_read or self._outbox.waits_for_import

    def next_read(self) -> float:
        """The time from which on rows are read that nobody waits for."""
        return self._read_at + pause_after(self._reading_took)

    def next_write(self) -> float:
        """The time from which on lines are written that nobody waits for."""
        return self._written_at + pause_after(self._writing_took)

    def read(self) -> None:
        """Read and fold some rows, if there may be any."""
        now, clock = moment(), Stopwatch()
        must_read = self.must_read
        if not must_read and not (self.may_be_rows and now >= self.next_read()):
            return
        is_behind = self._read_rows(now, must_read)
        self._reading_took = NOTHING if is_behind else clock.took()

    def _read_rows(self, now: float, must_read: bool) -> bool:
        """Returns whether there are probably many more rows."""
        place = self._state.must_fold().place
        rows = self._connection.call(lambda: self._connection.engine.read(place))
        self.reads += 1
        self._read_at = now
        is_behind = len(rows) >= door.MOST_READ
        self.may_be_rows = is_behind or (bool(rows) and must_read)
        if rows:
            self._is_withheld, self.came_at = False, now
            self._state.take(rows)
            return is_behind
        self._connection.freshness.ended_at(place, now, time_of(now))
        if must_read:
            self._has_read_everything(now)
        return False

    def _has_read_everything(self, asked_at: float) -> None:
        """The engine had no more rows: but has it those that it had?"""
        head = self._connection.compare()
        if head.place > self._state.must_fold().place:
            self._is_withheld = self.may_be_rows = True
        self._catches_up_to = 0
        self._tell()
        with self._shared.lock:
            self._outbox.has_read_everything(asked_at)

    def read_on(self) -> None:
        """Read every row that the engine has now, and keep them."""
        fold, connection = self._state.must_fold(), self._connection
        while rows := connection.call(lambda: connection.engine.read(fold.place)):
            self._state.take(rows)
        self.keep(is_last=True)

    # -- keeping

    def keep(self, *, is_last: bool = False) -> None:
        """Write lines into the journals and save the results: at once if somebody waits for it, or a little later."""
        if not self._state.waits:
            return
        now, clock = moment(), Stopwatch()
        must_write = is_last or self._outbox.waits_for_import or now >= self.next_write()
        if must_write:
            with suppress(LedgerBusy.error):  # a sync writes the same journals
                self._state.write_lines(IMPORT_PATIENCE)
            self._written_at, self._writing_took = now, clock.took()
        if must_write or self._may_settle():
            self._tell()

    def _may_settle(self) -> bool:
        """Whether somebody may wait for lines of ours that were read back."""
        placed = self._outbox.placed
        return bool(self._outbox.asks) and any(n > placed.get(writer, 0) for writer, n in self._state.placed().items())

    def _tell(self) -> None:
        """Save the results, and tell the outbox."""
        state, freshness = self._state, self._connection.freshness
        place, placed = state.must_fold().place, state.placed()
        freshness.has_read(place)
        state.save(freshness.at)
        with self._shared.lock:
            self._outbox.has_folded(place, placed)
            self._outbox.was_current(freshness.moment)
            self._outbox.has_imported(state.imported)
        self._connection.must_have_what_it_acknowledged()

    def _import_again(self) -> None:
        """Import the lines of rows that an earlier process has folded and not imported."""
        state, connection = self._state, self._connection
        while (upto := state.must_fold().place) > state.imported:
            rows = connection.call(lambda: connection.engine.read(state.imported))
            known = [row for row in rows if row.place <= upto]
            if not known:
                raise EngineRewound(f"the engine has no row after place {state.imported}")
            state.write_again(known, known[-1].place)
        with self._shared.lock:
            self._outbox.has_imported(state.imported)


class Stopwatch:
    """Measures what this thread does from now on."""

    def __init__(self) -> None:
        self._began, self._processor = moment(), thread_time()

    def took(self) -> tuple[float, float]:
        """The seconds of the clock, and those of a processor."""
        return moment() - self._began, thread_time() - self._processor


def pause_after(took: tuple[float, float]) -> float:
    """The seconds between two steps, if nobody waits for them and the last one TOOK so long."""
    time, processor = took
    return min(max(PACE, SHARE_OF_TIME * time, SHARE_OF_PROCESSOR * processor), SLOWEST)
