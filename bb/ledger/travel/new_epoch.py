"""Begins a new epoch of the ledger on a remote: a sync that replaces the branch instead of adding to it."""

from __future__ import annotations

from bb.ledger.git import git
from bb.ledger.published import fleet_terms
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.records import payload_removal
from bb.ledger.travel import admitted, compacting, publish, quarantine, remote, rotation
from bb.ledger.travel.sync import Sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store

MOST_ATTEMPTS = 5  # each reads the whole history and makes a snapshot


def rotate(sync: Sync, by: str, reason: str) -> int:
    """Start a new epoch of the ledger on the remote, with all lines. Returns the number of commits before it. What
    others push meanwhile comes first, a stray commit too."""
    earlier = sync.pin.tip
    made_here = publish.made_here(sync.store)
    for _ in range(MOST_ATTEMPTS):
        sync.look()
        begun = sync.pin.tip
        if sync.begun_anew and begun and begun.commit == made_here:
            return _commits_between(earlier, begun)
        if sync.begun_anew:
            raise remote.Contended(f"another clone has begun epoch {sync.begun_anew.epoch} meanwhile", remote=sync.name)
        sync.publish_all()
        before = sync.pin.tip
        if before is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {sync.name}")
        try:
            return _begun(sync, before, by, reason)
        except remote.Moved as moved:
            sync.look()
            if sync.pin.tip == before and not sync.has_stray_tip:
                remote.refuse_two_places(sync.store.place, sync.name, sync.pin.ref, sync.left())
                hint = f"allow the branch bb-ledger to be replaced on {sync.name} (force push), for this command only"
                raise remote.PushDenied(
                    f"{sync.name} does not let the branch be replaced: {moved}", hint=hint
                ) from None
    raise remote.Contended("other clones published on every attempt", remote=sync.name)


def commits_in(store: Store, tip: Tip) -> int:
    """The number of commits in the epoch of TIP."""
    previous = tip.charter.previous
    if tip.charter.format < fleet_terms.FORMAT:
        return tip.generation - (previous.generation if previous else 0)
    return int(git.run(["rev-list", "--count", tip.commit], git_dir=store.place.common))  # rows have numbers there


def _commits_between(earlier: Tip | None, begun: Tip) -> int:
    """The number of commits that the epoch of a killed run has replaced, which had BEGUN it: git goes on pushing when
    bb is killed. If a fleet gave the numbers, it is the number of rows."""
    ended, before = begun.charter.previous, earlier.charter.previous if earlier else None
    return (ended.generation if ended else 0) - (before.generation if before else 0)


def _begun(sync: Sync, before: Tip, by: str, reason: str) -> int:
    """Replace the branch at BEFORE. Raises Moved if it is not there any more."""
    found = quarantine.read(sync.store.path, sync.store.place.common, None, before.commit, sync.store.progress)
    address = sync.pins.named.address if sync.pins.named else ""
    reservations = admitted.admit_commits(found.settled, found.commits, address).keeping(rotation.live(sync.store))
    carried = reservations.without(frozenset(payload_removal.redacted(sync.store)))
    root = rotation.begin(sync.store, before, carried, by, reason, sync.now, sync.signatures.key)
    tip, judged, archived, _ = compacting.commit(sync.store, root, sync.now, carried, sync.signatures.key)
    rotation.check_before_publishing(sync.store, tip, before, carried)
    remote.push(sync.store.place, sync.name, tip.commit, before.commit, sync.left(), sync.pin.ref)
    sync.archived = archived
    if sync.decides:
        sync.pins = sync.pins.replace(admitted=carried)
    sync.remember(sync.pin.replace(tip=tip, judged=judged, put_off=0))
    remote.mark_verified(sync.store.place.common, sync.name, tip.commit)
    sync.begun_anew = tip.charter
    return len(found.commits)
