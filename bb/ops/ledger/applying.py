"""What a clone does when its relay has brought lines or another charter, as a sync does after it has fetched some:
pauses and names go into the presence files, and the holders of lost reservations are notified."""

from __future__ import annotations

from bb.ops.desk import signs_of_life
from bb.ops.ledger import contest_notices, fleet_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk

    Lost = list[dict[str, str]]


def apply(desk: Desk) -> tuple[Lost, Lost]:
    """Apply the lines and the charter that have come. Returns the reservations of this clone that lose to one of
    another clone, and those that became void."""
    if not desk.store.exists or (desk.store.law and desk.store.law.excludes_own_lines):
        return [], []
    signs_of_life.update_presence(desk)
    return contest_notices.notify_losers(desk, None), fleet_changes.follow(desk)
