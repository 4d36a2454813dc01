"""Places in the line that need no living process: `bb agent reserve --queue`.

The request is granted at once if it can be. Otherwise one record gives the agent a place, and the answer says so. The
command that frees the way grants the place (`ops/desk/line_grants.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bb.coordination.facts import LeftLine
from bb.coordination.holdings import places, scopes
from bb.coordination.holdings.held import Held
from bb.coordination.holdings.places import Place
from bb.coordination.holdings.reservations import InvalidArgs, Wanted
from bb.kernel import clock, ids
from bb.kernel.event import Event
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock
from bb.ledger.git import work_tree
from bb.ledger.index.index import Index
from bb.ledger.local import queue
from bb.ledger.records.changes import LedgerWatch
from bb.ledger.views import holdings_queue as lines
from bb.ledger.views.holdings import Holdings
from bb.ops.desk import line_grants, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.holdings import recording, waiting

LONGEST = 24 * 60  # minutes
DEFAULT = 120  # minutes
FREE, YOURS, AWAITED, HELD, FROZEN = "free", "yours", "awaited", "held", "frozen"


def deadline(minutes: int | None, *, is_queued: bool) -> int | None:
    """The duration of a place in MINUTES; None if the caller names none."""
    if minutes is None:
        return None
    if not is_queued:
        raise InvalidArgs("--deadline needs --queue", hint="add --queue", path="$.deadline")
    if not 1 <= minutes <= LONGEST:
        raise InvalidArgs(f"--deadline is {minutes}; it must be 1 to {LONGEST} minutes", path="$.deadline")
    return minutes


def reserve_with_place(
    desk: Desk,
    wanted: Wanted,
    minutes: int | None,
    seconds: int | None,
    key: str | None = None,
    allow_secret: str | None = None,
) -> dict[str, Any]:
    """Reserve WANTED, or take a place in the line that lasts MINUTES, and wait there for SECONDS."""
    recorded = _record(desk, wanted, minutes, key, allow_secret)
    place = _place_of(desk, wanted, recorded)
    if place and place.state == places.WAITING and seconds:
        return _wait(desk, wanted, place, seconds)
    if place is None:
        return recording.report(desk, wanted, recorded)
    return _answer(desk, wanted, place)


def _record(
    desk: Desk, wanted: Wanted, minutes: int | None, key: str | None, allow_secret: str | None
) -> Sequence[Event]:
    """Record the reservation, or the place. The lock of the queue orders places and waiting processes."""

    def decide(index: Index, held: Holdings) -> list[Any]:
        before = _same(index, wanted)
        try:
            facts = recording.decided(desk, wanted, index, held, before.number if before else None)
        except waiting.in_the_way():
            return _joined(desk, wanted, index, held, before, minutes)
        return [*facts, *recording.told_of(facts)]

    folder = os.path.join(desk.place.store, queue.FOLDER)
    disk.make_folder(folder)
    disk.make_empty(lock := os.path.join(folder, queue.LOCK))
    with Lock(lock):
        return signs_of_life.act(desk, wanted.agent, decide, key=key, allow_secret=allow_secret)


def _same(index: Index, wanted: Wanted) -> Place | None:
    """The agent's place for the same scopes."""
    names = {scope.text for scope in wanted.scopes}
    return next((place for place in lines.own_places(index, wanted.agent) if set(place.names) == names), None)


def _joined(
    desk: Desk, wanted: Wanted, index: Index, held: Holdings, before: Place | None, minutes: int | None
) -> list[Any]:
    """The facts of a new place. A place for the same scopes is kept: a changed request takes its number over."""
    if before and before.until > held.now:
        if minutes is None and before.wanted() == wanted.replace(scopes=before.scopes, is_exclusive=False):
            return []
        left, number = [LeftLine(before.agent, before.id, places.REPLACED)], before.number
    else:
        left, number = [], 1 + max(queue.last_number(desk.place.store), *_numbers(index))
    line = [one for one in lines.in_order(index, held, desk.place.store) if one.place is None or one.place != before]
    queued = places.queued(wanted, held.now + (minutes or DEFAULT) * clock.MINUTE, number)
    if granted := line_grants.at_once(index, held, queued, [one.waiter for one in line if one.skipped is None]):
        return [*left, *granted]
    waiting.refuse_circle(waiting.waiter_of(wanted, number), line, held)
    return [*left, queued]


def _numbers(index: Index) -> list[int]:
    return [0, *(place.number for place in lines.own_places(index))]


def _place_of(desk: Desk, wanted: Wanted, recorded: Sequence[Event]) -> Place | None:
    """The place that was RECORDED, or the kept one; None if the request was granted at once."""
    index = desk.store.index
    if recording.made(recorded):
        return None
    made = [event.id for event in recorded if event.kind == recording.QUEUED]
    if made:
        return places.place(made[-1], index.state(places.NAME, made[-1]))
    return _same(index, wanted)


def _wait(desk: Desk, wanted: Wanted, place: Place, seconds: int) -> dict[str, Any]:
    """Wait in PLACE for up to SECONDS. It is kept when the time is up."""
    watch = LedgerWatch(desk.store, os.path.join(desk.place.store, queue.FOLDER))
    if desk.show_progress:
        desk.show_progress(f"In line for up to {seconds} s; the place stays until {clock.text(place.until)}")
    current: Place = place
    for _ in watch.changes(
        seconds,
        every_minute=lambda: signs_of_life.record_sign_of_life(desk, wanted.agent),
        is_over=desk.is_client_gone,
        at_least_every=waiting.LOOK_AGAIN,
    ):
        current = _looked_at(desk, place)
        if current.state != places.WAITING:
            break
    return _answer(desk, wanted, current) | {"waited_seconds": watch.waited}


def _looked_at(desk: Desk, place: Place) -> Place:
    """PLACE now, after everything that time alone has made due is recorded."""
    index = desk.store.caught_up()
    held = desk.holdings(index, desk.now())
    if line_grants.due(index, held, desk.place.store, place.agent, [], is_in_fleet=desk.is_in_fleet):
        signs_of_life.act(desk, place.agent, lambda _, __: [])
    return places.place(place.id, desk.store.caught_up().state(places.NAME, place.id)) or place


def _answer(desk: Desk, wanted: Wanted, place: Place) -> dict[str, Any]:
    """The answer about PLACE: the reservations if it was granted, else where it stands."""
    index = desk.store.caught_up()
    held = desk.holdings(index, desk.now())
    granted = [
        one.reservation.id
        for one in held.reservations_of_agent(place.agent)
        if place.state == places.GRANTED and one.reservation.scope in place.names
    ]
    base = recording.answer(desk, granted) | {"taken_over": [], "incursions": [], "not_there": _not_there(desk, wanted)}
    base |= recording.waiting_for(desk, place.agent)
    if place.state == places.GRANTED:
        return base
    return base | {"state": "queued" if place.state == places.WAITING else place.state, "queued": _row(desk, place)}


def _row(desk: Desk, place: Place) -> dict[str, Any]:
    """Where PLACE stands: its position, and for each wanted scope what is in the way."""
    index = desk.store.index
    held = desk.holdings(index, desk.now())
    line = lines.in_order(index, held, desk.place.store)
    mine = next(
        (one for one in line if one.place and one.place.id == place.id), lines.InLine(place.waiter(), place, None)
    )
    return lines.row(mine, line, held) | {
        "seconds_left": _seconds(place.until - held.now),
        "wanted": [_in_the_way_of(scope, place, held, line) for scope in place.scopes],
    }


def _in_the_way_of(scope: scopes.Scope, place: Place, held: Holdings, line: Sequence[lines.InLine]) -> dict[str, Any]:
    """One wanted scope: free, or who holds a part of it or is ahead in the line."""
    met = held.overlaps([scope])
    others = [
        one.held
        for one in met
        if one.held.reservation.agent != place.agent and not (one.held.reservation.coexists and place.coexists)
    ]
    before = lines.ahead(place.waiter().replace(scopes=(scope,)), line, ignore_case=held.ignore_case)
    state = HELD if others else AWAITED if before else YOURS if met else FREE
    if any(one.reservation.agent == ids.PERSON for one in others):
        state = FROZEN
    return {
        "scope": scope.text,
        "state": state,
        "holders": [_holder(one, held.now) for one in others],
        "awaited_by": [waiter.agent for waiter in before],
    }


def _holder(one: Held, now: int) -> dict[str, Any]:
    return {
        "agent_id": one.reservation.agent,
        "scope": one.reservation.scope,
        "liveness": one.liveness,
        "expires_at": one.ends_at,
        "seconds_left": _seconds(one.expires_at - now) if one.ends_at else None,
        "frozen": one.reservation.is_freeze,
    }


def _seconds(milliseconds: int) -> int:
    """MILLISECONDS as seconds, rounded up: a place of two hours has two hours left when it is shown."""
    return -(-max(milliseconds, 0) // clock.SECOND)


def _not_there(desk: Desk, wanted: Wanted) -> list[str]:
    return [scope.text for scope in wanted.scopes if not work_tree.exists_in_work_tree(desk.place, scope)]
