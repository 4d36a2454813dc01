"""Recording a reservation, and showing it. Every verb that reserves goes through here."""

from __future__ import annotations

import os

from bb.coordination.facts import Incurred, Released, TakenOver
from bb.coordination.holdings import holdings, reservations
from bb.coordination.holdings.held import freeze_members, region_members
from bb.coordination.holdings.reservations import InvalidArgs
from bb.coordination.protocol import notices
from bb.kernel import clock
from bb.kernel.errors import Busy
from bb.ledger.git import work_tree
from bb.ledger.journal import kinds
from bb.ledger.published import fleet_mark
from bb.ops.desk import pause_check, signs_of_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.reservations import Wanted
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.lines.regions_now import RegionsNow
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

TTL = str(reservations.TTL)  # minutes
QUEUED = "x.bb.queued"
HOT_FOR = clock.HOUR  # how far back a scope counts as much wanted,
HOT_TIMES = 3  # and how often others must have held it since then
NOT_JOINED = "the ledger has a fleet, and this clone has not joined it: `bb fleet join ENGINE`"
MOST_LOOKED_AT = 12  # reservations; the first ones that the index returns at once

GrantPending = Busy.declare(
    "GRANT_PENDING",
    "It is not known whether the reservation was admitted",
    hint="you do not hold it yet; run `bb sync`, then `bb agent status`; `bb agent release` withdraws the request",
)


def reserved(
    desk: Desk,
    wanted: Wanted,
    key: str | None = None,
    allow_secret: str | None = None,
    number: int | None = None,
) -> dict[str, Any]:
    """Reserve WANTED, or refuse. NUMBER is the request's place in the queue."""

    def decide(index: Index, held: Holdings) -> list[Any]:
        facts = decided(desk, wanted, index, held, number)
        return [*facts, *told_of(facts)]

    return report(desk, wanted, signs_of_life.act(desk, wanted.agent, decide, key=key, allow_secret=allow_secret))


def told_of(facts: Sequence[Any]) -> list[Any]:
    """The notices to other holders about FACTS. There are none without an incursion."""
    if not any(isinstance(fact, Incurred) for fact in facts):
        return []
    from bb.messaging.mail import mail  # noqa: PLC0415  (most reservations overlap no other)

    return mail.incursion_notifications(facts)


def decided(desk: Desk, wanted: Wanted, index: Index, held: Holdings, number: int | None = None) -> list[Any]:
    """The facts to record so that WANTED is reserved; refused if it may not be."""
    pause_check.refuse(index, wanted.agent)
    met = held.overlaps(wanted.scopes, in_any_clone=wanted.is_global)
    if wanted.is_global:
        met = held.in_way_of(wanted.agent, met)
    if _is_anybody_in_line(desk, index):
        from bb.ops.holdings import waiting  # noqa: PLC0415  (without a queue, no request can overtake another)

        waiting.refuse_to_overtake(desk, index, held, wanted, met, number)
    return reservations.reserve(wanted, met, lambda incident: index.count(notices.NAME, incident) > 0)


def _is_anybody_in_line(desk: Desk, index: Index) -> bool:
    """Whether an agent may be waiting. The modules of the line are not loaded for this."""
    if index.count(*signs_of_life.LINE):
        return True
    try:
        return any(name.endswith(".json") for name in os.listdir(os.path.join(desk.place.store, "queue")))
    except OSError:
        return False


def report(desk: Desk, wanted: Wanted, recorded: Sequence[Event]) -> dict[str, Any]:
    """The result of a reservation from its RECORDED events, as every face shows it."""
    facts = [kinds.fact_of(event.kind, event.data, event.by) for event in recorded]
    held = desk.holdings(desk.store.index, desk.now())
    return answer(desk, [event.id for event in made(recorded)]) | {
        "taken_over": [
            shown(held, before) | {"owner_liveness": fact.liveness}
            for fact in facts
            if isinstance(fact, TakenOver) and (before := held.by_id(fact.reservation))
        ],
        "incursions": [_incursion(fact) for fact in facts if isinstance(fact, Incurred)],
        "not_there": [scope.text for scope in wanted.scopes if not work_tree.exists_in_work_tree(desk.place, scope)],
        **hot(held, wanted),
        **waiting_for(desk, wanted.agent),
        **_only_here(desk, wanted),
    }


def _only_here(desk: Desk, wanted: Wanted) -> dict[str, Any]:
    """The members that say that a reservation holds in this clone only, although there is a fleet. Empty otherwise."""
    if wanted.is_open or not fleet_mark.is_there(desk.place.store) or desk.is_in_fleet:
        return {}
    return {"fallback": "local", "why": NOT_JOINED}


def waiting_for(desk: Desk, who: str) -> dict[str, Any]:
    """The member that names the agents in line for what WHO holds. Empty if there are none."""
    index = desk.store.index
    if not _is_anybody_in_line(desk, index):
        return {}
    from bb.ledger.views import holdings_queue  # noqa: PLC0415  (mostly nobody is in line)

    held = desk.holdings(index, desk.now())
    rows = holdings_queue.waiting_for(who, holdings_queue.in_order(index, held, desk.place.store), held)
    return {"waiting_for_you": rows} if rows else {}


def hot(held: Holdings, wanted: Wanted) -> dict[str, Any]:
    """The member that names the scopes which other agents held often lately. Empty if there are none."""
    others = held.released_lately(held.now - HOT_FOR, MOST_LOOKED_AT, wanted.agent)
    if len(others) < HOT_TIMES:
        return {}
    rows = []
    for scope in wanted.scopes:
        agents = [agent for agent, other in others if held.meet(scope, other)]
        if len(agents) >= HOT_TIMES:
            rows.append({"scope": scope.text, "times": len(agents), "agents": sorted(set(agents))})
    return {"hot": rows} if rows else {}


def made(events: Sequence[Event]) -> list[Event]:
    """The events that made reservations."""
    return [event for event in events if event.kind == kinds.BY_FACT["Reserved"][0]]


def _incursion(fact: Incurred) -> dict[str, Any]:
    return {
        "incursion_kind": fact.kind,
        "owner_agent": fact.owner,
        "incoming_agent": fact.incoming,
        "owner_liveness": fact.liveness,
        "scope": fact.scope,
        "held": fact.held,
        "outcome": fact.outcome,
        "resolution_hint": fact.hint,
    }


def scopes_of(desk: Desk, written: Sequence[str]) -> tuple[scopes.Scope, ...]:
    """The scopes as parsed, without duplicates."""
    wanted = tuple({(scope := _scope(desk, text)).text: scope for text in written}.values())
    return _with_regions(desk, wanted, lambda now, scope: now.named(scope))


def anchored(desk: Desk, wanted: tuple[scopes.Scope, ...], holder: str) -> tuple[scopes.Scope, ...]:
    """The scopes WANTED, with each region as the ledger stores it. Refused if a file has no such region."""
    return _with_regions(desk, wanted, lambda now, scope: now.anchored(scope, holder))


def anchored_if_there(desk: Desk, wanted: tuple[scopes.Scope, ...], holder: str) -> tuple[scopes.Scope, ...]:
    """The scopes WANTED as in `anchored`; a region that is not in its file stays as it is."""
    return _with_regions(desk, wanted, lambda now, scope: now.anchored_or_named(scope, holder))


def _with_regions(
    desk: Desk, wanted: tuple[scopes.Scope, ...], found: Callable[[RegionsNow, scopes.Scope], scopes.Scope]
) -> tuple[scopes.Scope, ...]:
    """The scopes WANTED, those with a region as FOUND in the work tree, without duplicates."""
    if all(scope.region is None for scope in wanted):
        return wanted
    from bb.ledger.lines.regions_now import RegionsNow  # noqa: PLC0415  (few scopes have a region)

    may_cache = desk.store.exists and not desk.store.index.is_in_memory
    now = RegionsNow(desk.place.work_tree, desk.place.store if may_cache else None)
    return tuple({(scope := found(now, one)).text: scope for one in wanted}.values())


def _scope(desk: Desk, written: str) -> scopes.Scope:
    if not written.strip():
        raise InvalidArgs("--scope must not be blank", path="$.scope")
    return desk.scope(written)


def answer(desk: Desk, names: Sequence[str]) -> dict[str, Any]:
    """The current state of the reservations NAMES: the members of the first one, and the list of all."""
    held = desk.holdings(desk.store.index, desk.now())
    rows = [shown(held, reservation) for name in names if (reservation := held.by_id(name))]
    return (rows[0] if rows else {}) | {"reservations": rows}


def shown(held: Holdings, reservation: Reservation) -> dict[str, Any]:
    """A reservation as every face shows it."""
    now = held.held(reservation)
    is_live = reservation.state == holdings.ACTIVE
    is_over = bool(now and now.is_over)
    has_vanished = bool(is_live and now and now.scope.region is not None and held.regions.has_vanished(now.scope))
    return {
        "reservation_id": reservation.id,
        "scope": reservation.scope,
        "agent_id": reservation.agent,
        "bead_id": reservation.bead,
        "state": held.state_of(reservation, is_over=is_over) if is_live else reservation.state,
        "shared": reservation.shared,
        "kind": reservation.kind,
        **region_members(reservation),
        **({"vanished": True} if has_vanished else {}),
        "ttl_minutes": None if reservation.has_no_end else reservation.ttl,
        "created_at": clock.text(reservation.made_at),
        "renewed_at": clock.text(reservation.renewed_at),
        "expires_at": now.ends_at if is_live and now else None,
        "released_at": clock.text(reservation.ended_at) if reservation.ended_at is not None else None,
        "owner_liveness": held.liveness_of(reservation.agent),
        **freeze_members(reservation),
        **({"global": held.counts(reservation), "token": held.token(reservation)} if reservation.is_global else {}),
    }


def give_up(desk: Desk, who: str, names: Sequence[str]) -> list[Event]:
    """Release reservations of WHO that were recorded and are not held."""
    return signs_of_life.act(desk, who, lambda _, __: [Released(who, name) for name in names])
