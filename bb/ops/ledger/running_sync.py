"""Runs a sync of this clone: takes turns with other processes, applies what came, and saves the outcome."""

from __future__ import annotations

import os
import time

from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.journal import received
from bb.ledger.local import fleet_files, last_sync
from bb.ledger.local.last_sync import LastSync
from bb.ledger.records import counted_lines, creation, set_aside
from bb.ledger.travel import background as in_background
from bb.ledger.travel import importing, sync_runs
from bb.ledger.travel import remote as remotes
from bb.ledger.travel.sync import BOTH, PULL, PUSH, Sync
from bb.ledger.travel.sync_lock import AlreadySyncing, SyncLock
from bb.ops.desk import signs_of_life, taken_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.records.store import Store
    from bb.ledger.travel.sync_result import SyncResult
    from bb.ledger.travel.sync_runs import SyncRun
    from bb.ops.desk.desk import Desk

MANY = 300  # writers
LOOK_THROUGH = "the sync was completed, and the published lines count; record again what you still need from that file"


def run_sync(
    desk: Desk, name: str, direction: str, patience: int, *, publishes: bool, ref: str | None = None
) -> dict[str, Any]:
    """Sync with remote NAME in one direction or both; the answer of `bb sync`. With REF, the ledger moves there.

    While another process syncs this clone, a background sync ends at once. Others wait, for at most half of their
    PATIENCE. Then the first of them syncs for all that wait.
    """
    store, is_background = desk.store, in_background.MARK in desk.env
    deadline = time.monotonic() + patience
    try:
        creation.make_folder(store.place)
        at_call = sync_runs.read(store.path).number
        with SyncLock(store.path, 0.0 if is_background else patience / 2), store.git:
            last = sync_runs.read(store.path)
            is_served = last.number > at_call and last.remote == name and last.direction in (direction, BOTH)
            if is_served and last.answer and not publishes:
                return {**last.answer, "shared": True}
            store.git.start()
            run = last.next(name, direction)
            sync_runs.write(store.path, run)
            at_work = Sync(store, name, desk.now(), deadline - time.monotonic())
            answer = _ran(desk, at_work, run, publishes=publishes, ref=ref)
            is_rolled_up = direction != PULL and _is_to_roll_up(desk, run)
            run = run.replace(
                applied=_lines_of(desk, answer["tip"]), seen_at=at_work.now if is_rolled_up else run.seen_at
            )
            if not (is_background or publishes or answer["forks"]):  # forks are told to one caller
                sync_runs.write(store.path, run.replace(answer=answer))
    except AlreadySyncing.error:
        return {"already_running": True, "remote": name}
    if first := next((fork for fork in answer["forks"] if fork["kept"]), None):  # not if its lines were recorded again
        message = f"lines of writer {first['writer']} were put aside, in {first['path']}"
        raise importing.LedgerForked(message, hint=LOOK_THROUGH, **answer)
    return answer


def _quarantined(store: Store, outcome: SyncResult) -> list[dict[str, str]]:
    """The commits on the branch that were skipped, which are also recorded."""
    if not outcome.quarantined:
        return []
    from bb.ledger.travel import quarantine_record  # noqa: PLC0415  (strays are rare)

    found = quarantine_record.described(store.place.common, outcome.remote, outcome.quarantined)
    quarantine_record.add(store.path, found)
    return [one.as_dict() for one in found]


def _lines_of(desk: Desk, tip: str | None) -> str:
    """A name for the lines here: it changes with every import, and with every publication."""
    mark = received.mark_of(desk.store.path)
    return f"{mark.inode} {mark.size} {tip}"


def _is_to_roll_up(desk: Desk, run: SyncRun) -> bool:
    """Whether to look for signs of life to publish. With thousands of presence files, not at every sync."""
    is_recent = 0 <= desk.now() - run.seen_at < signs_of_life.ROLL_UP
    return not is_recent or not _is_crowded(desk)


def _is_crowded(desk: Desk) -> bool:
    """Whether there are so many other clones that looking at each agent takes time."""
    return desk.store.exists and desk.store.index.count_received(MANY) >= MANY


def _ran(desk: Desk, at_work: Sync, run: SyncRun, *, publishes: bool, ref: str | None) -> dict[str, Any]:
    """The answer after a sync that holds the lock."""
    direction = run.direction
    if direction != PULL and _is_to_roll_up(desk, run):
        signs_of_life.roll_up(desk)
    try:
        at_work.run(direction, publishes=publishes, ref=ref)
        outcome = at_work.outcome()
        lost = apply_fetched(desk, outcome, is_new=run.applied != _lines_of(desk, outcome.tip))
        void = _followed(desk, at_work)
        if lost and direction != PULL:
            at_work.run(PUSH)  # publish the new INCURSIONs
    except BbError as refusal:
        save_outcome(desk, at_work.name, at_work.now, refusal, None)
        raise
    outcome = at_work.outcome()
    save_outcome(desk, at_work.name, at_work.now, None, outcome)
    answer = {"already_running": False} | _shown(desk, outcome, publishes=publishes) | {"contested": lost}
    answer |= {"void": void} if void else {}
    answer["quarantined"] = _quarantined(desk.store, outcome)
    answer["names_taken"] = taken_names.taken_names(desk, desk.store.caught_up()) if desk.store.exists else []
    # A background sync leaves what is told once, such as forks of an interrupted sync, for the next visible one.
    is_background = in_background.MARK in desk.env
    if outcome.signatures and not is_background:
        late = counted_lines.since_last_report(desk.store)
        answer["signatures"] = outcome.signatures | {"come_to_count": [line.as_dict() for line in late]}
    forks = [] if is_background else set_aside.unreported_forks(desk.store.path)
    return answer | {"forks": [fork.as_dict() for fork in forks]}


def apply_fetched(desk: Desk, outcome: SyncResult, *, is_new: bool = True) -> list[dict[str, str]]:
    """Apply fetched lines: signs of life, pauses, and reservations of this clone that lose to published ones. Returns
    those reservations. Thousands of presence files are looked at only if IS_NEW, that is, if there are lines that were
    not applied yet."""
    signs_of_life.record_remote_signs_of_life(desk, outcome.heard)
    if is_new or not _is_crowded(desk):
        signs_of_life.update_presence(desk, outcome.heard)
    if not outcome.reserved or (desk.store.law and desk.store.law.excludes_own_lines):
        return []
    from bb.ops.ledger import contest_notices  # noqa: PLC0415  (needed only for fetched reservations)

    return contest_notices.notify_losers(desk, outcome.reserved)


def _followed(desk: Desk, at_work: Sync) -> list[dict[str, str]]:
    """The reservations of this clone that became void with a change of the fleet, which their holders were told."""
    if at_work.pins.terms is None and not os.path.isdir(fleet_files.path(desk.store.path, "")):
        return []
    from bb.ops.ledger import fleet_changes  # noqa: PLC0415  (most ledgers have no fleet)

    return fleet_changes.follow(desk)


def _shown(desk: Desk, outcome: SyncResult, *, publishes: bool) -> dict[str, Any]:
    apart = ("heard", "unverified", "reserved", "quarantined")
    answer = {name: value for name, value in outcome.as_dict().items() if name not in apart}
    answer["from_agents"] = sorted(who for who in outcome.heard if ids.is_principal(who))
    answer |= {"unverified_agents": list(outcome.unverified)} if outcome.unverified else {}
    return answer | ({"visible_to": visible_to(desk, outcome.remote)} if publishes else {})


def visible_to(desk: Desk, name: str) -> str:
    """Who can read what is published on a remote."""
    where = remotes.url(desk.place.common, name)
    return f"everybody who can read {name} ({where})" if where else f"everybody who can read {name}"


def save_outcome(desk: Desk, name: str, now: int, refusal: BbError | None, outcome: SyncResult | None) -> None:
    """Save the outcome of a sync, for `bb status` and for the next background sync."""
    if not desk.store.exists:
        return
    before = last_sync.read(desk.store.path)
    ok_at = before.ok_at if before else None
    last_sync.write(
        desk.store.path,
        LastSync(
            remote=name,
            at=now,
            ok_at=ok_at if refusal else now,
            code=refusal.code if refusal else None,
            message=refusal.message if refusal else None,
            came=outcome.came if outcome else 0,
            went=outcome.went if outcome else 0,
            background=in_background.MARK in desk.env,
        ),
    )
