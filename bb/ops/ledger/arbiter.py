"""The arbiter: the remote whose publication order decides about reservations in every clone."""

from __future__ import annotations

from typing import Any

from bb.coordination.holdings.reservations import InvalidArgs
from bb.kernel import secret_patterns
from bb.ledger.travel import arbitration, moving, renamed_remotes
from bb.ledger.travel.sync import BOTH, Sync
from bb.ledger.travel.sync_lock import SyncLock
from bb.ops.agent_params import AsPerson, Why
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.ledger.running_sync import apply_fetched, run_sync
from bb.ops.ledger.sync import NotPublished, RemoteName, Timeout, must_exist, remote_of

PATIENCE = 120
TURN_PATIENCE = 10.0  # seconds to wait for a running sync


class NewArbiter(RemoteName):
    """The remote that is to be the arbiter. Default: show the arbiter and change nothing."""


@op(
    "ledger.arbiter",
    screen="travel",
    examples=(
        "bb ledger arbiter",
        "bb ledger arbiter upstream --reason 'the project moved to upstream'",
        "bb ledger arbiter origin --lost --reason 'the host has another name'",
    ),
)
def arbiter(
    desk: Desk,
    remote: NewArbiter | None = None,
    *,
    reason: Why | None = None,
    lost: bool = False,
    agent: AsPerson | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
) -> dict[str, Any]:
    """Show the arbiter of the published ledger, or make another remote the arbiter. Only the person may move it.

    Only the arbiter grants reservations with --global, and its order of publication decides about contested
    reservations and names. Every published branch names it, so every clone agrees. The first publication names the
    remote that is published to. A move is a commit on the arbiter so far, which ends its order, and a commit on the
    next arbiter, which takes over the results. All clones follow with their next sync of either remote.

    Parameters:
        reason: The reason for the move. It is published, and shown in every clone.
        lost: Move even if the arbiter so far cannot be told: it is gone, or it is this remote under another address.
            Reservations that it has granted without this clone's knowledge become void.
    """
    store = desk.store
    must_exist(desk)
    if remote is None:
        if reason is not None or lost:
            hint = "name the next arbiter: `bb ledger arbiter REMOTE --reason TEXT`; without options it is only shown"
            raise InvalidArgs(
                "--reason and --lost belong to a move, and no remote is named", hint=hint, path="$.remote"
            )
        return _shown(desk)
    signs_of_life.person(desk, agent)
    if reason is None:
        hint = f"say why it moves: `bb ledger arbiter {remote} --reason 'the server was replaced'`"
        raise InvalidArgs("a move of the arbiter needs a --reason", hint=hint, path="$.reason")
    secret_patterns.refuse_secrets(reason)
    name = remote_of(desk, remote)
    if not renamed_remotes.pins_now(desk.place).remote(name).publishes:
        hint = f"run `bb sync --publish --remote {name}` first"
        raise NotPublished(f"this clone has not published to {name}", hint=hint)
    run_sync(desk, name, BOTH, timeout, publishes=False)  # a normal sync first, with its notices
    with SyncLock(store.path, TURN_PATIENCE), store.git:
        made = moving.move(store, name, signs_of_life.person(desk, agent), reason, desk.now(), timeout, is_lost=lost)
        apply_fetched(desk, Sync(store, name, desk.now(), timeout).outcome())
    return _shown(desk) | {"told": made.told, "moved": True, "generation": made.generation}


def _shown(desk: Desk) -> dict[str, Any]:
    """The arbiter, and the remote of this clone that is the arbiter, if there is one."""
    known = renamed_remotes.pins_now(desk.place)
    here = arbitration.find(desk.place, known.named) if known.named else known.home
    return {
        "arbiter": known.named.as_dict() if known.named else None,
        "remote": here,
        "publishes": bool(here and known.remote(here).publishes),
        "remotes": {name: arbitration.address(desk.place, name) for name in known.remotes},
        "moved": False,
    }
