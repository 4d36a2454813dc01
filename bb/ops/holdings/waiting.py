"""Waiting in the queue for a reservation: `bb agent reserve --wait`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bb.coordination.holdings import queue as holdings_queue
from bb.coordination.holdings.held import Overlap
from bb.coordination.holdings.queue import ReservationAwaited, WaitDeadlock, Waiter
from bb.coordination.holdings.reservations import ReservationConflict, ReservationStaleFound, Wanted
from bb.kernel.errors import BbError, Busy
from bb.kernel.escaping import name
from bb.ledger.git import work_tree
from bb.ledger.local import queue
from bb.ledger.records.changes import LedgerWatch
from bb.ledger.views.holdings import Holdings
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

Attempt = Callable[[int | None], dict[str, Any]]  # takes the request's place in the queue

LAST = 10**12  # behind every place in the queue
LOOK_AGAIN = 1.0  # seconds; no file changes when a reservation expires or an agent becomes stale


def reserve_in_queue(desk: Desk, wanted: Wanted, seconds: int, attempt: Attempt) -> dict[str, Any]:
    """The answer of ATTEMPT once the scopes are free. When the time is up, its last refusal is raised."""
    try:
        return attempt(None)
    except _in_the_way() as refused:
        refusal: BbError = refused
    ignore_case = work_tree.is_case_insensitive(desk.place)
    signs_of_life.record_sign_of_life(desk, wanted.agent)

    def may_join(me: Waiter, line: Sequence[Waiter]) -> None:
        held = desk.holdings(desk.store.caught_up(), desk.now())
        ways: dict[str, list[str]] = {}
        for waiter in [*line, me]:
            ways.setdefault(waiter.agent, []).extend(_waits_for(waiter, line, held, ignore_case))
        if circle := holdings_queue.circle(me.agent, ways):
            names = " waits for ".join(circle)
            raise WaitDeadlock(f"waiting would never end: {names}", cycle=circle)

    with queue.QueuePlace(desk.place.store, _waiter(wanted, 0), seconds, may_join) as me:
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
            except _in_the_way() as refused:
                refusal = refused
    refusal.details["waited_seconds"] = watch.waited
    refusal.message = f"{refusal.message}; waited {seconds} s"
    raise refusal


def _in_the_way() -> tuple[type[BbError], ...]:
    """The refusals after which waiting goes on. A busy ledger is one of them."""
    return ReservationConflict.error, ReservationStaleFound.error, ReservationAwaited.error, Busy


def _waits_for(waiter: Waiter, line: Sequence[Waiter], held: Holdings, ignore_case: bool) -> list[str]:
    """The agents that WAITER waits for: the holders of its scopes, and the waiters ahead of it."""
    before = holdings_queue.ahead(waiter, line, ignore_case=ignore_case)
    return [*holdings_queue.holders(waiter, held.overlaps(waiter.scopes)), *(other.agent for other in before)]


def refuse_to_overtake(desk: Desk, wanted: Wanted, met: Sequence[Overlap], number: int | None) -> None:
    """Refuse scopes that another agent has waited for longer. Scopes that the agent already holds are not refused."""
    line = queue.waiting(desk.place.store)
    if not line:
        return
    mine = {m.wanted.text for m in met if m.kind == "exact" and m.held.reservation.agent == wanted.agent}
    fresh = tuple(scope for scope in wanted.scopes if scope.text not in mine)
    me = _waiter(wanted, number or LAST).replace(scopes=fresh)
    ignore_case = work_tree.is_case_insensitive(desk.place)
    if wanted.takeover:
        line = [waiter for waiter in line if waiter.takeover or not holdings_queue.is_stuck(waiter, met, ignore_case)]
    if before := holdings_queue.ahead(me, line, ignore_case=ignore_case):
        first = before[0]
        raise ReservationAwaited(
            f"{first.agent} has been waiting for {', '.join(name(scope.text) for scope in first.scopes)} for longer",
            awaited_by=[waiter.agent for waiter in before],
        )


def _waiter(wanted: Wanted, number: int) -> Waiter:
    return Waiter(number, wanted.agent, wanted.scopes, wanted.shared, wanted.takeover, wanted.allow_overlap)
