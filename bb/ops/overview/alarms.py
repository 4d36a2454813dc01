"""Problems as they come and go."""

from __future__ import annotations

from bb.kernel.errors import Busy
from bb.ops.overview import problems
from bb.ops.overview.changes import Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


class Alarms:
    """What needs a person in one ledger, looked at again and again."""

    def __init__(self, desk: Desk) -> None:
        desk.store.must_exist()
        self._desk = desk
        self._watched = Watched(desk)  # before the first look, so that no change falls between the two
        self.open = self._found()
        self._is_due = False

    def changes(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Which problems have come since this was asked last, and which are settled."""
        try:
            self._is_due = self._watched.has_changed() or self._is_due
            if not self._is_due:
                return [], []
            found = self._found()
        except Busy:
            return [], []  # somebody makes the index anew; what has changed until then is seen at the next look
        come, settled = problems.compared(self.open, found)
        self.open, self._is_due = found, False
        return come, settled

    def _found(self) -> dict[str, dict[str, Any]]:
        return {each["id"]: each for each in problems.found(self._desk)}
