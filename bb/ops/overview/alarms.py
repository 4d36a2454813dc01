"""Reports new and settled problems."""

from __future__ import annotations

from typing import Any

from bb.kernel.errors import Busy
from bb.ops.desk.desk import Desk
from bb.ops.overview import problems
from bb.ops.overview.changes import Watched


class Alarms:
    """The open problems of one ledger, checked repeatedly."""

    def __init__(self, desk: Desk) -> None:
        desk.store.require_ledger()
        self._desk = desk
        self._watched = Watched(desk)  # created before the first check, so that no change is missed in between
        self.open = self._found()
        self._is_due = False

    def changes(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The problems that are new since the last call, and those that are settled."""
        try:
            self._is_due = self._watched.has_changed() or self._is_due
            if not self._is_due:
                return [], []
            now_open = self._found()
        except Busy:
            return [], []  # another process rebuilds the index; the next call reports the changes
        new, settled = problems.new_and_settled(self.open, now_open)
        self.open, self._is_due = now_open, False
        return new, settled

    def _found(self) -> dict[str, dict[str, Any]]:
        return {problem["id"]: problem for problem in problems.open_problems(self._desk)}
