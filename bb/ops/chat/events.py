"""Stream a group's events in this clone's order, from any position. No daemon is needed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from bb.kernel import clock, json_text
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.kernel.ids import Order
from bb.kernel.record import Record
from bb.ledger.records.events import numbered
from bb.ledger.records.own_order import Passed
from bb.ledger.records.store import Store
from bb.ops.agent_params import Name, Since
from bb.ops.catalogue import NEWER, TruncatedRows, older_events, op
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import GroupId
from bb.ops.params import Number, Text

POLL_SECONDS = 0.03  # with --follow, an event is shown within 0.1 seconds of being recorded
USUAL = 50  # events shown if the request has neither a start nor a limit
DATA = b',"data":'


class SinceSeq(Number):
    """Only events after this sequence number (`seq`)."""

    least, most = 0, 10**15 - 1


class Wanted(Record):
    """The filter for events."""

    after: int
    past: Order | None  # set if the start event has no sequence number: skip unnumbered events up to this one
    since: str | None
    kinds: tuple[bytes, ...]

    def admits(self, passed: Passed) -> bool:
        """Whether a line passes the filter. Only the head before `data` is searched, because lines can be long."""
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
)
def events(
    desk: Desk,
    *,
    since_event_id: Text | None = None,
    since_seq: SinceSeq | None = None,
    since_ts: Since | None = None,
    kind: list[Name] | None = None,
    limit: Number | None = None,
    follow: bool = False,
    group_id: GroupId | None = None,
) -> Iterable[dict[str, Any]]:
    """Show the events of a group, oldest first, each with its sequence number in this clone.

    --since-event-id, --since-seq or --since-ts sets the start. The start event itself is not shown, so a reader can
    continue from the last event it has seen. Without a start, the latest events are shown; with --follow, only new
    ones. With --follow and --json, the output is one event per line instead of one document.

    An event from another clone gets its sequence number when this clone next records an event. Until then it has none
    and is shown last. --follow assigns these numbers itself.

    Parameters:
        since_event_id (EVENT): Only events after this one.
        since_ts: Only events later than this: a time like 2026-11-21T03:40:35Z, or an age like 90s, 15m, 2h, 7d.
        kind (KIND): Only events of this kind, such as chat.message. May be repeated.
        limit: Stop after this many events. Without --follow and --since-…: the latest N events; 50 unless given.
        follow: Keep showing events as they are recorded, until interrupted.
    """
    from bb.ledger.records import own_order  # noqa: PLC0415  (`bb status` is in the same command group and does not need it)
    from bb.ops.desk import group_desk  # noqa: PLC0415

    group = group_desk.open_group(desk, group_id)
    if follow:
        _account(group)
    end = own_order.length(group.index())
    start = _event(group, since_event_id)
    has_start = start is not None or since_seq is not None or since_ts is not None
    event_filter = Wanted(
        max((start.seq or end) if start else 0, since_seq or 0),
        start.order if start and start.seq is None else None,
        clock.text(clock.before(since_ts, desk.now())) if since_ts is not None else None,
        tuple(f'"kind":{json_text.dumps(name)}'.encode() for name in kind or ()),
    )
    if follow:
        return islice(
            _onwards(group, event_filter if has_start else event_filter.replace(after=end), follow=True), limit
        )
    if has_start:
        rows = _onwards(group, event_filter, follow=False)
        return rows if limit is None else _first(rows, limit)
    most = limit or USUAL
    latest = _latest(group, event_filter, most + 1, end)
    return latest if len(latest) <= most else TruncatedRows(latest[-most:], older_events(min(Number.most, most * 4)))


def _first(events: Iterator[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The first LIMIT rows, with a hint for reading the rest."""
    rows = list(islice(events, limit + 1))
    return rows if len(rows) <= limit else TruncatedRows(rows[:limit], NEWER.format(rows[limit - 1]["id"]))


def _event(group: GroupDesk, event_id: str | None) -> Event | None:
    """Find an event by its id, with its sequence number if it has one."""
    if event_id is None:
        return None
    event = group.event(event_id)
    if event is None:
        from bb.messaging.chat.acks import EventNotFound  # noqa: PLC0415

        raise EventNotFound(f"the group has no event {event_id[:60]!r}", path="$.since_event_id")
    return numbered(group.store, [event])[0]


def _latest(group: GroupDesk, wanted: Wanted, count: int, end: int) -> list[dict[str, Any]]:
    """The last COUNT events that pass the filter, searched for in ever more of the last lines."""
    back = count
    while True:
        rows = list(_onwards(group, wanted.replace(after=max(end - back, 0)), follow=False))
        if len(rows) >= count or back >= end:
            return rows[-count:]
        back *= 4


def _onwards(group: GroupDesk, wanted: Wanted, *, follow: bool) -> Iterator[dict[str, Any]]:
    """Numbered events after the start, then the unnumbered ones. With FOLLOW, instead of the latter: all new events."""
    from bb.ledger.records import own_order  # noqa: PLC0415

    ends = group.store.last_files()  # taken before the index reads: the next poll then finds lines written in between
    along = own_order.Course(group.store, own_order.spot_before(group.index(), wanted.after))
    yield from _shown(group, along.new_lines(), wanted)
    if not follow:
        yield from _shown(group, _without_place(group.store, wanted.past), wanted)
    while follow:
        time.sleep(POLL_SECONDS)
        if (now := group.store.last_files()) != ends:
            _account(group)
            ends = now
            group.index()
            yield from _shown(group, along.new_lines(), wanted)


def _account(group: GroupDesk) -> None:
    """Number the events of other clones. If the ledger cannot be written, leave them unnumbered for now."""
    from bb.ledger.records import own_order  # noqa: PLC0415

    group.index()
    if any(map(own_order.is_news, own_order.unmerged_lines(group.store))):
        try:
            group.store.record_marker(group.desk.now())
        except BbError:
            return


def _without_place(store: Store, past: Order | None) -> Iterator[Passed]:
    """Events of other clones that have no sequence number here yet, in total order, after PAST."""
    from bb.ledger.journal import line as lines  # noqa: PLC0415
    from bb.ledger.records import own_order  # noqa: PLC0415

    for passed in own_order.unmerged_lines(store):
        order = (lines.clock_and_kind(passed.raw)[0], passed.writer, passed.n)
        if own_order.is_news(passed) and (past is None or order > past):
            yield passed


def _shown(group: GroupDesk, lines_passed: Iterable[Passed], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """The events that pass the filter. Unreadable, redacted and uncounted lines are skipped; under `warn`, an uncounted
    order is shown and marked."""
    from bb.ledger.index import counting  # noqa: PLC0415
    from bb.ledger.journal import line as lines  # noqa: PLC0415

    counted = counting.for_index(group.store.index)
    for passed in lines_passed:
        if wanted.admits(passed) and not lines.is_blank(passed.raw):
            try:
                event = lines.event(passed.raw)
            except lines.Unreadable:
                continue
            row = group.shown(event.replace(seq=passed.seq or None))
            if counted is None:
                yield row
            elif passed.counts or not counted.leaves_out:
                is_doubted = not passed.counts or counted.is_doubted(event.id, event.kind, event.by)
                yield row | (counting.UNVERIFIED if is_doubted else {})
