"""The verified state of a published ledger: the tip with its totals, and the content of single commits."""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.published.charter import Charter
from bb.ledger.published.saved_mapping import SavedMapping, is_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.order_file import ArchivedRow

AT_LEAST, SHARE = 2000, 8  # a snapshot needs 2000 new lines, and an eighth of the lines that the last one covers
# Or so many new commits, with such a share of those lines: readers without a clone read each commit after the snapshot,
# or every commit of a ledger that has none. A small ledger has it earlier, because there it costs little.
AFTER_COMMITS = ((100, 4), (500, 100))


class Compacted(Record):
    """The last archived line of each writer, the number of manifests, and the snapshots that replace archived lines,
    oldest first. The newest snapshot covers COVERED lines and was made in COMMIT, of that GENERATION."""

    archived: Mapping[str, int] = {}
    manifests: int = 0
    snapshots: tuple[str, ...] = ()
    covered: int = 0
    commit: str = ""
    generation: int = 0


class Head(Record):
    """How far a writer's lines are published: the number of the last line, and of the first line in the last file."""

    n: int
    first: int


class SavedHeads(SavedMapping):
    """The heads of very many writers, and the number of their EVENTS. One of them is found in the text."""

    def __init__(self, text: bytes, events: int) -> None:
        super().__init__(text, heads_from)
        self.events = events

    def get(self, writer: str, otherwise: Any = None) -> Any:
        if self.is_read:
            return self.entries.get(writer, otherwise)
        start = self.text.find(b'"%s":[' % writer.encode())
        if start < 0:
            return otherwise
        written = self.text[self.text.index(b"[", start) : self.text.index(b"]", start) + 1]
        return Head(*json_text.read(written))


def heads_from(written: Any) -> dict[str, Head]:
    """The heads in their JSON form."""
    return {writer: Head(*head) for writer, head in written.items()}


class Tip(Record):
    """A commit on the branch. It and every commit before it are verified."""

    commit: str
    generation: int
    charter: Charter
    heads: Mapping[str, Head]
    blanked: frozenset[str] = frozenset()  # events whose payload was removed after publication
    compacted: Compacted = Compacted()
    commits: int = 0  # since the newest snapshot; without one, since the epoch began
    digest: str = ""  # of the last row up to here, while a fleet's engine orders the ledger

    @property
    def place(self) -> int:
        """The place of the last row that is archived here. The next row has the next place."""
        fleet = self.charter.fleet
        return max(self.generation, fleet.first - 1) if fleet else self.generation

    def has_archived(self, writer: str, n: int) -> bool:
        """Whether a line is only in earlier commits, and no longer in the tree."""
        return n <= self.compacted.archived.get(writer, 0)

    @property
    def is_due(self) -> bool:
        """Whether a snapshot is due: there are enough new lines to be worth its cost."""
        new, covered = self.events - self.compacted.covered, self.compacted.covered
        if any(self.commits > least and new >= max(covered // share, 1) for least, share in AFTER_COMMITS):
            return True
        return new >= max(AT_LEAST, covered // SHARE)

    def has_grown_since(self, events: int) -> bool:
        """Whether enough lines were added since there were EVENTS events to try a snapshot again."""
        return self.events - events >= AT_LEAST

    @property
    def events(self) -> int:
        """The number of published events."""
        heads = self.heads
        return heads.events if isinstance(heads, SavedHeads) else sum(head.n for head in heads.values())

    @property
    def has_many_writers(self) -> bool:
        """Whether there are so many writers that looking at each of them takes time."""
        return is_large(self.heads)

    def last_line(self, writer: str) -> int:
        """The number of the last line of WRITER; 0 if there is none."""
        head = self.heads.get(writer)
        return head.n if head else 0

    @property
    def last_lines(self) -> dict[str, int]:
        """The number of each writer's last line."""
        return {writer: head.n for writer, head in self.heads.items()}


class Commit(Record):
    """The content of one commit: added lines, and events whose payload it blanked."""

    id: str
    parent: str | None
    generation: int
    added: tuple[tuple[str, int, bytes], ...]  # writer, number of the first line, the lines
    blanked: tuple[str, ...]
    is_carried: bool = False  # it begins an epoch: the publication order of its lines was settled before
    arbiter: str = ""  # the address of the arbiter that its charter names; empty if it names none
    settled: Admitted | None = None  # the results that it takes over from the arbiter before
    rows: tuple[ArchivedRow, ...] = ()  # of the engine's log, if a fleet's engine orders these lines. If the commit is
    # carried, the last one before it
    incarnation: str = ""  # of that engine
