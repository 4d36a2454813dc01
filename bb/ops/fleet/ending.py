"""`bb fleet end`: the engine's log is closed, and the published branch orders the ledger again."""

from __future__ import annotations

import contextlib

from bb.kernel import secret_patterns
from bb.kernel.plurals import counted
from bb.ledger.carrier.door import AnotherEngine
from bb.ledger.fleet import engines, incarnations
from bb.ledger.fleet.incarnations import Order
from bb.ledger.travel.sync import BOTH, Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.agent_params import AsPerson, Why
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.fleet import connections, relay_start
from bb.ops.fleet.parameters import Engine, Timeout
from bb.ops.ledger import fleet_changes
from bb.ops.ledger.running_sync import apply_fetched, run_sync
from bb.ops.ledger.sync import must_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.fleet.settings import EngineAddress
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.tip import Tip
    from bb.ops.desk.desk import Desk

PATIENCE = 300
IF_LOST = "`bb fleet end --lost --reason '…'`"


@op(
    "fleet.end",
    screen="fleet",
    examples=(
        "bb fleet end --dry-run",
        "bb fleet end --reason 'the project has one machine again'",
        "bb fleet end --lost --reason 'the database is gone, and there is no backup'",
    ),
)
def end(
    desk: Desk,
    engine: Engine | None = None,
    *,
    reason: Why | None = None,
    lost: bool = False,
    agent: AsPerson | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """End the fleet: the published branch orders the ledger again. Only the person may do this.

    bb closes the engine's log, so that it takes no more lines. It publishes everything in the log, and pushes a charter
    without the fleet. Other clones follow at their next fetch, and their relays stop. Lines that a machine had not sent
    are published by its next `bb sync`. Reservations among these lines are void, and their holders are told.
    Reservations that were admitted stay valid, and tokens go on rising. Versions of bb that do not know fleets still
    cannot read this ledger.

    Only the role that owns the log may close it. If the relay of this clone uses another role, name an address with the
    owner's role as ENGINE.

    Parameters:
        reason: The reason. With --lost it is published.
        lost: End the fleet although the engine is gone. The machines publish again what they had sent to it.
            Reservations that are not on the branch are void.
        dry_run: Ask the engine, and say what would be done, without doing it.
    """
    must_exist(desk)
    who = signs_of_life.person(desk, agent)
    secret_patterns.refuse_secrets(reason or "")
    if lost and reason is None:
        raise connections.needs_reason("end --lost")
    known = connections.known_pins(desk)
    name = connections.arbiter(desk, known)
    tip = known.remote(name).tip
    terms = incarnations.must_have_fleet(tip)
    target = None if lost else connections.engine(desk, engine, saved=True)
    if target:
        engines.must_fit(target, terms)
    # The end itself fetches the charter first, and asks about the log that is named there then.
    waiting = _not_archived(desk, target, terms, tip.place) if target and tip and dry_run else 0
    planned = {
        "dry_run": dry_run,
        "remote": name,
        "engine": connections.shown(target) if target else None,
        "terms": connections.terms_shown(terms),
        "rows": waiting,
        "void": fleet_changes.would_be_void(desk, None),
        "steps": _steps(name, target, waiting),
    }
    if dry_run:
        return planned
    if target:
        relay_start.flush(desk)
    order = Order(who, reason or "", desk.now())
    with SyncLock(desk.store.path, connections.TURN_PATIENCE), desk.store.git:
        sync = Sync(desk.store, name, desk.now(), timeout)
        tip, rows = _ended(desk, sync, target, terms, order)
        apply_fetched(desk, sync.outcome())
    void = fleet_changes.follow(desk)
    published = run_sync(desk, name, BOTH, timeout, publishes=False)  # what the engine had not taken
    return planned | {"rows": rows, "void": void, "tip": tip.commit, "went": published.get("went", 0)}


def _not_archived(desk: Desk, target: EngineAddress, terms: FleetTerms, archived: int) -> int:
    """How many rows of the engine's log come after the place that is ARCHIVED, as far as this clone knows. Refused if
    the engine has no such log, or does not let us close it."""
    repo = desk.store.clone.repo
    with connections.as_owner("end", if_lost=IF_LOST), contextlib.closing(engines.keeper(target)) as keeper:
        places = [log.head.place for log in keeper.logs(repo) if log.head.incarnation == terms.incarnation]
    if not places:
        raise AnotherEngine(f"the fleet uses the log {terms.incarnation}, and the engine does not have it")
    return max(places[0] - archived, 0)


def _ended(desk: Desk, sync: Sync, target: EngineAddress | None, terms: FleetTerms, order: Order) -> tuple[Tip, int]:
    if target is None:
        return incarnations.end_without_engine(sync, order), 0
    repo = desk.store.clone.repo
    with (
        connections.in_fleet(),
        connections.as_owner("end", if_lost=IF_LOST),
        contextlib.closing(engines.keeper(target)) as keeper,
        contextlib.closing(engines.open_carrier(target, repo, terms)) as carrier,  # the relay's role may not read
    ):
        return incarnations.end(sync, keeper, carrier)


def _steps(name: str, target: EngineAddress | None, waiting: int) -> list[str]:
    close = [
        "send what this clone has recorded to the engine",
        "close the engine's log: it takes no more lines",
        f"publish on {name} every row that is not archived yet, now {counted(waiting, 'row')}",
    ]
    lost = ["leave the engine alone: what only it had is published later, by the machines that recorded it"]
    return [
        *(close if target else lost),
        f"push a charter without a fleet to {name}",
        "remove the engine from this clone, and publish what it still has by an ordinary sync",
    ]
