"""The ledger's branch on a git remote, as the first carrier behind the door to an engine (`carrier/door.py`).

    head      look at the branch: fetch it, verify what is new, and import its lines
    append    publish what this clone has recorded and not published, in one commit on the tip, with a lease
    read      the lines of the commits after a generation
    wait      look again and again

The remote orders commits. The place of a commit is its generation, and its digest is its id, which covers all commits
before it. A remote that has git and nothing else cannot do all that an engine can, and `CANNOT` names each difference.

Global reservations use `append_on_tip`: only the remote's compare-and-swap admits them (docs/decisions/0018).
"""

from __future__ import annotations

import time
from itertools import islice

from bb.kernel.errors import Refused
from bb.ledger.carrier.door import MOST_READ, AppendUnknown, EngineUnreachable, Forked, Gap, Head, Row
from bb.ledger.files import readiness
from bb.ledger.journal.journal import Journal
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.travel import remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from bb.ledger.carrier.door import Machine
    from bb.ledger.published.tip import Commit, Tip
    from bb.ledger.travel.sync import Sync

POLL = 2.0  # seconds between two looks of `wait`
MOST_BYTES = 4 << 20  # in one answer of `read`
CANNOT = {
    "beat": "a remote keeps no signs of life, and its clock is unknown; `bb sync` carries those that are recorded",
    "one row a place": "a commit may have lines of several writers, whose rows have its place; some commits have none",
    "any lines": "the lines are those of this clone's journal, and all that wait are published together",
    "digest of the rule": "the digest of a row is the id of its commit",
    "one leader": "each clone publishes for itself, and the lease keeps two right",
    "bind writers": "signatures say who wrote a line (docs/signing.md)",
    "close": "the charter on the branch says where lines go; a remote does not refuse them",
}
NotOnGit = Refused.declare(
    "NOT_ON_GIT",
    "A git remote cannot do that",
    hint="docs/fleet.md says what an engine does beyond a git remote",
)


class GitCarrier:
    """The branch on the remote that AT_WORK syncs with. The caller holds the lock of syncs."""

    kind = "git"

    def __init__(self, at_work: Sync) -> None:
        self._at_work = at_work
        self._read: Tip | None = None  # the state up to which `read` has given every row
        self._given = 0  # the place of the last one

    def look(self) -> None:
        """Fetch, verify and import what is published. Refusals are those of a sync."""
        self._at_work.look()

    def append_on_tip(self) -> int | None:
        """Publish all recorded lines on exactly the tip that was looked at last. Returns its place; None if another
        clone published first. Raises AppendUnknown if the answer was lost, and a look cannot tell."""
        at_work = self._at_work
        try:
            return at_work.push(at_work.wanted()).generation
        except remote.Moved:
            return None
        except remote.unreachable() as offline:
            try:
                at_work.look()  # the push may have arrived, and only the answer was lost
            except remote.unreachable():
                raise AppendUnknown(f"it may have been published: {offline.message}") from None
        return at_work.pin.tip.generation if at_work.pin.tip else None

    def head(self) -> Head:
        try:
            self.look()
        except remote.unreachable() as offline:
            raise EngineUnreachable(offline.message) from None
        tip, now = self._at_work.pin.tip, time.time_ns() // 1_000_000
        if tip is None:
            return Head("", 0, "", 1, now)
        previous = tip.charter.previous
        return Head(str(tip.charter.epoch), tip.generation, tip.commit, previous.generation + 1 if previous else 1, now)

    def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        at_work = self._at_work
        recorded = list(islice(Journal(at_work.store.path, writer).lines_from(first), len(lines)))
        if recorded != list(lines[: len(recorded)]):
            raise Forked(f"the journal of {writer} has other lines from number {first} on")
        if len(recorded) < len(lines):
            raise Gap(f"line {first + len(recorded)} of {writer} is not recorded here", next=first + len(recorded))
        try:
            at_work.look()
        except remote.unreachable() as offline:
            raise EngineUnreachable(offline.message) from None
        before, last = at_work.pin.tip, first + len(lines) - 1
        try:
            at_work.publish_all()
        except remote.unreachable() as offline:
            raise AppendUnknown(offline.message) from None
        is_there = before is not None and before.last_line(writer) >= last
        return self._place_of(None if is_there else before, writer, last)

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        """As `Carrier.read`, of the commits up to the last look. Rows of one commit are never divided."""
        if since < self._given:
            self._read = None
        rows: list[Row] = []
        size = 0
        for commit in self._commits_after(self._read):
            if commit.generation <= since:
                continue
            if rows and (len(rows) + len(commit.added) > most or size > MOST_BYTES):
                return rows
            rows += _rows(commit)
            size += sum(len(octets) for _, _, octets in commit.added)
        self._read, self._given = self._at_work.pin.tip, rows[-1].place if rows else since
        return rows

    def wait(self, since: int, seconds: float, also: Sequence[int] = ()) -> bool:
        until = time.monotonic() + seconds
        while (head := self.head()).place <= since:
            left = until - time.monotonic()
            if left <= 0 or readiness.readable(also, min(left, POLL)):
                break
        return head.place > since

    def beat(self, machine: Machine) -> None:
        raise NotOnGit(f"the machine {machine.name} cannot beat: {CANNOT['beat']}")

    def alive(self) -> list[Machine]:
        raise NotOnGit(CANNOT["beat"])

    def health(self) -> dict[str, Any]:
        """A remote does not show how it keeps what it has accepted."""
        return {"durable": None, "settings": {}, "version": None, "standbys": []}

    def lead(self) -> bool:
        return True

    def yield_lead(self) -> None:
        """Each clone publishes its own lines, so there is nothing to yield."""

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _commits_after(self, known: Tip | None) -> Iterator[Commit]:
        """The commits after KNOWN, up to the last look."""
        from bb.ledger.travel import quarantine  # noqa: PLC0415  (most appends need not read)

        at_work, tip = self._at_work, self._at_work.pin.tip
        if tip is None or (known and known.commit == tip.commit):
            return
        store = at_work.store
        try:
            yield from quarantine.read(store.path, store.place.common, known, tip.commit, None, store.git).commits
        except LedgerRewritten.error:
            if known is None:
                raise
            yield from self._commits_after(None)  # a new epoch has begun

    def _place_of(self, before: Tip | None, writer: str, last: int) -> int:
        """The generation of the commit after BEFORE that has the line LAST of a writer."""
        for commit in self._commits_after(before):
            if any(name == writer and last < first + octets.count(b"\n") for name, first, octets in commit.added):
                return commit.generation
        raise AppendUnknown(f"line {last} of {writer} is not on {self._at_work.name}")


def _rows(commit: Commit) -> list[Row]:
    return [Row(commit.generation, writer, first, octets, commit.id) for writer, first, octets in commit.added]
