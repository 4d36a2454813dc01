"""The ledger travels: to the local ref, to a remote, and back."""

from __future__ import annotations

import os

from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import BbError, NotFound, Refused, Usage
from bb.ledger.git.place import NoWorkTree
from bb.ledger.journal import writers
from bb.ledger.local import last_sync
from bb.ledger.local.last_sync import LastSync
from bb.ledger.published import pins
from bb.ledger.published.layout import LOCAL
from bb.ledger.records import come_to_count, policy, set_aside
from bb.ledger.records.store import JOURNALS, NotInitialized
from bb.ledger.signing import keys
from bb.ledger.travel import background as in_background
from bb.ledger.travel import intake
from bb.ledger.travel import publish as publishing
from bb.ledger.travel import remote as remotes
from bb.ledger.travel.sync import BOTH, PULL, PUSH, Outcome, Sync
from bb.ledger.travel.turns import AlreadySyncing, Turn
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.params import Name, Seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk

PATIENCE = 60
MIRROR_PATIENCE = 10.0


LOOK_THROUGH = "the sync has been done, and what is published counts; record again what still matters in that file"
ONLY_PULL = "`bb sync --pull` only brings in what others have published"


class NoRemote(NotFound):
    """There is no remote to sync with."""

    code = "NO_REMOTE"
    hint = "add one with `git remote add origin URL`, or publish to the local ref only: `bb sync --local`"


class NotPublished(Refused):
    """The ledger has not been published on that remote by this clone."""

    code = "NOT_PUBLISHED"
    hint = f"say so once with `bb sync --publish`; {ONLY_PULL}"


class OneDirection(Usage):
    """These options do not go together."""

    code = "ONE_DIRECTION"


class RemoteName(Name):
    """The git remote; the one synced with before, else origin."""

    metavar = "REMOTE"


class Timeout(Seconds):
    """Give up after so many seconds."""

    least = 1
    most = 3600


@op(
    "sync",
    screen="travel",
    examples=("bb sync --publish", "bb sync", "bb sync --pull --json", "bb sync --local", "bb sync --background"),
    pull="Only bring in what others have published.",
    push="Only publish what is here.",
    local="Only publish to the local ref refs/bb/ledger; nothing leaves this machine.",
    publish="Publish to this remote for the first time, and from then on with every sync.",
    dry_run="Say what would be published and who could see it, and do nothing.",
    background="Start a sync and do not wait for it, if this clone publishes and none was tried just now.",
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
    background: bool = False,
) -> dict[str, Any]:
    """Bring in what others have published, and publish what is here. Plain git, no server.

    The ledger travels on a branch of its own, `bb-ledger`. HEAD, index, work tree and your branches are never touched,
    no hook runs, nothing prompts. Nothing is published to a remote until you have said so once with --publish, in each
    clone; --dry-run says what would become visible to whom. Whatever arrives is verified first; a ledger that was
    rewritten is refused, and your own copy kept. One sync at a time: a second one is told so, and is done. Where a
    clone publishes, commands that record something start a sync in the background, at most every five minutes;
    BB_SYNC=off keeps them from it.
    """
    if sum([pull, push or publish or dry_run, local, background]) > 1:
        raise OneDirection("--pull, --push (or --publish, or --dry-run), --local and --background exclude each other")
    if background:
        if remote:
            raise OneDirection("--background syncs with the remote of this clone, so --remote does not go with it")
        return {"started": background_sync(desk)}
    if local:
        if remote:
            raise OneDirection("--local asks no remote, so --remote does not go with it")
        return commit(desk)
    name = remote_of(desk, remote)
    if not pull:
        _must_exist(desk)
        known = pins.read(desk.place.store)
        if dry_run:
            return _would_show(desk, known, name)
        if not (publish or known.remote(name).publishes):
            hint = f"say so once with `bb sync --publish --remote {name}`; {ONLY_PULL}" if remote else None
            message = f"this clone has not published to {name}"
            raise NotPublished(message, hint=hint, **_would_show(desk, known, name))
    return synced(desk, name, PULL if pull else PUSH if push else BOTH, timeout, publishes=publish)


@op("ledger.commit", screen="travel", examples=("bb ledger commit",))
def commit(desk: Desk) -> dict[str, Any]:
    """Put all that is recorded into one commit at the local ref refs/bb/ledger. No remote is needed or asked.

    `git log -p refs/bb/ledger` shows it like any other history. It is signed as a publication is; where that cannot be
    done, it is made unsigned, since nothing leaves this machine.
    """
    desk.store.must_exist()
    store = desk.store
    try:
        with Turn(store.path):
            known = pins.read(store.path)
            tip, count, unsigned = _committed(store, known, desk.now())
            pins.write(store.path, known.but(local=tip))
    except AlreadySyncing:
        return {"already_running": True, "commit": None, "events": 0}
    answer = {"already_running": False, "commit": tip.commit, "ref": LOCAL, "events": count}
    return answer | ({"unsigned": unsigned} if unsigned else {})


def _committed(store: Store, known: Pins, now: int) -> tuple[Tip, int, str | None]:
    """The commit at the local ref, how many events are new in it, and why it could not be signed."""
    signer = policy.look(store, now, makes=True)
    unsigned = signer.trouble
    if signer.key is not None:
        try:
            return *publishing.commit_here(store, known, now, signer.key), None
        except keys.SigningFailed as refusal:
            unsigned = f"{refusal.code}: {refusal.message}"
    return *publishing.commit_here(store, known, now, None), unsigned


@op(
    "ledger.mirror",
    screen="travel",
    examples=("bb ledger mirror", "bb ledger mirror --all --json"),
    all_="The lines of every writer, not only those recorded in this clone.",
)
def mirror_op(desk: Desk, *, all_: bool = False) -> dict[str, Any]:
    """Write ledger lines into the work tree, for teams that want them in the pull request.

    One sealed file `.bb/ledger/<writer>/<first>-<last>.jsonl` with what this clone has recorded since the last one on
    this branch. Files never change and never conflict. What other branches have brought along is taken in first, and is
    checked like anything that comes from elsewhere. Nothing is staged or committed for you. What is redacted later
    stays in the files that were committed before.
    """
    from bb.ledger.travel import mirror  # noqa: PLC0415  (a sync has no part in it)

    desk.store.must_exist()
    root = desk.place.work_tree
    if root is None:
        raise NoWorkTree
    store = desk.store
    with Turn(store.path, MIRROR_PATIENCE):
        came = mirror.take_in(store, root)
        known = [journal.writer for journal in store.journals()]
        journals = os.path.join(store.path, JOURNALS)
        ours = known if all_ else [writer for writer in known if writers.read_owner(journals, writer)]
        written = mirror.write(store, root, ours)
    shown = [{"path": os.path.relpath(each.path, root), "events": each.last - each.first + 1} for each in written]
    return {"written": shown, "came": came}


def _must_exist(desk: Desk) -> None:
    """Refuse where there is nothing to publish, and name both ways to get a ledger."""
    try:
        desk.store.must_exist()
    except NotInitialized as refusal:
        refusal.hint = "`bb sync --pull` brings in a ledger that is published; `bb init` makes one"
        raise


def remote_of(desk: Desk, named: str | None) -> str:
    """The remote that is meant."""
    if named:
        if remotes.checked(named) not in remotes.names(desk.place.common):
            raise remotes.RemoteNotFound(f"there is no remote {named}")
        return str(named)
    known = pins.read(desk.place.store)
    if known.arbiter:
        return known.arbiter
    there = remotes.names(desk.place.common)
    if not there:
        raise NoRemote
    if len(there) > 1 and "origin" not in there:
        raise NoRemote(f"there are {len(there)} remotes: {', '.join(there[:5])}", hint="name one with --remote")
    return there[0] if len(there) == 1 else "origin"


def synced(desk: Desk, name: str, direction: str, patience: int, *, publishes: bool) -> dict[str, Any]:
    store, now = desk.store, desk.now()
    try:
        store.make_folder()
        with Turn(store.path):
            if direction != PULL:
                signs_of_life.roll_up(desk)
            at_work = Sync(store, name, now, patience)
            try:
                at_work.run(direction, publishes=publishes)
                lost = heard(desk, at_work.outcome())
                if lost and direction != PULL:
                    at_work.run(PUSH)  # so that the others know it too
            except BbError as refusal:
                note(desk, name, now, refusal, None)
                raise
    except AlreadySyncing:
        return {"already_running": True, "remote": name}
    outcome = at_work.outcome()
    note(desk, name, now, None, outcome)
    answer = {"already_running": False} | _shown(desk, outcome, publishes=publishes) | {"contested": lost}
    if outcome.signatures and in_background.MARK not in desk.env:
        late = come_to_count.since_last_told(store)
        answer["signatures"] = outcome.signatures | {"come_to_count": [each.as_dict() for each in late]}
    # What an earlier sync has put aside is among them, if that was cut short; and nobody hears one in the background.
    forks = [] if in_background.MARK in desk.env else set_aside.tell(store.path)
    answer["forks"] = [fork.as_dict() for fork in forks]
    if first := next((fork for fork in forks if fork.kept), None):  # where all is recorded again, nobody need look
        message = f"lines of writer {first.writer} were put aside, in {first.path}"
        raise intake.LedgerForked(message, hint=LOOK_THROUGH, **answer)
    return answer


def heard(desk: Desk, outcome: Outcome) -> list[dict[str, str]]:
    """Take note of what came: who is alive elsewhere, who is paused, and which of our reservations do not stand after
    all."""
    signs_of_life.heard(desk, outcome.heard)
    signs_of_life.mark(desk)
    if not outcome.reserved or (desk.store.law and desk.store.law.is_shut):
        return []
    from bb.ops.ledger import contest_notices  # noqa: PLC0415  (only where reservations came)

    return contest_notices.tell(desk, outcome.reserved)


def _shown(desk: Desk, outcome: Outcome, *, publishes: bool) -> dict[str, Any]:
    apart = ("heard", "unverified", "reserved")
    answer = {name: value for name, value in outcome.as_dict().items() if name not in apart}
    answer["from_agents"] = sorted(who for who in outcome.heard if ids.is_principal(who))
    answer |= {"unverified_agents": list(outcome.unverified)} if outcome.unverified else {}
    return answer | ({"visible_to": _visible_to(desk, outcome.remote)} if publishes else {})


def background_sync(desk: Desk) -> bool:
    """Start a sync that nobody waits for; whether one was started."""
    if pins.read(desk.place.store).publishes_to is None:
        return False
    return in_background.start_if_due(desk.place, desk.cwd, desk.env, in_background.SOON)


def _would_show(desk: Desk, known: Pins, name: str) -> dict[str, Any]:
    """What a first publication makes visible, and to whom."""
    store = desk.store
    index = store.caught_up()
    waiting = publishing.unpublished(store, known.remote(name).tip)
    return {
        "remote": name,
        "events": waiting.count,
        "agents": [agent for agent, _ in index.states(roster.NAME)],
        "shows": ["agents' names and roles", "paths and beads they reserve", "messages and hand-offs, word for word"],
        "visible_to": _visible_to(desk, name),
    }


def _visible_to(desk: Desk, name: str) -> str:
    where = remotes.url(desk.place.common, name)
    return f"everybody who can read {name} ({where})" if where else f"everybody who can read {name}"


def note(desk: Desk, name: str, now: int, refusal: BbError | None, outcome: Outcome | None) -> None:
    """Remember how it went, for `bb status` and for the next background sync."""
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
