"""Bringing a clone and a remote together: look, take in, publish, and again if somebody was faster.

    look      fetch the branch, verify every commit behind the last verified one, take the lines in, remember the tip
    publish   one commit of all that is not there yet, on that tip, pushed only if the branch is still at it

Who has something to publish tries that first: a push that is accepted proves that there was nothing to fetch. Each step
can be repeated, so a sync that was killed anywhere is simply run again. What a push came to is never guessed: after any
doubt the next look tells. What only looking and compacting need is imported there: most syncs push, and are done.
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
from bb.ledger.git import git
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.published import pins
from bb.ledger.published.charter import LedgerRewritten, must_be_ours
from bb.ledger.published.layout import LOCAL
from bb.ledger.published.pins import Pin
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.records import policy, redaction, set_aside
from bb.ledger.signing import keys, ssh_signatures, verdicts
from bb.ledger.travel import publish, remote
from bb.ledger.travel.turns import FIRST_PAUSE, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.journal.line import Link
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.policy import Known
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key
    from bb.ledger.signing.verdicts import Counting
    from bb.ledger.travel.branch import History
    from bb.ledger.travel.intake import Incoming

SIGNATURE = b'"kind":"%s"' % SIGNED.encode()
REMEMBERED = 1000  # reservations; beyond that, those that have ended are forgotten
RESERVED = kinds.BY_FACT["Reserved"][0]
HOLDING_KINDS = frozenset(kinds.BY_FACT[fact.__name__][0].encode() for fact in holdings.FACTS)
LEAST_FOR_COMPACTING, LEAST_FOR_PUSHING = 5.0, 20.0  # seconds that are left
MOST_IN_VAIN = 4  # attempts that are turned away as too late by a remote on which nothing has changed
MOST_LOST = 100  # events that an answer names
PULL, PUSH, BOTH = "pull", "push", "both"


class AnotherLedger(Conflict):
    """That remote holds the ledger of another project."""

    code = "ANOTHER_LEDGER"
    hint = "nothing was taken over; sync with a remote of this project: --remote NAME"


class Outcome(Record):
    """What a sync came to."""

    remote: str
    tip: str | None
    generation: int
    events: int  # that are published there
    came: int
    went: int
    kinds: dict[str, int]  # of the events that came
    heard: dict[str, int]  # agents whose lines came and count, and how long before their writer's last line theirs was
    unverified: tuple[str, ...]  # those of them in whose name something came that they have not signed
    reserved: tuple[str, ...]  # the reservations among what came
    joined: str | None
    attempts: int
    archived: int | None  # lines that left the branch's tree with a snapshot, if one was made
    not_compacted: str | None  # why there is none, though one was due
    begun_anew: dict[str, object] | None  # the epoch that has begun, and who began it, why and when
    signatures: dict[str, object] | None  # what was found of those on what came, and of our key


class Sync:
    """One clone and one remote, within one turn."""

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
        self._anew: Charter | None = None  # of the epoch that was found to have begun
        self._is_gone = False  # the branch, from a remote that had it
        self._known: Known | None = None  # who may write, and our key
        self._unsigned: BbError | None = None  # why we could not sign
        self._lost: list[str] = []  # events that came without their payload, for no reason that counts
        self._judged: dict[str, int] = {}  # how many of the lines that came are verified, unverified, forged
        self._doubted: dict[str, dict[str, object]] = {}  # writers some of whose lines are not verified
        self._left_to: str | None = None  # our writer, when somebody else has published under its id

    @property
    def pin(self) -> Pin:
        return self.pins.remote(self.name)

    def run(self, direction: str, *, publishes: bool = False) -> None:
        """Do what is to be done in this DIRECTION; PUBLISHES when it was just said that our lines may go there."""
        if direction == PULL or publishes or not self._may_push_at_once():
            self.look(may_be_gone=publishes)
        self._record_again()
        if publishes and not self.pin.publishes:
            self._pin(self.pin.but(publishes=True))  # now that there is such a remote
        if direction != PULL:
            self._publish()
            self._compact()
        self._keep_to_the_law()

    def _keep_to_the_law(self) -> None:
        """Settle anew who was admitted, should other lines count than when that was settled."""
        if self.store.exists and self.pin.tip and self.pins.arbiter == self.name:
            law = self.store.law if self.known.text is not None else None
            if (law.basis if law else "") != self.pins.law:
                self._pin(self.pin)

    def base(self) -> str:
        """The commit that everything published is in, as far as we have looked."""
        tip = self.pin.tip
        if tip is None:
            raise LedgerRewritten(f"the ledger is gone from {self.name}")
        return tip.commit

    def outcome(self) -> Outcome:
        tip = self.pin.tip
        return Outcome(
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
        """Fetch, verify, and take in what others have published."""
        from bb.ledger.travel.branch import History  # noqa: PLC0415

        tip = self.pin.tip
        known = tip if tip and self._has(tip) else None  # else lines have been lost here, and all is looked at again
        found = remote.fetch(self.store.place, self.name, self._left(), whole=known is None)
        if found is None:
            if tip is not None and not may_be_gone:
                hint = "your copy is whole; `bb sync --publish` puts the branch back"
                raise LedgerRewritten(f"the ledger is gone from {self.name}", hint=hint)
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
            self.pins = self.pins.but(admitted=history.settled)
        self._take_in(commits, history.tip)

    def _verified(self, history: History, found: str, tip: Tip | None) -> list[Commit]:
        """The commits up to the one that was FOUND; what was verified before must be among them, or before them."""
        commits = list(history.upto(found, self.store.progress))
        if tip and commits and commits[0].parent != tip.commit and all(tip.commit != each.id for each in commits):
            raise LedgerRewritten(f"what was published on {self.name} before is not there any more")
        return commits

    def _is_later_epoch(self, found: str, tip: Tip) -> bool:
        from bb.ledger.travel import rotation  # noqa: PLC0415

        charter = rotation.charter_at(self.store.place.common, found)
        return charter is not None and charter.epoch > tip.charter.epoch

    def _begun_anew(self, history: History, found: str, tip: Tip) -> list[Commit]:
        """The commits of a later epoch, in which everything must be that was published up to TIP."""
        from bb.ledger.travel import rotation  # noqa: PLC0415

        commits = list(history.upto(found, self.store.progress))
        rotation.check(history, commits, tip, self.pins.admitted if self.pins.arbiter == self.name else None)
        self._anew = history.tip.charter
        return commits

    def _take_in(self, commits: list[Commit], after: Tip) -> None:
        from bb.ledger.travel import intake  # noqa: PLC0415

        must_be_ours(after.charter.repo, self.known.policy.repo)
        try:
            incoming = intake.checked(self.store, commits, self._published(but=None if self._anew else self.name))
        except intake.LedgerForked as changed:
            if not self._anew:
                raise
            raise LedgerRewritten(f"the ledger was begun anew with other lines: {changed.message}") from None
        is_another = self.store.exists and after.charter.repo != self.store.clone.repo
        if is_another and any(pin.tip for pin in self.pins.remotes.values()):
            raise AnotherLedger(
                f"the ledger on {self.name} is that of {after.charter.repo}, and this one of {self.store.clone.repo}",
                remote=self.name,
            )
        if not self.store.exists or is_another:
            self.store.join(after.charter.repo)
            self._joined = after.charter.repo
            self._known = policy.look(self.store, self._now, seen=(self.known.text, self.known.where))
        self._leave_to_others(incoming)  # before they are here: whoever is killed must not go on behind them
        intake.write(self.store, incoming)
        redaction.blank(self.store)
        self._lost += self._not_believed(commits)
        for each in incoming:
            self._came += each.more.count(b"\n") - each.more.count(SIGNATURE)
            self._hear(each.more)
        self._judge(incoming)
        self._pin(self.pin.but(tip=after), commits)
        remote.keep(self.store.place.common, self.name, after.commit)
        if self._anew:  # nothing here is to hold on to the earlier commits
            git.run(["update-ref", LOCAL, after.commit], git_dir=self.store.place.common)
        self._record_again()

    def _record_again(self) -> None:
        """Record again what lines of ours said that made way for others, now or in a sync that was killed."""
        if set_aside.owed(self.store.path) and set_aside.record_again(self.store, self._now):
            # Our writer is another one, by the same key: what it has recorded is to count here at once.
            self._known = policy.look(self.store, self._now, remote=self.pins.arbiter or self.name)

    def _not_believed(self, commits: list[Commit]) -> list[str]:
        """The events that COMMITS brought without their payload, although nobody whose word counts took it back."""
        raws = []
        for writer, first, octets in (added for commit in commits for added in commit.added):
            if lines.may_hold_blanks(octets):
                numbered = enumerate(octets.split(b"\n")[:-1], first)
                blank = (n for n, raw in numbered if lines.is_blank(raw))
                raws += [raw for n in blank if (raw := Journal(self.store.path, writer).line(n))]
        return redaction.not_believed(self.store.caught_up(), filter(lines.is_blank, raws)) if raws else []

    def _hear(self, octets: bytes) -> None:
        """Whose lines have come, and how old they are beside their writer's last: one clock, so it may be compared.
        A line that does not count where signatures are required is nobody's, and no sign of life."""
        said: dict[str, int] = {}
        counted = counting.of(self.store.caught_up())
        for raw in octets.split(b"\n")[:-1]:
            try:
                found = lines.members(raw)
            except lines.Unreadable:
                continue
            if found["kind"] == SIGNED:
                continue
            self._kinds[found["kind"]] = self._kinds.get(found["kind"], 0) + 1
            if found["kind"] == RESERVED:
                self._reserved.append(found["id"])
            if counted and counted.leaves_out and not counted.counts_as_written(*ids.split_event_id(found["id"]), raw):
                continue
            if counted and counted.is_doubted(found["id"], found["kind"], found["by"]):
                self._unverified.add(found["by"])
            said[found["by"]] = clock.parse_or(found["ts"], 0)
        last = max(said.values(), default=0)
        for who, at in said.items():
            self._heard[who] = min(last - at, self._heard.get(who, last - at))

    def _leave_to_others(self, incoming: Sequence[Incoming]) -> None:
        """Go on under another writer where lines of ours came from outside: we never sign what we did not record."""
        from bb.ledger.journal import writers  # noqa: PLC0415  (a sync that only pushes brings nothing in)
        from bb.ledger.records.store import JOURNALS  # noqa: PLC0415

        journals = os.path.join(self.store.path, JOURNALS)
        for each in incoming:
            owner = writers.read_owner(journals, each.writer) if each.more and each.cut is None else None
            if owner is not None and owner.retired is None:
                writers.retire(journals, each.writer, "lines were published under its id from elsewhere", None)
                if each.writer == self.store.writer:
                    self._left_to, self._known = each.writer, None

    def _has(self, tip: Tip) -> bool:
        """Whether all that was published up to TIP is still here."""
        heads = self.store.caught_up().heads() if self.store.exists else {}
        return all(heads.get(writer, 0) >= head.n for writer, head in tip.heads.items())

    def _published(self, but: str | None) -> dict[str, int]:
        """How far each writer's lines are out on all remotes, BUT one whose lines have just been verified to be as
        they were."""
        found: dict[str, int] = {}
        for pin in (pin for name, pin in self.pins.remotes.items() if name != but):
            for writer, n in (pin.tip.last_lines if pin.tip else {}).items():
                found[writer] = max(found.get(writer, 0), n)
        return found

    # -- signing

    @property
    def known(self) -> Known:
        """Who may write, and the key that we sign with."""
        if self._known is None:
            remote = self.pins.arbiter or self.name
            meanwhile = keys.ed25519 if self._is_to_sign() else None
            self._known = policy.look(self.store, self._now, remote=remote, meanwhile=meanwhile)
        return self._known

    def _is_to_sign(self) -> bool:
        """Whether lines of ours are to be signed, as far as that is known before the reviewed file is looked at."""
        store, last = self.store, policy.remembered(self.store)
        if not (store.exists and store.writer) or (last and last.mode == signers.OFF):
            return False
        index = store.caught_up()
        return index.heads().get(store.writer, 0) > index.signed_upto(store.writer)[0]

    def wanted(self) -> publish.Unpublished:
        """What is to be published, the lines of ours signed."""
        must_be_ours(self.store.clone.repo, self.known.policy.repo)
        self._sign()
        return publish.unpublished(self.store, self.pin.tip)

    def _sign(self) -> None:
        """Sign our lines, unless the last of them is a signature by our key already."""
        store = self.store
        if self.known.mode == signers.OFF or self._unsigned or not store.writer:
            return
        last = store.caught_up().heads().get(store.writer, 0)
        n, said = store.index.signed_upto(store.writer)
        if not last or (n == last and self._is_ours(said)):
            return
        try:
            if self.known.key is None and self.known.trouble is None:
                self._known = policy.look(store, self._now, makes=True, remote=self.pins.arbiter or self.name)
            key = self.known.must_have_key()

            def signed(writer: str, link: Link) -> str:
                text = verdicts.statement(store.clone.repo, writer, link.n, link.head_digest)
                return ssh_signatures.base64(key.sign(text.encode(), ssh_signatures.LEDGER))

            store.sign(signed, self._now)
        except keys.SigningFailed as refusal:
            if self.known.mode == signers.REQUIRE:
                raise
            self._unsigned = refusal

    def _is_ours(self, said: str) -> bool:
        """Whether a signature says that our key has made it."""
        try:
            return (
                self.known.key is None or ssh_signatures.read(ssh_signatures.decoded(said)).key == self.known.key.public
            )
        except ssh_signatures.Malformed:
            return False

    @property
    def _key(self) -> Key | None:
        """What commits are signed with."""
        is_off = self.known.mode == signers.OFF or self._unsigned is not None
        return None if is_off else self.known.key

    def _judge(self, incoming: Sequence[Incoming]) -> None:
        """Find out how much of what came is signed by keys that are listed."""
        if self.known.text is None or self.known.mode == signers.OFF:
            return
        index, repo = self.store.caught_up(), self.store.clone.repo
        found, heads = index.signatures(repo), index.heads()
        for each in incoming:
            if not (count := each.more.count(b"\n")):
                continue
            last = heads.get(each.writer, 0)
            standing = found.standing(self.known.policy, each.writer, last)
            for n in range(last - count + 1, last + 1):
                verdict = standing.verdict(n)
                self._judged[verdict] = self._judged.get(verdict, 0) + 1
            if standing.verified < last:
                self._doubted[each.writer] = standing.shown()

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
        """Publish what is not published, trying again when others were faster."""
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
                    raise remote.Contended(f"{self._attempts} times others were faster", remote=self.name) from None
                pause = wait(pause)
                self.look()
                if self.pin.tip == known and self._attempts >= MOST_IN_VAIN:
                    raise remote.PushDenied(f"{self.name} takes nothing: {moved}", remote=self.name) from None
                known = self.pin.tip
            except remote.Offline:
                # Perhaps it has arrived, and only the answer was lost. Looking tells, if that is possible.
                self.look()
                if publish.unpublished(self.store, self.pin.tip):
                    raise
            except git.GitFailed:
                if self._attempts > 1:
                    raise
                self.look()  # git may have thrown away what we stand on, and brings it again

    def push(self, wanted: publish.Unpublished) -> Tip:
        """Publish what is WANTED in one commit on the tip we know. Moved when that is the tip no more."""
        before = self.pin.tip
        expected = before.commit if before else None
        tip = publish.commit(self.store, before, wanted, self._now, self._key)
        remote.push(self.store.place, self.name, tip.commit, expected, self._left())
        commit = Commit(tip.commit, expected, tip.generation, tuple(self._added(before, wanted)), ())
        self._went += wanted.count
        self._pin(self.pin.but(tip=tip), [commit])
        if len(self.pins.remotes) > 1:  # else what is at the local ref stands on it
            remote.keep(self.store.place.common, self.name, tip.commit)
        return tip

    def _added(self, before: Tip | None, wanted: publish.Unpublished) -> Iterable[tuple[str, int, bytes]]:
        for writer, last in wanted.heads.items():
            first = before.heads[writer].n + 1 if before and writer in before.heads else 1
            yield writer, first, self.store.octets(writer, first, last)

    def _compact(self) -> None:
        """Make a snapshot when one is due. Nobody waits for it: whoever is faster makes it, or the next sync. What goes
        wrong with it is told, and put off until more lines have come."""
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
            self._pin(self.pin.but(put_off=before.events))

    def _compact_on(self, before: Tip) -> None:
        is_judged = self._is_judged(before)
        if is_judged and not before.is_due and self._is_right:
            return
        from bb.ledger.travel import compacting  # noqa: PLC0415

        if not is_judged:
            self._pin(self.pin.but(judged=compacting.judge(self.store, before)))
            if self._is_right and not before.is_due:
                return
        tip, judged, lines = compacting.commit(self.store, before, self._now, keeps=self._is_right, key=self._key)
        patience = max(self._left(), LEAST_FOR_PUSHING)  # else a large ledger would be folded in vain each time
        remote.push(self.store.place, self.name, tip.commit, before.commit, patience)
        carried = [Commit(tip.commit, before.commit, tip.generation, (), ())]
        self._pin(self.pin.but(tip=tip, judged=judged, put_off=0), carried)
        remote.keep(self.store.place.common, self.name, tip.commit)
        self._archived = lines

    def _is_judged(self, tip: Tip) -> bool:
        """Whether it is known if the newest snapshot is right, or there is none."""
        if not tip.compacted.snapshots:
            return True
        known, taken_back = self.pin.judged, len(self.store.caught_up().hidden())
        return known is not None and (known.commit, known.taken_back) == (tip.compacted.commit, taken_back)

    @property
    def _is_right(self) -> bool:
        """Whether there is nothing against the newest snapshot."""
        return self.pin.judged is None or self.pin.judged.is_right

    # -- beginning anew

    def rotate(self, by: str, reason: str) -> int:
        """Begin the ledger anew on the remote, with all there is; how many commits its history had."""
        from bb.ledger.travel import compacting, rotation  # noqa: PLC0415
        from bb.ledger.travel.branch import History  # noqa: PLC0415

        self.look()
        self._publish()
        before = self.pin.tip
        if before is None:
            raise LedgerRewritten(f"the ledger is gone from {self.name}")
        history = History(self.store.place.common, None)
        commits = list(history.upto(before.commit, self.store.progress))
        known = settled(history.settled, commits).keeping(rotation.live(self.store))
        carried = known.without(frozenset(redaction.redacted(self.store)))
        root = rotation.begin(self.store, before, carried, by, reason, self._now, self._key)
        tip, judged, self._archived = compacting.commit(self.store, root, self._now, keeps=True, key=self._key)
        rotation.must_be_followed(self.store, tip, before, carried)
        try:
            remote.push(self.store.place, self.name, tip.commit, before.commit, self._left())
        except remote.Moved as moved:
            self.look()
            if self.pin.tip == before:
                hint = f"let the branch bb-ledger be replaced on {self.name} for as long as this takes"
                raise remote.PushDenied(f"{self.name} keeps what it has: {moved}", hint=hint) from None
            raise remote.Contended("somebody else published meanwhile", remote=self.name) from None
        if self.pins.arbiter == self.name:
            self.pins = self.pins.but(admitted=carried)
        self._pin(self.pin.but(tip=tip, judged=judged, put_off=0))
        remote.keep(self.store.place.common, self.name, tip.commit)
        self._anew = tip.charter
        return len(commits)

    # -- remembering

    def _pin(self, pin: Pin, commits: Iterable[Commit] = ()) -> None:
        after: Pins = self.pins.with_remote(self.name, pin)
        if after.arbiter == self.name:
            commits = list(commits)
            known = settled(after.admitted, commits)
            if len(known.generations) > REMEMBERED:
                known = known.keeping([name for name, _ in self.store.caught_up().found(holdings.NAME, "live")])
            after = self._lawful(after.but(admitted=known), pin, list(commits))
        self.pins = after
        pins.write(self.store.path, after)

    def _lawful(self, after: Pins, pin: Pin, commits: list[Commit]) -> Pins:
        """The same with what is settled of the lines that count, where not all do. It is settled from the first commit
        on where other lines count than before."""
        law = self.store.law
        if law is None or pin.tip is None:
            return after.but(lawful=None, law="")
        index = self.store.caught_up()
        counts = law.counting(index.signatures(law.repo))
        if after.lawful is None or after.law != law.basis or any(each.parent is None for each in commits):
            from bb.ledger.travel.branch import History  # noqa: PLC0415

            history = History(self.store.place.common, None)
            commits = list(history.upto(pin.tip.commit))
            after = after.but(lawful=of_those_that_count(history.settled, commits, counts))
        known = settled(after.in_force, commits, counts)
        if len(known.generations) > REMEMBERED:
            known = known.keeping([name for name, _ in index.found(holdings.NAME, "live")])
        return after.but(lawful=known, law=law.basis)

    def _left(self) -> float:
        return self._deadline - time.monotonic()


def _told(charter: Charter | None) -> dict[str, object] | None:
    previous = charter.previous if charter else None
    return {"epoch": charter.epoch, **previous.as_dict()} if charter and previous else None


def of_those_that_count(known: Admitted, commits: Sequence[Commit], counts: Counting) -> Admitted:
    """What an epoch says was settled before it, without what is said on lines that do not count."""
    root = next(iter(commits), None)
    lasts = {writer: first + octets.count(b"\n") - 1 for writer, first, octets in root.added} if root else {}
    out = set()
    for name in (*known.grants, *known.generations):
        writer, n = ids.split_event_id(name)
        by = known.grants[name].agent if name in known.grants else ""
        if not counts(writer, n, lasts.get(writer, 0), by):
            out.add(name)
    return known.without(out)


def settled(known: Admitted, commits: Iterable[Commit], counts: Counting | None = None) -> Admitted:
    """What publication has settled after some more commits; only of the lines that count, where not all do."""
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
