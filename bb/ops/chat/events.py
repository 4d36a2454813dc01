"""Events of a group as they come, in the order of this clone, from any place on. It needs no daemon."""

from __future__ import annotations

import time
from itertools import islice

from bb.kernel import clock, json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ops.catalogue import NEWER, OLDER, Rows, op
from bb.ops.params import GroupId, Name, Number, Since, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bb.kernel.event import Event
    from bb.kernel.ids import Order
    from bb.ledger.records.course import Passed
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import GroupDesk

GLANCE = 0.03  # seconds between two looks, so that what is recorded is shown within a tenth of one
USUAL = 50  # events that are shown of what there is, unless somebody says from where on or how many
DATA = b',"data":'


class SinceEvent(Text):
    """Only what came after this event."""

    metavar = "EVENT"


class SinceSeq(Number):
    """Only what came after this place, the `seq` of an event."""

    least, most = 0, 10**15 - 1


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
    past: Order | None  # of an event that has no place yet: what comes before it, among those that have none, is known
    since: str | None
    kinds: tuple[bytes, ...]

    def admits(self, passed: Passed) -> bool:
        """Whether a line is of a kind that is wanted, and late enough. Lines are long, heads are short."""
        head = passed.raw.partition(DATA)[0]
        if 0 < passed.seq <= self.after or (self.kinds and not any(kind in head for kind in self.kinds)):
            return False
        return self.since is None or head.partition(b'"ts":"')[2].partition(b'"')[0].decode() > self.since


@op(
    "events",
    reads=True,
    screen="chat",
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
) -> Iterable[dict[str, Any]]:
    """Events of a group, oldest first, each with its place in this clone's order.

    From where on is said by --since-event-id, --since-seq or --since-ts; what stands there is not shown again, so the
    last event that was seen is all a reader has to remember. Otherwise the latest are shown; with --follow, only what
    comes. With --follow and --json that is one event a line instead of one document.

    What other clones have said, and nothing that was recorded here accounts for yet, has no place and comes last; who
    follows accounts for it.
    """
    from bb.ledger.records import course  # noqa: PLC0415  (`bb status` is in the same group, and needs none of it)
    from bb.ops.desk import group_desk  # noqa: PLC0415

    group = group_desk.of(desk, group_id)
    if follow:
        _account(group)
    end = course.length(group.index())
    start = _event(group, since_event_id)
    has_start = start is not None or since_seq is not None or since_ts is not None
    wanted = Wanted(
        max((start.seq or end) if start else 0, since_seq or 0),
        start.order if start and start.seq is None else None,
        clock.text(clock.before(since_ts, desk.now())) if since_ts is not None else None,
        tuple(f'"kind":{json_text.dumps(each)}'.encode() for each in kind or ()),
    )
    if follow:
        return islice(_onwards(group, wanted if has_start else wanted.but(after=end), follow=True), limit)
    if has_start:
        found = _onwards(group, wanted, follow=False)
        return found if limit is None else _first(found, limit)
    most = limit or USUAL
    latest = _latest(group, wanted, most + 1, end)
    return latest if len(latest) <= most else Rows(latest[-most:], OLDER.format(min(Limit.most, most * 4)))


def _first(found: Iterator[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The first rows, which say where the others begin."""
    rows = list(islice(found, limit + 1))
    return rows if len(rows) <= limit else Rows(rows[:limit], NEWER.format(rows[limit - 1]["id"]))


def _event(group: GroupDesk, event_id: str | None) -> Event | None:
    """The event of that id, with its place, if it has one."""
    if event_id is None:
        return None
    found = group.event(event_id)
    if found is None:
        from bb.messaging.chat.acks import EventNotFound  # noqa: PLC0415

        raise EventNotFound(f"there is no event {event_id[:60]!r} in the group", path="$.since_event_id")
    return group.store.numbered([found])[0]


def _latest(group: GroupDesk, wanted: Wanted, count: int, end: int) -> list[dict[str, Any]]:
    """The last so many that are wanted: looked for in the last lines, then in ever more of them."""
    back = count
    while True:
        found = list(_onwards(group, wanted.but(after=max(end - back, 0)), follow=False))
        if len(found) >= count or back >= end:
            return found[-count:]
        back *= 4


def _onwards(group: GroupDesk, wanted: Wanted, *, follow: bool) -> Iterator[dict[str, Any]]:
    """Those behind a place, then those that have none; or with FOLLOW those that come, whoever records them."""
    from bb.ledger.records import course  # noqa: PLC0415

    ends = group.store.ends()  # before the index reads: what comes in between is seen at the next look
    along = course.Course(group.store, course.behind(group.index(), wanted.after))
    yield from _shown(group, along.onwards(), wanted)
    if not follow:
        yield from _shown(group, _without_place(group.store, wanted.past), wanted)
    while follow:
        time.sleep(GLANCE)
        if (now := group.store.ends()) != ends:
            _account(group)
            ends = now
            group.index()
            yield from _shown(group, along.onwards(), wanted)


def _account(group: GroupDesk) -> None:
    """Account for what others have said, as somebody who follows wants it. Where nothing can be written, it waits."""
    from bb.ledger.records import course  # noqa: PLC0415

    group.index()
    if any(map(course.is_news, course.unaccounted(group.store))):
        try:
            group.store.account(group.desk.now())
        except BbError:
            return


def _without_place(store: Store, past: Order | None) -> Iterator[Passed]:
    """What others have said, and no line of ours accounts for yet, in the total order, behind one of them."""
    from bb.ledger.journal import line as lines  # noqa: PLC0415
    from bb.ledger.records import course  # noqa: PLC0415

    for passed in course.unaccounted(store):
        order = (lines.clock_and_kind(passed.raw)[0], passed.writer, passed.n)
        if course.is_news(passed) and (past is None or order > past):
            yield passed


def _shown(group: GroupDesk, lines_passed: Iterable[Passed], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Those that are wanted. What cannot be read, has been taken out, or does not count is passed over; under `warn`,
    an order that does not count is shown, and marked."""
    from bb.ledger.index import counting  # noqa: PLC0415
    from bb.ledger.journal import line as lines  # noqa: PLC0415

    counted = counting.of(group.store.index)
    for passed in lines_passed:
        if wanted.admits(passed) and not lines.is_blank(passed.raw):
            try:
                event = lines.event(passed.raw)
            except lines.Unreadable:
                continue
            shown = group.shown(event.but(seq=passed.seq or None))
            if counted is None:
                yield shown
            elif passed.counts or not counted.leaves_out:
                is_doubted = not passed.counts or counted.is_doubted(event.id, event.kind, event.by)
                yield shown | (counting.UNVERIFIED if is_doubted else {})
