"""Detects whether anything that a screen or a page shows may have changed, and which problems are new or settled.

State changes in three ways. An event is recorded, and a journal grows. An agent sends a heartbeat, joins the queue,
syncs or changes the tracker's data, and a file or folder changes. Or time passes, and an agent becomes stale or a
reservation expires; that time is known in advance. So a check costs only a few `stat` calls.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from bb.coordination.agents import roster
from bb.kernel import clock
from bb.kernel.errors import Busy
from bb.ledger.local import beads, last_sync, presence, queue
from bb.ledger.views import mail as mails
from bb.ops.desk import agent_rows, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.overview import problems

Mark = tuple[str, int, int]  # path, size and modification time of a file or folder
GLANCE = 0.2  # seconds between two checks: short enough to seem immediate


class Watched:
    """One ledger, checked repeatedly for changes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._marks: list[Mark] = []
        self._due: int | None = None
        self._tracker = beads.files_of(desk.place, desk.env)
        self.has_changed()

    def is_at(self, desk: Desk) -> bool:
        """Whether this watches DESK's ledger."""
        return self._desk is desk

    def has_changed(self) -> bool:
        """Whether something may have changed since the last call."""
        marks, now = self._look(), self._desk.now()
        is_due = self._due is not None and now >= self._due
        if marks == self._marks and not is_due:
            return False
        self._marks = marks
        self._due = min((moment for moment in self._thresholds(now) if moment > now), default=None)
        return True

    def _look(self) -> list[Mark]:
        store = self._desk.store
        grown = [(path, size, 0) for path, size in store.last_files()]
        others = [
            *presence.folders(store.path),
            *(os.path.join(store.path, name) for name in (queue.FOLDER, last_sync.NAME)),
        ]
        return [*grown, *map(_mark, [*others, *self._tracker])]

    def _thresholds(self, now: int) -> Iterator[int]:
        """The times, past and future, at which state changes without an event."""
        desk = self._desk
        if not desk.store.exists:
            return
        index = desk.store.caught_up()
        threshold = desk.stale_after_in(index)
        names = agent_rows.live(desk, index).names  # evicted agents stay evicted
        for agent in roster.in_service(index.states_of(roster.NAME, names).items()):
            last = signs_of_life.presence_of(agent, presence.read(desk.place.store, agent.agent_id, now), now)
            yield from (last.seen_at + threshold, last.seen_at + 2 * threshold, last.ended_at)
        shown, _ = desk.holdings(index, now).latest(agent_rows.MOST, names)
        yield from (reservation.expires_at for reservation in shown)
        for message in mails.unsettled(index):  # an old unaccepted message becomes a problem
            yield clock.parse_or(message["created_at"], now) + 2 * threshold


def _mark(path: str) -> Mark:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, status.st_size, status.st_mtime_ns


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
