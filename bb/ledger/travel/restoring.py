"""Puts the ledger's branch on a remote back after it was deleted, set back, replaced or emptied.

First `look` compares the branch with the last verified commit of this clone, and changes nothing here. Then `restore`
acts on that situation. It never loses a line: lines that only the branch has are imported first, the new commit has the
lines of both, and a replaced commit stays at a local ref. It pushes with a lease on the commit that `look` found. A
ledger of another project is never replaced. Each step can be repeated, so a restore that was killed is run again.
"""

from __future__ import annotations

from bb.kernel.errors import Busy, Conflict, Refused
from bb.kernel.record import Record
from bb.ledger.git import git
from bb.ledger.published import bounds
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.published.layout import charter_at
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.records import payload_removal
from bb.ledger.travel import importing, publish, quarantine, remote, rotation
from bb.ledger.travel.importing import Incoming
from bb.ledger.travel.quarantine import Sound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.travel.sync import Sync

# How the branch compares with the last verified commit.
MISSING = "missing"  # there is no branch
CONTINUES = "continues"  # it has the verified commit
BEHIND = "behind"  # it was set back to a commit before the verified one
CONTAINED = "contained"  # another history that has every verified line, unchanged
DIVERGED = "diverged"  # another history that lacks verified lines
STRANGE = "strange"  # no ledger
ANOTHER = "another"  # the ledger of another project

NOTHING, PUT_BACK, FOLLOW, REPLACE, REFUSE = "nothing", "put back", "follow", "replace", "refuse"
ACTIONS = {
    MISSING: PUT_BACK,
    CONTINUES: NOTHING,
    BEHIND: PUT_BACK,
    CONTAINED: FOLLOW,
    DIVERGED: REPLACE,
    STRANGE: REPLACE,
    ANOTHER: REFUSE,
}
NEEDS_A_PERSON = frozenset({FOLLOW, REPLACE})
KEPT = "refs/bb/replaced/"  # refs of commits that were replaced

NothingVerified = Conflict.declare(
    "NOTHING_VERIFIED",
    "This clone has not verified a ledger on that remote, so there is nothing to restore",
    hint="if nothing is published yet: `bb sync --publish`; otherwise run it in a clone that has synced with that "
    "remote, or fetch what is there now: `bb sync --pull`",
)

CannotRestore = Refused.declare(
    "CANNOT_RESTORE",
    "This clone cannot restore the branch",
    hint="run it in another clone that has synced with that remote: `bb ledger restore --dry-run`",
)

BranchChanged = Busy.declare(
    "BRANCH_CHANGED",
    "The branch has changed since it was compared, and nothing was pushed",
    hint="compare again: `bb ledger restore --dry-run`",
)


class Situation(Record):
    """The branch on a remote, compared with the last verified commit."""

    state: str
    verified: Tip
    found: str | None  # the commit on the branch
    ledger: str | None  # the repository that the ledger there belongs to
    sound: Sound | None  # what counts there, if it is a ledger
    incoming: tuple[Incoming, ...] = ()  # changes of journals by lines that only the branch has
    differing: tuple[str, ...] = ()  # writers whose lines there differ from verified ones

    @property
    def action(self) -> str:
        return ACTIONS[self.state]

    @property
    def only_there(self) -> int:
        """The number of lines that only the branch has."""
        return sum(change.more.count(b"\n") for change in self.incoming)

    @property
    def only_here(self) -> int:
        """The number of verified lines that the branch lacks."""
        there = self.sound.tip.last_lines if self.sound else {}
        return sum(max(n - there.get(writer, 0), 0) for writer, n in self.verified.last_lines.items())


def look(sync: Sync) -> Situation:
    """Fetch the branch and compare it. Nothing is imported."""
    verified = sync.pin.tip
    if verified is None:
        raise NothingVerified(f"this clone has not verified a ledger on {sync.name}")
    found = remote.fetch(sync.store.place, sync.name, sync.left(), sync.pin.ref, whole=True)
    if found is None or found == verified.commit:
        return Situation(CONTINUES if found else MISSING, verified, found, verified.charter.repo, None)
    common = sync.store.place.common
    try:
        sound = quarantine.read(sync.store.path, common, None, found, sync.store.progress)
    except (NotALedger, LedgerRewritten.error) as refusal:
        charter = None if isinstance(refusal, bounds.LedgerTooLarge.error) else charter_at(common, found)
        ledger = charter.repo if charter else None
        return Situation(
            ANOTHER if ledger not in (None, verified.charter.repo) else STRANGE, verified, found, ledger, None
        )
    if sound.tip.charter.repo != verified.charter.repo:
        return Situation(ANOTHER, verified, found, sound.tip.charter.repo, sound)
    return _compared(sync, Situation(CONTINUES, verified, found, sound.tip.charter.repo, sound), sound)


def _compared(sync: Sync, seen: Situation, sound: Sound) -> Situation:
    """The situation, if the branch has a ledger of this project."""
    verified, found = seen.verified, str(seen.found)
    if any(one.id == verified.commit for one in sound.commits) or _is_next_epoch(sync, sound, verified):
        return seen
    common = sync.store.place.common
    if git.ask(["merge-base", "--is-ancestor", found, verified.commit], git_dir=common).status == 0:
        return seen.replace(state=BEHIND)
    try:
        incoming, differing = _plan(sync, sound, verified)
    except NotALedger as refusal:  # some line does not chain: the commits before it may still count
        sound = quarantine.sift(sync.store.path, common, None, found, refusal)
        incoming, differing = _plan(sync, sound, verified)
    seen = seen.replace(sound=sound, incoming=tuple(incoming), differing=tuple(differing))
    # With a lower generation, tokens would be given twice. An earlier epoch has what was removed since.
    is_later = sound.tip.generation >= verified.generation and sound.tip.charter.epoch >= verified.charter.epoch
    return seen.replace(state=CONTAINED if is_later and not seen.only_here and not differing else DIVERGED)


def _is_next_epoch(sync: Sync, sound: Sound, verified: Tip) -> bool:
    """Whether the branch has a new epoch that a sync follows by itself."""
    if sound.tip.charter.epoch <= verified.charter.epoch:
        return False
    try:
        rotation.check(sound, verified, sync.pins.admitted if sync.decides else None)
    except LedgerRewritten.error:
        return False
    return True


def _plan(sync: Sync, sound: Sound, verified: Tip) -> tuple[list[Incoming], list[str]]:
    """The changes that the lines there make to the journals, and the writers whose lines differ from verified ones."""
    runs: dict[str, list[tuple[str, int, bytes]]] = {}
    for added in (added for one in sound.commits for added in one.added):
        runs.setdefault(added[0], []).append(added)
    incoming, differing = [], []
    for writer, added_lines in runs.items():
        commit = Commit(sound.tip.commit, None, sound.tip.generation, tuple(added_lines), ())
        try:
            incoming += importing.check(sync.store, [commit], verified.last_lines)
        except importing.LedgerForked.error:
            differing.append(writer)
    return [change for change in incoming if change.more], differing


def restore(sync: Sync, seen: Situation) -> str | None:
    """Act on a situation. Returns the local ref that keeps the replaced commit, if one was replaced."""
    if seen.action == NOTHING:
        sync.look()
    elif seen.action == FOLLOW:
        follow(sync, seen)
    else:
        return _push(sync, seen)
    sync.publish_all()
    return None


def adopt(sync: Sync, seen: Situation) -> None:
    """Accept the history that is on the branch, whatever it lacks, and publish our lines there."""
    try:
        if seen.state != CONTINUES:
            follow(sync, seen)
        else:
            sync.look()
    except importing.LedgerForked.error:  # another remote has other lines; the person has decided for this one
        others = {name: pin.replace(tip=None, judged=None, put_off=0) for name, pin in sync.pins.remotes.items()}
        sync.pins = sync.pins.replace(remotes=others)
        follow(sync, seen)
    sync.publish_all()


def follow(sync: Sync, seen: Situation) -> None:
    """Accept the history that is on the branch, and publish our lines there. Verified lines that it lacks go there
    again."""
    if seen.sound is None or seen.found is None:
        raise CannotRestore(f"there is no ledger on {sync.name} that could be accepted")
    forgotten = sync.pin.replace(tip=None, judged=None, put_off=0)  # in memory: after a kill, the old pin is there
    sync.pins = sync.pins.with_remote(sync.name, forgotten)
    sync.accept(seen.sound, seen.found)


def _push(sync: Sync, seen: Situation) -> str | None:
    """Let the branch have our verified commit again, and the lines that only the branch had."""
    common, verified = sync.store.place.common, seen.verified
    if git.ask(["cat-file", "-e", f"{verified.commit}^{{tree}}"], git_dir=common).status:
        raise CannotRestore(f"git has deleted the last verified commit {verified.commit[:12]} in this clone")
    kept = None
    if seen.action == REPLACE and seen.found:
        kept = f"{KEPT}{sync.name}/{seen.found}"
        git.run(["update-ref", kept, seen.found], git_dir=common)
    sync.import_lines(list(seen.incoming))
    payload_removal.blank(sync.store)
    wanted, tip, carried = sync.wanted(), verified, []
    if wanted:
        tip, lines, made = publish.commit_aside(sync.store, verified, wanted, sync.now, sync.signatures.key)
        made.settle()
        at = verified.charter.arbiter
        about = (lines, (), False, at.address if at else "")
        carried = [Commit(tip.commit, verified.commit, tip.generation, *about)]
    try:
        remote.push(sync.store.place, sync.name, tip.commit, seen.found, sync.left(), sync.pin.ref)
    except remote.Moved as moved:
        if remote.fetch(sync.store.place, sync.name, sync.left(), sync.pin.ref) != seen.found:
            raise BranchChanged(f"the branch on {sync.name} has changed meanwhile; nothing was pushed") from None
        hint = f"allow a forced push to bb-ledger on {sync.name} for this command only, then run it again"
        raise remote.PushDenied(f"{sync.name} does not let its branch be replaced: {moved}", hint=hint) from None
    sync.remember(sync.pin.replace(tip=tip, put_off=0), carried)
    remote.mark_verified(common, sync.name, tip.commit)
    return kept
