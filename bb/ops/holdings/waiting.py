"""The line for reservations: processes that wait (`--wait`), and who may not be overtaken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bb.coordination.holdings import queue as holdings_queue
from bb.coordination.holdings.held import Overlap
from bb.coordination.holdings.queue import ReservationAwaited, WaitDeadlock, Waiter
from bb.coordination.holdings.reservations import (
    ReservationConflict,
    ReservationStaleFound,
    Wanted,
    queue_command,
)
from bb.kernel.errors import BbError, Busy
from bb.kernel.escaping import name
from bb.ledger.index.index import Index
from bb.ledger.local import queue
from bb.ledger.records.changes import LedgerWatch
from bb.ledger.views import holdings_queue as lines
from bb.ledger.views.holdings import Holdings
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

Attempt = Callable[[int | None], dict[str, Any]]  # takes the request's place in the queue

LAST = 1 << 62  # behind every place in the queue
LOOK_AGAIN = 1.0  # seconds; no file changes when a reservation expires or an agent becomes stale


def reserve_in_queue(desk: Desk, wanted: Wanted, seconds: int, attempt: Attempt) -> dict[str, Any]:
    """The answer of ATTEMPT once the scopes are free. When the time is up, its last refusal is raised."""
    try:
        return attempt(None)
    except in_the_way() as refused:
        refusal: BbError = refused
    signs_of_life.record_sign_of_life(desk, wanted.agent)

    def may_join(me: Waiter) -> int:
        index = desk.store.caught_up()
        held = desk.holdings(index, desk.now())
        refuse_circle(me, lines.in_order(index, held, desk.place.store), held)
        return max((place.number for place in lines.own_places(index)), default=0)

    with queue.QueuePlace(desk.place.store, waiter_of(wanted, LAST), seconds, may_join) as me:
        watch = LedgerWatch(desk.store, me.folder)
        if desk.show_progress:
            desk.show_progress(f"Waiting for up to {seconds} s: {refusal.message}")
        for _ in watch.changes(
            seconds,
            every_minute=lambda: signs_of_life.record_sign_of_life(desk, wanted.agent),
            is_over=desk.is_client_gone,
            at_least_every=LOOK_AGAIN,
        ):
            try:
                return attempt(me.number) | {"waited_seconds": watch.waited}
            except in_the_way() as refused:
                refusal = refused
    signs_of_life.record_sign_of_life(desk, wanted.agent)
    if lines.own_places(desk.store.index):  # those that stood behind this process may be served now
        signs_of_life.act(desk, wanted.agent, lambda _, __: [])
    refusal.details["waited_seconds"] = watch.waited
    refusal.message = f"{refusal.message}; waited {seconds} s, and the place in line is given up"
    if not isinstance(refusal, Busy):  # that one's own hint says what to do about it
        refusal.hint = f"`{queue_command(wanted)}` gets in line and keeps the place without waiting"
    raise refusal


def in_the_way() -> tuple[type[BbError], ...]:
    """The refusals after which waiting goes on. A busy ledger is one of them."""
    return ReservationConflict.error, ReservationStaleFound.error, ReservationAwaited.error, Busy


def refuse_circle(me: Waiter, line: Sequence[lines.InLine], held: Holdings) -> None:
    """Refuse ME if then the agents in LINE and ME would wait for each other."""
    waiting = [one.waiter for one in line]
    ways: dict[str, list[str]] = {}
    for waiter in [*waiting, me]:
        ways.setdefault(waiter.agent, []).extend(_waits_for(waiter, waiting, held))
    if circle := holdings_queue.circle(me.agent, ways):
        raise WaitDeadlock(f"waiting would never end: {' waits for '.join(circle)}", cycle=circle)


def _waits_for(waiter: Waiter, line: Sequence[Waiter], held: Holdings) -> list[str]:
    """The agents that WAITER waits for: the holders of its scopes, and the waiters ahead of it."""
    before = holdings_queue.ahead(waiter, line, ignore_case=held.ignore_case)
    return [*holdings_queue.holders(waiter, held.overlaps(waiter.scopes)), *(other.agent for other in before)]


def refuse_to_overtake(
    desk: Desk, index: Index, held: Holdings, wanted: Wanted, met: Sequence[Overlap], number: int | None
) -> None:
    """Refuse scopes that another agent has waited for longer. Scopes that the agent already holds are not refused."""
    line = [one.waiter for one in lines.in_order(index, held, desk.place.store) if one.skipped is None]
    if not line:
        return
    mine = {m.wanted.text for m in met if m.kind == "exact" and m.held.reservation.agent == wanted.agent}
    fresh = tuple(scope for scope in wanted.scopes if scope.text not in mine)
    me = waiter_of(wanted, number or LAST).replace(scopes=fresh)
    if wanted.takeover:
        line = [w for w in line if w.takeover or not holdings_queue.is_stuck(w, met, held.ignore_case)]
    if before := holdings_queue.ahead(me, line, ignore_case=held.ignore_case):
        first = before[0]
        raise ReservationAwaited(
            f"{first.agent} has been waiting for {', '.join(name(scope.text) for scope in first.scopes)} for longer",
            hint=f"get in line behind {first.agent}: `{queue_command(wanted)}`",
            awaited_by=[waiter.agent for waiter in before],
        )


def waiter_of(wanted: Wanted, number: int) -> Waiter:
    """The request WANTED as a waiter with a NUMBER."""
    flags = (wanted.shared, wanted.takeover, wanted.allow_overlap, wanted.is_open)
    return Waiter(number, wanted.agent, wanted.scopes, *flags)
