"""Sends the lines that this clone records, all that wait in one append. Lines that were sent and not read back are sent
again, which is harmless: the engine takes them once.

A writer whose lines the engine has in another form is left to others, and its lines are recorded again under a new one.
"""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.fleet import background_jobs
from bb.ledger.fleet.background_jobs import BackgroundThread
from bb.ledger.fleet.clone_state import FORKED
from bb.ledger.fleet.moments import moment, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.connection import Connection
    from bb.ledger.fleet.outbox import Batch
    from bb.ledger.fleet.row_reader import RowReader
    from bb.ledger.fleet.shared import Shared
    from bb.ledger.git.place import Place

DENIED_PAUSE = 30.0  # seconds until lines that the engine refused are sent again
SIGN_PAUSE, LONGEST_PAUSE = 60.0, 1200.0  # seconds between two signatures that no verdict depends on
QUIET = 5.0  # seconds in which no row comes; a busy relay reads once a second
NEVER = float("-inf")


class LineSender:
    """Sends the lines of the clone at PLACE through CONNECTION. READER reads them back."""

    def __init__(
        self,
        place: Place,
        now: Callable[[], int],
        state: CloneState,
        shared: Shared,
        connection: Connection,
        reader: RowReader,
        log: Callable[[str], None],
    ) -> None:
        self._place, self._now, self._state, self._log = place, now, state, log
        self._shared, self._outbox = shared, shared.outbox
        self._connection, self._reader = connection, reader
        self.signing = BackgroundThread("bb-relay-sign", shared.wake)
        self.appends = 0
        self._has_recorded_again = False  # what an interrupted process owed
        self._is_to_sign = False  # whether lines were sent that need no signature and have none
        self._denied_at = NEVER
        self._signed_at = moment() - SIGN_PAUSE

    # -- sending

    def find_lines(self) -> None:
        """Look what is recorded."""
        with self._shared.lock:
            for writer, n in self._shared.lines.recorded().items():
                self._outbox.has_recorded(writer, n)

    @property
    def can_send(self) -> bool:
        """Whether lines wait, and nothing needs to happen before they are sent."""
        with self._shared.lock:
            batch = self._outbox.batch()
        if batch is None or self.signing.is_busy:
            return False
        return self.signing.failure is not None or not background_jobs.must_sign(self._state.store)

    def send(self) -> None:
        """Send lines that wait, in one append. Nothing is sent before the rows that the engine had are read."""
        if not self._reader.has_caught_up:
            return
        with self._shared.lock:
            if moment() - self._denied_at >= DENIED_PAUSE:
                self._outbox.denied.clear()
            batch = self._outbox.batch()
        if batch is None or not (batch := self._signed(batch)):
            return
        lines = self._state.lines(batch.writer, batch.first, batch.last)
        if not lines:
            self._shared.lines.forget()
            return
        self._append(batch.replace(last=batch.first + len(lines) - 1), lines)

    def _append(self, batch: Batch, lines: list[bytes]) -> None:
        connection = self._connection
        connection.must_be_there()
        with self._shared.lock:
            before = self._outbox.sends(batch)
        asked_at = moment()
        try:
            place = connection.call(lambda: connection.engine.append(batch.writer, batch.first, lines))
        except door.Gap.error as gap:
            self._follow(batch, int(gap.details.get("next", 0)))
        except door.Forked.error as forked:
            self._reader.read_on()
            self._leave(batch.writer, forked.message)
        except door.Denied.error as denied:
            self._deny(batch.writer, denied)
        except door.AppendUnknown.error:
            raise
        except BbError:  # nothing was sent, or nothing was taken
            with self._shared.lock:
                self._outbox.has_not_sent(batch, before)
            raise
        else:
            self.appends += 1
            with self._shared.lock:
                self._outbox.was_acknowledged(batch, place)
            connection.freshness.ended_at(place, asked_at, time_of(asked_at))
            self._reader.read()  # our row, and those of others before it

    def _deny(self, writer: str, refusal: BbError) -> None:
        """The engine refuses lines of WRITER, for now."""
        self._shared.note_refusal(refusal)
        self._log(f"{refusal.code}: {refusal.message}")
        with self._shared.lock:
            self._outbox.denied[writer] = refusal
            self._outbox.was_told = True
        self._denied_at = moment()

    def _follow(self, batch: Batch, expected: int) -> None:
        """The engine expects another line of a writer of ours than the first of BATCH."""
        self._reader.read_on()
        if self._state.must_fold().link(batch.writer).n + 1 == expected:
            with self._shared.lock:
                self._outbox.expects(batch.writer, expected)
        else:
            self._leave(batch.writer, f"the engine expects line {expected} of it, not line {batch.first}")

    def _signed(self, batch: Batch) -> Batch | None:
        """The BATCH as far as it is signed, if each append must be signed. A signature is made in the background."""
        store = self._state.store
        if batch.writer != store.writer and batch.writer != self._state.writer():
            return batch
        if not background_jobs.must_sign(store):
            self._is_to_sign = True
            return batch
        if (upto := background_jobs.signed_upto(store, batch.writer)) >= batch.first:
            return batch.replace(last=min(batch.last, upto))
        if self.signing.is_busy:
            return None
        failure, self.signing.failure = self.signing.failure, None
        if isinstance(failure, BbError):
            self._deny(batch.writer, failure)
            return None
        self.signing.start(lambda: background_jobs.sign(self._place, self._now))
        return None

    def sign_if_quiet(self) -> None:
        """Sign what was sent without a signature, which no verdict depends on. To look which lines are signed folds all
        new lines into the index, so this waits until nothing comes."""
        now = moment()
        if not self._is_to_sign or now - self._signed_at < SIGN_PAUSE or self.signing.is_busy:
            return
        is_quiet = now - self._reader.came_at >= QUIET and not self._outbox.asks
        if is_quiet or now - self._signed_at >= LONGEST_PAUSE:
            self._signed_at, self._is_to_sign = now, False
            self.signing.start(lambda: background_jobs.sign(self._place, self._now))

    # -- writers that send no more

    def leave_broken(self) -> None:
        """Go on under another writer, if the engine has rows of one of ours that do not count."""
        for writer in list(self._state.broken):
            self._leave(writer, self._state.broken[writer])
        left = self._state.left()
        for writer in left:
            self._log(f"writer {writer} is left to others: the engine has other lines of it")
            with self._shared.lock:
                self._outbox.leaves(writer, FORKED)
                self._shared.lines.forget()
        if left or not self._has_recorded_again:
            self._state.record_again(self._now())
            self._has_recorded_again = True

    def _leave(self, writer: str, why: str) -> None:
        self._log(f"writer {writer} is left to others: {why}")
        self._reader.keep(is_last=True)
        reason = self._state.leave(writer)
        with self._shared.lock:
            self._outbox.leaves(writer, reason)
            self._shared.lines.forget()
        self._state.record_again(self._now())
