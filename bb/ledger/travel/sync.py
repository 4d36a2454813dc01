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

from bb.coordination.holdings import admission, holdings
from bb.coordination.records import signers
from bb.kernel import clock, ids
from bb.kernel.errors import BbError, Conflict
from bb.kernel.event import SIGNED
from bb.kernel.record import Record
from bb.ledger.git import git, program
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from bb.ledger.published.charter import LedgerRewritten, must_be_ours
from bb.ledger.published.layout import LOCAL
from bb.ledger.published.pins import Pin
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.records import events, making, policy, redaction, set_aside
from bb.ledger.signing import keys, ssh_signatures
from bb.ledger.travel import publish, remote
from bb.ledger.travel.turns import FIRST_PAUSE, random_pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.policy import SignerPolicy
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key
    from bb.ledger.signing.verdicts import Counting
    from bb.ledger.travel.branch import History
    from bb.ledger.travel.intake import Incoming

SIGNATURE = b'"kind":"%s"' % SIGNED.encode()
REMEMBERED = 1000  # reservations; above that, ended ones are removed
RESERVED = kinds.BY_FACT["Reserved"][0]
HOLDING_KINDS = frozenset(kinds.BY_FACT[fact.__name__][0].encode() for fact in holdings.FACTS)
LEAST_FOR_COMPACTING, LEAST_FOR_PUSHING = 5.0, 20.0  # seconds left
MOST_IN_VAIN = 4  # pushes rejected as outdated although the remote has not changed
MOST_LOST = 100  # lost events in an answer
PULL, PUSH, BOTH = "pull", "push", "both"


class AnotherLedger(Conflict):
    """The remote has the ledger of another project."""

    code = "ANOTHER_LEDGER"
    hint = "nothing was imported; sync with a remote of this project: --remote NAME"


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
    joined: str | None
    attempts: int
    archived: int | None  # lines archived with a snapshot, if one was made
    not_compacted: str | None  # why no snapshot was made although one was due
    begun_anew: dict[str, object] | None  # the new epoch: the agent that began it, why and when
    signatures: dict[str, object] | None  # the results for imported lines, and the state of our key


class Sync:
    """One sync of one clone with one remote."""

    def __init__(self, store: Store, name: str, now: int, patience: float) -> None:
        self.store = store
        self.name = name
        self.pins = pins.read(store.path)
        self._now = now
        self._deadline = time.monotonic() + patience
        self._came = self._went = self._attempts = 0
        self._heard: dict[str, int] = {}
        self._unverified: set[str] = set()
        self._kinds: dict[str, int] = {}
        self._reserved: list[str] = []
        self._joined: str | None = None
        self._archived: int | None = None
        self._not_compacted: str | None = None
        self._anew: Charter | None = None  # of a new epoch
        self._is_gone = False  # whether the branch disappeared from the remote
        self._known: SignerPolicy | None = None  # the list of signers, and our key
        self._unsigned: BbError | None = None  # why signing failed
        self._lost: list[str] = []  # imported events without payload and without a valid withdrawal
        self._judged: dict[str, int] = {}  # number of imported lines that are verified, unverified, forged
        self._doubted: dict[str, dict[str, object]] = {}  # writers with lines that are not verified
        self._left_to: str | None = None  # our former writer, if another store has published under its id

    @property
    def pin(self) -> Pin:
        return self.pins.remote(self.name)

    def run(self, direction: str, *, publishes: bool = False) -> None:
        """Sync in this DIRECTION. PUBLISHES allows publishing our lines on this remote from now on."""
        if direction == PULL or publishes or not self._may_push_at_once():
            self.look(may_be_gone=publishes)
        self._record_again()
        if publishes and not self.pin.publishes:
            self._pin(self.pin.replace(publishes=True))  # only now: the look has shown that the remote exists
        if direction != PULL:
            self._publish()
            self._compact()
        self._keep_to_the_law()

    def _keep_to_the_law(self) -> None:
        """Compute the admitted reservations again, if other lines count now than last time."""
        if self.store.exists and self.pin.tip and self.pins.arbiter == self.name:
            law = self.store.law if self.known.text is not None else None
            if (law.basis if law else "") != self.pins.law:
                self._pin(self.pin)

    def base(self) -> str:
        """The last verified commit. It contains everything published so far."""
        tip = self.pin.tip
        if tip is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}")
        return tip.commit

    def outcome(self) -> SyncResult:
        tip = self.pin.tip
        return SyncResult(
            remote=self.name,
            tip=tip.commit if tip else None,
            generation=tip.generation if tip else 0,
            events=tip.events if tip else 0,
            came=self._came,
            went=self._went,
            kinds=self._kinds,
            heard=self._heard,
            unverified=tuple(sorted(self._unverified)),
            reserved=tuple(self._reserved),
            joined=self._joined,
            attempts=self._attempts,
            archived=self._archived,
            not_compacted=self._not_compacted,
            begun_anew=_told(self._anew),
            signatures=self._told_of_signatures(),
        )

    # -- looking

    def look(self, *, may_be_gone: bool = False) -> None:
        """Fetch, verify and import published lines."""
        from bb.ledger.travel.branch import History  # noqa: PLC0415

        tip = self.pin.tip
        known = tip if tip and self._has(tip) else None  # if local lines are lost, everything is verified again
        found = remote.fetch(self.store.place, self.name, self._left(), whole=known is None)
        if found is None:
            if tip is not None and not may_be_gone:
                hint = "your copy is complete; `bb sync --publish` restores the branch"
                raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}", hint=hint)
            self._is_gone = tip is not None
            return
        if known and found == known.commit:
            return
        history = History(self.store.place.common, known)
        try:
            try:
                commits = self._verified(history, found, tip)
            except LedgerRewritten:
                if tip is None or not self._is_later_epoch(found, tip):
                    raise
                history = History(self.store.place.common, None)
                commits = self._begun_anew(history, found, tip)
        except LedgerRewritten as refusal:
            refusal.details |= {"remote": self.name, "found": found, "verified": tip.commit if tip else None}
            raise
        if commits and commits[0].parent is None and self.pins.arbiter in (None, self.name):
            self.pins = self.pins.replace(admitted=history.settled)
        self._take_in(commits, history.tip)

    def _verified(self, history: History, found: str, tip: Tip | None) -> list[Commit]:
        """The commits up to FOUND. The last verified commit must be one of them, or the parent of the first."""
        commits = list(history.upto(found, self.store.progress))
        if tip and commits and commits[0].parent != tip.commit and all(tip.commit != commit.id for commit in commits):
            raise LedgerRewritten(f"commits that were published on {self.name} before are missing there")
        return commits

    def _is_later_epoch(self, found: str, tip: Tip) -> bool:
        from bb.ledger.travel import rotation  # noqa: PLC0415

        charter = rotation.charter_at(self.store.place.common, found)
        return charter is not None and charter.epoch > tip.charter.epoch

    def _begun_anew(self, history: History, found: str, tip: Tip) -> list[Commit]:
        """The commits of a later epoch, which must have everything that was published up to TIP."""
        from bb.ledger.travel import rotation  # noqa: PLC0415

        commits = list(history.upto(found, self.store.progress))
        rotation.check(history, commits, tip, self.pins.admitted if self.pins.arbiter == self.name else None)
        self._anew = history.tip.charter
        return commits

    def _take_in(self, commits: list[Commit], after: Tip) -> None:
        from bb.ledger.travel import intake  # noqa: PLC0415

        must_be_ours(after.charter.repo, self.known.policy.repo)
        try:
            incoming = intake.check(self.store, commits, self._published(but=None if self._anew else self.name))
        except intake.LedgerForked as changed:
            if not self._anew:
                raise
            raise LedgerRewritten(f"the new epoch of the ledger has other lines: {changed.message}") from None
        is_another = self.store.exists and after.charter.repo != self.store.clone.repo
        if is_another and any(pin.tip for pin in self.pins.remotes.values()):
            raise AnotherLedger(
                f"the ledger on {self.name} belongs to {after.charter.repo}, and this one to {self.store.clone.repo}",
                remote=self.name,
            )
        if not self.store.exists or is_another:
            making.join(self.store, after.charter.repo)
            self._joined = after.charter.repo
            self._known = policy.refresh(self.store, self._now, seen=(self.known.text, self.known.where))
        self._leave_to_others(incoming)  # before writing: after a crash, our writer must not continue foreign lines
        intake.write(self.store, incoming)
        redaction.blank(self.store)
        self._lost += self._not_believed(commits)
        for change in incoming:
            self._came += change.more.count(b"\n") - change.more.count(SIGNATURE)
            self._hear(change.more)
        self._judge(incoming)
        self._pin(self.pin.replace(tip=after), commits)
        remote.mark_verified(self.store.place.common, self.name, after.commit)
        if self._anew:  # no local ref may keep the earlier commits alive
            git.run(["update-ref", LOCAL, after.commit], git_dir=self.store.place.common)
        self._record_again()

    def _record_again(self) -> None:
        """Record the events of our lines again that were put aside, in this sync or an interrupted one."""
        if set_aside.owed_files(self.store.path) and set_aside.record_again(self.store, self._now):
            # The lines are from a new writer with the same key, and must count here at once.
            self._known = policy.refresh(self.store, self._now, remote=self.pins.arbiter or self.name)

    def _not_believed(self, commits: list[Commit]) -> list[str]:
        """The events in COMMITS that have no payload and no valid withdrawal."""
        raws = []
        for writer, first, octets in (added for commit in commits for added in commit.added):
            if lines.may_hold_blanks(octets):
                numbered = enumerate(octets.split(b"\n")[:-1], first)
                blank = (n for n, raw in numbered if lines.is_blank(raw))
                raws += [raw for n in blank if (raw := Journal(self.store.path, writer).line(n))]
        return redaction.unexplained_blanks(self.store.caught_up(), filter(lines.is_blank, raws)) if raws else []

    def _hear(self, octets: bytes) -> None:
        """Note the authors of one writer's imported lines, and the age of each author's last line relative to the
        newest of these lines. Both times are from the writer's clock, so they can be compared. Lines that do not count
        are no sign of life."""
        last_lines: dict[str, int] = {}
        counted = counting.for_index(self.store.caught_up())
        for raw in octets.split(b"\n")[:-1]:
            try:
                members = lines.members(raw)
            except lines.Unreadable:
                continue
            event, kind, by = members["id"], members["kind"], members["by"]
            if kind == SIGNED:
                continue
            self._kinds[kind] = self._kinds.get(kind, 0) + 1
            if kind == RESERVED:
                self._reserved.append(event)
            if counted and counted.leaves_out and not counted.counts_as_written(*ids.split_event_id(event), raw):
                continue
            if counted and counted.is_doubted(event, kind, by):
                self._unverified.add(by)
            last_lines[by] = clock.parse_or(members["ts"], 0)
        newest = max(last_lines.values(), default=0)
        for agent, at in last_lines.items():
            self._heard[agent] = min(newest - at, self._heard.get(agent, newest - at))

    def _leave_to_others(self, incoming: Sequence[Incoming]) -> None:
        """Continue under a new writer if others have published lines under the id of ours, because we must not sign
        lines that we did not record."""
        from bb.ledger.journal import writers  # noqa: PLC0415  (a sync that only pushes imports nothing)
        from bb.ledger.records.journals import JOURNALS  # noqa: PLC0415

        journals = os.path.join(self.store.path, JOURNALS)
        for change in incoming:
            owner = writers.read_owner(journals, change.writer) if change.more and change.cut is None else None
            if owner is not None and owner.retired is None:
                writers.retire(journals, change.writer, "lines were published under its id from elsewhere", None)
                if change.writer == self.store.writer:
                    self._left_to, self._known = change.writer, None

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

    # -- signing

    @property
    def known(self) -> SignerPolicy:
        """The list of signers, and the key that we sign with."""
        if self._known is None:
            remote = self.pins.arbiter or self.name
            meanwhile = keys.ed25519 if self._is_to_sign() else None
            self._known = policy.refresh(self.store, self._now, remote=remote, meanwhile=meanwhile)
        return self._known

    def _is_to_sign(self) -> bool:
        """Whether our lines are probably to be signed, judged before the reviewed file is read."""
        store, last = self.store, policy.cached(self.store)
        if not (store.exists and store.writer) or (last and last.mode == signers.OFF):
            return False
        index = store.caught_up()
        return index.heads().get(store.writer, 0) > index.signed_upto(store.writer)[0]

    def wanted(self) -> publish.Unpublished:
        """The lines to publish. Ours are signed first."""
        must_be_ours(self.store.clone.repo, self.known.policy.repo)
        self._sign()
        return publish.unpublished(self.store, self.pin.tip)

    def _sign(self) -> None:
        """Sign our lines, unless the last one is a signature by our key already."""
        store = self.store
        if self.known.mode == signers.OFF or self._unsigned or not store.writer:
            return
        last = store.caught_up().heads().get(store.writer, 0)
        n, signature = store.index.signed_upto(store.writer)
        if not last or (n == last and self._is_ours(signature)):
            return
        try:
            if self.known.key is None and self.known.trouble is None:
                self._known = policy.refresh(store, self._now, makes=True, remote=self.pins.arbiter or self.name)
            key = self.known.must_have_key()
            store.sign(key, self._now)
        except keys.SigningFailed as refusal:
            if self.known.mode == signers.REQUIRE:
                raise
            self._unsigned = refusal

    def _is_ours(self, signature: str) -> bool:
        """Whether a signature names our key. True if we have no key."""
        try:
            key = self.known.key
            return key is None or ssh_signatures.read(ssh_signatures.decoded(signature)).key == key.public
        except ssh_signatures.Malformed:
            return False

    @property
    def _key(self) -> Key | None:
        """The key that signs commits; None if signing is off or fails."""
        is_off = self.known.mode == signers.OFF or self._unsigned is not None
        return None if is_off else self.known.key

    def _judge(self, incoming: Sequence[Incoming]) -> None:
        """Count how many imported lines are signed by listed keys."""
        if self.known.text is None or self.known.mode == signers.OFF:
            return
        index, repo = self.store.caught_up(), self.store.clone.repo
        signatures, heads = index.signatures(repo), index.heads()
        for change in incoming:
            if not (count := change.more.count(b"\n")):
                continue
            last = heads.get(change.writer, 0)
            standing = signatures.standing(self.known.policy, change.writer, last)
            for n in range(last - count + 1, last + 1):
                verdict = standing.verdict(n)
                self._judged[verdict] = self._judged.get(verdict, 0) + 1
            if standing.verified < last:
                self._doubted[change.writer] = standing.shown()

    def _told_of_signatures(self) -> dict[str, object] | None:
        if not self.store.exists:
            return None
        unsigned = {"unsigned": f"{self._unsigned.code}: {self._unsigned.message}"} if self._unsigned else {}
        came = {"came": self._judged, "doubted": list(self._doubted.values())} if self.known.text is not None else {}
        left = {"left_writer": self._left_to} if self._left_to else {}
        lost = {"lost": self._lost[:MOST_LOST]} if self._lost else {}
        return self.known.shown() | came | unsigned | left | lost

    # -- publishing

    def _may_push_at_once(self) -> bool:
        tip = self.pin.tip
        return tip is not None and self._has(tip) and bool(publish.unpublished(self.store, tip))

    def _publish(self) -> None:
        """Publish unpublished lines. Try again if another clone was faster."""
        if self._is_gone and self.pin.tip:
            remote.push(self.store.place, self.name, self.pin.tip.commit, None, self._left())
            self._is_gone = False
        pause, known = FIRST_PAUSE, self.pin.tip
        while wanted := self.wanted():
            self._attempts += 1
            try:
                self.push(wanted)
            except remote.Moved as moved:
                if self._left() <= pause:
                    message = f"other clones were faster in {self._attempts} attempts"
                    raise remote.Contended(message, remote=self.name) from None
                pause = random_pause(pause)
                self.look()
                if self.pin.tip == known and self._attempts >= MOST_IN_VAIN:
                    raise remote.PushDenied(f"{self.name} accepts no push: {moved}", remote=self.name) from None
                known = self.pin.tip
            except remote.Offline:
                # The push may have arrived, and only the answer was lost. A look tells, if the remote can be reached.
                self.look()
                if publish.unpublished(self.store, self.pin.tip):
                    raise
            except program.GitFailed:
                if self._attempts > 1:
                    raise
                self.look()  # git may have deleted the parent commit, and fetches it again

    def push(self, wanted: publish.Unpublished) -> Tip:
        """Publish the WANTED lines in one commit on the verified tip. Raises Moved if the branch has moved."""
        before = self.pin.tip
        expected = before.commit if before else None
        tip = publish.commit(self.store, before, wanted, self._now, self._key)
        remote.push(self.store.place, self.name, tip.commit, expected, self._left())
        commit = Commit(tip.commit, expected, tip.generation, tuple(self._added(before, wanted)), ())
        self._went += wanted.count
        self._pin(self.pin.replace(tip=tip), [commit])
        if len(self.pins.remotes) > 1:  # with one remote, the local ref keeps the commit
            remote.mark_verified(self.store.place.common, self.name, tip.commit)
        return tip

    def _added(self, before: Tip | None, wanted: publish.Unpublished) -> Iterable[tuple[str, int, bytes]]:
        for writer, last in wanted.heads.items():
            first = before.heads[writer].n + 1 if before and writer in before.heads else 1
            yield writer, first, events.octets(self.store, writer, first, last)

    def _compact(self) -> None:
        """Make a snapshot if one is due. If another clone is faster, or the remote is unreachable, this is left to a
        later sync. Other errors are reported, and the next attempt waits for more lines."""
        before = self.pin.tip
        if before is None or not self._has(before) or self._left() < LEAST_FOR_COMPACTING:
            return
        if self.pin.put_off and not before.has_grown_since(self.pin.put_off):
            return
        try:
            self._compact_on(before)
        except (remote.Moved, remote.Offline):
            return
        except BbError as refusal:
            self._not_compacted = f"{refusal.code}: {refusal.message}"
            self._pin(self.pin.replace(put_off=before.events))

    def _compact_on(self, before: Tip) -> None:
        is_judged = self._is_judged(before)
        if is_judged and not before.is_due and self._is_right:
            return
        from bb.ledger.travel import compacting  # noqa: PLC0415

        if not is_judged:
            self._pin(self.pin.replace(judged=compacting.check_newest_snapshot(self.store, before)))
            if self._is_right and not before.is_due:
                return
        tip, judged, lines = compacting.commit(self.store, before, self._now, keeps=self._is_right, key=self._key)
        patience = max(self._left(), LEAST_FOR_PUSHING)  # otherwise a large ledger might never finish
        remote.push(self.store.place, self.name, tip.commit, before.commit, patience)
        carried = [Commit(tip.commit, before.commit, tip.generation, (), ())]
        self._pin(self.pin.replace(tip=tip, judged=judged, put_off=0), carried)
        remote.mark_verified(self.store.place.common, self.name, tip.commit)
        self._archived = lines

    def _is_judged(self, tip: Tip) -> bool:
        """Whether the newest snapshot was checked already, or there is none."""
        if not tip.compacted.snapshots:
            return True
        known, taken_back = self.pin.judged, len(self.store.caught_up().hidden())
        return known is not None and (known.commit, known.taken_back) == (tip.compacted.commit, taken_back)

    @property
    def _is_right(self) -> bool:
        """Whether the newest snapshot is not known to be wrong."""
        return self.pin.judged is None or self.pin.judged.is_right

    # -- new epochs

    def rotate(self, by: str, reason: str) -> int:
        """Start a new epoch of the ledger on the remote, with all lines. Returns the number of commits before it."""
        from bb.ledger.travel import compacting, rotation  # noqa: PLC0415
        from bb.ledger.travel.branch import History  # noqa: PLC0415

        self.look()
        self._publish()
        before = self.pin.tip
        if before is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}")
        history = History(self.store.place.common, None)
        commits = list(history.upto(before.commit, self.store.progress))
        known = admit_commits(history.settled, commits).keeping(rotation.live(self.store))
        carried = known.without(frozenset(redaction.redacted(self.store)))
        root = rotation.begin(self.store, before, carried, by, reason, self._now, self._key)
        tip, judged, self._archived = compacting.commit(self.store, root, self._now, keeps=True, key=self._key)
        rotation.check_before_publishing(self.store, tip, before, carried)
        try:
            remote.push(self.store.place, self.name, tip.commit, before.commit, self._left())
        except remote.Moved as moved:
            self.look()
            if self.pin.tip == before:
                hint = f"allow the branch bb-ledger to be replaced on {self.name} (force push), for this command only"
                raise remote.PushDenied(
                    f"{self.name} does not let the branch be replaced: {moved}", hint=hint
                ) from None
            raise remote.Contended("another clone published meanwhile", remote=self.name) from None
        if self.pins.arbiter == self.name:
            self.pins = self.pins.replace(admitted=carried)
        self._pin(self.pin.replace(tip=tip, judged=judged, put_off=0))
        remote.mark_verified(self.store.place.common, self.name, tip.commit)
        self._anew = tip.charter
        return len(commits)

    # -- remembering

    def _pin(self, pin: Pin, commits: Iterable[Commit] = ()) -> None:
        after: Pins = self.pins.with_remote(self.name, pin)
        if after.arbiter == self.name:
            commits = list(commits)
            known = self._without_ended(admit_commits(after.admitted, commits))
            after = self._lawful(after.replace(admitted=known), pin, commits)
        self.pins = after
        pins.write(self.store.path, after)

    def _lawful(self, after: Pins, pin: Pin, commits: list[Commit]) -> Pins:
        """AFTER with the results of publication order of the lines that count, if not all do. They are computed from
        the first commit on if other lines count than before."""
        law = self.store.law
        if law is None or pin.tip is None:
            return after.replace(counted=None, law="")
        index = self.store.caught_up()
        counts = law.counting(index.signatures(law.repo))
        if after.counted is None or after.law != law.basis or any(commit.parent is None for commit in commits):
            from bb.ledger.travel.branch import History  # noqa: PLC0415

            history = History(self.store.place.common, None)
            commits = list(history.upto(pin.tip.commit))
            after = after.replace(counted=without_lines_that_do_not_count(history.settled, commits, counts))
        return after.replace(counted=self._without_ended(admit_commits(after.in_force, commits, counts)), law=law.basis)

    def _without_ended(self, known: Admitted) -> Admitted:
        """KNOWN without ended reservations, if there are more than REMEMBERED."""
        if len(known.generations) <= REMEMBERED:
            return known
        return known.keeping([name for name, _ in self.store.caught_up().entries_by_term(holdings.NAME, "live")])

    def _left(self) -> float:
        return self._deadline - time.monotonic()


def _told(charter: Charter | None) -> dict[str, object] | None:
    previous = charter.previous if charter else None
    return {"epoch": charter.epoch, **previous.as_dict()} if charter and previous else None


def without_lines_that_do_not_count(known: Admitted, commits: Sequence[Commit], counts: Counting) -> Admitted:
    """The results from before an epoch, without those of lines that do not count."""
    root = next(iter(commits), None)
    lasts = {writer: first + octets.count(b"\n") - 1 for writer, first, octets in root.added} if root else {}
    out = set()
    for name in (*known.grants, *known.generations):
        writer, n = ids.split_event_id(name)
        by = known.grants[name].agent if name in known.grants else ""
        if not counts(writer, n, lasts.get(writer, 0), by):
            out.add(name)
    return known.without(out)


def admit_commits(known: Admitted, commits: Iterable[Commit], counts: Counting | None = None) -> Admitted:
    """The results of publication order after some more commits. With COUNTS, only of the lines that count."""
    for commit in commits:
        if commit.is_carried:
            continue
        facts = [fact for added in commit.added for fact in _holding_facts(*added, counts)]
        known = admission.admit(known, commit.parent, commit.generation, facts)
    return known


def _holding_facts(
    writer: str, first: int, octets: bytes, counts: Counting | None
) -> Iterator[tuple[str, HoldingFact]]:
    last = first + octets.count(b"\n") - 1
    for n, raw in enumerate(octets.split(b"\n")[:-1], first):
        try:
            if lines.clock_and_kind(raw)[1] in HOLDING_KINDS:
                fact = kinds.fact_on(raw)
                if isinstance(fact, holdings.FACTS) and (counts is None or counts(writer, n, last, fact.agent)):
                    yield ids.event_id(writer, n), fact
        except lines.BadLine:
            continue
