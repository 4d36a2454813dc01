"""What a sync imported: the authors heard from, the kinds of events, and how many lines are signed."""

from __future__ import annotations

from bb.kernel import clock, ids
from bb.kernel.event import SIGNED
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.records import payload_removal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.records.signers import Policy
    from bb.ledger.index.counting import Counting
    from bb.ledger.published.tip import Commit
    from bb.ledger.records.store import Store
    from bb.ledger.travel.importing import Incoming

SIGNATURE = b'"kind":"%s"' % SIGNED.encode()
RESERVED = kinds.BY_FACT["Reserved"][0]
MUCH = 1 << 20  # bytes from which on the fast decoder is worth its import
MOST_LOST = 100  # lost events in an answer


class Arrivals:
    """What came into STORE."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.count = 0  # of lines, without signatures
        self.kinds: dict[str, int] = {}
        self.heard: dict[str, int] = {}
        self.unverified: set[str] = set()
        self.reserved: list[str] = []
        self._lost: list[str] = []  # events without payload and without a valid withdrawal
        self._judged: dict[str, int] = {}  # number of lines that are verified, unverified, forged
        self._doubted: dict[str, dict[str, object]] = {}  # writers with lines that are not verified

    def take(self, commits: Sequence[Commit], incoming: Sequence[Incoming]) -> None:
        """Note the INCOMING lines of COMMITS, which have been written."""
        self._lost += self._not_believed(commits)
        # Asked for once: there may be thousands of writers.
        counted = counting.for_index(self._store.caught_up())
        decode = _fast_decoder() if sum(len(change.more) for change in incoming) >= MUCH else None
        for change in incoming:
            self.count += change.more.count(b"\n") - change.more.count(SIGNATURE)
            self._hear(change.more, counted, decode)

    def _not_believed(self, commits: Sequence[Commit]) -> list[str]:
        """The events in COMMITS that have no payload and no valid withdrawal."""
        raws = []
        for writer, first, octets in (added for commit in commits for added in commit.added):
            if lines.may_hold_blanks(octets):
                numbered = enumerate(octets.split(b"\n")[:-1], first)
                blank = (n for n, raw in numbered if lines.is_blank(raw))
                raws += [raw for n in blank if (raw := Journal(self._store.path, writer).line(n))]
        return payload_removal.unexplained_blanks(self._store.caught_up(), filter(lines.is_blank, raws)) if raws else []

    def _hear(self, octets: bytes, counted: Counting | None, decode: Callable[[bytes], Any] | None) -> None:
        """Note the authors of one writer's imported lines, and the age of each author's last line relative to the
        newest of these lines. Both times are from the writer's clock, so they can be compared. Lines that do not count
        are no sign of life."""
        last_lines: dict[str, str] = {}
        for raw in octets.split(b"\n")[:-1]:
            try:
                members = lines.members(raw, decode)
            except lines.Unreadable:
                continue
            event, kind, by = members["id"], members["kind"], members["by"]
            if kind == SIGNED:
                continue
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            if kind == RESERVED:
                self.reserved.append(event)
            if counted and counted.leaves_out and not counted.counts_as_written(*ids.split_event_id(event), raw):
                continue
            if counted and counted.is_doubted(event, kind, by):
                self.unverified.add(by)
            last_lines[by] = members["ts"]
        times = {agent: clock.parse_or(ts, 0) for agent, ts in last_lines.items()}
        newest = max(times.values(), default=0)
        for agent, at in times.items():
            self.heard[agent] = min(newest - at, self.heard.get(agent, newest - at))

    def judge(self, policy: Policy, incoming: Sequence[Incoming]) -> None:
        """Count how many imported lines are signed by listed keys."""
        index, repo = self._store.caught_up(), self._store.clone.repo
        signatures, heads = counting.signatures(index, repo), index.heads()
        for change in incoming:
            if not (count := change.more.count(b"\n")):
                continue
            last = heads.get(change.writer, 0)
            standing = signatures.standing(policy, change.writer, last)
            for n in range(last - count + 1, last + 1):
                verdict = standing.verdict(n)
                self._judged[verdict] = self._judged.get(verdict, 0) + 1
            if standing.verified < last:
                self._doubted[change.writer] = standing.shown()

    def judged(self) -> dict[str, object]:
        """The results of the signatures, for an answer."""
        return {"came": self._judged, "doubted": list(self._doubted.values())}

    def lost(self) -> dict[str, object]:
        """The lost events, for an answer."""
        return {"lost": self._lost[:MOST_LOST]} if self._lost else {}


def _fast_decoder() -> Callable[[bytes], Any]:
    from bb.ledger.journal import bulk_check  # noqa: PLC0415  (its import is slow)

    return bulk_check.decode
