"""What a sync knows of one remote, and what it saves about it in `pins.json`."""

from __future__ import annotations

import time

from bb.ledger.published import pins
from bb.ledger.published.pins import Pin
from bb.ledger.travel import admitted, arbitration, renamed_remotes
from bb.ledger.travel.own_signatures import OwnSignatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Commit
    from bb.ledger.records.store import Store


class SyncedRemote:
    """The remote NAME of the clone that STORE belongs to. A sync with it may take PATIENCE seconds."""

    def __init__(self, store: Store, name: str, now: int, patience: float) -> None:
        self.store = store
        self.name = name
        self.pins = renamed_remotes.follow(store.place)
        self.signatures = OwnSignatures(store, self.pins.home or name, now)
        self.now = now
        self._deadline = time.monotonic() + patience
        self._at: str | None = None  # the address of the remote, once it was asked for

    @property
    def pin(self) -> Pin:
        return self.pins.remote(self.name)

    @property
    def address(self) -> str:
        """The address that the remote is known by."""
        if self._at is None:
            self._at = arbitration.address(self.store.place, self.name, self.store.git.configuration)
        return self._at

    @property
    def decides(self) -> bool:
        """Whether the remote is the arbiter: whether its publication order decides."""
        return self._decides(self.pins)

    def _decides(self, known: Pins) -> bool:
        return arbitration.decides(known.named, known.home, self.name, self.address, known.remote(self.name).tip)

    @property
    def known_results(self) -> Admitted | None:
        """The results of publication order on this remote, if they are known without reading its history."""
        return self.pins.admitted if self.pins.arbiter == self.name else None

    def remember(self, pin: Pin, commits: Iterable[Commit] = (), begun: Admitted | None = None) -> None:
        """Save PIN, and the results of publication order after COMMITS, or from an epoch on that has BEGUN."""
        self.save(self.pins_after(pin, commits, begun))

    def pins_after(self, pin: Pin, commits: Iterable[Commit] = (), begun: Admitted | None = None) -> Pins:
        """What `remember` would save."""
        after: Pins = self.pins.with_remote(self.name, pin.replace(address=self.address))
        after = after.replace(named=arbitration.known(after))
        if after.fleet and (after.terms is None or after.terms.incarnation != after.fleet.incarnation):
            after = after.replace(fleet=None)  # the fleet has ended, or has another engine
        if pin.tip and self._decides(after):
            if after.named and after.named.turn > 1 and pin.publishes:
                after = after.replace(home=self.name)
            return admitted.after_commits(after, self.store, self.name, list(commits), begun)
        # If it is the arbiter again later, the results lack what was published meanwhile.
        return after.replace(arbiter=None, basis="") if after.arbiter == self.name else after

    def save(self, after: Pins) -> None:
        """Save the pins."""
        before, pin = self.pin, after.remote(self.name)
        # The next sync would find a later commit on the remote again. What was allowed here is known only here.
        may_be_undone = before.tip is not None and (before.publishes, before.ref) == (pin.publishes, pin.ref)
        self.pins = after
        pins.write(self.store.path, after, may_be_undone=may_be_undone)

    def left(self) -> float:
        return self._deadline - time.monotonic()
