"""Fetches the charter and the archive of a fleet, for verbs that depend on them."""

from __future__ import annotations

from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.fleet import connections
from bb.ops.ledger.running_sync import apply_fetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.desk.desk import Desk


def fetch(desk: Desk, remote: str, timeout: int) -> None:
    """Fetch what is published on REMOTE."""
    with SyncLock(desk.store.path, connections.TURN_PATIENCE), desk.store.git:
        sync = Sync(desk.store, remote, desk.now(), timeout)
        sync.look()
        apply_fetched(desk, sync.outcome())
