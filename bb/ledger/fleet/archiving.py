"""Archiving: the relay that leads publishes rows in git, every few seconds while rows wait.

One connection of all machines holds the engine's lock for it. A relay whose clone does not publish, or whose pushes
fail, lets others lead. If the leader archives nothing for long, another relay archives without the lock: the push lease
keeps two right, and nobody can stop the archive by holding the lock.
"""

from __future__ import annotations

import os
from functools import partial

from bb.kernel.errors import BbError
from bb.ledger.fleet import background_jobs
from bb.ledger.fleet.moments import moment
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.carrier.door import Carrier, Row
    from bb.ledger.fleet.background_jobs import BackgroundThread
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.outbox import Outbox
    from bb.ledger.git.place import Place

EVERY, AT_LEAST_EVERY = 10.0, 60.0  # seconds between two commits; more if they cost much
SHARE = 20  # archiving may take a twentieth of a processor. A part of its cost is for all open reservations
SOON = 0.5  # seconds between two attempts while somebody waits
MOST_ROWS, MOST_BYTES = 4000, 16 << 20  # in one commit
LOOK = 2.0  # seconds between two looks at the branch while somebody waits for the relay that leads
FAILED_PAUSE, LONGEST_PAUSE = 20.0, 600.0  # seconds after a failure
LONG = 1200.0  # seconds between two looks at the branch while others lead, and until rows have waited too long
SPREAD = 1200  # seconds, over which machines look one after the other: a look costs as much as a sync


class Archiving:
    """What the clone of STATE archives. GIT does the work in the background."""

    def __init__(self, state: CloneState, git: BackgroundThread, place: Place, now: Callable[[], int]) -> None:
        self._state, self._git, self._place, self._now = state, git, place, now
        self.leads = False
        self.known = 0  # the place that is archived, as far as known
        self.commits = 0
        self._tried_at = float("-inf")
        self._not_before = float("-inf")
        self._pause = FAILED_PAUSE
        self._seen = -1  # jobs of git that had ended
        self._every = EVERY
        self.failure: str | None = None  # of the last job, in words, with the hint
        self._must_yield = False
        self._failed_at = 0  # the place that was archived at the last failure
        self._long = LONG + os.getpid() % SPREAD
        self._waiting = 0  # rows up to this place were not archived
        self._waiting_since = self._looked_at = moment()
        self._is_abandoned = False  # nobody archives

    def archived(self) -> int:
        """The place up to which the published ledger has the rows, as this clone knows it."""
        known = pins.read(self._state.path)
        tip = known.remote(known.home).tip if known.home else None
        self.known = tip.place if tip and tip.charter.fleet == self._state.terms else 0
        if self.known > self._failed_at:
            self._pause, self.failure = FAILED_PAUSE, None
        return self.known

    def tend(self, carrier: Carrier, outbox: Outbox, call: Callable[[Callable[[], Any]], Any], now: float) -> None:
        """Archive, if it is time and this relay leads."""
        if self._git.ended != self._seen:
            self._seen = self._git.ended
            self._has_ended(now)
        if self._must_yield:
            self._must_yield = False
            call(carrier.yield_lead)
        waits = outbox.waits_for_archive
        if now - self._tried_at < (SOON if waits else self._every) or now < self._not_before or self._git.is_busy:
            return
        self._tried_at = now
        if self._state.imported <= self.archived():
            return
        publishes = pins.read(self._state.path).publishes_to is not None
        self.leads = publishes and bool(call(carrier.lead))
        if self.leads or (publishes and self._is_abandoned):
            rows = self._rows(carrier, call)
            if rows and self._git.start(lambda: background_jobs.archive(self._place, self._now, rows)):
                self.commits += 1
        elif now - self._looked_at >= (LOOK if waits else self._pause if self.failure else self._long):
            self._look(now)

    def _look(self, now: float) -> None:
        """Fetch the branch: others may have archived, or it is not what this clone takes it for."""
        if self._git.start(lambda: background_jobs.look(self._place, self._now)):
            self._looked_at = now

    def _has_ended(self, now: float) -> None:
        """A job has ended, so it is known how far the archive is, and what it cost."""
        self._every = min(max(EVERY, SHARE * self._git.cost), AT_LEAST_EVERY)
        if self.archived() >= self._waiting:
            self._waiting, self._waiting_since, self._is_abandoned = self._state.imported, now, False
        else:
            self._is_abandoned = now - self._waiting_since >= self._long

    def _rows(self, carrier: Carrier, call: Callable[[Callable[[], Any]], Any]) -> list[Row]:
        """The rows to archive next. Only those that are imported: the journals must have their lines."""
        rows: list[Row] = []
        size = 0
        while len(rows) < MOST_ROWS and size < MOST_BYTES:
            read = partial(carrier.read, rows[-1].place if rows else self.known)
            found = [row for row in call(read) if row.place <= self._state.imported]
            if not found:
                break
            rows += found
            size += sum(len(row.octets) for row in found)
        return rows

    def has_failed(self, failure: Exception) -> None:
        """The last job has failed: others may lead for a while."""
        hint = failure.hint if isinstance(failure, BbError) else None
        self.failure = background_jobs.text_of(failure) + (f". {hint}" if hint else "")
        self._must_yield, self._failed_at, self.leads = self.leads, self.known, False
        self._not_before = moment() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
