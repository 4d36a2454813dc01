"""How the charter of a published ledger may change from one commit to the next, within an epoch.

The repository, the epoch and its beginning stay. The arbiter may be replaced by a later one. The terms of a fleet may
appear, change to a new incarnation of the engine, or disappear.
"""

from __future__ import annotations

from bb.ledger.published.arbiter import latest
from bb.ledger.published.charter import CHARTER, LEAP, Charter, LedgerRewritten, NotALedger


def must_follow(earlier: Charter, charter: Charter, generation: int) -> None:
    """Refuse a CHARTER that cannot come after the EARLIER one, in the commit after GENERATION."""
    if (charter.repo, charter.epoch, charter.previous) != (earlier.repo, earlier.epoch, earlier.previous):
        raise LedgerRewritten(f"{CHARTER} names another ledger than before")
    if latest(charter.arbiter, earlier.arbiter) != charter.arbiter:
        raise LedgerRewritten(f"{CHARTER} names an earlier arbiter than before")
    if any(now < before for now, before in zip(_formats(charter), _formats(earlier), strict=True)):
        raise LedgerRewritten(f"{CHARTER} names an earlier format than before")
    _fleet_must_follow(earlier, charter, generation)


def _formats(charter: Charter) -> tuple[int, int, int]:
    return charter.format, charter.min_reader, charter.min_writer


def _fleet_must_follow(earlier: Charter, charter: Charter, generation: int) -> None:
    """Refuse terms of a fleet that would give a number twice, or an arbiter that moves while the engine decides."""
    was, terms = earlier.fleet, charter.fleet
    if was and terms and earlier.arbiter and charter.arbiter != earlier.arbiter:
        raise LedgerRewritten(f"{CHARTER} names another arbiter, although a fleet's engine orders the ledger")
    if terms is None or terms == was:
        return
    if was and terms.incarnation == was.incarnation:
        raise LedgerRewritten(f"{CHARTER} changes the terms of the fleet without a new incarnation of its engine")
    last = max(generation, was.first if was else 0)
    if terms.first <= last:
        raise LedgerRewritten(f"{CHARTER} lets a fleet begin at place {terms.first}, and {last} is taken already")
    must_be_within_reach(charter, last)


def must_be_within_reach(charter: Charter, last: int) -> None:
    """Refuse terms of a fleet whose first place is so far after the LAST number that sums could overflow."""
    if charter.fleet and charter.fleet.first - last >= LEAP:
        raise NotALedger(f"{CHARTER} lets a fleet begin at a place that cannot be reached")
