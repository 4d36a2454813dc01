"""The connection of a relay to the engine, and whether the engine's log is the one that this clone has read.

The log is compared at each connect, with each beat, and before an answer says that everything was read. If it is
another one (ANOTHER_ENGINE), or has less or something else than it has told of (ENGINE_REWOUND), verdicts stop.
"""

from __future__ import annotations

import time
from contextlib import suppress

from bb.ledger.carrier import door
from bb.ledger.carrier.door import AnotherEngine, EngineNotDurable, EngineRewound
from bb.ledger.fleet.freshness import Freshness
from bb.ledger.fleet.moments import moment, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from bb.ledger.carrier.door import Carrier, Head
    from bb.ledger.fleet.clone_state import CloneState
    from bb.ledger.fleet.shared import Shared

    T = TypeVar("T")

QUIET = 1.0  # seconds without an answer
NEVER = float("-inf")


class Connection:
    """The connection of the clone of STATE. OPEN_CARRIER makes it."""

    def __init__(self, state: CloneState, shared: Shared, open_carrier: Callable[[], Carrier]) -> None:
        self._state, self._outbox, self._open_carrier = state, shared.outbox, open_carrier
        self.carrier: Carrier | None = None
        self.head: Head | None = None  # as it was asked for last
        self.health: dict[str, Any] = {}
        self.skew: int | None = None  # milliseconds that the engine's clock is ahead of this machine's
        self.connected_at = 0  # this machine's time in milliseconds
        self.heard_at = 0
        self.freshness = Freshness()
        self._head_at = NEVER  # when it was asked for
        self.connects = 0
        self.tried_at = self.asked_health_at = self._answered_at = NEVER

    def open(self) -> Head:
        """Connect, and compare the engine's log with what this clone has read of it. Returns its head."""
        self.tried_at = moment()
        if self.carrier is None:
            self.carrier = self._open_carrier()
        head = self.compare()
        self._compare_row(head)
        self.ask_health()
        self.head, self.skew = head, head.now - time.time_ns() // 1_000_000
        self.connected_at = time.time_ns() // 1_000_000
        self.connects += 1
        return head

    def close(self) -> None:
        carrier, self.carrier = self.carrier, None
        if carrier is not None:
            with suppress(Exception):
                carrier.close()

    @property
    def engine(self) -> Carrier:
        if self.carrier is None:
            raise door.EngineUnreachable()
        return self.carrier

    def call(self, question: Callable[[], T]) -> T:
        """Ask the engine. The answering thread sees since when it has not answered."""
        self._outbox.silent_since = moment()
        try:
            found = question()
        finally:
            self._outbox.silent_since = None
        self.heard_at, self._answered_at = time.time_ns() // 1_000_000, moment()
        return found

    def must_be_there(self) -> None:
        """Ask an engine that was quiet whether it is there, before it is sent lines. The connection may be lost and
        nothing says so; lines that were sent over it would be uncertain for long."""
        if moment() - self._answered_at >= QUIET:
            self.compare()

    def time_of_engine(self) -> int:
        """The time by the engine's clock, as far as this machine knows, in milliseconds."""
        return self.head.now + round((moment() - self._head_at) * 1000) if self.head else 0

    # -- whether it is the right log

    def compare(self) -> Head:
        """The head that the engine has now. Refuses an engine with another log, or with less than it has told of."""
        asked_at = moment()
        head = self.head = self.call(self.engine.head)
        self._head_at = asked_at
        self._refuse_wrong(head)
        self.freshness.ended_at(head.place, asked_at, time_of(asked_at))
        return head

    def _refuse_wrong(self, head: Head) -> None:
        terms, fold = self._state.terms, self._state.must_fold()
        if terms is None or head.incarnation != terms.incarnation:
            name = terms.incarnation if terms else "none"
            raise AnotherEngine(f"the fleet uses the log {name}, and the engine has {head.incarnation}")
        self.must_have_what_it_acknowledged()
        known = max(fold.place, self._outbox.acknowledged_place)
        if head.place < known:
            raise EngineRewound(f"the engine has rows up to place {head.place}, and it has told of place {known}")
        if head.place == fold.place and head.digest != fold.digest:
            raise EngineRewound(f"the engine has another row at place {fold.place} than this clone has read")

    def _compare_row(self, head: Head) -> None:
        """Refuse an engine whose row at the place that this clone has read last is another one."""
        terms, fold = self._state.terms, self._state.must_fold()
        if terms is None or head.place == fold.place or fold.place < terms.first:
            return
        try:
            rows = self.call(lambda: self.engine.read(fold.place - 1, 1))
        except door.Pruned.error:
            return  # the next row will show it
        if not rows or rows[0].digest != fold.digest:
            raise EngineRewound(f"the engine has another row at place {fold.place} than this clone has read")

    def must_have_what_it_acknowledged(self) -> None:
        """Refuse an engine that has lost a line of ours which nobody has read, and has other rows in its place."""
        writer = self._outbox.forgotten
        if writer and writer not in self._state.broken:
            raise EngineRewound(f"the engine acknowledged lines of writer {writer} and does not have them")

    def ask_health(self) -> None:
        """Refuse an engine that may lose what it acknowledges."""
        self.asked_health_at = moment()
        self.health = self.call(self.engine.health)
        if not self.health.get("durable", True):
            raise EngineNotDurable(str(self.health.get("why") or "") or None)
