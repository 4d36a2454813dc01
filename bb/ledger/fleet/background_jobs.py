"""The background jobs of a relay, which may take seconds: signing, and git. Each kind has a thread of its own, so that
the relay goes on meanwhile.

Each job opens the store by itself. The relay looks at the outcome when it is woken.
"""

from __future__ import annotations

import threading
from time import thread_time

from bb.coordination.records import signers
from bb.kernel.errors import BbError
from bb.ledger.carrier.door import Row
from bb.ledger.index import counting
from bb.ledger.published import pins
from bb.ledger.records import policy
from bb.ledger.records.store import Store
from bb.ledger.travel.own_signatures import OwnSignatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.travel.sync import Sync

PATIENCE = 60.0  # seconds for git


class BackgroundThread:
    """A thread that does one job at a time. WAKE is called when a job has ended."""

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self._name = name
        self._wake = wake
        self._thread: threading.Thread | None = None
        self.failure: Exception | None = None  # of the last job
        self.ended = 0  # jobs
        self.cost = 0.0  # seconds of a processor that the last job took, without the processes that it started

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, job: Callable[[], None]) -> bool:
        """Start a job, unless one goes on. Returns whether it was started."""
        if self.is_busy:
            return False

        def run() -> None:
            began = thread_time()
            try:
                job()
                self.failure = None
            except Exception as error:
                self.failure = error
            self.cost = thread_time() - began
            self.ended += 1
            self._thread = None
            self._wake()

        self._thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._thread.start()
        return True

    def join(self, seconds: float) -> None:
        if thread := self._thread:
            thread.join(seconds)


def must_sign(store: Store) -> bool:
    """Whether each append must be signed: there is a list of signers, and signing is not off."""
    if store.law is None:
        return False
    known = policy.cached(store)
    return known is not None and known.mode != signers.OFF


def signed_upto(store: Store, writer: str) -> int:
    """The number of the last line of ours that is a signature, which covers all lines before it."""
    return counting.signed_upto(store.caught_up(), writer)[0]


def sign(place: Place, now: Callable[[], int]) -> None:
    """Sign our lines. A failure is raised if lines without a signature would not count."""
    store = Store(place)
    try:
        home = pins.read(store.path).home
        if home and store.exists and store.writer:
            with store.git:
                OwnSignatures(store, home, now()).sign()
    finally:
        store.close()


def look(place: Place, now: Callable[[], int]) -> None:
    """Fetch and verify the published ledger, without publishing anything."""

    def pull(sync: Sync) -> None:
        from bb.ledger.travel.sync import PULL  # noqa: PLC0415

        sync.run(PULL)

    _with_sync(place, now, pull)


def archive(place: Place, now: Callable[[], int], rows: Sequence[Row]) -> None:
    """Publish ROWS on the home remote, and a snapshot if one is due."""

    def publish(sync: Sync) -> None:
        from bb.ledger.travel import due_snapshot, row_archive  # noqa: PLC0415  (only the relay that leads archives)

        row_archive.archive(sync, rows)
        due_snapshot.make(sync)

    _with_sync(place, now, publish)


def _with_sync(place: Place, now: Callable[[], int], work: Callable[[Sync], None]) -> None:
    from bb.ledger.travel.sync import Sync  # noqa: PLC0415  (its import takes a while)
    from bb.ledger.travel.sync_lock import SyncLock  # noqa: PLC0415

    store = Store(place)
    try:
        home = pins.read(store.path).home
        if home is None:
            return
        with SyncLock(store.path, PATIENCE / 2), store.git:
            store.git.start()
            work(Sync(store, home, now(), PATIENCE))
    finally:
        store.close()


def text_of(failure: Exception) -> str:
    """A failure in words, for the log and the status."""
    return f"{failure.code}: {failure.message}" if isinstance(failure, BbError) else repr(failure)
