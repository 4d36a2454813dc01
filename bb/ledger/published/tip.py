"""What is known of a published ledger: what a commit brought, and what all up to the last verified one came to."""

from __future__ import annotations

from bb.kernel.record import Record
from bb.ledger.published.charter import Charter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


AT_LEAST, SHARE = 2000, 4  # lines since the last snapshot: so many, and one for so many that it covers


class Compacted(Record):
    """How far each writer's lines have left the tree, in how many manifests that is written, and the snapshots that
    stand for them, oldest first; the newest COVERED so many lines and was made, or made anew, in a COMMIT."""

    archived: Mapping[str, int] = {}
    manifests: int = 0
    snapshots: tuple[str, ...] = ()
    covered: int = 0
    commit: str = ""


class Head(Record):
    """How far a writer's lines are published: the last one's number, and the first one's in the last file."""

    n: int
    first: int


class Tip(Record):
    """A commit on the branch that has been verified with all before it."""

    commit: str
    generation: int
    charter: Charter
    heads: dict[str, Head]
    blanked: frozenset[str] = frozenset()  # events whose payload has been taken out since they were published
    compacted: Compacted = Compacted()

    def has_archived(self, writer: str, n: int) -> bool:
        """Whether a line is published in earlier commits only."""
        return n <= self.compacted.archived.get(writer, 0)

    @property
    def is_due(self) -> bool:
        """Whether a snapshot is due: so many lines have come that making one costs little beside all they have cost."""
        new = self.events - self.compacted.covered
        return new >= max(AT_LEAST, self.compacted.covered // SHARE)

    def has_grown_since(self, events: int) -> bool:
        """Whether so many more lines have come since there were so many EVENTS that it is worth another attempt."""
        return self.events - events >= AT_LEAST

    @property
    def events(self) -> int:
        """How many are published."""
        return sum(head.n for head in self.heads.values())

    @property
    def last_lines(self) -> dict[str, int]:
        """The number of each writer's last line."""
        return {writer: head.n for writer, head in self.heads.items()}


class Commit(Record):
    """What one commit brought: whole lines, and the lines whose payload it blanked."""

    id: str
    parent: str | None
    generation: int
    added: tuple[tuple[str, int, bytes], ...]  # writer, the first line's number, the lines
    blanked: tuple[str, ...]
    is_carried: bool = False  # it begins an epoch: what it brings was settled before
