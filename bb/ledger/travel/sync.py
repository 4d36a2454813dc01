"""Syncs a clone with a remote: look, import, publish, and repeat if another clone was faster.

    look      fetch the branch, verify every commit after the last verified one, import the lines, save the tip
    publish   make one commit of all unpublished lines on that tip, and push it only if the branch is still there

If there are unpublished lines, publishing is tried first: an accepted push proves that there was nothing to fetch. Each
step can be repeated, so an interrupted sync is simply run again. If it is unknown whether a push arrived, the next look
tells. Modules for looking and compacting are imported on demand, because most syncs only push.
"""

from __future__ import annotations

import os
import time

from bb.coordination.holdings.admission import Admitted
from bb.coordination.records import signers
from bb.kernel.errors import BbError, Conflict
from bb.kernel.record import Record
from bb.ledger.git import git, program
from bb.ledger.index import database
from bb.ledger.journal import received
from bb.ledger.published import pins
from bb.ledger.published.charter import LedgerRewritten, NotALedger, must_be_ours
from bb.ledger.published.layout import HIDDEN, LOCAL
from bb.ledger.published.pins import Pin
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.records import creation, payload_removal, set_aside
from bb.ledger.travel import admitted, arbitration, publish, remote, renamed_remotes
from bb.ledger.travel.own_signatures import OwnSignatures
from bb.ledger.travel.sync_lock import FIRST_PAUSE, random_pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.ledger.published.arbiter import Arbiter
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.store import Store
    from bb.ledger.travel.arrivals import Arrivals
    from bb.ledger.travel.importing import Incoming
    from bb.ledger.travel.quarantine import Sound, Stray

LEAST_FOR_COMPACTING, LEAST_FOR_PUSHING = 5.0, 20.0  # seconds left
MOST_LOOKED_AT = 300  # received journals; with more, only `bb doctor` and `bb ledger verify` look at each
MOST_IN_VAIN = 4  # pushes rejected as outdated although the remote has not changed
PULL, PUSH, BOTH = "pull", "push", "both"

AnotherLedger = Conflict.declare(
    "ANOTHER_LEDGER",
    "The remote has the ledger of another project",
    hint="nothing was imported; sync with a remote of this project: `bb sync --remote NAME`",
)


class SyncResult(Record):
    """The result of a sync."""

    remote: str
    tip: str | None
    generation: int
    events: int  # published on the remote
    came: int
    went: int
    kinds: dict[str, int]  # of the imported events
    heard: dict[str, int]  # agents with imported lines that count: milliseconds before the newest imported line
    unverified: tuple[str, ...]  # those of them with events that their key has not signed
    reserved: tuple[str, ...]  # imported reservations
    place: str  # of the ledger on the remote
    joined: str | None
    attempts: int
    archived: int | None  # lines archived with a snapshot, if one was made
    not_compacted: str | None  # why no snapshot was made although one was due
    begun_anew: dict[str, object] | None  # the new epoch: the agent that began it, why and when
    arbiter_moved: dict[str, object] | None  # the arbiter, if this clone learned of its move
    signatures: dict[str, object] | None  # the results for imported lines, and the state of our key
    quarantined: tuple[Stray, ...]  # commits on the branch that do not count


class Sync:
    """One sync of one clone with one remote."""

    def __init__(self, store: Store, name: str, now: int, patience: float) -> None:
        self.store = store
        self.name = name
        self.pins = renamed_remotes.follow(store.place)
        self.signatures = OwnSignatures(store, self.pins.home or name, now)
        self._named_before = self.pins.named
        self._at: str | None = None  # the address of the remote, once it was asked for
        self.now = now
        self._deadline = time.monotonic() + patience
        self._went = self._attempts = 0
        self._arrivals: Arrivals | None = None  # None if nothing was imported
        self._joined: str | None = None
        self.archived: int | None = None
        self._not_compacted: str | None = None
        self.begun_anew: Charter | None = None  # of a new epoch
        self._is_gone = False  # whether the branch disappeared from the remote
        self._left_to: str | None = None  # our former writer, if another store has published under its id
        self._quarantined: dict[str, Stray] = {}
        self._on_top_of: str | None = None  # the commit at the tip of the branch, if it is quarantined

    @property
    def pin(self) -> Pin:
        return self.pins.remote(self.name)

    @property
    def address(self) -> str:
        """The address that the remote is known by."""
        if self._at is None:
            self._at = arbitration.address(self.store.place, self.name)
        return self._at

    @property
    def decides(self) -> bool:
        """Whether the remote is the arbiter: whether its publication order decides."""
        return arbitration.decides(self.pins.named, self.pins.home, self.name, self.address, self.pin.tip)

    def run(self, direction: str, *, publishes: bool = False, ref: str | None = None) -> None:
        """Sync in this DIRECTION. PUBLISHES allows publishing our lines on this remote from now on, at the place REF if
        one is given."""
        if self.store.exists and len(received.all_in(self.store.path)) <= MOST_LOOKED_AT:
            self.store.look_at_everything()
        if direction == PULL or publishes or not self._may_push_at_once():
            self.look(may_be_gone=publishes)
        self._record_again()
        if publishes and not self.pin.publishes:
            self.remember(self.pin.replace(publishes=True))  # only now: the look has shown that the remote exists
        if ref is not None:
            self.relocate(ref)
        if direction != PULL:
            self.publish_all()
            self._compact()
        self._keep_to_the_law()

    def _keep_to_the_law(self) -> None:
        """Compute the admitted reservations again, if other lines count now than last time."""
        if self.store.exists and self.pin.tip and self.pins.arbiter == self.name and self.decides:
            law = self.store.law if self.signatures.known.text is not None else None
            if (law.basis if law else "") != self.pins.law:
                self.remember(self.pin)

    @property
    def has_stray_tip(self) -> bool:
        """Whether the last commit on the branch does not count."""
        return self._on_top_of is not None

    def base(self) -> str:
        """The last verified commit. It contains everything published so far."""
        tip = self.pin.tip
        if tip is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}")
        return tip.commit

    def outcome(self) -> SyncResult:
        tip, came = self.pin.tip, self._arrivals
        return SyncResult(
            remote=self.name,
            tip=tip.commit if tip else None,
            generation=tip.generation if tip else 0,
            events=tip.events if tip else 0,
            came=came.count if came else 0,
            went=self._went,
            kinds=came.kinds if came else {},
            heard=came.heard if came else {},
            unverified=tuple(sorted(came.unverified)) if came else (),
            reserved=tuple(came.reserved) if came else (),
            place="hidden" if self.pin.ref == HIDDEN else "branch",
            joined=self._joined,
            attempts=self._attempts,
            archived=self.archived,
            not_compacted=self._not_compacted,
            begun_anew=_told(self.begun_anew),
            arbiter_moved=self._told_of_move(),
            signatures=self._told_of_signatures(),
            quarantined=tuple(self._quarantined.values()),
        )

    def _told_of_move(self) -> dict[str, object] | None:
        named = self.pins.named
        return named.as_dict() if named and named.turn > 1 and named != self._named_before else None

    def _told_of_signatures(self) -> dict[str, object] | None:
        if not self.store.exists:
            return None
        signer_policy, failure, came = self.signatures.known, self.signatures.failure, self._arrivals
        answer: dict[str, object] = signer_policy.shown()
        if signer_policy.text is not None:
            answer |= came.judged() if came else {"came": {}, "doubted": []}
        if failure:
            answer["unsigned"] = f"{failure.code}: {failure.message}"
        if self._left_to:
            answer["left_writer"] = self._left_to
        return answer | (came.lost() if came else {})

    # -- looking

    def look(self, *, may_be_gone: bool = False) -> None:
        """Fetch, verify and import published lines."""
        tip = self.pin.tip
        last_verified = tip if tip and self._has(tip) else None  # if local lines are lost, everything is verified again
        remote_tip = self._fetched(whole=last_verified is None)
        self._on_top_of = None
        if remote_tip is None:
            if tip is not None and not may_be_gone:
                hint = "your copy is complete; `bb ledger restore` puts the branch back"
                raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}", hint=hint)
            self._is_gone = tip is not None
            return
        if last_verified and remote_tip == last_verified.commit:
            return
        try:
            found = self._verified(last_verified, remote_tip, tip)
            try:
                self._take_in(found)
            except (NotALedger, LedgerRewritten.error) as refusal:
                if found.strays:
                    raise
                from bb.ledger.travel import quarantine  # noqa: PLC0415  (strays are rare)

                common = self.store.place.common
                found = quarantine.sift(self.store.path, common, last_verified, remote_tip, refusal)
                if not found.strays:
                    raise
                self._take_in(found)
        except LedgerRewritten.error as refusal:
            refusal.details |= {"remote": self.name, "found": remote_tip, "verified": tip.commit if tip else None}
            raise
        self._skip(found, remote_tip)

    def accept(self, found: Sound, remote_tip: str) -> None:
        """Import the commits that were FOUND on the branch, whose tip is REMOTE_TIP."""
        self._take_in(found)
        self._skip(found, remote_tip)

    def _fetched(self, *, whole: bool) -> str | None:
        """Fetch the ledger from its place on the remote. A ledger that is not known yet, or not there any more, is
        looked for at both places."""
        place, name = self.store.place, self.name
        is_known = self.pin.tip is not None
        if is_known and (found := remote.fetch(place, name, self.left(), self.pin.ref, whole=whole)):
            return found
        ref = remote.find(place, name, self.left())
        if ref is None or (is_known and ref == self.pin.ref):
            return None
        self.pins = self.pins.with_remote(name, self.pin.replace(ref=ref))
        return remote.fetch(place, name, self.left(), ref, whole=whole)

    def relocate(self, ref: str) -> None:
        """Move the ledger to another place on the remote, or let the first publication go there. All clones find it
        there with their next sync."""
        while (tip := self.pin.tip) is not None and self.pin.ref != ref:
            expected = self._on_top_of or tip.commit
            try:
                remote.relocate(self.store.place, self.name, expected, self.pin.ref, ref, self.left())
            except remote.Moved as moved:
                self.look()
                if self.pin.tip == tip and (self._on_top_of or tip.commit) == expected and self.pin.ref != ref:
                    remote.refuse_two_places(self.store.place, self.name, self.pin.ref, self.left())
                    raise remote.PushDenied(f"{self.name} does not let the ledger move: {moved}") from None
            else:
                break
        self.remember(self.pin.replace(ref=ref))

    def _skip(self, found: Sound, remote_tip: str) -> None:
        self._quarantined |= {stray.commit: stray for stray in found.strays}
        self._on_top_of = remote_tip if found.tip.commit != remote_tip else None

    def _verified(self, known: Tip | None, remote_tip: str, tip: Tip | None) -> Sound:
        """The commits after KNOWN that count, or all those of a later epoch."""
        from bb.ledger.travel import looking  # noqa: PLC0415

        found = looking.continuation(self.store, known, remote_tip, tip)
        if found is None:
            found = looking.next_epoch(self.store, remote_tip, tip, self.pins.admitted if self.decides else None)
            self.begun_anew = found.tip.charter
        return found

    def _take_in(self, found: Sound) -> None:
        """Import the commits that were FOUND, if there are any."""
        if not found.commits:
            return
        from bb.ledger.travel import importing  # noqa: PLC0415
        from bb.ledger.travel.arrivals import Arrivals  # noqa: PLC0415

        commits, after = found.commits, found.tip
        must_be_ours(after.charter.repo, self.signatures.known.policy.repo)
        try:
            incoming = importing.check(self.store, commits, self._published(but=None if self.begun_anew else self.name))
        except importing.LedgerForked.error as changed:
            if not self.begun_anew:
                raise
            raise LedgerRewritten(f"the new epoch of the ledger has other lines: {changed.message}") from None
        is_another = self.store.exists and after.charter.repo != self.store.clone.repo
        if is_another and any(pin.tip for pin in self.pins.remotes.values()):
            raise AnotherLedger(
                f"the ledger on {self.name} belongs to {after.charter.repo}, and this one to {self.store.clone.repo}",
                remote=self.name,
            )
        if not self.store.exists or is_another:
            creation.join(self.store, after.charter.repo)
            self._joined = after.charter.repo
            self.signatures.read_again((self.signatures.known.text, self.signatures.known.where))
        self.import_lines(incoming)
        payload_removal.blank(self.store)
        self._arrivals = self._arrivals or Arrivals(self.store)
        self._arrivals.take(commits, incoming)
        if self.signatures.known.text is not None and self.signatures.known.mode != signers.OFF:
            self._arrivals.judge(self.signatures.known.policy, incoming)
        begun = found.settled if commits[0].parent is None else None
        self.remember(self.pin.replace(tip=after), commits, begun)
        remote.mark_verified(self.store.place.common, self.name, after.commit)
        if self.begun_anew:  # no local ref may keep the earlier commits alive
            git.run(["update-ref", LOCAL, after.commit], git_dir=self.store.place.common)
        self._record_again()

    def import_lines(self, incoming: Sequence[Incoming]) -> None:
        """Write checked lines into the journals."""
        from bb.ledger.travel import importing  # noqa: PLC0415

        self._leave_to_others(incoming)  # before writing: after a crash, our writer must not continue foreign lines
        importing.write(self.store, incoming)

    def _record_again(self) -> None:
        """Record the events of our lines again that were put aside, in this sync or an interrupted one."""
        if set_aside.owed_files(self.store.path) and set_aside.record_again(self.store, self.now):
            # The lines are from a new writer with the same key, and must count here at once.
            self.signatures.read_again()

    def _leave_to_others(self, incoming: Sequence[Incoming]) -> None:
        """Continue under a new writer if others have published lines under the id of ours, because we must not sign
        lines that we did not record."""
        from bb.ledger.journal import writers  # noqa: PLC0415  (a sync that only pushes imports nothing)
        from bb.ledger.journal.writers import JOURNALS  # noqa: PLC0415

        journals = os.path.join(self.store.path, JOURNALS)
        for change in incoming:
            owner = writers.read_owner(journals, change.writer) if change.more and change.cut is None else None
            if owner is not None and owner.retired is None:
                writers.retire(journals, change.writer, "lines were published under its id from elsewhere", None)
                if change.writer == self.store.writer:
                    self._left_to = change.writer
                    self.signatures.forget()

    def _has(self, tip: Tip) -> bool:
        """Whether this clone still has every line published up to TIP."""
        heads = self.store.caught_up().heads() if self.store.exists else {}
        return all(heads.get(writer, 0) >= head.n for writer, head in tip.heads.items())

    def _published(self, but: str | None) -> dict[str, int]:
        """The number of each writer's last published line on all remotes. The remote BUT is left out, because its lines
        were just verified to be unchanged."""
        last_lines: dict[str, int] = {}
        for pin in (pin for name, pin in self.pins.remotes.items() if name != but):
            for writer, n in (pin.tip.last_lines if pin.tip else {}).items():
                last_lines[writer] = max(last_lines.get(writer, 0), n)
        return last_lines

    # -- publishing

    def wanted(self) -> publish.Unpublished:
        """The lines to publish. Ours are signed first."""
        must_be_ours(self.store.clone.repo, self.signatures.known.policy.repo)
        self.signatures.sign()
        return publish.unpublished(self.store, self.pin.tip)

    def _may_push_at_once(self) -> bool:
        tip = self.pin.tip
        return tip is not None and self._has(tip) and bool(publish.unpublished(self.store, tip))

    def publish_all(self) -> None:
        """Publish the unpublished lines in one commit. Try again if another clone was faster.

        Lines that are recorded meanwhile are left to the next sync, because agents may never stop recording.
        """
        if self._is_gone and self.pin.tip:
            remote.push(self.store.place, self.name, self.pin.tip.commit, None, self.left(), self.pin.ref)
            self._is_gone = False
        pause = FIRST_PAUSE
        while (pending := self.wanted()) or self._on_top_of:
            self._attempts += 1
            try:
                self.push(pending)
            except remote.Moved as moved:
                pause = self._look_later(moved, pause)
            except remote.unreachable():
                # The push may have arrived, and only the answer was lost. A look tells, if the remote can be reached.
                self.look()
                if self.pin.tip is None or self._on_top_of or not pending.is_in(self.pin.tip):
                    raise
                return
            except program.GitFailed:
                if self._attempts > 1:
                    raise
                self.look()  # git may have deleted the parent commit, and fetches it again
            else:
                return

    def _look_later(self, moved: remote.Moved, pause: float) -> float:
        """Look after a random time, because another clone was faster. Returns the pause after the next attempt."""
        if self.left() <= pause:
            message = f"other clones were faster in {self._attempts} attempts"
            raise remote.Contended(message, remote=self.name) from None
        pause, before = random_pause(pause), (self.pin.tip, self._on_top_of)
        self.look()
        if (self.pin.tip, self._on_top_of) == before:
            remote.refuse_two_places(self.store.place, self.name, self.pin.ref, self.left())
            if self._attempts >= MOST_IN_VAIN:
                raise remote.PushDenied(f"{self.name} accepts no push: {moved}", remote=self.name) from None
        return pause

    def push(
        self, wanted: publish.Unpublished, names: Arbiter | None = None, takes_over: Admitted | None = None
    ) -> Tip:
        """Publish the WANTED lines in one commit on the verified tip. Raises Moved if the branch has moved. To move the
        arbiter, the commit NAMES the next one, or TAKES OVER the results of the one before. If the tip of the branch is
        quarantined, the commit is on top of it."""
        before = self.pin.tip
        expected = self._on_top_of or (before.commit if before else None)
        about = (names or self._arbiter_to_name(), takes_over, self._on_top_of)
        tip = publish.commit(self.store, before, wanted, self.now, self.signatures.key, None, *about)
        remote.push(self.store.place, self.name, tip.commit, expected, self.left(), self.pin.ref)
        self._on_top_of = None
        lines, at = tuple(publish.lines_of(self.store, before, wanted)), tip.charter.arbiter
        parent, address = before.commit if before else None, at.address if at else ""
        commit = Commit(tip.commit, parent, tip.generation, lines, (), False, address, takes_over)
        self._went += wanted.count
        self.remember(self.pin.replace(tip=tip), [commit], None if before else Admitted())
        if len(self.pins.remotes) > 1:  # with one remote, the local ref keeps the commit
            remote.mark_verified(self.store.place.common, self.name, tip.commit)
        return tip

    def _arbiter_to_name(self) -> Arbiter | None:
        """The arbiter that the next commit names, if the charter there does not name it yet. A move is completed by
        `moving.py`, because the new arbiter takes over results."""
        tip, named = self.pin.tip, self.pins.named
        if named is None and self.decides:
            named = arbitration.first(self.store.place, self.name, self.address)
        is_said = tip is not None and tip.charter.arbiter == named
        is_move = tip is not None and named is not None and named.turn > 1 and named.address == self.address
        return None if is_said or is_move else named

    def _compact(self) -> None:
        """Make a snapshot if one is due. If another clone is faster, or the remote is unreachable, this is left to a
        later sync. Other errors are reported, and the next attempt waits for more lines."""
        before = self.pin.tip
        if before is None or not self._has(before) or self.left() < LEAST_FOR_COMPACTING:
            return
        if self.pin.put_off and not before.has_grown_since(self.pin.put_off):
            return
        try:
            self._compact_on(before)
        except (remote.Moved, remote.Offline.error, remote.HostUnknown.error):
            return
        except BbError as refusal:
            self._not_compacted = f"{refusal.code}: {refusal.message}"
            self.remember(self.pin.replace(put_off=before.events))

    def _compact_on(self, before: Tip) -> None:
        is_judged = self._is_judged(before)
        if is_judged and not before.is_due and self._is_usable:
            return
        from bb.ledger.travel import compacting  # noqa: PLC0415

        if not is_judged:
            judged, settled = compacting.check_newest_snapshot(self.store, before, self._known_results())
            self._forget_ended(settled, before.compacted.generation)
            self.remember(self.pin.replace(judged=judged))
            if self._is_usable and not before.is_due:
                return
        results = self._known_results()
        if results is None:
            results = admitted.of_history(self.store.place.common, before.commit, before.charter.arbiter)[0]
        tip, judged, lines, settled = compacting.commit(self.store, before, self.now, results, self.signatures.key)
        patience = max(self.left(), LEAST_FOR_PUSHING)  # otherwise a large ledger might never finish
        remote.push(self.store.place, self.name, tip.commit, before.commit, patience, self.pin.ref)
        carried = [Commit(tip.commit, before.commit, tip.generation, (), ())]
        self._forget_ended(settled, tip.generation)
        self.remember(self.pin.replace(tip=tip, judged=judged, put_off=0), carried)
        remote.mark_verified(self.store.place.common, self.name, tip.commit)
        self.archived = lines

    def _is_judged(self, tip: Tip) -> bool:
        """Whether the newest snapshot was checked already, or there is none."""
        if not tip.compacted.snapshots:
            return True
        judged, taken_back = self.pin.judged, len(self.store.caught_up().hidden())
        if judged is None or judged.state != database.VERSION:
            return False
        return (judged.commit, judged.taken_back) == (tip.compacted.commit, taken_back)

    @property
    def _is_usable(self) -> bool:
        """Whether the newest snapshot is not known to be wrong or outdated."""
        judged = self.pin.judged
        return judged is None or (judged.is_right and not judged.is_outdated)

    def _forget_ended(self, settled: Admitted | None, generation: int) -> None:
        """Forget the reservations that had ended at a GENERATION, of which a right snapshot has the results SETTLED."""
        if settled is not None and self.pins.arbiter == self.name:
            self.pins = admitted.without_ended(self.pins, settled, generation)

    def _known_results(self) -> Admitted | None:
        """The results of publication order on this remote, if they are known without reading its history."""
        return self.pins.admitted if self.pins.arbiter == self.name else None

    # -- remembering

    def remember(self, pin: Pin, commits: Iterable[Commit] = (), begun: Admitted | None = None) -> None:
        """Save PIN, and the results of publication order after COMMITS, or from an epoch on that has BEGUN."""
        after: Pins = self.pins.with_remote(self.name, pin.replace(address=self.address))
        self.pins = after = after.replace(named=arbitration.known(after))
        if pin.tip and self.decides:
            if after.named and after.named.turn > 1 and pin.publishes:
                after = after.replace(home=self.name)
            after = admitted.after_commits(after, self.store, self.name, list(commits), begun)
        elif after.arbiter == self.name:
            after = after.replace(arbiter=None)
        self.pins = after
        pins.write(self.store.path, after)

    def left(self) -> float:
        return self._deadline - time.monotonic()


def _told(charter: Charter | None) -> dict[str, object] | None:
    previous = charter.previous if charter else None
    return {"epoch": charter.epoch, **previous.as_dict()} if charter and previous else None
