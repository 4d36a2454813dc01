"""Whether anything that a screen or a page shows may have changed: for whoever shows it for as long as somebody looks.

Things change in three ways. Something is recorded, and a journal grows. Somebody gives a sign of life, stands in line,
syncs, or works on the tracker's file, and that file or its folder changes. Or nothing happens for so long that
somebody counts as stale, or a reservation is over, and that moment can be told beforehand. So looking costs a few
`stat`s, and nothing need be recorded for a screen to be right.
"""

from __future__ import annotations

import os

from bb.coordination.agents import roster
from bb.kernel import clock
from bb.ledger.local import beads, last_sync, presence, queue
from bb.ledger.views import mail as mails
from bb.ops.desk import signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.ops.desk.desk import Desk

    Mark = tuple[str, int, int]  # a file or a folder, how large it is, and when it changed

GLANCE = 0.2  # seconds between two looks: often enough to seem at once


class Watched:
    """One ledger, looked at again and again."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._marks: list[Mark] = []
        self._due: int | None = None
        self._tracker = beads.file_of(desk.place, desk.env)
        self.has_changed()

    def is_at(self, desk: Desk) -> bool:
        """Whether it is that desk's ledger which is looked at."""
        return self._desk is desk

    def has_changed(self) -> bool:
        """Whether something may have changed since this was asked last."""
        marks, now = self._look(), self._desk.now()
        is_due = self._due is not None and now >= self._due
        if marks == self._marks and not is_due:
            return False
        self._marks = marks
        self._due = min((moment for moment in self._thresholds(now) if moment > now), default=None)
        return True

    def _look(self) -> list[Mark]:
        store = self._desk.store
        grown = [(path, size, 0) for path, size in store.ends()]
        others = [
            presence.folder(store.path),
            *(os.path.join(store.path, name) for name in (queue.FOLDER, last_sync.NAME)),
        ]
        return [*grown, *map(_mark, others), *([_mark(self._tracker)] if self._tracker else [])]

    def _thresholds(self, now: int) -> Iterator[int]:
        """The moments at which something changes by itself, those that have passed among them."""
        desk = self._desk
        if not desk.store.exists:
            return
        index = desk.store.caught_up()
        threshold = desk.stale_after_in(index)
        beats = presence.everybody(desk.place.store, now)
        for agent in roster.in_service(index.states(roster.NAME)):
            seen_at = signs_of_life.presence_of(agent, beats.get(agent.agent_id), now).seen_at
            yield from (seen_at + threshold, seen_at + 2 * threshold)
        for each in desk.holdings(index, now).everything():
            yield each.expires_at
        for message in mails.unsettled(index):  # what waits for long becomes a problem
            yield clock.parse_or(message["created_at"], now) + 2 * threshold


def _mark(path: str) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_size, found.st_mtime_ns
