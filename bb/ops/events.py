"""Events of a group as they come, in the order of this clone, from any place on. It needs no daemon."""

from __future__ import annotations

import time
from itertools import islice

from bb.kernel import clock, jsontext
from bb.kernel.record import Record
from bb.ops.catalogue import op
from bb.ops.params import GroupId, Name, Number, Since, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.course import Course, Passed
    from bb.ops.desk import Desk
    from bb.ops.groupdesk import GroupDesk

GLANCE = 0.03  # seconds between two looks, so that what is recorded is shown within a tenth of one
USUAL = 50  # events that are shown of what there is, unless somebody says from where on or how many
DATA = b',"data":'


class SinceEvent(Text):
    """Only what came after this event."""

    metavar = "EVENT"


class SinceSeq(Number):
    """Only what came after this place, the `seq` of an event."""

    least, most = 0, 1 << 53


class SinceTime(Since):
    """Only what is later than this: a time like 2026-11-21T03:40:35Z, or an age like 90s, 15m, 2h, 7d."""


class Kind(Name):
    """Only events of this kind, such as chat.message; may be given several times."""

    metavar = "KIND"


class Limit(Number):
    """End after so many events. Without --follow and --since-…: the latest so many; 50 unless given."""


class Wanted(Record):
    """Which events are wanted."""

    after: int
    since: str | None
    kinds: tuple[bytes, ...]

    def admits(self, passed: Passed) -> bool:
        """Whether a line is of a kind that is wanted, and late enough. Lines are long, heads are short."""
        head = passed.raw.partition(DATA)[0]
        if passed.seq <= self.after or (self.kinds and not any(kind in head for kind in self.kinds)):
            return False
        return self.since is None or head.partition(b'"ts":"')[2].partition(b'"')[0].decode() > self.since


@op(
    "events",
    streams=True,
    examples=("bb events", "bb events --follow --kind chat.message", "bb events --since-seq 120 --limit 100 --json"),
    follow="Go on with every event as it is recorded, until interrupted.",
)
def events(
    desk: Desk,
    *,
    since_event_id: SinceEvent | None = None,
    since_seq: SinceSeq | None = None,
    since_ts: SinceTime | None = None,
    kind: list[Kind] | None = None,
    limit: Limit | None = None,
    follow: bool = False,
    group_id: GroupId | None = None,
) -> Iterator[dict[str, Any]]:
    """Events of a group, oldest first, each with its place in this clone's order.

    From where on is said by --since-event-id, --since-seq or --since-ts; what stands there is not shown again, so the
    last event that was seen is all a reader has to remember. Otherwise the latest are shown; with --follow, only what
    comes. With --follow and --json that is one event a line instead of one document.
    """
    from bb.ledger import course  # noqa: PLC0415  (`bb status` is in the same group, and needs none of it)
    from bb.ops import groupdesk  # noqa: PLC0415

    group = groupdesk.of(desk, group_id)
    end = course.length(group.index())
    has_start = since_event_id is not None or since_seq is not None or since_ts is not None
    wanted = Wanted(
        max(_place(group, since_event_id, end), since_seq or 0, 0 if has_start or not follow else end),
        clock.text(clock.before(since_ts, desk.now())) if since_ts is not None else None,
        tuple(f'"kind":{jsontext.dumps(each)}'.encode() for each in kind or ()),
    )
    if not (has_start or follow):
        yield from _latest(group, wanted, limit or USUAL, end)
        return
    yield from islice(_onwards(group, wanted, follow=follow), limit)


def _place(group: GroupDesk, event_id: str | None, end: int) -> int:
    """The place of an event in the course; that of the last one where no line of ours accounts for it yet."""
    if event_id is None:
        return 0
    found = group.event(event_id)
    if found is None:
        from bb.messaging.acks import EventNotFound  # noqa: PLC0415

        raise EventNotFound(f"there is no event {event_id[:60]!r} in the group", path="$.since_event_id")
    return int(group.shown(found).get("seq") or end)


def _latest(group: GroupDesk, wanted: Wanted, count: int, end: int) -> list[dict[str, Any]]:
    """The last so many that are wanted: looked for in the last lines, then in ever more of them."""
    back = count
    while True:
        found = list(_onwards(group, wanted.but(after=max(end - back, 0)), follow=False))
        if len(found) >= count or back >= end:
            return found[-count:]
        back *= 4


def _onwards(group: GroupDesk, wanted: Wanted, *, follow: bool) -> Iterator[dict[str, Any]]:
    """Those behind a place, and with FOLLOW those that come, whoever records them."""
    from bb.ledger import course  # noqa: PLC0415

    ends = group.store.ends()  # before the index reads: what comes in between is seen at the next look
    along = course.Course(group.store, course.behind(group.index(), wanted.after))
    yield from _new(group, along, wanted)
    while follow:
        time.sleep(GLANCE)
        if (now := group.store.ends()) != ends:
            ends = now
            group.index()
            yield from _new(group, along, wanted)


def _new(group: GroupDesk, along: Course, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """What the course has gained. What can no longer be read, or has been taken out, is passed over."""
    from bb.ledger import line as lines  # noqa: PLC0415

    for passed in along.onwards():
        if wanted.admits(passed) and not lines.is_blank(passed.raw):
            try:
                event = lines.event(passed.raw)
            except lines.Unreadable:
                continue
            yield group.shown(event.but(seq=passed.seq))
