"""Looks at a remote: fetches the branch, verifies what is new there, and imports its lines.

Modules for verifying and importing are imported on demand, because most syncs only push.
"""

from __future__ import annotations

from bb.coordination.records import signers
from bb.kernel.errors import Conflict
from bb.ledger.git import git
from bb.ledger.journal import received
from bb.ledger.published import fleet_results, lacking_rows
from bb.ledger.published.charter import LedgerRewritten, NotALedger, must_be_ours
from bb.ledger.published.layout import LOCAL
from bb.ledger.records import creation, payload_removal, set_aside
from bb.ledger.travel import coverage, remote
from bb.ledger.travel.synced_remote import SyncedRemote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.ledger.published.charter import Charter
    from bb.ledger.published.tip import Tip
    from bb.ledger.records.store import Store
    from bb.ledger.travel.arrivals import Arrivals
    from bb.ledger.travel.importing import Incoming
    from bb.ledger.travel.quarantine import Sound, Stray

AnotherLedger = Conflict.declare(
    "ANOTHER_LEDGER",
    "The remote has the ledger of another project",
    hint="nothing was imported; sync with a remote of this project: `bb sync --remote NAME`",
)


class Fetching(SyncedRemote):
    """A remote that is looked at, and what has come from there."""

    def __init__(self, store: Store, name: str, now: int, patience: float) -> None:
        super().__init__(store, name, now, patience)
        self.arrivals: Arrivals | None = None  # None if nothing was imported
        self.joined: str | None = None
        self.begun_anew: Charter | None = None  # of a new epoch
        self.is_gone = False  # whether the branch disappeared from the remote
        self.left_to: str | None = None  # our former writer, if another store has published under its id
        self.quarantined: dict[str, Stray] = {}
        self.on_top_of: str | None = None  # the commit at the tip of the branch, if it is quarantined

    @property
    def has_stray_tip(self) -> bool:
        """Whether the last commit on the branch does not count."""
        return self.on_top_of is not None

    def base(self) -> str:
        """The last verified commit. It contains everything published so far."""
        tip = self.pin.tip
        if tip is None:
            raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}")
        return tip.commit

    def look(self, *, may_be_gone: bool = False) -> None:
        """Fetch, verify and import published lines."""
        tip = self.pin.tip
        # If local lines are lost, everything is verified again.
        last_verified = tip if tip and coverage.has_all(self.store, tip) else None
        remote_tip = self._fetched(whole=last_verified is None)
        self.on_top_of = None
        if remote_tip is None:
            if tip is not None and not may_be_gone:
                hint = "your copy is complete; `bb ledger restore` puts the branch back"
                raise LedgerRewritten(f"the branch of the ledger is missing on {self.name}", hint=hint)
            self.is_gone = tip is not None
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

    def _skip(self, found: Sound, remote_tip: str) -> None:
        self.quarantined |= {stray.commit: stray for stray in found.strays}
        self.on_top_of = remote_tip if found.tip.commit != remote_tip else None

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
        if not fleet_results.has_joined(self.store.path):
            self._import(found)
            return
        self.store.caught_up()  # it may take long to fold new lines into the index: the relay need not wait for it
        with received.Turn(self.store.path):  # the relay writes the same journals
            self._import(found)

    def _import(self, found: Sound) -> None:
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
            self.joined = after.charter.repo
            self.signatures.read_again((self.signatures.known.text, self.signatures.known.where))
        self.import_lines(incoming)
        payload_removal.blank(self.store)
        self.arrivals = self.arrivals or Arrivals(self.store)
        self.arrivals.take(commits, incoming)
        if self.signatures.known.text is not None and self.signatures.known.mode != signers.OFF:
            self.arrivals.judge(self.signatures.known.policy, incoming)
        begun = found.settled if commits[0].parent is None else None
        self.remember(self.pin.replace(tip=after), commits, begun)
        if fleet := after.charter.fleet:
            lacking_rows.compare(self.store.path, fleet.incarnation, commits)
        remote.mark_verified(self.store.place.common, self.name, after.commit)
        if self.begun_anew:  # no local ref may keep the earlier commits alive
            git.run(["update-ref", LOCAL, after.commit], git_dir=self.store.place.common)
        self.record_again()

    def import_lines(self, incoming: Sequence[Incoming]) -> None:
        """Write checked lines into the journals."""
        from bb.ledger.travel import importing  # noqa: PLC0415

        self._leave_to_others(incoming)  # before writing: after a crash, our writer must not continue foreign lines
        importing.write(self.store, incoming)

    def record_again(self) -> None:
        """Record the events of our lines again that were put aside, in this sync or an interrupted one."""
        if set_aside.owed_files(self.store.path) and set_aside.record_again(self.store, self.now):
            # The lines are from a new writer with the same key, and must count here at once.
            self.signatures.read_again()

    def _leave_to_others(self, incoming: Sequence[Incoming]) -> None:
        from bb.ledger.travel import importing  # noqa: PLC0415

        if self.store.writer in importing.leave_to_others(self.store, incoming):
            self.left_to = self.store.writer
            self.signatures.forget()

    def _published(self, but: str | None) -> dict[str, int]:
        """The number of each writer's last published line on all remotes. The remote BUT is left out, because its lines
        were just verified to be unchanged."""
        last_lines: dict[str, int] = {}
        for pin in (pin for name, pin in self.pins.remotes.items() if name != but):
            for writer, n in (pin.tip.last_lines if pin.tip else {}).items():
                last_lines[writer] = max(last_lines.get(writer, 0), n)
        return last_lines
