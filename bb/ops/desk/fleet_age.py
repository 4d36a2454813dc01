"""How old the order of a fleet's engine is that an answer depends on."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.files import lock
from bb.ledger.local import fleet_files
from bb.ledger.published import pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

OLD = 15  # seconds; a relay whose engine answers compares its place every ten seconds


def member(desk: Desk, *, only_if_old: bool = False) -> dict[str, Any]:
    """The member `fleet` of an answer: up to which place this clone has read the engine's log, and the seconds since
    that was last known to be everything, which are null if it never was. Both are null if it has read nothing. Empty
    outside a fleet. If that is not recent because no relay runs, it says so, and the daemon is started once the answer
    is given."""
    if not desk.is_in_fleet:
        return {}
    found = pins.read(desk.place.store).fleet
    age = max(desk.now() - found.current_at, 0) / 1000 if found and found.current_at else None
    about = {"place": found.place if found else None, "age_seconds": age if age is None else round(age, 1)}
    if age is not None and age < OLD:
        return {} if only_if_old else {"fleet": about}
    desk.lacks_relay = not _relay_runs(desk.place.store)
    return {"fleet": about | ({"no_relay": True} if desk.lacks_relay else {})}


def _relay_runs(store: str) -> bool:
    """Whether a process has the lock of the relay, without a connection to it. If the lock cannot be looked at, nothing
    is known, and nothing is said."""
    try:
        return lock.is_held(fleet_files.path(store, fleet_files.LOCK))
    except BbError:
        return True
