"""The data of a live screen: status, problems and recent events."""

from __future__ import annotations

from typing import Any

from bb.coordination.facts import Redacted
from bb.kernel import clock
from bb.kernel.event import Event
from bb.kernel.record import Record
from bb.ledger.journal import kinds
from bb.ledger.records import event_filters
from bb.ops.desk.desk import Desk
from bb.ops.overview import overview, problems, sentences

LATELY = 300  # most events; `bb timeline` shows more


class Picture(Record):
    """The data of one screen, as `bb status`, `bb problems` and `bb timeline` return it."""

    at: int
    status: dict[str, Any]
    problems: list[dict[str, Any]]
    recent: list[dict[str, Any]]  # recent events, newest first


class ScreenData:
    """Repeated pictures of one ledger.

    The whole ledger is searched once. After that, new events are put in front. If a new event may belong further back
    (it was recorded in another clone) or is a redaction, the ledger is searched again.
    """

    def __init__(self, desk: Desk, agent: str | None = None, bead: str | None = None, since: int | None = None) -> None:
        desk.store.require_ledger()
        self._desk = desk
        self._whose = (agent, bead)
        self._wanted = event_filters.Filter(
            kinds=sentences.KINDS, since=clock.text(since) if since is not None else None
        )
        # Created before the search, so that no event is missed in between.
        self._follower = event_filters.Follower(desk.store, event_filters.Filter(kinds=sentences.KINDS))
        self._rows = self._everything()
        self._unreported: list[Event] = []  # new events; kept if taking a picture fails

    def picture(self) -> Picture:
        """The current picture."""
        desk = self._desk
        self._unreported += self._follower.new()
        is_narrowed = self._whose != (None, None)  # to an agent or bead that may not be among the latest
        now, status, open_problems = desk.now(), overview.status(desk, all_=is_narrowed), problems.open_problems(desk)
        if any(map(self._may_change_the_past, self._unreported)):
            self._rows = self._everything()
        elif self._unreported:
            self._rows = [*self._new(self._unreported), *self._rows][:LATELY]
        self._unreported = []
        return Picture(now, status, open_problems, self._rows)

    def _everything(self) -> list[dict[str, Any]]:
        return sentences.latest(self._desk.store, self._wanted, *self._whose, LATELY)[::-1]

    def _new(self, events: list[Event]) -> list[dict[str, Any]]:
        """The rows of EVENTS that are not shown yet, newest first."""
        row_ids = {row["event_id"] for row in self._rows}
        teller = sentences.SentenceWriter(self._desk.store)
        rows = (teller.row(event) for event in events if event.id not in row_ids and self._wanted.admits(event))
        return [row for row in rows if row and sentences.is_about(row, *self._whose)][::-1]

    def _may_change_the_past(self, event: Event) -> bool:
        is_ours = event.id.rpartition(".")[0] == self._desk.store.writer
        return not is_ours or isinstance(kinds.fact_of(event.kind, event.data, event.by), Redacted)
