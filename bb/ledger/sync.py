"""Bringing a clone and a remote together: look, take in, publish, and again if somebody was faster.

    look      fetch the branch, verify every commit behind the last verified one, take the lines in, remember the tip
    publish   one commit of all that is not there yet, on that tip, pushed only if the branch is still at it

Who has something to publish tries that first: a push that is accepted proves that there was nothing to fetch. Each step
can be repeated, so a sync that was killed anywhere is simply run again. What a push came to is never guessed: after any
doubt the next look tells.
"""

from __future__ import annotations

import os
import time

from bb.coordination import admission, holdings
from bb.coordination.admission import Admitted
from bb.coordination.facts import Reserved
from bb.kernel import clock, ids
from bb.kernel.errors import Busy, Conflict
from bb.kernel.record import Record
from bb.ledger import disk, git, intake, kinds, pins, publish, redacting, remote
from bb.ledger import line as lines
from bb.ledger.lock import try_lock
from bb.ledger.pins import Pin
from bb.ledger.published import Commit, History, LedgerRewritten, Tip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from bb.coordination.facts import HoldingFact
    from bb.ledger.intake import Fork
    from bb.ledger.pins import Pins
    from bb.ledger.store import Store

LOCK = "sync.lock"
REMEMBERED = 1000  # reservations; beyond that, those that have ended are forgotten
RESERVED = kinds.BY_FACT[Reserved][0]
HOLDING_KINDS = frozenset(kinds.BY_FACT[fact][0].encode() for fact in holdings.FACTS)
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts, when others are faster
MOST_IN_VAIN = 4  # attempts that are turned away as too late by a remote on which nothing has changed
PULL, PUSH, BOTH = "pull", "push", "both"


class AlreadySyncing(Busy):
    """Another process is syncing this clone."""

    code = "ALREADY_SYNCING"
    hint = "what you want is done by it, or by the next sync"


def wait(pause: float) -> float:
    """Wait for about so many seconds, by chance, so that two do not march in step; how long to wait the next time."""
    time.sleep(pause * (0.5 + os.urandom(1)[0] / 512))
    return min(2 * pause, LONGEST_PAUSE)


class AnotherLedger(Conflict):
    """That remote holds the ledger of another project."""

    code = "ANOTHER_LEDGER"
    hint = "nothing was taken over; sync with a remote of this project: --remote NAME"


class Turn:
    """`with Turn(store, patience):` is the only one that syncs this clone; AlreadySyncing if that takes too long."""

    def __init__(self, store: str, patience: float = 0.0) -> None:
        self._path = os.path.join(store, LOCK)
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise disk.refusal(error) from error
        deadline = time.monotonic() + self._patience
        while not try_lock(self._fd):
            if time.monotonic() >= deadline:
                os.close(self._fd)
                raise AlreadySyncing
            time.sleep(FIRST_PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


class Outcome(Record):
    """What a sync came to."""

    remote: str
    tip: str | None
    generation: int
    came: int
    went: int
    kinds: dict[str, int]  # of the events that came
    heard: dict[str, int]  # agents whose lines came, and how long before their writer's last line theirs was
    reserved: tuple[str, ...]  # the reservations among what came
    forks: tuple[Fork, ...]
    joined: str | None
    attempts: int


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
        self._kinds: dict[str, int] = {}
        self._reserved: list[str] = []
        self._forks: list[Fork] = []
        self._joined: str | None = None
        self._is_gone = False  # the branch, from a remote that had it

    @property
    def pin(self) -> Pin:
        return self.pins.remote(self.name)

    def run(self, direction: str, *, publishes: bool = False) -> None:
        """Do what is to be done in this DIRECTION; PUBLISHES when it was just said that our lines may go there."""
        if direction == PULL or publishes or not self._may_push_at_once():
            self.look(may_be_gone=publishes)
        if publishes and not self.pin.publishes:
            self._pin(self.pin.but(publishes=True))  # now that there is such a remote
        if direction != PULL:
            self._publish()

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
            came=self._came,
            went=self._went,
            kinds=self._kinds,
            heard=self._heard,
            reserved=tuple(self._reserved),
            forks=tuple(self._forks),
            joined=self._joined,
            attempts=self._attempts,
        )

    # -- looking

    def look(self, *, may_be_gone: bool = False) -> None:
        """Fetch, verify, and take in what others have published."""
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
            commits = self._verified(history, found, tip)
        except LedgerRewritten as refusal:
            refusal.details |= {"remote": self.name, "found": found, "verified": tip.commit if tip else None}
            raise
        if known is None and self.pins.arbiter in (None, self.name):
            self.pins = self.pins.but(admitted=Admitted())
        self._take_in(commits, history.tip)

    def _verified(self, history: History, found: str, tip: Tip | None) -> list[Commit]:
        """The commits up to the one that was FOUND; what was verified before must be among them, or before them."""
        commits = list(history.upto(found, self.store.progress))
        if tip and commits and commits[0].parent != tip.commit and all(tip.commit != each.id for each in commits):
            raise LedgerRewritten(f"what was published on {self.name} before is not there any more")
        return commits

    def _take_in(self, commits: list[Commit], after: Tip) -> None:
        before = sum(self.store.caught_up().heads().values())
        incoming = intake.checked(self.store, commits, self._published_elsewhere())
        is_another = self.store.exists and after.charter.repo != self.store.clone.repo
        if is_another and any(pin.tip for pin in self.pins.remotes.values()):
            raise AnotherLedger(
                f"the ledger on {self.name} is that of {after.charter.repo}, and this one of {self.store.clone.repo}",
                remote=self.name,
            )
        if not self.store.exists or is_another:
            self.store.join(after.charter.repo)
            self._joined = after.charter.repo
        self._forks += intake.write(self.store, incoming)
        redacting.blank(self.store)
        self._came += sum(self.store.caught_up().heads().values()) - before
        for each in incoming:
            self._hear(each.more)
        self._pin(self.pin.but(tip=after), commits)
        remote.keep(self.store.place.common, self.name, after.commit)

    def _hear(self, octets: bytes) -> None:
        """Whose lines have come, and how old they are beside their writer's last: one clock, so it may be compared."""
        said: dict[str, int] = {}
        for raw in octets.split(b"\n")[:-1]:
            try:
                found = lines.members(raw)
            except lines.Unreadable:
                continue
            self._kinds[found["kind"]] = self._kinds.get(found["kind"], 0) + 1
            if found["kind"] == RESERVED:
                self._reserved.append(found["id"])
            said[found["by"]] = clock.parse_or(found["ts"], 0)
        last = max(said.values(), default=0)
        for who, at in said.items():
            self._heard[who] = min(last - at, self._heard.get(who, last - at))

    def _has(self, tip: Tip) -> bool:
        """Whether all that was published up to TIP is still here."""
        heads = self.store.caught_up().heads() if self.store.exists else {}
        return all(heads.get(writer, 0) >= head.n for writer, head in tip.heads.items())

    def _published_elsewhere(self) -> dict[str, int]:
        """How far each writer's lines are out on other remotes. What is out on this one has just been verified."""
        found: dict[str, int] = {}
        for pin in (pin for name, pin in self.pins.remotes.items() if name != self.name):
            for writer, head in (pin.tip.heads if pin.tip else {}).items():
                found[writer] = max(found.get(writer, 0), head.n)
        return found

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
        while wanted := publish.unpublished(self.store, self.pin.tip):
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
        tip = publish.commit(self.store, before, wanted, self._now)
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

    # -- remembering

    def _pin(self, pin: Pin, commits: Iterable[Commit] = ()) -> None:
        after: Pins = self.pins.with_remote(self.name, pin)
        if after.arbiter == self.name:
            known = settled(after.admitted, commits)
            if len(known.generations) > REMEMBERED:
                known = known.keeping([name for name, _ in self.store.caught_up().found(holdings.NAME, "live")])
            after = after.but(admitted=known)
        self.pins = after
        pins.write(self.store.path, after)

    def _left(self) -> float:
        return self._deadline - time.monotonic()


def settled(known: Admitted, commits: Iterable[Commit]) -> Admitted:
    """What publication has settled after some more commits."""
    for commit in commits:
        facts = [fact for writer, first, octets in commit.added for fact in _holding_facts(writer, first, octets)]
        known = admission.admit(known, commit.parent, commit.generation, facts)
    return known


def _holding_facts(writer: str, first: int, octets: bytes) -> Iterator[tuple[str, HoldingFact]]:
    for n, raw in enumerate(octets.split(b"\n")[:-1], first):
        try:
            if lines.clock_and_kind(raw)[1] in HOLDING_KINDS:
                found = lines.members(raw)
                fact = kinds.fact_of(found["kind"], found["data"], found["by"])
                if isinstance(fact, holdings.FACTS):
                    yield ids.event_id(writer, n), fact
        except (lines.BadLine, lines.Unreadable):
            continue
