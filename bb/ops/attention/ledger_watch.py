"""Notices what other processes record, and processes what has become due, for a process that serves harnesses."""

from __future__ import annotations

import time

from bb.kernel.errors import BbError
from bb.ops.attention import serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.ops.attention.serving import Hosting
    from bb.ops.desk.desk import Desk

GLANCE = 0.15  # seconds between two looks at the ledger
RARELY = 15.0  # seconds between two ticks without a change
SHARE = 20  # ticks take at most this fraction (1/20) of the time


class LedgerWatch:
    """The ledger of a desk. NOTE gets refusals, REPORT gets bugs; neither ends the caller."""

    def __init__(self, desk: Desk, note: Callable[[str], None], report: Callable[[Exception], None]) -> None:
        self._desk, self._note, self._report = desk, note, report
        self._store = desk.ledger
        self._ends: list[tuple[str, int]] = []
        self._ticked, self._tick_took = 0.0, 0.0
        self._is_stale = True  # whether facts were recorded since the last tick
        self.tick_at: int | None = None

    def look(self, hostings: Iterable[Hosting]) -> bool:
        """Whether facts were recorded since the last look. What is due is processed first; HOSTINGS are connected."""
        has_changed = self._has_changed()
        self._is_stale |= has_changed
        if self._must_tick():
            self._tick(hostings)
            has_changed |= self._has_changed()
        return has_changed

    def _has_changed(self) -> bool:
        before, self._ends = self._ends, self._store.last_files()
        return self._ends != before

    def _must_tick(self) -> bool:
        since = time.monotonic() - self._ticked
        is_time = self.tick_at is not None and self._desk.now() >= self.tick_at
        is_by_client = self._desk.env.get(serving.CLOCK) == serving.BY_CLIENT
        is_worth_it = is_by_client or since >= SHARE * self._tick_took
        return since >= RARELY or ((is_time or self._is_stale) and is_worth_it)

    def _tick(self, hostings: Iterable[Hosting]) -> None:
        began = time.monotonic()
        self._is_stale = False
        self.tick_at = None
        try:
            for hosting in hostings:
                hosting.beat()
            self.tick_at = serving.process_due(self._desk)
        except BbError as refusal:
            self._note(f"{refusal.code}: {refusal.message}")
        except Exception as error:  # a bug: report it and continue with the deliveries
            self._report(error)
        self._ticked = time.monotonic()
        self._tick_took = self._ticked - began
