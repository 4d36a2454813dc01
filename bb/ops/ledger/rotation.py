"""Rotation: starts a new epoch of the published branch."""

from __future__ import annotations

from typing import Any

from bb.kernel import ids, secret_patterns
from bb.ledger.records import payload_removal
from bb.ledger.travel import new_epoch, renamed_remotes
from bb.ledger.travel.sync import BOTH, Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.ledger.running_sync import apply_fetched, run_sync, save_outcome
from bb.ops.ledger.sync import NotPublished, RemoteName, Timeout, remote_of
from bb.ops.params import AgentOrPerson, AllowSecretReason

PATIENCE = 600
TURN_PATIENCE = 10.0  # seconds to wait for a running sync


@op(
    "ledger.rotate",
    screen="travel",
    examples=(
        "bb ledger rotate --reason 'a password was in a message' --dry-run",
        "bb ledger rotate --reason 'a password was in a message' --agent user",
    ),
)
def rotate(
    desk: Desk,
    *,
    reason: AllowSecretReason,
    remote: RemoteName | None = None,
    agent: AgentOrPerson | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """Start a new epoch of the published branch, so that its earlier commits can be deleted.

    This is the only way to remove redacted content from the published history. The new epoch contains all lines;
    redacted lines have no content. The remote must allow a forced push, because its branch is replaced. Other clones
    verify with their next sync that no line is missing or changed, and follow without further action. Until they have
    synced and run `git gc`, their git still has the earlier commits, and so may the host: docs/sync.md explains what to
    do about a secret.

    Parameters:
        reason: The reason. It is recorded in the new epoch and shown in every clone.
        dry_run: Show what would happen to the published history, without doing it.
    """
    store = desk.store
    store.require_ledger()
    name = remote_of(desk, remote)
    pin = renamed_remotes.pins_now(desk.place).remote(name)
    before = pin.tip
    if before is None or not pin.publishes:
        raise NotPublished(f"this clone has not published to {name}")
    summary = {
        "remote": name,
        "epoch": before.charter.epoch + 1,
        "previous": before.commit,
        "events": before.events,
        "redacted": len(payload_removal.redacted(store)),
        "reason": reason,
    }
    if dry_run:
        commits = new_epoch.commits_in(store, before)
        return summary | {"commits": commits, "tip": None, "generation": None, "by": None}
    secret_patterns.refuse_secrets(reason)
    who = signs_of_life.caller(desk, agent or desk.env.get("BB_AGENT") or ids.PERSON, may_be_person=True)
    run_sync(desk, name, BOTH, timeout, publishes=False)  # a normal sync first, with its notices about contested scopes
    with SyncLock(store.path, TURN_PATIENCE), store.git:
        at_work = Sync(store, name, desk.now(), timeout)
        commits = new_epoch.rotate(at_work, who, reason)
        outcome = at_work.outcome()
        apply_fetched(desk, outcome)
    save_outcome(desk, name, desk.now(), None, outcome)
    anew = outcome.begun_anew or {}
    return summary | {
        "epoch": anew["epoch"],
        "previous": anew["commit"],
        "events": outcome.events,
        "redacted": len(payload_removal.redacted(store)),
        "commits": commits,
        "tip": outcome.tip,
        "generation": outcome.generation,
        "by": who,
    }
