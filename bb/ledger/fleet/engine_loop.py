"""The loop of a relay: it connects to the engine, reads rows, sends lines, and keeps what it has read.

It runs in one thread, and a call to the engine may block it for long. Meanwhile the thread of `relay.py` answers asks
whose patience ends. Both share the outbox, under one lock that is never held during a call to the engine or a write.

Each step can be repeated: rows that were read and not kept are read again, and lines that were sent and not read back
are sent again. What an answer depends on is saved before the outbox is told.
"""

from __future__ import annotations

import select
import time
from contextlib import suppress

from bb.kernel.errors import BbError
from bb.ledger.carrier import door
from bb.ledger.carrier.door import BEAT, AnotherEngine, EngineNotDurable, EngineRewound, FleetEnded
from bb.ledger.files.lock import LedgerBusy
from bb.ledger.fleet import aside, machines
from bb.ledger.fleet.archiving import Archiving
from bb.ledger.fleet.aside import Aside
from bb.ledger.fleet.clone_state import FORKED, CloneState, LawBehind, ResultsLost
from bb.ledger.published.fleet_terms import NoFleet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from bb.ledger.carrier.door import Carrier, Head, Machine
    from bb.ledger.fleet.outbox import Batch
    from bb.ledger.fleet.row_fold import RowFold
    from bb.ledger.fleet.shared import Shared
    from bb.ledger.git.place import Place

    T = TypeVar("T")

LOOK_AROUND = 1.0  # seconds between two looks for lines that nobody told of
PACE = 0.25  # seconds between two reads, or imports, if nobody waits
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 3.0  # seconds between two attempts to connect
STOPPED_PAUSE = 3.0  # seconds until the engine is compared again, after it was found to be wrong
CHARTER = 2.0  # seconds between two looks at the charter
LOOK_AGAIN = 10.0  # seconds between two looks at the git remote, while the engine is wrong
HEALTH = 60.0  # seconds between two questions about the engine's settings
DENIED_PAUSE = 30.0  # seconds until lines that the engine refused are sent again
SIGN_PAUSE = 60.0  # seconds between two signatures that no verdict depends on
IMPORT_PATIENCE = 0.05  # seconds to wait for a sync that imports lines
QUIET = 1.0  # seconds without an answer, after which the engine is asked whether it is there before it is sent lines
NEVER = float("-inf")
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
        self._place, self._now, self._open_carrier, self._log, self._heard = place, now, open_carrier, log, heard
        self._shared, self._outbox = shared, shared.outbox
        self.state = CloneState(place)
        self.carrier: Carrier | None = None
        self.signing = Aside("bb-relay-sign", shared.wake)
        self.git = Aside("bb-relay-git", shared.wake)
        self.archiving = Archiving(self.state, self.git, place, now)
        self.others = machines.Others()
        self.machines: list[Machine] = []
        self.health: dict[str, Any] = {}
        self.head: Head | None = None  # at the last connect
        self.connected_at = 0  # this machine's time in milliseconds
        self.heard_at = 0
        self.skew: int | None = None  # milliseconds that the engine's clock is ahead of this machine's
        self.last_refusal: dict[str, object] | None = None
        self.connects = self.appends = self.reads = 0
        self._is_begun = False
        self._has_recorded_again = False  # what an interrupted process owed
        self._catches_up_to = 0  # the engine's last place at the connect; nothing is sent before it is read
        self._may_be_rows = True
        self._must_read_all = False
        self._pause = FIRST_PAUSE
        self._connected_at = self._answered_at = NEVER  # by the clock that nobody sets
        self._read_at = self._written_at = self._beaten_at = self._asked_health_at = NEVER
        self._tried_at = self._looked_at = self._compared_charter_at = self._denied_at = self._signed_at = NEVER

    # -- the course of things

    def run(self) -> None:
        """Work until the relay is stopped."""
        try:
            while not self._shared.is_stopping:
                self._work()
        finally:
            self._disconnect()
            self.signing.join(1.0)
            self.git.join(1.0)
            with suppress(BbError, ResultsLost):
                self._keep(is_last=True)
            self.state.close()

    def _work(self) -> None:
        try:
            self._begin()
            self._connect()
            while not self._shared.is_stopping:
                self._turn()
        except ResultsLost:
            self._log("the saved results are lost; they are computed again from the archive")
            self._is_begun = False
        except _Anew:
            self._is_begun = False
        except tuple(refusal.error for refusal in STOPS) as refusal:
            self._stop(refusal)
        except LawBehind.error as refusal:
            self._look()
            self._lose(refusal)
        except BbError as refusal:
            self._lose(refusal)

    def _begin(self) -> None:
        if self._is_begun:
            return
        self._disconnect()
        fold = self.state.begin()
        placed, recorded = self.state.placed(), self._shared.lines.recorded()
        with self._shared.lock:
            self._outbox.begin(placed, recorded, fold.place)
            self._outbox.imported = self.state.imported
            self._outbox.archived = self.archiving.archived()
        self._is_begun = True
        self._may_be_rows = True

    def _connect(self) -> None:
        """Connect, and compare the engine's log with what this clone has read of it."""
        self._tried_at = time.monotonic()
        if self.carrier is None:
            self.carrier = self._open_carrier()
        head = self._call(self.carrier.head)
        self._compare(head)
        self._compare_row(head)
        self._ask_health()
        self._log(f"connected to {self.carrier.kind}, at place {self._fold.place} of {head.place}")
        with self._shared.lock:
            self._outbox.is_connected, self._outbox.trouble, self._outbox.stop = True, None, None
        self.head, self.skew = head, head.now - time.time_ns() // 1_000_000
        self.connected_at, self._connected_at = time.time_ns() // 1_000_000, time.monotonic()
        self.connects += 1
        self._catches_up_to = head.place
        self._may_be_rows = True
        self._import_again()

    @property
    def digest(self) -> str | None:
        """The digest of the log, as far as it was read."""
        return self._fold.digest if self._is_begun else None

    @property
    def _fold(self) -> RowFold:
        return self.state.must_fold()

    def _compare(self, head: Head) -> None:
        """Refuse an engine with another log, or with less than it has told of."""
        terms, fold = self.state.terms, self._fold
        if terms is None or head.incarnation != terms.incarnation:
            name = terms.incarnation if terms else "none"
            raise AnotherEngine(f"the fleet uses the log {name}, and the engine has {head.incarnation}")
        self._must_have_what_it_acknowledged()
        known = max(fold.place, self._outbox.acknowledged_place)
        if head.place < known:
            raise EngineRewound(f"the engine has rows up to place {head.place}, and it has told of place {known}")
        if head.place == fold.place and head.digest != fold.digest:
            raise EngineRewound(f"the engine has another row at place {fold.place} than this clone has read")

    def _compare_row(self, head: Head) -> None:
        """Refuse an engine whose row at the place that this clone has read last is another one."""
        terms, fold = self.state.terms, self._fold
        if terms is None or head.place == fold.place or fold.place < terms.first:
            return
        try:
            rows = self._call(lambda: self._engine.read(fold.place - 1, 1))
        except door.Pruned.error:
            return  # the next row will show it
        if not rows or rows[0].digest != fold.digest:
            raise EngineRewound(f"the engine has another row at place {fold.place} than this clone has read")

    def _must_have_what_it_acknowledged(self) -> None:
        """Refuse an engine that has lost a line of ours which nobody has read, and has other rows in its place."""
        writer = self._outbox.forgotten
        if writer and writer not in self.state.broken:
            raise EngineRewound(f"the engine acknowledged lines of writer {writer} and does not have them")

    @property
    def _engine(self) -> Carrier:
        if self.carrier is None:
            raise door.EngineUnreachable()
        return self.carrier

    def _call(self, question: Callable[[], T]) -> T:
        """Ask the engine. The answering thread sees since when it has not answered."""
        self._outbox.silent_since = time.monotonic()
        try:
            found = question()
        finally:
            self._outbox.silent_since = None
        self.heard_at, self._answered_at = time.time_ns() // 1_000_000, time.monotonic()
        return found

    def _disconnect(self) -> None:
        carrier, self.carrier = self.carrier, None
        self.archiving.leads = False
        if carrier is not None:
            with suppress(Exception):
                carrier.close()

    def _lose(self, refusal: BbError) -> None:
        """The engine cannot be reached, or something here failed: try again after a pause."""
        self._note_refusal(refusal)
        self._disconnect()
        with self._shared.lock:
            self._outbox.lost_connection(refusal, NEVER if self._outbox.is_connected else self._tried_at)
        self._shared.answer_due()
        if time.monotonic() - self._connected_at > self._pause:  # a server that only takes connections does not count
            self._pause = FIRST_PAUSE
        self._connected_at = float("inf")
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self._rest(pause, NEVER if pause < 1 else 0.3)

    def _stop(self, refusal: BbError) -> None:
        """The engine, or the charter, is not what it must be: no verdicts, until it is right again."""
        if self._outbox.stop is None or self._outbox.stop.code != refusal.code:
            self._log(f"{refusal.code}: {refusal.message}")
        self._note_refusal(refusal)
        self._disconnect()
        with self._shared.lock:
            self._outbox.stop, self._outbox.is_connected = refusal, False
            self._outbox.was_told = True
        self._shared.answer_due()
        self._look()
        self._rest(STOPPED_PAUSE)
        if self._is_begun and not self.state.is_current():
            self._is_begun = False
        elif refusal.code == door.Pruned.code and not self.git.is_busy:
            self._is_begun = False  # the archive has what the engine has no more

    def _note_refusal(self, refusal: BbError) -> None:
        now = time.time_ns() // 1_000_000
        self.last_refusal = {"code": refusal.code, "message": refusal.message, "at": now}

    def _look(self) -> None:
        """Fetch the published ledger now and then: it may have another charter."""
        if time.monotonic() - self._looked_at >= LOOK_AGAIN and not self.git.is_busy:
            self._looked_at = time.monotonic()
            self.git.start(lambda: aside.look(self._place, self._now))

    def _rest(self, seconds: float, least: float = NEVER) -> None:
        """Wait, until somebody asks something, but at LEAST so long."""
        if least > 0:
            time.sleep(least)
        select.select([self._shared.wake_fd], [], [], max(seconds - max(least, 0), 0))
        self._shared.drain()

    # -- one turn

    def _turn(self) -> None:
        self._find_lines()
        self._read()
        self._leave_broken()
        self._send()
        self._keep()
        self._shared.answer_due()
        self._tend()
        self._wait()

    def _find_lines(self) -> None:
        with self._shared.lock:
            for writer, n in self._shared.lines.recorded().items():
                self._outbox.has_recorded(writer, n)

    @property
    def _must_read(self) -> bool:
        """Whether somebody waits for rows that were not read yet."""
        place = self._fold.place
        is_waiting = self._must_read_all or self._outbox.waits_for_reading
        return is_waiting or self._outbox.acknowledged_place > place or self._catches_up_to > place

    def _read(self) -> None:
        """Read and fold some rows, if there may be any."""
        now = time.monotonic()
        must_read = self._must_read
        if not must_read and not (self._may_be_rows and now - self._read_at >= PACE):
            return
        rows = self._call(lambda: self._engine.read(self._fold.place))
        self.reads += 1
        self._read_at = now
        self._may_be_rows = bool(rows) and (must_read or len(rows) >= door.MOST_READ)
        if rows:
            self.state.take(rows)
        elif must_read:
            self._has_read_everything(now)

    def _has_read_everything(self, asked_at: float) -> None:
        """The engine had no more rows: but has it those that it had?"""
        self._compare(self._call(self._engine.head))
        self._must_read_all = False
        self._catches_up_to = 0
        self._tell()
        with self._shared.lock:
            self._outbox.has_read_everything(asked_at)

    def _leave_broken(self) -> None:
        """Go on under another writer, if the engine has rows of one of ours that do not count."""
        for writer in list(self.state.broken):
            self._leave(writer, self.state.broken[writer])
        left = self.state.left()
        for writer in left:
            self._log(f"writer {writer} is left to others: the engine has other lines of it")
            with self._shared.lock:
                self._outbox.leaves(writer, FORKED)
                self._shared.lines.forget()
        if left or not self._has_recorded_again:
            self.state.record_again(self._now())
            self._has_recorded_again = True

    def _leave(self, writer: str, why: str) -> None:
        self._log(f"writer {writer} is left to others: {why}")
        self._keep(is_last=True)
        reason = self.state.leave(writer)
        with self._shared.lock:
            self._outbox.leaves(writer, reason)
            self._shared.lines.forget()
        self.state.record_again(self._now())

    def _send(self) -> None:
        """Send lines that wait, in one append."""
        if self._catches_up_to > self._fold.place or self._must_read_all:
            return
        if self._denied_at and time.monotonic() - self._denied_at >= DENIED_PAUSE:
            self._outbox.denied.clear()
        with self._shared.lock:
            batch = self._outbox.batch()
        if batch is None or not (batch := self._signed(batch)):
            return
        lines = self.state.lines(batch.writer, batch.first, batch.last)
        if not lines:
            self._shared.lines.forget()
            return
        batch = batch.replace(last=batch.first + len(lines) - 1)
        if time.monotonic() - self._answered_at >= QUIET:
            # The connection may be lost and nothing says so. Lines that were sent over it would be uncertain for long.
            self._compare(self._call(self._engine.head))
        with self._shared.lock:
            before = self._outbox.sends(batch)
        try:
            place = self._call(lambda: self._engine.append(batch.writer, batch.first, lines))
        except door.Gap.error as gap:
            self._follow(batch, int(gap.details.get("next", 0)))
        except door.Forked.error as forked:
            self._read_on()
            self._leave(batch.writer, forked.message)
        except door.Denied.error as denied:
            self._deny(batch.writer, denied)
        except door.EngineUnreachable.error:  # nothing was sent
            with self._shared.lock:
                self._outbox.has_not_sent(batch, before)
            raise
        else:
            self.appends += 1
            with self._shared.lock:
                self._outbox.was_acknowledged(batch, place)
            self._read()  # our row, and those of others before it

    def _deny(self, writer: str, refusal: BbError) -> None:
        """The engine refuses lines of WRITER, for now."""
        self._note_refusal(refusal)
        self._log(f"{refusal.code}: {refusal.message}")
        with self._shared.lock:
            self._outbox.denied[writer] = refusal
            self._outbox.was_told = True
        self._denied_at = time.monotonic()

    def _follow(self, batch: Batch, expected: int) -> None:
        """The engine expects another line of a writer of ours than the first of BATCH."""
        self._read_on()
        if self._fold.link(batch.writer).n + 1 == expected:
            with self._shared.lock:
                self._outbox.expects(batch.writer, expected)
        else:
            self._leave(batch.writer, f"the engine expects line {expected} of it, not line {batch.first}")

    def _read_on(self) -> None:
        """Read every row that the engine has now."""
        while rows := self._call(lambda: self._engine.read(self._fold.place)):
            self.state.take(rows)
        self._keep(is_last=True)

    def _signed(self, batch: Batch) -> Batch | None:
        """The BATCH as far as it is signed, if each append must be signed. A signature is made aside."""
        store = self.state.store
        if batch.writer != store.writer:
            return batch
        must_sign = aside.must_sign(store)
        if not must_sign:
            if time.monotonic() - self._signed_at >= SIGN_PAUSE and not self.signing.is_busy:
                self._signed_at = time.monotonic()
                self.signing.start(lambda: aside.sign(self._place, self._now))
            return batch
        if (upto := aside.signed_upto(store, batch.writer)) >= batch.first:
            return batch.replace(last=min(batch.last, upto))
        if self.signing.is_busy:
            return None
        failure, self.signing.failure = self.signing.failure, None
        if isinstance(failure, BbError):
            self._deny(batch.writer, failure)
            return None
        self.signing.start(lambda: aside.sign(self._place, self._now))
        return None

    # -- keeping

    def _keep(self, *, is_last: bool = False) -> None:
        """Write lines into the journals and save the results: at once if somebody waits for it, or a little later."""
        if not self._is_begun or not self.state.waits:
            return
        now = time.monotonic()
        outbox = self._outbox
        must_write = is_last or outbox.waits_for_import or now - self._written_at >= PACE
        if must_write:
            with suppress(LedgerBusy.error):  # a sync writes the same journals
                self.state.write_lines(IMPORT_PATIENCE)
            self._written_at = now
        if must_write or outbox.asks:
            self._tell()

    def _tell(self) -> None:
        """Save the results, and tell the outbox."""
        self.state.save(self.heard_at)
        placed = self.state.placed()
        with self._shared.lock:
            self._outbox.has_folded(self._fold.place, placed)
            self._outbox.imported = self.state.imported
        self._must_have_what_it_acknowledged()

    def _import_again(self) -> None:
        """Import the lines of rows that an earlier process has folded and not imported."""
        while (upto := self._fold.place) > self.state.imported:
            rows = self._call(lambda: self._engine.read(self.state.imported))
            known = [row for row in rows if row.place <= upto]
            if not known:
                raise EngineRewound(f"the engine has no row after place {self.state.imported}")
            self.state.write_again(known, known[-1].place)
        self._outbox.imported = self.state.imported

    # -- what happens now and then

    def _tend(self) -> None:
        now = time.monotonic()
        if now - self._beaten_at >= BEAT:
            self._beaten_at = now
            self._beat()
        if now - self._asked_health_at >= HEALTH:
            self._ask_health()
        if now - self._compared_charter_at >= CHARTER:
            self._compared_charter_at = now
            if not self.state.is_current():
                raise _Anew
        self.archiving.tend(self._engine, self._outbox, self._call, now)
        with self._shared.lock:
            if self._outbox.archived != self.archiving.known:
                self._outbox.archived, self._outbox.was_told = self.archiving.known, True
        if self.git.failure is not None:
            self._log(f"git: {aside.text_of(self.git.failure)}")
            self.archiving.has_failed(self.git.failure)
            self.git.failure = None

    def _beat(self) -> None:
        """Say that this machine is alive, and learn who else is."""
        ours = self.state.store.writer or ""
        self._call(lambda: self._engine.beat(machines.own(self.state.path, ours, self._fold.place, self._now())))
        self._compare(self._call(self._engine.head))
        self.machines = self._call(self._engine.alive)
        news = self.others.news(self.machines, self.state.own_writers(), time.monotonic() * 1000)
        if news and self._heard:
            self._heard(news)
        with suppress(BbError):  # without new rows, too, it can be seen how old the results are
            self.state.note(heard_at=self.heard_at)

    def _ask_health(self) -> None:
        self._asked_health_at = time.monotonic()
        self.health = self._call(self._engine.health)
        if not self.health.get("durable", True):
            raise EngineNotDurable(str(self.health.get("why") or "") or None)

    def _wait(self) -> None:
        """Wait for rows, for somebody who asks, or for the next thing to do."""
        now = time.monotonic()
        if self._shared.is_stopping:
            return
        due = [LOOK_AROUND, self._beaten_at + BEAT - now]
        if self.state.waits:
            due.append(self._written_at + PACE - now)
        if self._must_read or (self._outbox.batch() is not None and not self.signing.is_busy and not self._must_sign()):
            return
        if self._may_be_rows:
            self._rest(max(min(*due, self._read_at + PACE - now), 0))
            return
        seconds = max(min(due), 0)
        if self._engine.wait(self._fold.place, seconds, [self._shared.wake_fd]):
            self._may_be_rows = True
        self._shared.drain()

    def _must_sign(self) -> bool:
        return self.signing.failure is None and aside.must_sign(self.state.store)


class _Anew(Exception):
    """The charter names another log, or other lines count: everything begins again."""
