"""Reads what is new on the branch of a remote, and refuses it if it does not continue what this clone has verified."""

from __future__ import annotations

from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.published.layout import charter_at
from bb.ledger.travel import quarantine, rotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store
    from bb.ledger.travel.quarantine import Sound


def continuation(store: Store, known: Tip | None, found: str, tip: Tip | None) -> Sound | None:
    """The commits after KNOWN, up to FOUND, that count. TIP, the last verified commit, must be one of them, or the
    parent of the first. None if a later epoch begins there."""
    try:
        sound = quarantine.read(store.path, store.place.common, known, found, store.progress, store.git)
    except LedgerRewritten.error:
        if tip is None or not _is_later_epoch(store, found, tip):
            raise
        return None
    commits = sound.commits
    if not tip or not commits or commits[0].parent == tip.commit or any(tip.commit == one.id for one in commits):
        return sound
    if _is_later_epoch(store, found, tip):
        return None
    raise LedgerRewritten("commits that this clone has verified are missing there")


def next_epoch(store: Store, found: str, tip: Tip | None, ours: Admitted | None) -> Sound:
    """The commits of a later epoch, which must have everything that was published up to TIP."""
    if tip is None:
        raise LedgerRewritten("there is no earlier epoch to compare with")
    sound = quarantine.read(store.path, store.place.common, None, found, store.progress)
    rotation.check(sound, tip, ours)
    return sound


def _is_later_epoch(store: Store, found: str, tip: Tip) -> bool:
    """Whether a later epoch than that of TIP is on the branch. A stray commit at its end may hide the charter."""
    charter = charter_at(store.place.common, found)
    if charter is None or charter.epoch <= tip.charter.epoch:
        try:
            charter = quarantine.read(store.path, store.place.common, None, found).tip.charter
        except (NotALedger, LedgerRewritten.error):
            return False
    return charter.epoch > tip.charter.epoch
