"""Begins a new epoch of the ledger on a remote: a sync that replaces the branch instead of adding to it."""

from __future__ import annotations

from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.records import payload_removal
from bb.ledger.travel import admitted, compacting, quarantine, remote, rotation
from bb.ledger.travel.sync import Sync


def rotate(sync: Sync, by: str, reason: str) -> int:
    """Start a new epoch of the ledger on the remote, with all lines. Returns the number of commits before it."""
    sync.look()
    sync.publish_all()
    before = sync.pin.tip
    if before is None:
        raise LedgerRewritten(f"the branch of the ledger is missing on {sync.name}")
    found = quarantine.read(sync.store.path, sync.store.place.common, None, before.commit, sync.store.progress)
    address = sync.pins.named.address if sync.pins.named else ""
    reservations = admitted.admit_commits(found.settled, found.commits, address).keeping(rotation.live(sync.store))
    carried = reservations.without(frozenset(payload_removal.redacted(sync.store)))
    root = rotation.begin(sync.store, before, carried, by, reason, sync.now, sync.signatures.key)
    tip, judged, sync.archived, _ = compacting.commit(sync.store, root, sync.now, carried, sync.signatures.key)
    rotation.check_before_publishing(sync.store, tip, before, carried)
    try:
        remote.push(sync.store.place, sync.name, tip.commit, before.commit, sync.left(), sync.pin.ref)
    except remote.Moved as moved:
        sync.look()
        if sync.pin.tip == before:
            remote.refuse_two_places(sync.store.place, sync.name, sync.pin.ref, sync.left())
            hint = f"allow the branch bb-ledger to be replaced on {sync.name} (force push), for this command only"
            raise remote.PushDenied(f"{sync.name} does not let the branch be replaced: {moved}", hint=hint) from None
        raise remote.Contended("another clone published meanwhile", remote=sync.name) from None
    if sync.decides:
        sync.pins = sync.pins.replace(admitted=carried)
    sync.remember(sync.pin.replace(tip=tip, judged=judged, put_off=0))
    remote.mark_verified(sync.store.place.common, sync.name, tip.commit)
    sync.begun_anew = tip.charter
    return len(found.commits)
