"""Publishes what an engine still has when its log ends: the rows that continue the archive, and no others."""

from __future__ import annotations

from bb.ledger.carrier.door import EngineRewound, first_digest, next_digest
from bb.ledger.published import lacking_rows
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.travel import row_archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier, Row
    from bb.ledger.published.tip import Tip
    from bb.ledger.travel.sync import Sync


def publish(sync: Sync, carrier: Carrier) -> int:
    """Publish every row after the archive's last one that continues it. Returns their number. Rows that do not continue
    it are left out: the engine has lost history, and they have places that others had before."""
    count = 0
    while rows := continuing(tip_of(sync), carrier):
        try:
            row_archive.archive(sync, rows)
        except lacking_rows.ArchiveLacksRows.error:
            break  # nothing can follow there; the machines send their lines again, to the next log
        count += len(rows)
    return count


def must_reach(sync: Sync, place: int, digest: str) -> None:
    """Refuse if the archive does not end with the row at PLACE, up to which the running digest is DIGEST."""
    tip = tip_of(sync)
    if (tip.place, tip.digest) != (place, digest):
        raise EngineRewound(
            f"the archive ends at place {tip.place}, and the engine's log at place {place} with another history"
        )


def continuing(tip: Tip, carrier: Carrier) -> list[Row]:
    """The next rows of the engine that continue the archive at TIP."""
    terms = tip.charter.fleet
    if terms is None:
        return []
    digest = tip.digest or first_digest(tip.charter.repo, terms.incarnation)
    found: list[Row] = []
    for place, row in enumerate(carrier.read(tip.place), tip.place + 1):
        digest = next_digest(digest, place, row.writer, row.first, row.octets)
        if (row.place, row.digest) != (place, digest):
            break
        found.append(row)
    return found


def tip_of(sync: Sync) -> Tip:
    """The verified tip of the branch."""
    tip = sync.pin.tip
    if tip is None:
        raise LedgerRewritten(f"the branch of the ledger is missing on {sync.name}")
    return tip
