"""Sync: publishes lines to a remote or the local ref, and fetches lines of other clones."""

from __future__ import annotations

import os

from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import NotFound, Refused, Usage
from bb.ledger.git.place import NoWorkTree
from bb.ledger.journal import writers
from bb.ledger.journal.writers import JOURNALS
from bb.ledger.published import pins
from bb.ledger.published.layout import BRANCH, HIDDEN, LOCAL
from bb.ledger.records import policy
from bb.ledger.records.store import NotInitialized
from bb.ledger.signing import keys
from bb.ledger.travel import background as in_background
from bb.ledger.travel import publish as publishing
from bb.ledger.travel import remote as remotes
from bb.ledger.travel import renamed_remotes
from bb.ledger.travel.sync import BOTH, PULL, PUSH
from bb.ledger.travel.sync_lock import AlreadySyncing, SyncLock
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.ledger.running_sync import run_sync, visible_to
from bb.ops.params import Seconds, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.kernel.errors import BbError
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk

PATIENCE = 60
HIDDEN_PLACE = "hidden"
MIRROR_PATIENCE = 10.0


ONLY_PULL = "`bb sync --pull` only fetches lines that others have published"

NoRemote = NotFound.declare(
    "NO_REMOTE",
    "There is no remote to sync with",
    hint="add one with `git remote add origin URL`, or publish to the local ref only: `bb sync --local`",
)

NotPublished = Refused.declare(
    "NOT_PUBLISHED",
    "This clone has not published the ledger to that remote",
    hint=f"run `bb sync --publish` once; {ONLY_PULL}",
)

OneDirection = Usage.declare(
    "ONE_DIRECTION",
    "These options cannot be used together",
    hint="use one of them at a time: `bb sync --help` says what each does",
)


class RemoteName(Name):
    """The git remote. Default: the remote of earlier syncs, else origin."""

    metavar = "REMOTE"


class LedgerPlace(Text):
    """The place of the ledger on the remote: the branch bb-ledger, or a hidden ref that plain clones do not fetch."""

    metavar = "branch|hidden"
    choices = ("branch", HIDDEN_PLACE)


class Timeout(Seconds):
    """Stop after this many seconds. At most half of them is spent waiting for another sync of this clone."""

    least = 1
    most = 3600


@op(
    "sync",
    screen="travel",
    examples=("bb sync --publish", "bb sync", "bb sync --pull --json", "bb sync --local", "bb sync --background"),
)
def sync(
    desk: Desk,
    *,
    pull: bool = False,
    push: bool = False,
    remote: RemoteName | None = None,
    timeout: Timeout = Timeout(PATIENCE),  # noqa: B008  (a number)
    local: bool = False,
    publish: bool = False,
    dry_run: bool = False,
    place: LedgerPlace | None = None,
    farewell: bool = False,
    background: bool = False,
) -> dict[str, Any]:
    """Fetch the lines of other clones, and publish those of this clone. Uses git; needs no server.

    The ledger has its own branch on the remote, `bb-ledger`. HEAD, index, work tree and your branches are not changed,
    no hook runs, and git asks no questions. A clone publishes nothing until you run --publish in it once; --dry-run
    shows what would become visible to whom. Fetched lines are verified first. A rewritten ledger is refused, and your
    own copy is kept. Only one sync runs at a time; calls that wait for it are served by the next one together. If a
    clone publishes, commands that record something start a background sync, at most every five minutes; BB_SYNC=off
    prevents this.

    In a fleet, the relay of this clone does this all the time, and a sync waits until everything is sent to the engine
    and read from it. --publish also publishes it in the git archive. Without the engine, --pull reads the archive.

    Parameters:
        pull: Only fetch the published lines of other clones.
        push: Only publish the lines of this clone.
        local: Only write to the local ref refs/bb/ledger; nothing is sent to other machines.
        publish: Publish to this remote for the first time. Later syncs publish without this option.
        dry_run: Show what would be published and who could see it, without doing it.
        place: With --publish: where on the remote the ledger is published. A ledger that is at the other place moves
            there, and all clones follow with their next sync. Only the person may move it. `hidden` is
            refs/bb/published: `git clone` and `git fetch` do not get it, and some hosts do not accept it.
        farewell: For a sandbox or container that will not come back: sync, and then retire the writer of this clone.
            The answer lists the reservations that its agents still have. If the clone is used again after all, it
            writes under a new writer.
        background: Start a sync without waiting for it, if this clone publishes and no sync was tried just now.
    """
    publishes_nothing = pull or dry_run or local or background
    _refuse_contradictions(
        [pull, push or publish or dry_run, local, background], is_useless=farewell and publishes_nothing
    )
    if background or local:
        if remote:
            which = "--background uses the remote of this clone" if background else "--local uses no remote"
            raise OneDirection(f"{which}, so it cannot be used with --remote")
        return {"started": background_sync(desk)} if background else commit(desk)
    name = remote_of(desk, remote)
    direction = PULL if pull else PUSH if push else BOTH
    if dry_run:
        must_exist(desk)
        saved_pins = renamed_remotes.pins_now(desk.place)
        return _would_show(desk, saved_pins, name) | _would_move(saved_pins, name, place)
    if place is None and desk.is_in_fleet:
        from bb.ops.ledger import fleet_sync  # noqa: PLC0415  (needed only in a fleet)

        if fleet_sync.is_about_engine(desk, name):
            answer = fleet_sync.sync(desk, name, direction, timeout, archives=publish or farewell)
            return answer | ({"farewell": _say_farewell(desk, name, timeout)} if farewell else {})
    if not pull:
        _must_publish(desk, name, remote, timeout, publishes=publish)
    ref = _ref_of(desk, place, name, publishes=publish)
    answer = run_sync(desk, name, direction, timeout, publishes=publish, ref=ref)
    if not pull and _is_left_out(desk, name):
        raise _not_in_fleet(answer)
    return answer | {"farewell": _say_farewell(desk, name, timeout)} if farewell else answer


def _refuse_contradictions(directions: Sequence[bool], *, is_useless: bool) -> None:
    """Refuse a sync in several DIRECTIONS, and a farewell that publishes nothing."""
    if is_useless:
        raise OneDirection("--farewell publishes everything, so it cannot be used with a sync that publishes nothing")
    if sum(directions) > 1:
        raise OneDirection("--pull, --push (or --publish, or --dry-run), --local and --background exclude each other")


def _is_left_out(desk: Desk, name: str) -> bool:
    """Whether the ledger on the remote NAME has a fleet that this clone has not joined. Then it can only fetch."""
    known = pins.read(desk.place.store)
    return known.terms is not None and known.home == name and not desk.is_in_fleet


def _not_in_fleet(answer: dict[str, Any]) -> BbError:
    """The refusal of a sync that was to send something, and could only fetch."""
    from bb.ledger.fleet.settings import NotInFleet  # noqa: PLC0415  (most ledgers have no fleet)

    message = "nothing was sent: lines go through the engine of this ledger's fleet, which this clone has not joined"
    return NotInFleet(message, **answer)


def _must_publish(desk: Desk, name: str, named: str | None, timeout: int, *, publishes: bool) -> None:
    """Refuse if this clone has not published to the remote NAME, and is not asked to; or if lines go through an engine
    that it has not joined."""
    must_exist(desk)
    if _is_left_out(desk, name):
        answer = run_sync(desk, name, PULL, timeout, publishes=False)
        if _is_left_out(desk, name):  # the fleet might have ended
            raise _not_in_fleet(answer)
    saved_pins = renamed_remotes.pins_now(desk.place)
    if not (publishes or saved_pins.remote(name).publishes):
        hint = f"run `bb sync --publish --remote {name}` once; {ONLY_PULL}" if named else None
        message = f"this clone has not published to {name}"
        raise NotPublished(message, hint=hint, **_would_show(desk, saved_pins, name))


def _say_farewell(desk: Desk, name: str, timeout: int) -> dict[str, Any]:
    """Retire the writer of this clone, once every line of it is published. Its file leaves the branch's tree with the
    next snapshot, like that of every other writer."""
    store = desk.store
    writer = store.writer
    if writer is None:  # this clone has recorded nothing, or it said farewell before
        return {"writer": None, "still_held": _still_held(desk)}
    writers.retire(os.path.join(store.path, JOURNALS), writer, "bb sync --farewell", None)
    # Another process may have recorded something since the sync.
    if desk.is_in_fleet:
        from bb.ops.ledger import fleet_sync  # noqa: PLC0415  (needed only in a fleet)

        fleet_sync.sync(desk, name, PUSH, timeout, archives=True)
        return {"writer": writer, "still_held": _still_held(desk)}
    if publishing.unpublished(store, pins.read(store.path).remote(name).tip):
        run_sync(desk, name, PUSH, timeout, publishes=False)
    if publishing.unpublished(store, pins.read(store.path).remote(name).tip):
        raise AlreadySyncing(hint="wait for that sync, then: `bb sync`; the writer of this clone is retired already")
    return {"writer": writer, "still_held": _still_held(desk)}


def _still_held(desk: Desk) -> list[dict[str, str]]:
    """The reservations that were made in this clone."""
    store, ours = desk.store, writers.retired_own_writers(os.path.join(desk.store.path, JOURNALS))
    held = desk.holdings(store.caught_up(), desk.now()).everything()
    still = [one.reservation for one in held if ids.split_event_id(one.reservation.id)[0] in ours]
    return [{"agent_id": reservation.agent, "scope": reservation.path} for reservation in still]


def _ref_of(desk: Desk, place: LedgerPlace | None, name: str, *, publishes: bool) -> str | None:
    """The ref of a PLACE on the remote. Only the person may move a published ledger."""
    if place is None:
        return None
    if not publishes:
        raise OneDirection("--place belongs to --publish", hint=f"run `bb sync --publish --place {place}`")
    if renamed_remotes.pins_now(desk.place).remote(name).tip is not None:
        signs_of_life.person(desk, None)
    return HIDDEN if place == HIDDEN_PLACE else BRANCH


@op("ledger.commit", screen="travel", examples=("bb ledger commit",))
def commit(desk: Desk) -> dict[str, Any]:
    """Write all recorded lines into one commit at refs/bb/ledger. No remote is used.

    `git log -p refs/bb/ledger` shows the history. The commit is signed like a publication. If signing fails, it is made
    unsigned, because nothing is sent to other machines.
    """
    desk.store.require_ledger()
    store = desk.store
    try:
        with SyncLock(store.path), store.git:
            saved_pins = pins.read(store.path)
            tip, count, unsigned = _committed(store, saved_pins, desk.now())
            pins.write(store.path, saved_pins.replace(local=tip))
    except AlreadySyncing.error:
        return {"already_running": True, "commit": None, "events": 0}
    answer = {"already_running": False, "commit": tip.commit, "ref": LOCAL, "events": count}
    return answer | ({"unsigned": unsigned} if unsigned else {})


def _committed(store: Store, known: Pins, now: int) -> tuple[Tip, int, str | None]:
    """The commit at the local ref, the number of new events in it, and the reason if it could not be signed."""
    signer = policy.refresh(store, now, makes=True)
    unsigned = signer.trouble
    if signer.key is not None:
        try:
            return *publishing.commit_here(store, known, now, signer.key), None
        except keys.SigningFailed.error as refusal:
            unsigned = f"{refusal.code}: {refusal.message}"
    return *publishing.commit_here(store, known, now, None), unsigned


@op("ledger.mirror", screen="travel", examples=("bb ledger mirror", "bb ledger mirror --all --json"))
def mirror_op(desk: Desk, *, all_: bool = False) -> dict[str, Any]:
    """Write ledger lines into the work tree, for teams that want them in pull requests.

    Writes one file `.bb/ledger/<writer>/<first>-<last>.jsonl` per writer, with the lines recorded in this clone since
    the last such file on this branch. These files never change and never conflict. Files from other branches are read
    and verified first, like fetched lines. Nothing is staged or committed for you. A later redaction does not change
    files that were already committed.

    Parameters:
        all_: Write the lines of all writers, not only those recorded in this clone.
    """
    from bb.ledger.travel import mirror  # noqa: PLC0415  (a sync does not need it)

    desk.store.require_ledger()
    root = desk.place.work_tree
    if root is None:
        raise NoWorkTree()
    store = desk.store
    with SyncLock(store.path, MIRROR_PATIENCE):
        came = mirror.import_lines(store, root)
        all_writers = [journal.writer for journal in store.journals()]
        journals = os.path.join(store.path, JOURNALS)
        ours = all_writers if all_ else [writer for writer in all_writers if writers.read_owner(journals, writer)]
        written = mirror.write(store, root, ours)
    files = [{"path": os.path.relpath(file.path, root), "events": file.last - file.first + 1} for file in written]
    return {"written": files, "came": came}


def must_exist(desk: Desk) -> None:
    """Refuse without a ledger; the hint names both ways to get one."""
    try:
        desk.store.require_ledger()
    except NotInitialized.error as refusal:
        refusal.hint = "`bb sync --pull` fetches a published ledger; `bb init` creates one"
        raise


def remote_of(desk: Desk, named: str | None) -> str:
    """The remote to sync with: the one NAMED, else the one of earlier syncs, else origin or the only remote."""
    if named:
        if remotes.valid_name(named) not in remotes.names(desk.place.common):
            raise remotes.RemoteNotFound(f"there is no remote {named}")
        return str(named)
    saved_pins = renamed_remotes.pins_now(desk.place)
    if saved_pins.home:
        return saved_pins.home
    names = remotes.names(desk.place.common)
    if not names:
        raise NoRemote()
    if len(names) > 1 and "origin" not in names:
        raise NoRemote(f"there are {len(names)} remotes: {', '.join(names[:5])}", hint="name one with --remote")
    return names[0] if len(names) == 1 else "origin"


def background_sync(desk: Desk) -> bool:
    """Start a background sync. Returns whether one was started. In a fleet, the relay is woken instead."""
    if desk.is_in_fleet:
        from bb.ledger.fleet import waking  # noqa: PLC0415  (needed only in a fleet)

        return waking.wake(desk.place.store, desk.cwd, desk.env)
    if pins.read(desk.place.store).publishes_to is None:
        return False
    return in_background.start_if_due(desk.place, desk.cwd, desk.env, in_background.SOON)


def _would_show(desk: Desk, known: Pins, name: str) -> dict[str, Any]:
    """What a first publication would make visible, and to whom."""
    store = desk.store
    index = store.caught_up()
    waiting = publishing.unpublished(store, known.remote(name).tip)
    return {
        "remote": name,
        "events": waiting.count,
        "agents": [agent for agent, _ in index.states(roster.NAME)],
        "shows": ["agents' names and roles", "paths and beads they reserve", "messages and hand-offs, word for word"],
        "visible_to": visible_to(desk, name),
    }


def _would_move(known: Pins, name: str, place: LedgerPlace | None) -> dict[str, Any]:
    """Where a published ledger would move."""
    ref = HIDDEN if place == HIDDEN_PLACE else BRANCH
    pin = known.remote(name)
    return {"moves_to": str(place)} if place and pin.tip is not None and pin.ref != ref else {}
