"""Restoring: puts the published branch back after it was deleted, set back, replaced or emptied."""

from __future__ import annotations

from typing import Any

from bb.kernel.errors import Conflict
from bb.ledger.records import creation
from bb.ledger.travel import restoring
from bb.ledger.travel.fetching import AnotherLedger
from bb.ledger.travel.restoring import Situation
from bb.ledger.travel.sync import Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.agent_params import AsPerson, Name
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.ledger.running_sync import apply_fetched, save_outcome
from bb.ops.ledger.sync import NotPublished, RemoteName, Timeout, must_exist, remote_of

PATIENCE = 600
TURN_PATIENCE = 10.0  # seconds to wait for a running sync
STRANGERS = (
    "it was left alone. If the remote has a wrong address, correct it with `git remote set-url {name} URL`. If that "
    "ledger is there by mistake, its owner must move it. If it is yours too, join it: "
    "`bb ledger restore --remote {name} --adopt {ledger}`"
)


class LedgerId(Name):
    """The id of the ledger on the remote, as `bb ledger restore --dry-run` shows it."""

    metavar = "LEDGER"


OtherLedger = Conflict.declare(
    "OTHER_LEDGER",
    "The ledger on the remote is not the one that --adopt names",
    hint="compare again: `bb ledger restore --dry-run`",
)


@op(
    "ledger.restore",
    screen="restoring",
    examples=(
        "bb ledger restore --dry-run",
        "bb ledger restore --agent user",
        "bb ledger restore --adopt 0fba2ae713d9 --agent user",
    ),
)
def restore(
    desk: Desk,
    *,
    remote: RemoteName | None = None,
    adopt: LedgerId | None = None,
    agent: AsPerson | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """Put the branch bb-ledger back after it was deleted, set back, replaced or emptied.

    Compares the branch with the last commit that this clone has verified, and shows both with --dry-run. Nothing is
    lost: lines that only the branch has are imported first, then the verified commit is pushed with the lines of both.
    A replaced commit stays at a local ref. The push happens only if the branch is still at the commit that was shown.
    The ledger of another project is never replaced.

    If the branch was deleted or set back, an ordinary push is enough. If another history is there, only the person may
    decide (PERSON_ONLY), and the remote must allow a forced push. If that history has every verified line, this clone
    follows it instead, and nothing is replaced.

    Parameters:
        adopt: Accept the history on the remote, also if it lacks lines or is another ledger, and publish the lines of
            this clone there. Only the person may do this.
        dry_run: Show the branch, the verified commit and the action, without doing it.
    """
    store = desk.store
    must_exist(desk)
    if agent or adopt:
        signs_of_life.person(desk, agent)
    name = remote_of(desk, remote)
    creation.make_folder(store.place)
    with SyncLock(store.path, TURN_PATIENCE), store.git:
        at_work = Sync(store, name, desk.now(), timeout)
        seen = restoring.look(at_work)
        shown = _shown(name, seen, adopt)
        if adopt and adopt != seen.ledger:
            raise OtherLedger(f"{name} has {seen.ledger or 'no ledger'}, not {adopt[:60]}", **shown)
        if dry_run:
            return shown | {"is_done": False, "tip": None, "generation": None, "kept_as": None}
        _may_act(desk, at_work, seen, adopt, agent, shown)
        kept = None
        if adopt:
            restoring.adopt(at_work, seen)
        else:
            kept = restoring.restore(at_work, seen)
        outcome = at_work.outcome()
        contested = apply_fetched(desk, outcome)
    save_outcome(desk, name, desk.now(), None, outcome)
    return shown | {
        "is_done": True,
        "tip": outcome.tip,
        "generation": outcome.generation,
        "kept_as": kept,
        "contested": contested,
    }


def _shown(name: str, seen: Situation, adopt: str | None) -> dict[str, Any]:
    """The situation and the action, as an answer."""
    sound, verified = seen.sound, seen.verified
    return {
        "remote": name,
        "state": seen.state,
        "action": "adopt" if adopt else seen.action,
        "found": seen.found,
        "found_ledger": seen.ledger,
        "found_generation": sound.tip.generation if sound else None,
        "found_events": sound.tip.events if sound else None,
        "verified": verified.commit,
        "verified_ledger": verified.charter.repo,
        "verified_generation": verified.generation,
        "verified_events": verified.events,
        "only_there": seen.only_there,
        "only_here": seen.only_here if seen.state != restoring.CONTINUES else 0,
        "differing_writers": list(seen.differing),
        "needs_person": bool(adopt) or seen.action in restoring.NEEDS_A_PERSON,
    }


def _may_act(
    desk: Desk, sync: Sync, seen: Situation, adopt: str | None, agent: str | None, shown: dict[str, Any]
) -> None:
    """Refuse what must not be done, or not by this caller."""
    if adopt:
        return
    if seen.action == restoring.REFUSE:
        hint = STRANGERS.format(name=sync.name, ledger=seen.ledger)
        message = f"the ledger on {sync.name} belongs to {seen.ledger}, and this one to {seen.verified.charter.repo}"
        raise AnotherLedger(message, hint=hint, **shown)
    if not sync.pin.publishes and seen.action != restoring.NOTHING:
        hint = "run it in a clone that publishes"
        raise NotPublished(f"this clone only fetches from {sync.name}", hint=hint, **shown)
    if seen.action in restoring.NEEDS_A_PERSON:
        signs_of_life.person(desk, agent)
