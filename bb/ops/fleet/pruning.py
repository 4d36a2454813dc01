"""`bb fleet prune`: removes from an engine what the published ledger has."""

from __future__ import annotations

import contextlib

from bb.ledger.fleet import engines, replaced_logs
from bb.ledger.published.fleet_terms import NoFleet
from bb.ops.agent_params import AsPerson
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.fleet import connections, fetching
from bb.ops.fleet.parameters import Engine
from bb.ops.ledger.sync import must_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.carrier.door import Keeper
    from bb.ledger.fleet.replaced_logs import ReplacedLog
    from bb.ledger.fleet.settings import EngineAddress
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.tip import Tip
    from bb.ops.desk.desk import Desk

PATIENCE = 60  # seconds for the git remote


@op(
    "fleet.prune",
    screen="fleet",
    examples=("bb fleet prune --dry-run", "bb fleet prune", "bb fleet prune service=old-engine"),
)
def prune(
    desk: Desk, engine: Engine | None = None, *, agent: AsPerson | None = None, dry_run: bool = False
) -> dict[str, Any]:
    """Remove from the engine what the published ledger has, so that it stays small. Only the person may do this.

    bb removes the rows that are on the published branch and that every machine of the last hour has read. A machine
    that was away longer, and every new one, reads them from the branch. A payload that was withdrawn from the ledger
    leaves the engine only in this way.

    If the fleet has ended or begun again, bb also closes the logs that were used before. It removes each of them as
    soon as every line in it is published. If they are on another engine, name it.

    Parameters:
        dry_run: Say what would be removed, without doing it.
    """
    must_exist(desk)
    signs_of_life.person(desk, agent)
    name = connections.arbiter(desk, connections.known_pins(desk))
    fetching.fetch(desk, name, PATIENCE)  # another machine may have archived more
    tip = connections.known_pins(desk).remote(name).tip
    if tip is None:
        raise NoFleet()
    target, repo = connections.engine(desk, engine, saved=True), desk.store.clone.repo
    with connections.as_owner("prune"), contextlib.closing(engines.keeper(target)) as keeper:
        replaced = replaced_logs.find(keeper, repo, tip)
        rows = _pruned(keeper, target, repo, tip, is_only_old=bool(replaced or engine), dry_run=dry_run)
        logs = [_removed(keeper, repo, one, tip, dry_run=dry_run) for one in replaced]
    if not dry_run:
        for one in replaced:
            replaced_logs.forget(desk.store.path, one.incarnation)
    terms = connections.terms_shown(tip.charter.fleet)
    return {"dry_run": dry_run, "engine": connections.shown(target), "terms": terms, **rows, "logs": logs}


def _pruned(
    keeper: Keeper, target: EngineAddress, repo: str, tip: Tip, *, is_only_old: bool, dry_run: bool
) -> dict[str, Any]:
    """Remove rows of the log that is in use. The engine may be one that IS ONLY an OLD one, without that log."""
    none = {"oldest": None, "upto": None, "archived": None, "slowest": None, "rows": 0, "octets": 0}
    if (terms := tip.charter.fleet) is None or (is_only_old and not _has(keeper, repo, terms)):
        return none
    with contextlib.closing(engines.open_carrier(target, repo, terms)) as carrier:
        head, machines = carrier.head(), carrier.alive()
    upto = max(min([tip.place, *(machine.place for machine in machines)]), head.oldest - 1)
    before = next(log for log in keeper.logs(repo) if log.head.incarnation == terms.incarnation)
    removed = max(min(upto, head.place - 1) - head.oldest + 1, 0)  # the last row stays
    return {
        "oldest": head.oldest,
        "upto": upto,
        "archived": tip.place,
        "slowest": min(machines, key=lambda machine: machine.place).name if machines else None,
        "rows": removed if dry_run else keeper.prune(repo, terms.incarnation, upto),
        "octets": before.octets,
    }


def _has(keeper: Keeper, repo: str, terms: FleetTerms) -> bool:
    return keeper.kind == terms.carrier and any(log.head.incarnation == terms.incarnation for log in keeper.logs(repo))


def _removed(keeper: Keeper, repo: str, found: ReplacedLog, tip: Tip, *, dry_run: bool) -> dict[str, Any]:
    """Close a replaced log, and remove it if that loses nothing."""
    log = found.log
    return {
        "incarnation": found.incarnation,
        "first": log.first,
        "rows": log.rows,
        "octets": log.octets,
        "was_closed": log.head.is_closed,
        "unpublished": found.writers,
        "removed": not found.writers if dry_run else replaced_logs.remove(keeper, repo, found, tip),
    }
