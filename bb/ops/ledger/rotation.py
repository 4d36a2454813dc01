"""Beginning the published ledger anew."""

from __future__ import annotations

from bb.kernel import ids, secret_patterns
from bb.ledger.published import pins
from bb.ledger.records import redaction
from bb.ledger.travel.sync import BOTH, Sync
from bb.ledger.travel.turns import Turn
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.ledger.sync import NotPublished, RemoteName, Timeout, heard, note, remote_of, synced
from bb.ops.params import Reason, Someone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

PATIENCE = 600
TURN_PATIENCE = 10.0  # seconds to wait for a sync that is going on


class Why(Reason):
    """Why; every clone is told, and it stands in the new epoch."""


@op(
    "ledger.rotate",
    screen="travel",
    examples=(
        "bb ledger rotate --reason 'a password was in a message' --dry-run",
        "bb ledger rotate --reason 'a password was in a message' --agent user",
    ),
    dry_run="Say what would become of the published history, and do nothing.",
)
def rotate(
    desk: Desk,
    *,
    reason: Why,
    remote: RemoteName | None = None,
    agent: Someone | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    dry_run: bool = False,
) -> dict[str, Any]:
    """Begin the published ledger anew, so that its earlier commits can go. The only way to be rid of what they hold.

    All lines are in the new epoch; those that were redacted are there without what they said. The remote's branch is
    replaced, which it must allow; other clones check with their next sync that nothing is missing or changed, and
    follow. Nothing is asked of them, but until they have synced and cleaned up (`git gc`), their git has the earlier
    commits, and so may the host: docs/sync.md says what to do about a secret.
    """
    store = desk.store
    store.must_exist()
    name = remote_of(desk, remote)
    before = pins.read(store.path).remote(name).tip
    if before is None or not pins.read(store.path).remote(name).publishes:
        raise NotPublished(f"this clone has not published to {name}")
    shown = {
        "remote": name,
        "epoch": before.charter.epoch + 1,
        "previous": before.commit,
        "events": before.events,
        "redacted": len(redaction.redacted(store)),
        "reason": reason,
    }
    if dry_run:
        previous = before.charter.previous
        commits = before.generation - (previous.generation if previous else 0)
        return shown | {"commits": commits, "tip": None, "generation": None, "by": None}
    secret_patterns.refuse_secrets(reason)
    who = signs_of_life.caller(desk, agent or desk.env.get("BB_AGENT") or ids.PERSON, may_be_person=True)
    synced(desk, name, BOTH, timeout, publishes=False)  # who came in each other's way is told, as by any sync
    with Turn(store.path, TURN_PATIENCE):
        at_work = Sync(store, name, desk.now(), timeout)
        commits = at_work.rotate(who, reason)
        outcome = at_work.outcome()
        heard(desk, outcome)
    note(desk, name, desk.now(), None, outcome)
    anew = outcome.begun_anew or {}
    return shown | {
        "epoch": anew["epoch"],
        "previous": anew["commit"],
        "events": outcome.events,
        "redacted": len(redaction.redacted(store)),
        "commits": commits,
        "tip": outcome.tip,
        "generation": outcome.generation,
        "by": who,
    }
