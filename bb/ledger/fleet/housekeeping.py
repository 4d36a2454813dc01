"""What a relay does now and then: signs of life, the engine's settings, the charter, and the archive in git."""

from __future__ import annotations

import time
from contextlib import suppress

from bb.kernel.errors import BbError
from bb.ledger.carrier.door import BEAT, FleetEnded
from bb.ledger.fleet import aside, machines
from bb.ledger.fleet.archiving import Archiving
from bb.ledger.fleet.aside import Aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bb.ledger.carrier.door import Machine
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.connection import Connection
    from bb.ledger.fleet.shared import Shared
    from bb.ledger.git.place import Place

CHARTER = 2.0  # seconds between two looks at the charter
LOOK_AGAIN = 10.0  # seconds between two looks at the git remote, while the engine is wrong
HEALTH = 60.0  # seconds between two questions about the engine's settings
NEVER = float("-inf")


class Anew(Exception):
    """The charter names another log, or other lines count: everything begins again."""


class Housekeeping:
    """The regular work of the clone at PLACE. HEARD is told of agents of other machines that gave a sign of life."""

    def __init__(
        self,
        place: Place,
        now: Callable[[], int],
        state: CloneState,
        shared: Shared,
        connection: Connection,
        log: Callable[[str], None],
        heard: Callable[[Mapping[str, int]], None] | None,
    ) -> None:
        self._place, self._now, self._state, self._log, self._heard = place, now, state, log, heard
        self._shared, self._outbox, self._connection = shared, shared.outbox, connection
        self.git = Aside("bb-relay-git", shared.wake)
        self.archiving = Archiving(state, self.git, place, now)
        self.machines: list[Machine] = []
        self._others = machines.Others()
        self._beaten_at = self._looked_at = self._compared_charter_at = NEVER

    def next_beat(self) -> float:
        """The time at which this machine must say again that it is alive."""
        return self._beaten_at + BEAT

    def tend(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if now >= self.next_beat():
            self._beaten_at = now
            self._beat()
        if now - self._connection.asked_health_at >= HEALTH:
            self._connection.ask_health()
        if now - self._compared_charter_at >= CHARTER:
            self._compared_charter_at = now
            if not self._state.is_current():
                raise Anew
        self._archive(now)

    def _beat(self) -> None:
        """Say that this machine is alive, and learn who else is."""
        connection, state = self._connection, self._state
        ours = machines.own(state.path, state.store.writer or "", state.must_fold().place, self._now())
        connection.call(lambda: connection.engine.beat(ours))
        connection.compare_again()
        self._leave_closed_log()
        self.machines = connection.call(connection.engine.alive)
        news = self._others.news(self.machines, state.own_writers(), time.monotonic() * 1000)
        if news and self._heard:
            self._heard(news)
        with suppress(BbError):  # without new rows, too, it can be seen how old the results are
            state.note(heard_at=connection.heard_at)

    def _leave_closed_log(self) -> None:
        """Refuse a log that is closed and read to its end. Then the charter is looked for, though nobody sends lines."""
        head = self._connection.head
        if head and head.is_closed and head.place <= self._state.must_fold().place:
            raise FleetEnded()

    def _archive(self, now: float) -> None:
        self.archiving.tend(self._connection.engine, self._outbox, self._connection.call, now)
        with self._shared.lock:
            if self._outbox.archived != self.archiving.known:
                self._outbox.archived, self._outbox.was_told = self.archiving.known, True
        if self.git.failure is not None:
            self._log(f"git: {aside.text_of(self.git.failure)}")
            self.archiving.has_failed(self.git.failure)
            self.git.failure = None

    def look_for_charter(self) -> None:
        """Fetch the published ledger, if that was not done just now: it may have another charter."""
        if time.monotonic() - self._looked_at >= LOOK_AGAIN and not self.git.is_busy:
            self._looked_at = time.monotonic()
            self.git.start(lambda: aside.look(self._place, self._now))
