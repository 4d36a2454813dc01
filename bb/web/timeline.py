"""The timeline diagram: a lane for each agent, a bar for each reservation, an arrow for each hand-off.

This module computes positions in units of the picture. The template draws them and lists the same events as text below
the diagram, for readers who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from bb.coordination.holdings import holdings
from bb.coordination.protocol import events as protocol_events
from bb.kernel import clock, ids
from bb.kernel.record import Record
from bb.ledger.git import work_tree
from bb.ledger.views import recent_holdings
from bb.ledger.views.protocol_events import Events
from bb.ops.desk import agent_rows
from bb.ops.desk.desk import Desk

WIDTH, LEFT, RIGHT = 1000, 130, 8  # the picture's width, and its margins left and right of the time axis
TOP, BAR, GAP, AXIS = 8, 14, 10, 22  # heights: top margin, bar, gap between lanes, time axis
MOST_BARS, MOST_MARKS, MOST_LANES = 600, 300, 40
TICKS = 6
MARGIN = 20  # the empty part before the first element is 1/MARGIN of the picture
STEPS = tuple(minutes * clock.MINUTE for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080))


class Bar(Record):
    """A past or present reservation: agent, scope, bead, start, end and how it ended."""

    agent: str
    scope: str
    bead: str | None
    start: int
    end: int
    state: str


class Mark(Record):
    """An event between two agents."""

    kind: str
    at: int
    source: str
    target: str | None
    about: str
    doubt: str = ""  # appended to the person's name if the person did not sign the event


def diagram(desk: Desk, since: int) -> dict[str, Any]:
    """The picture of the time from SINCE to now."""
    now = desk.now()
    index = desk.store.caught_up()
    held = desk.holdings(index, now)
    bars = [
        Bar(
            reservation.agent,
            reservation.scope,
            reservation.bead,
            reservation.made_at,
            _end(reservation, held.seen_at(reservation.agent), now),
            reservation.state,
        )
        for reservation in recent_holdings.recent(index, held, MOST_BARS, agent_rows.latest(desk, index).live)
    ]
    events = Events(index, held, work_tree.root_of(desk.place)).newest_first()
    recent = takewhile(lambda event: clock.parse_or(event["created_at"], 0) >= since, events)
    marks = [_mark(event) for event, _ in zip(recent, range(MOST_MARKS), strict=False)]
    visible_bars = [bar for bar in bars if bar.end >= since]
    return picture(visible_bars, marks, _beginning(visible_bars, marks, since, now), now)


def _beginning(bars: Sequence[Bar], marks: Sequence[Mark], since: int, now: int) -> int:
    """The start of the time axis: shortly before the first element, so that no large part is empty."""
    first = min((*(bar.start for bar in bars), *(mark.at for mark in marks)), default=since)
    return max(since, first - (now - first) // MARGIN - clock.MINUTE)


def _end(reservation: holdings.Reservation, seen_at: int, now: int) -> int:
    if reservation.ended_at is not None:
        return reservation.ended_at
    return min(reservation.expiry(seen_at, now), now)


def _mark(event: dict[str, Any]) -> Mark:
    about = event["payload"].get("subject") or event["scope"] or event["payload"].get("evidence") or ""
    at, doubt = clock.parse_or(event["created_at"], 0), ", unverified" if "signature" in event else ""
    return Mark(event["event_type"], at, event["from_agent"] or "", event["to_agent"], str(about), doubt)


def picture(bars: Sequence[Bar], marks: Sequence[Mark], since: int, now: int) -> dict[str, Any]:
    """The positions of all elements."""
    bars = sorted(bars, key=lambda bar: bar.start)[-MOST_BARS:]
    lanes = _lanes(bars, marks, since, now)
    by_agent = {lane["agent"]: lane for lane in lanes}
    height = TOP + sum(lane["height"] + GAP for lane in lanes)
    return {
        "width": WIDTH,
        "height": height + AXIS,
        "left": LEFT,
        "axis": height,
        "lanes": lanes,
        "ticks": list(_ticks(since, now)),
        "marks": [mark_position for mark in marks if (mark_position := _placed(mark, by_agent, since, now))],
        "left_out": len({bar.agent for bar in bars} | {mark.source for mark in marks}) - len(lanes),
    }


def _lanes(bars: Sequence[Bar], marks: Sequence[Mark], since: int, now: int) -> list[dict[str, Any]]:
    """A lane for each agent, in order of first appearance. Overlapping bars of a lane are in separate rows."""
    first: dict[str, int] = {}
    for agent, at in [*((bar.agent, bar.start) for bar in bars), *_named_in(marks)]:
        first[agent] = min(at, first.get(agent, at))
    lanes, top = [], TOP
    for agent in sorted(first, key=lambda name: first[name])[:MOST_LANES]:
        rows: list[int] = []  # the end of the last bar in each row
        placed = []
        for bar in bars:
            if bar.agent != agent:
                continue
            row = next((number for number, taken in enumerate(rows) if taken <= bar.start), len(rows))
            rows[row : row + 1] = [bar.end]
            x, end = _x(bar.start, since, now), _x(bar.end, since, now)
            place = {"x": x, "y": top + row * (BAR + 2), "width": round(max(end - x, 2), 1)}
            placed.append(bar.as_dict() | place | {"from": clock.text(bar.start), "to": clock.text(bar.end)})
        height = max(len(rows), 1) * (BAR + 2)
        lanes.append({"agent": agent, "top": top, "height": height, "middle": top + height / 2, "bars": placed})
        top += height + GAP
    return lanes


def _named_in(marks: Sequence[Mark]) -> Iterator[tuple[str, int]]:
    for mark in marks:
        for agent in (mark.source, mark.target):
            if agent and ids.is_actor_id(agent):
                yield agent, mark.at


def _placed(mark: Mark, lanes: dict[str, dict[str, Any]], since: int, now: int) -> dict[str, Any] | None:
    """A mark in its agent's lane, with an arrow to the target's lane if there is one."""
    source, target = lanes.get(mark.source), lanes.get(mark.target or "")
    if source is None:
        return None
    label = protocol_events.LABELS.get(mark.kind, mark.kind)
    return {
        "kind": mark.kind.lower(),
        "label": label,
        "about": mark.about,
        "source": mark.source,
        "doubt": mark.doubt,
        "target": mark.target,
        "at": clock.text(mark.at),
        "x": _x(mark.at, since, now),
        "y": source["middle"],
        "to_y": target["middle"] if target and target is not source else None,
    }


def _x(at: int, since: int, now: int) -> float:
    part = (min(max(at, since), now) - since) / max(now - since, 1)
    return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)


def _ticks(since: int, now: int) -> Iterator[dict[str, Any]]:
    """At most TICKS round times for the axis."""
    step = next((step for step in STEPS if (now - since) / step <= TICKS), STEPS[-1])
    at = since - since % step + step
    while at < now:
        text = clock.text(at)
        yield {"x": _x(at, since, now), "text": text[5:10] if step >= clock.HOUR * 24 else text[11:16], "at": text}
        at += step
