"""What a screen shows of a ledger, at one moment: status, problems, and what happened lately."""

from __future__ import annotations

from bb.coordination.facts import Redacted
from bb.kernel import clock
from bb.kernel.record import Record
from bb.ledger.journal import kinds
from bb.ledger.records import walk
from bb.ops.overview import overview, problems, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.kernel.event import Event
    from bb.ops.desk.desk import Desk

LATELY = 300  # happenings; who wants more of them asks `bb timeline`


class Picture(Record):
    """What there is to be shown, as `bb status`, `bb problems` and `bb timeline` answer it."""

    at: int
    status: dict[str, Any]
    problems: list[dict[str, Any]]
    told: list[dict[str, Any]]  # the newest first


class Viewing:
    """One ledger, of which pictures are taken again and again.

    What happened is looked for in the whole ledger once. From then on what comes is put before it, unless it may
    belong elsewhere (it was recorded in another clone) or takes something back: then everything is told anew.
    """

    def __init__(self, desk: Desk, agent: str | None = None, bead: str | None = None, since: int | None = None) -> None:
        desk.store.must_exist()
        self._desk = desk
        self._whose = (agent, bead)
        self._wanted = walk.Filter(kinds=sentences.KINDS, since=clock.text(since) if since is not None else None)
        self._follower = walk.Follower(
            desk.store, walk.Filter(kinds=sentences.KINDS)
        )  # before it is told what there is
        self._told = self._everything()
        self._untold: list[Event] = []  # what has come, and is still there if taking a picture fails

    def picture(self) -> Picture:
        """What there is to be shown now."""
        desk = self._desk
        self._untold += self._follower.new()
        now, status, found = desk.now(), overview.status(desk), problems.found(desk)
        if any(map(self._may_change_the_past, self._untold)):
            self._told = self._everything()
        elif self._untold:
            self._told = [*self._new(self._untold), *self._told][:LATELY]
        self._untold = []
        return Picture(now, status, found, self._told)

    def _everything(self) -> list[dict[str, Any]]:
        return sentences.latest(self._desk.store, self._wanted, *self._whose, LATELY)[::-1]

    def _new(self, events: list[Event]) -> list[dict[str, Any]]:
        """What has come, the newest first; what is known already is not told twice."""
        known = {each["event_id"] for each in self._told}
        teller = sentences.Teller(self._desk.store)
        found = (teller.told(event) for event in events if event.id not in known and self._wanted.admits(event))
        return [told for told in found if told and sentences.is_about(told, *self._whose)][::-1]

    def _may_change_the_past(self, event: Event) -> bool:
        is_ours = event.id.rpartition(".")[0] == self._desk.store.writer
        return not is_ours or isinstance(kinds.fact_of(event.kind, event.data, event.by), Redacted)
