"""Archiving: the relay that leads publishes rows in git, every few seconds while rows wait.

One connection of all machines holds the engine's lock for it. A relay whose clone does not publish, or whose pushes
fail, lets others lead.
"""

from __future__ import annotations

from functools import partial

from bb.ledger.fleet import aside
from bb.ledger.fleet.moments import moment
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.ledger.carrier.door import Carrier, Row
    from bb.ledger.fleet.aside import Aside
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.outbox import Outbox
    from bb.ledger.git.place import Place

EVERY = 10.0  # seconds
SOON = 0.5  # seconds between two attempts while somebody waits
MOST_ROWS, MOST_BYTES = 4000, 16 << 20  # in one commit
LOOK = 2.0  # seconds between two looks at the branch while somebody waits for the relay that leads
FAILED_PAUSE, LONGEST_PAUSE = 20.0, 600.0  # seconds after a failure


class Archiving:
    """What the clone of STATE archives. GIT does the work aside."""

    def __init__(self, state: CloneState, git: Aside, place: Place, now: Callable[[], int]) -> None:
        self._state, self._git, self._place, self._now = state, git, place, now
        self.leads = False
        self.known = 0  # the place that is archived, as far as known
        self.commits = 0
        self._tried_at = self._looked_at = float("-inf")
        self._not_before = float("-inf")
        self._pause = FAILED_PAUSE
        self._seen = -1  # jobs of git that had ended

    def archived(self) -> int:
        """The place up to which the published ledger has the rows, as this clone knows it."""
        known = pins.read(self._state.path)
        tip = known.remote(known.home).tip if known.home else None
        self.known = tip.place if tip and tip.charter.fleet == self._state.terms else 0
        return self.known

    def tend(self, carrier: Carrier, outbox: Outbox, call: Callable[[Callable[[], Any]], Any], now: float) -> None:
        """Archive, if it is time and this relay leads."""
        if self._git.ended != self._seen:
            self._seen = self._git.ended
            if self.archived() > 0 and self._git.failure is None:
                self._pause = FAILED_PAUSE
        waits = outbox.waits_for_archive
        if now - self._tried_at < (SOON if waits else EVERY) or now < self._not_before or self._git.is_busy:
            return
        self._tried_at = now
        if self._state.imported <= self.archived():
            return
        known = pins.read(self._state.path)
        self.leads = known.publishes_to is not None and bool(call(carrier.lead))
        if self.leads:
            rows = self._rows(carrier, call)
            if rows and self._git.start(lambda: aside.archive(self._place, self._now, rows)):
                self.commits += 1
        elif waits and now - self._looked_at >= LOOK:
            self._looked_at = now
            self._git.start(lambda: aside.look(self._place, self._now))

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

    def has_failed(self, _failure: Exception) -> None:
        """The last job has failed: others may lead for a while."""
        self._not_before = moment() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
