"""Syncs a clone with a remote: look, import, publish, and repeat if another clone was faster.

    look      fetch the branch, verify every commit after the last verified one, import the lines, save the tip
    publish   make one commit of all unpublished lines on that tip, and push it only if the branch is still there

If there are unpublished lines, publishing is tried first: an accepted push proves that there was nothing to fetch. Each
step can be repeated, so an interrupted sync is simply run again. If it is unknown whether a push arrived, the next look
tells. Looking is in `fetching.py`, snapshots are in `due_snapshot.py`.
"""

from __future__ import annotations

from bb.coordination.holdings.admission import Admitted
from bb.ledger.git import program
from bb.ledger.published import fleet_terms
from bb.ledger.published.charter import must_be_ours
from bb.ledger.published.layout import HIDDEN
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.travel import admitted, arbitration, coverage, due_snapshot, publish, remote
from bb.ledger.travel.fetching import Fetching
from bb.ledger.travel.sync_lock import FIRST_PAUSE, random_pause
from bb.ledger.travel.sync_result import SyncResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from bb.ledger.published.arbiter import Arbiter
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.pins import Pins
    from bb.ledger.records.store import Store
    from bb.ledger.travel.commit_writer import WrittenCommit

    T = TypeVar("T")

MOST_LOOKED_AT = 300  # received journals; with more, only `bb doctor` and `bb ledger verify` look at each
MOST_IN_VAIN = 4  # pushes rejected as outdated although the remote has not changed
PULL, PUSH, BOTH = "pull", "push", "both"


class Sync(Fetching):
    """One sync of one clone with one remote."""

    def __init__(self, store: Store, name: str, now: int, patience: float) -> None:
        super().__init__(store, name, now, patience)
        self._named_before = self.pins.named
        self._floor_before = self.pins.admitted.floor
        self._went = self._attempts = 0
        self.archived: int | None = None
        self._not_compacted: str | None = None

    def run(self, direction: str, *, publishes: bool = False, ref: str | None = None) -> None:
        """Sync in this DIRECTION. PUBLISHES allows publishing our lines on this remote from now on, at the place REF if
        one is given."""
        if self.store.exists and self.store.index.count_received(MOST_LOOKED_AT + 1) <= MOST_LOOKED_AT:
            self.store.look_at_everything()
        if direction == PULL or publishes or not self._may_push_at_once():
            self.look(may_be_gone=publishes)
        self.record_again()
        if publishes and not self.pin.publishes:
            self.remember(self.pin.replace(publishes=True))  # only now: the look has shown that the remote exists
        if ref is not None:
            self.relocate(ref)
        if direction != PULL:
            self.publish_all()
            made = due_snapshot.make(self)
            if made.archived is not None:
                self.archived = made.archived
            self._not_compacted = made.not_made or self._not_compacted
        self._keep_to_the_law()
        self._forget_old_places()

    def _forget_old_places(self) -> None:
        """Keep the saved results of a fleet small, once its floor has risen."""
        tip, floor = self.pin.tip, self.pins.admitted.floor
        if floor > self._floor_before and tip and self.decides and coverage.has_all(self.store, tip):
            self._floor_before = floor
            self.save(admitted.without_forgotten(self.pins, self.store))

    def _keep_to_the_law(self) -> None:
        """Compute the admitted reservations again, if other lines count now than last time, or the remote is the
        arbiter again."""
        if self.store.exists and self.pin.tip and self.decides:
            law = self.store.law if self.signatures.known.text is not None else None
            if self.pins.arbiter != self.name or (law.basis if law else "") != self.pins.law:
                self.remember(self.pin)

    def outcome(self) -> SyncResult:
        tip, came = self.pin.tip, self.arrivals
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
            joined=self.joined,
            attempts=self._attempts,
            archived=self.archived,
            not_compacted=self._not_compacted,
            begun_anew=_told(self.begun_anew),
            arbiter_moved=self._told_of_move(),
            signatures=self._told_of_signatures(),
            quarantined=tuple(self.quarantined.values()),
        )

    def _told_of_move(self) -> dict[str, object] | None:
        named = self.pins.named
        return named.as_dict() if named and named.turn > 1 and named != self._named_before else None

    def _told_of_signatures(self) -> dict[str, object] | None:
        if not self.store.exists:
            return None
        signer_policy, failure, came = self.signatures.known, self.signatures.failure, self.arrivals
        answer: dict[str, object] = signer_policy.shown()
        if signer_policy.text is not None:
            answer |= came.judged() if came else {"came": {}, "doubted": []}
        if failure:
            answer["unsigned"] = f"{failure.code}: {failure.message}"
        if self.left_to:
            answer["left_writer"] = self.left_to
        return answer | (came.lost() if came else {})

    def relocate(self, ref: str) -> None:
        """Move the ledger to another place on the remote, or let the first publication go there. All clones find it
        there with their next sync."""
        while (tip := self.pin.tip) is not None and self.pin.ref != ref:
            expected = self.on_top_of or tip.commit
            try:
                remote.relocate(self.store.place, self.name, expected, self.pin.ref, ref, self.left())
            except remote.Moved as moved:
                self.look()
                if self.pin.tip == tip and (self.on_top_of or tip.commit) == expected and self.pin.ref != ref:
                    remote.refuse_two_places(self.store.place, self.name, self.pin.ref, self.left())
                    raise remote.PushDenied(f"{self.name} does not let the ledger move: {moved}") from None
            else:
                break
        self.remember(self.pin.replace(ref=ref))

    def wanted(self) -> publish.Unpublished:
        """The lines to publish. Ours are signed first; those that go to a fleet's engine are signed when they go
        there."""
        must_be_ours(self.store.clone.repo, self.signatures.known.policy.repo)
        if not self.is_for_an_engine:
            self.signatures.sign()
        return publish.unpublished(self.store, self.pin.tip)

    @property
    def is_for_an_engine(self) -> bool:
        """Whether the branch is the archive of a fleet's engine, as far as this clone knows."""
        return self.pin.tip is not None and self.pin.tip.charter.fleet is not None

    def _may_push_at_once(self) -> bool:
        tip = self.pin.tip
        return tip is not None and coverage.has_all(self.store, tip) and bool(publish.unpublished(self.store, tip))

    def publish_all(self) -> None:
        """Publish the unpublished lines in one commit. Try again if another clone was faster.

        Lines that are recorded meanwhile are left to the next sync, because agents may never stop recording.
        """
        if self.is_gone and self.pin.tip:
            remote.push(self.store.place, self.name, self.pin.tip.commit, None, self.left(), self.pin.ref)
            self.is_gone = False
        pause = FIRST_PAUSE
        while (pending := self.wanted()) or self.on_top_of:
            self._attempts += 1
            try:
                self.push(pending)
            except remote.Moved as moved:
                pause = self.look_later(moved, pause)
            except remote.unreachable():
                # The push may have arrived, and only the answer was lost. A look tells, if the remote can be reached.
                self.look()
                if self.pin.tip is None or self.on_top_of or not pending.is_in(self.pin.tip):
                    raise
                return
            except program.GitFailed:
                if self._attempts > 1:
                    raise
                self.look()  # git may have deleted the parent commit, and fetches it again
            else:
                return

    def look_later(self, moved: remote.Moved, pause: float) -> float:
        """Look after a random time, because another clone was faster. Returns the pause after the next attempt."""
        if self.left() <= pause:
            message = f"other clones were faster in {self._attempts} attempts"
            raise remote.Contended(message, remote=self.name) from None
        pause, before = random_pause(pause), (self.pin.tip, self.on_top_of)
        self.look()
        if (self.pin.tip, self.on_top_of) == before:
            remote.refuse_two_places(self.store.place, self.name, self.pin.ref, self.left())
            if self._attempts >= MOST_IN_VAIN:
                raise remote.PushDenied(f"{self.name} accepts no push: {moved}", remote=self.name) from None
        return pause

    def push(
        self,
        wanted: publish.Unpublished,
        names: Arbiter | None = None,
        takes_over: Admitted | None = None,
        charter: Charter | None = None,
    ) -> Tip:
        """Publish the WANTED lines in one commit on the verified tip. Raises Moved if the branch has moved. To move the
        arbiter, the commit NAMES the next one, or TAKES OVER the results of the one before. A CHARTER replaces the one
        so far. If the tip of the branch is quarantined, the commit is on top of it."""
        before = self.pin.tip
        if self.is_for_an_engine and not (wanted or charter or self.on_top_of):
            raise fleet_terms.FleetIsOn(f"lines come to {self.name} only as rows of the engine's log")
        about = (names or self._arbiter_to_name(), takes_over, self.on_top_of, charter)
        tip, lines, made = publish.commit_aside(self.store, before, wanted, self.now, self.signatures.key, None, *about)
        self.push_made(tip, Commit("", None, 0, lines, (), settled=takes_over), made)
        self._went += wanted.count
        return tip

    def push_made(self, tip: Tip, content: Commit, made: WrittenCommit) -> None:
        """Push the commit MADE on the verified tip, with this CONTENT, after which the branch is at TIP.

        Raises Moved if the branch has moved.
        """
        before = self.pin.tip
        expected = self.on_top_of or (before.commit if before else None)
        known: list[Pins] = []

        def prepare() -> None:
            made.begin_to_settle()
            at, parent = tip.charter.arbiter, before.commit if before else None
            address = at.address if at else ""
            commit = content.replace(id=tip.commit, parent=parent, generation=tip.generation, arbiter=address)
            known.append(self.pins_after(self.pin.replace(tip=tip), [commit], None if before else Admitted()))

        try:
            there = (tip.commit, expected, self.left(), self.pin.ref)
            remote.push(self.store.place, self.name, *there, prepare)
            self.on_top_of = None
            self.save(known[0])
        finally:
            made.settle()
        if len(self.pins.remotes) > 1:  # with one remote, the local ref keeps the commit
            remote.mark_verified(self.store.place.common, self.name, tip.commit)

    def repeated(self, attempt: Callable[[], T]) -> T:
        """The result of an ATTEMPT to move the branch, which is repeated while other clones publish first."""
        pause = FIRST_PAUSE
        while True:
            try:
                return attempt()
            except remote.Moved:
                if self.left() <= pause:
                    raise remote.Contended("other clones published first on every attempt", remote=self.name) from None
                pause = random_pause(pause)

    def _arbiter_to_name(self) -> Arbiter | None:
        """The arbiter that the next commit names, if the charter there does not name it yet. A move is completed by
        `moving.py`, because the new arbiter takes over results."""
        tip, named = self.pin.tip, self.pins.named
        if named is None and self.decides:
            named = arbitration.first(self.store.place, self.name, self.address)
        is_said = tip is not None and tip.charter.arbiter in (named, self.is_for_an_engine and tip.charter.arbiter)
        is_move = tip is not None and named is not None and named.turn > 1 and named.address == self.address
        return None if is_said or is_move else named


def _told(charter: Charter | None) -> dict[str, object] | None:
    previous = charter.previous if charter else None
    return {"epoch": charter.epoch, **previous.as_dict()} if charter and previous else None
