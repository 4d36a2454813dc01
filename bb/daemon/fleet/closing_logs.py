"""Closes logs that a later one has replaced, once their engine can be reached (`ledger/fleet/replaced_logs.py`)."""

from __future__ import annotations

import threading

from bb.daemon.loop.log import Log
from bb.daemon.loop.loop import Loop
from bb.ledger.fleet import replaced_logs
from bb.ledger.git.place import Place

FIRST, LATER = 1.0, 30.0  # seconds until the first attempt, and between two


class ClosingLogs:
    """Tries again and again to close the logs that are noted in the clone at PLACE, in a thread of its own."""

    def __init__(self, place: Place, loop: Loop, log: Log) -> None:
        self._place, self._loop, self._log = place, loop, log
        self._is_working = False
        self._said: dict[str, str] = {}  # what was logged last, by incarnation
        self._timer = loop.later(FIRST, self._look)

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.later(LATER, self._look)
        if not self._is_working and replaced_logs.still_open(self._place.store):
            self._is_working = True
            try:
                threading.Thread(target=self._work, name="bb-closing-logs", daemon=True).start()
            except RuntimeError:  # the system has no thread left now
                self._is_working = False

    def _work(self) -> None:
        try:
            refused = replaced_logs.close_all(self._place.store)
        except Exception as error:
            self._log.bug(f"closing logs of {self._place.title}", error)
            return
        finally:
            self._is_working = False
        for incarnation, refusal in refused.items():
            if self._said.get(incarnation) != refusal.message:
                self._said[incarnation] = refusal.message
                self._log.warning(f"log {incarnation}, which is not used any more, stays open: {refusal.message}")
