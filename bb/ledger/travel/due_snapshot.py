"""Makes a snapshot on a remote if one is due, and checks the newest one there."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.index import database
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.travel import admitted, coverage, remote
from bb.ledger.travel.synced_remote import SyncedRemote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted

LEAST_FOR_COMPACTING, LEAST_FOR_PUSHING = 5.0, 20.0  # seconds left


class MadeSnapshot(Record):
    """The number of lines archived with a snapshot, None if none was made; and why it was not made although one was
    due."""

    archived: int | None = None
    not_made: str | None = None


def make(at: SyncedRemote) -> MadeSnapshot:
    """Make a snapshot if one is due. If another clone is faster, or the remote is unreachable, this is left to a later
    sync. Other errors are reported, and the next attempt waits for more lines."""
    before = at.pin.tip
    if before is None or at.left() < LEAST_FOR_COMPACTING or not coverage.has_all(at.store, before):
        return MadeSnapshot()
    if at.pin.put_off and not before.has_grown_since(at.pin.put_off):
        return MadeSnapshot()
    try:
        return MadeSnapshot(_made_on(at, before))
    except (remote.Moved, remote.Offline.error, remote.HostUnknown.error):
        return MadeSnapshot()
    except BbError as refusal:
        at.remember(at.pin.replace(put_off=before.events))
        return MadeSnapshot(not_made=f"{refusal.code}: {refusal.message}")


def _made_on(at: SyncedRemote, before: Tip) -> int | None:
    """The number of archived lines; None if no snapshot was needed."""
    is_judged = _is_judged(at, before)
    if is_judged and not before.is_due and _is_usable(at):
        return None
    from bb.ledger.travel import compacting  # noqa: PLC0415

    if not is_judged:
        commit, results = at.pins.at_snapshot or ("", None)
        results = results if commit == before.compacted.commit else at.known_results
        judged, settled = compacting.check_newest_snapshot(at.store, before, results)
        _forget_ended(at, settled, before.compacted.generation)
        at.remember(at.pin.replace(judged=judged))
        if _is_usable(at) and not before.is_due:
            return None
    results = at.known_results
    if results is None:
        results = admitted.of_history(at.store.place.common, before.commit, before.charter.arbiter)[0]
    tip, judged, lines, settled = compacting.commit(at.store, before, at.now, results, at.signatures.key)
    patience = max(at.left(), LEAST_FOR_PUSHING)  # otherwise a large ledger might never finish
    remote.push(at.store.place, at.name, tip.commit, before.commit, patience, at.pin.ref)
    carried = [Commit(tip.commit, before.commit, tip.generation, (), ())]
    _forget_ended(at, settled, tip.generation)
    at.remember(at.pin.replace(tip=tip, judged=judged, put_off=0), carried)
    remote.mark_verified(at.store.place.common, at.name, tip.commit)
    return lines


def _is_judged(at: SyncedRemote, tip: Tip) -> bool:
    """Whether the newest snapshot was checked already, or there is none."""
    if not tip.compacted.snapshots:
        return True
    judged, taken_back = at.pin.judged, len(at.store.caught_up().hidden())
    if judged is None or judged.state != database.VERSION:
        return False
    return (judged.commit, judged.taken_back) == (tip.compacted.commit, taken_back)


def _is_usable(at: SyncedRemote) -> bool:
    """Whether the newest snapshot is not known to be wrong or outdated."""
    judged = at.pin.judged
    return judged is None or (judged.is_right and not judged.is_outdated)


def _forget_ended(at: SyncedRemote, settled: Admitted | None, generation: int) -> None:
    """Forget the reservations that had ended at a GENERATION, of which a right snapshot has the results SETTLED."""
    if settled is not None and at.pins.arbiter == at.name:
        at.pins = admitted.without_ended(at.pins, settled, generation)
