"""Lets a fleet's engine order the ledger, and ends that. The push of the new charter is the switch.

Each commit is made on the verified tip. If the branch has moved, `remote.Moved` is raised: what others published
meanwhile takes numbers too, so the caller looks at the branch and tries again with fresh ones.
"""

from __future__ import annotations

from bb.kernel.errors import Conflict
from bb.ledger.published import fleet_terms
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.travel import charter_rules, publish, remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.tip import Tip
    from bb.ledger.travel.sync import Sync

RowsNotArchived = Conflict.declare(
    "ROWS_NOT_ARCHIVED",
    "The branch does not have every row of the engine yet, so the fleet cannot end",
    hint="nothing is lost; archive them first: `bb sync --publish`",
)


def begin(sync: Sync, terms: FleetTerms) -> Tip:
    """Let the engine that TERMS name order the ledger from now on, or a new incarnation of it.

    Raises Moved if the first place is taken.
    """
    before = _tip(sync)
    if terms.first <= max(before.generation, before.charter.fleet.first if before.charter.fleet else 0):
        raise remote.Moved(f"place {terms.first} is taken")
    charter = before.charter.replace(
        fleet=terms,
        format=max(before.charter.format, fleet_terms.FORMAT),
        min_reader=max(before.charter.min_reader, fleet_terms.FORMAT),
        min_writer=max(before.charter.min_writer, fleet_terms.FORMAT),
    )
    return _pushed(sync, charter)


def end(sync: Sync, last_place: int) -> Tip:
    """Let the branch order the ledger again. The engine's log must be closed, and every row up to LAST_PLACE archived:
    generations go on after it. If the log is lost, `begin` a new incarnation first, beyond every place that anybody
    may know."""
    before = _tip(sync)
    if before.charter.fleet is None:
        raise fleet_terms.NoFleet(f"the ledger on {sync.name} is not ordered by an engine")
    if before.place != last_place:
        message = f"the branch has the rows up to place {before.place}, and the engine's log ends at {last_place}"
        raise RowsNotArchived(message, archived=before.place, last=last_place)
    return _pushed(sync, before.charter.replace(fleet=None))


def _tip(sync: Sync) -> Tip:
    if sync.pin.tip is None:
        raise LedgerRewritten(f"the branch of the ledger is missing on {sync.name}")
    return sync.pin.tip


def _pushed(sync: Sync, charter: Charter) -> Tip:
    """The tip, once the branch has this CHARTER."""
    before = _tip(sync)
    charter_rules.must_follow(before.charter, charter, before.generation)
    try:
        return sync.push(publish.Unpublished({}, 0), charter=charter)
    except remote.unreachable():
        sync.look()  # the push may have arrived, and only the answer was lost
        after = _tip(sync)
        if after.charter.fleet != charter.fleet:
            raise
        return after
