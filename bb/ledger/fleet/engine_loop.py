"""The loop of a relay: what it does in which order, and how it goes on after a failure.

    connection.py    connects to the engine, and compares its log with what this clone has read
    row_reader.py    reads rows, and keeps what it has read
    line_sender.py   sends lines
    housekeeping.py  what happens now and then: signs of life, the charter, the archive

It runs in one thread, and a call to the engine may block it for long. Meanwhile the thread of `relay.py` answers asks
whose patience ends. Both share the outbox, under one lock that is never held during a call to the engine or a write.
Each step can be repeated, because a process may be killed between any two.
"""

from __future__ import annotations

import time
from contextlib import suppress

from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.carrier.door import AnotherEngine, EngineNotDurable, EngineRewound, FleetEnded
from bb.ledger.files import readiness
from bb.ledger.fleet.clone_state import CloneState, LawBehind, LinesLacking, ResultsLost
from bb.ledger.fleet.connection import Connection
from bb.ledger.fleet.freshness import Freshness
from bb.ledger.fleet.housekeeping import RECORD_AGAIN, Anew, Housekeeping
from bb.ledger.fleet.line_sender import LineSender
from bb.ledger.fleet.moments import moment
from bb.ledger.fleet.row_reader import RowReader
from bb.ledger.published.fleet_results import ResultsDamaged
from bb.ledger.published.fleet_terms import NoFleet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bb.ledger.carrier.door import Carrier
    from bb.ledger.fleet.shared import Shared
    from bb.ledger.git.place import Place

LOOK_AROUND = 1.0  # seconds between two looks for lines that nobody told of
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 3.0  # seconds between two attempts to connect
STOPPED_PAUSE = 3.0  # seconds until the engine is compared again, after it was found to be wrong
NEVER, FAR = float("-inf"), float("inf")
STOPS = (AnotherEngine, EngineRewound, FleetEnded, EngineNotDurable, NoFleet, door.Pruned)


class EngineLoop:
    """The work of the relay of the clone at PLACE. NOW tells the time in milliseconds, as BB_NOW has it."""

    def __init__(
        self,
        place: Place,
        now: Callable[[], int],
        open_carrier: Callable[[], Carrier],
        log: Callable[[str], None],
        heard: Callable[[Mapping[str, int]], None] | None,
        shared: Shared,
    ) -> None:
        self._log, self._shared, self._outbox = log, shared, shared.outbox
        self.state = state = CloneState(place)
        self.connection = Connection(state, shared, open_carrier)
        self.reader = RowReader(state, shared, self.connection)
        self.sender = LineSender(place, now, state, shared, self.connection, self.reader, log)
        self.housekeeping = Housekeeping(place, now, state, shared, self.connection, log, heard)
        self._is_begun = False
        self._pause = FIRST_PAUSE
        self._connected_at = FAR  # when the current connection was made

    @property
    def digest(self) -> str | None:
        """The digest of the log, as far as it was read."""
        return self.state.must_fold().digest if self._is_begun else None

    def run(self) -> None:
        """Work until the relay is stopped."""
        try:
            while not self._shared.is_stopping:
                self._work()
        finally:
            self._disconnect()
            self.sender.signing.join(1.0)
            self.housekeeping.git.join(1.0)
            if self._is_begun:
                with suppress(BbError, ResultsLost):
                    self.reader.keep(is_last=True)
            self.state.close()

    def _work(self) -> None:
        """Connect, and go on until something fails or must begin again."""
        try:
            self._begin()
            self._connect()
            while not self._shared.is_stopping:
                self._turn()
        except (ResultsLost, ResultsDamaged.error):
            self._log("the saved results are lost; they are computed again from the archive")
            self.state.remove_results()
            self._is_begun = False
        except Anew:
            self._is_begun = False
        except tuple(refusal.error for refusal in STOPS) as refusal:
            self._stop(refusal)
        except LawBehind.error as refusal:
            self.housekeeping.look_for_charter()
            self._lose(refusal)
        except LinesLacking.error as refusal:
            self.housekeeping.look_for_charter()  # which brings every published line that is missing here
            self._lose(refusal)
            self._is_begun = False
        except BbError as refusal:
            self._lose(refusal)

    # -- beginning

    def _begin(self) -> None:
        """Begin with what is saved, or with the archive."""
        if self._is_begun:
            return
        self._disconnect()
        fold = self.state.begin()
        if self.state.is_from_archive:
            self.connection.freshness = Freshness()  # what was read before is to be read again
        placed = self.state.placed()
        with self._shared.lock:
            # Not read before the lock is held: an ask may come about a line that is recorded in between.
            self._outbox.begin(placed, self._shared.lines.recorded(), fold.place)
            self._outbox.has_imported(self.state.imported)
            self._outbox.has_archived(self.housekeeping.archiving.archived())
            if self.housekeeping.begin():
                self._outbox.stop = None  # what was wrong was wrong with another log
        self._is_begun = True

    def _connect(self) -> None:
        """Connect. Nobody is told so before it is known here who was alive meanwhile."""
        head = self.connection.open()
        self.housekeeping.hear_again()
        kind, place = self.connection.engine.kind, self.state.must_fold().place
        self._log(f"connected to {kind}, at place {place} of {head.place}")
        with self._shared.lock:
            self._outbox.is_connected, self._outbox.trouble, self._outbox.stop = True, None, None
        self._connected_at = moment()
        self.housekeeping.has_connected()
        self.reader.has_connected(head)

    # -- one turn

    def _turn(self) -> None:
        self.sender.find_lines()
        self.reader.read()
        self.sender.leave_broken()
        self.sender.send()
        self.reader.keep()
        self.sender.sign_if_quiet()
        self.housekeeping.hear_if_due()
        self._shared.answer_due()
        self.housekeeping.tend(may_archive=self.reader.has_caught_up and not self.reader.is_awaited)
        self._wait()

    def _wait(self) -> None:
        """Wait for rows, for somebody who asks, or for the next thing to do."""
        now, reader = moment(), self.reader
        if self._shared.is_stopping:
            return
        due = [LOOK_AROUND, self.housekeeping.next_beat() - now]
        if self.state.waits:
            due.append(reader.next_write() - now)
        if self._outbox.waits_for_signs:
            due.append(RECORD_AGAIN)
        if reader.must_read or self.sender.can_send or self.housekeeping.must_hear:
            return
        if reader.may_be_rows:
            self._rest(max(min(*due, reader.next_read() - now), 0))
            return
        place, seconds = self.state.must_fold().place, max(min(due), 0)
        if self.connection.engine.wait(place, seconds, [self._shared.wake_fd]):
            reader.may_be_rows = True
        self._shared.drain()

    def _rest(self, seconds: float, least: float = NEVER) -> None:
        """Wait, until somebody asks something, but at LEAST so long."""
        if least > 0:
            time.sleep(least)
        readiness.readable([self._shared.wake_fd], seconds - max(least, 0))
        self._shared.drain()

    # -- failures

    def _disconnect(self) -> None:
        self.connection.close()
        self.housekeeping.archiving.leads = False

    def _lose(self, refusal: BbError) -> None:
        """The engine cannot be reached, or something here failed: try again after a pause."""
        last = self._shared.last_refusal
        if refusal.code != door.EngineUnreachable.code and (last is None or last["code"] != refusal.code):
            self._log(f"{refusal.code}: {refusal.message}")
        self._shared.note_refusal(refusal)
        self._disconnect()
        with self._shared.lock:
            self._outbox.lost_connection(refusal, NEVER if self._outbox.is_connected else self.connection.tried_at)
        self._shared.answer_due()
        if moment() - self._connected_at > self._pause:  # a server that only takes connections does not count
            self._pause = FIRST_PAUSE
        self._connected_at = FAR
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self.housekeeping.look_while_away()
        self._rest(pause, NEVER if pause < 1 else 0.3)
        if self._is_begun and not self.state.is_current():
            self._is_begun = False

    def _stop(self, refusal: BbError) -> None:
        """The engine, or the charter, is not what it must be: no verdicts, until it is right again."""
        if self._outbox.stop is None or self._outbox.stop.code != refusal.code:
            self._log(f"{refusal.code}: {refusal.message}")
        self._shared.note_refusal(refusal)
        self._disconnect()
        with self._shared.lock:
            self._outbox.stop, self._outbox.is_connected = refusal, False
            self._outbox.was_told = True
        self._shared.answer_due()
        self.housekeeping.look_for_charter()
        self._rest(STOPPED_PAUSE)
        if self._is_begun and not self.state.is_current():
            self._is_begun = False
        elif refusal.code == door.Pruned.code and not self.housekeeping.git.is_busy:
            self._is_begun = False  # the archive has what the engine has no more
