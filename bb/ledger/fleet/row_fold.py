"""Folds the rows of an engine's log, one after the other, into the state that every reader computes.

It needs no file and no connection: the caller gives it the state to begin with and the links of the writers' last
lines. A row that does not continue the log is a refusal, because then the engine has lost history or is another one.
"""

from __future__ import annotations

from collections import deque

from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import Changes, OrderedAdmission
from bb.kernel.record import Record
from bb.ledger.carrier import sound_rows
from bb.ledger.carrier.door import EngineRewound, next_digest
from bb.ledger.journal import bulk_check
from bb.ledger.journal.line import START, BadLine, Link
from bb.ledger.travel import quick_rows, row_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bb.coordination.holdings.admission import Grant
    from bb.ledger.carrier.door import Row
    from bb.ledger.travel.row_facts import Counts


class Base(Record):
    """The state to begin with: the results after the row at PLACE of an INCARNATION, and the running digest there.
    COUNTED has the results from the lines that count; None if all lines count."""

    incarnation: str
    place: int
    digest: str
    admitted: Admitted = Admitted()
    counted: Admitted | None = None


class FoldedRow(Record):
    """A row, the reason why it does not count (empty if it does), what it changed, and the links of its writer's last
    line BEFORE and AFTER it."""

    row: Row
    flaw: str = ""
    changes: Changes = Changes()
    before: Link = START
    after: Link = START


class Delta:
    """What some rows changed in one of the two results."""

    def __init__(self) -> None:
        self.grants: dict[str, Grant] = {}
        self.generations: dict[str, int] = {}
        self.names: dict[str, Sequence[str]] = {}
        self.seen: dict[str, int] = {}
        self.floor = 0  # the new one; 0 if it is the same as before

    def add(self, changes: Changes) -> None:
        self.seen.update(changes.seen)
        if changes.grants:
            self.grants.update(changes.grants)
        if changes.generations:
            self.generations.update(changes.generations)
        if changes.names:
            self.names.update(changes.names)
        self.floor = changes.floor or self.floor

    def __bool__(self) -> bool:
        return bool(self.grants or self.generations or self.names or self.seen or self.floor)


class RowFold:
    """The state from BASE on. LINK_OF tells the link of a writer's last line in the published ledger or, if some of
    its rows were folded before, in the last row of it that counts."""

    def __init__(self, base: Base, link_of: Callable[[str], Link]) -> None:
        self.incarnation = base.incarnation
        self.place, self.digest = base.place, base.digest
        self._link_of = link_of
        self._links: dict[str, Link] = {}
        self._every = OrderedAdmission(base.admitted, base.incarnation)
        self._counted = None if base.counted is None else OrderedAdmission(base.counted, base.incarnation)
        self._uncounted: deque[Row] = deque()  # rows whose lines were not judged by the law yet
        self.changed = Delta()  # since `saved`
        self.changed_counted = Delta()
        self.moved: dict[str, Link] = {}  # the links of the writers with rows since `saved`
        self.flawed: list[FoldedRow] = []  # rows that do not count, since `saved`

    @property
    def judges(self) -> bool:
        """Whether some lines may not count, so that `count` must be called after rows."""
        return self._counted is not None

    @property
    def has_uncounted(self) -> bool:
        """Whether some rows were not judged yet. Until then, the state at this place must not be saved, nor told."""
        return bool(self._uncounted)

    def link(self, writer: str) -> Link:
        """The link of the last line of WRITER that counts."""
        known = self._links.get(writer)
        if known is None:
            known = self._links[writer] = self._link_of(writer)
        return known

    def take(self, row: Row) -> FoldedRow:
        """Fold the next row. ENGINE_REWOUND if it is not the next one of this log."""
        if row.place != self.place + 1:
            raise EngineRewound(f"the engine gave the row at place {row.place}, and place {self.place + 1} is the next")
        digest = next_digest(self.digest, row.place, row.writer, row.first, row.octets)
        if digest != row.digest:
            raise EngineRewound(f"the row at place {row.place} does not continue the log that this clone has read")
        folded = self._folded(row)
        self.place, self.digest = row.place, digest
        self.changed.add(folded.changes)
        if folded.flaw:
            self.flawed.append(folded)
        return folded

    def _folded(self, row: Row) -> FoldedRow:
        if not sound_rows.has_lines(row):
            return FoldedRow(row, "it has no lines, or names no writer")
        before = self.link(row.writer)
        if (read := quick_rows.read(row, before)) is not None:
            link, facts, recorders = read
        else:
            try:
                link = sound_rows.link_after(row, before)
            except BadLine as flaw:
                return FoldedRow(row, str(flaw))
            facts, recorders = row_facts.of_row(row.writer, row.first, row.octets, None, bulk_check.decode)
        self._links[row.writer] = self.moved[row.writer] = link
        if self._counted is not None:
            self._uncounted.append(row)
        # The first line follows the last one that counts, so none of them was in the log, or published, before.
        changes = self._every.row(row.place, facts, recorders, are_new=True)
        return FoldedRow(row, "", changes, before, link)

    def count(self, counts: Counts) -> Iterator[tuple[int, str, Changes]]:
        """Judge the rows that were not judged yet by the law: only the lines that COUNT change the results in force.
        Gives the place and the writer of each row, and what it changed there. If that fails at a row, which may be
        because of a file, it goes on at the same row when it is called again."""
        while self._uncounted and self._counted is not None:
            row = self._uncounted[0]
            facts, recorders = row_facts.of_row(row.writer, row.first, row.octets, counts, bulk_check.decode)
            changes = self._counted.row(row.place, facts, recorders)  # what may fail in it comes before any change
            self._uncounted.popleft()
            self.changed_counted.add(changes)
            yield row.place, row.writer, changes

    def grant(self, name: str) -> Grant | None:
        """One grant in the results in force."""
        return (self._counted or self._every).grant(name)

    def saved(self, every: Admitted | None = None, counted: Admitted | None = None) -> None:
        """Forget what has changed: it is saved. If EVERY and COUNTED are given, which may be in a file, the older part
        of the state is looked up there from now on, and not kept in memory."""
        if every is not None:
            self._every.saved(every)
        if counted is not None and self._counted is not None:
            self._counted.saved(counted)
        self.changed, self.changed_counted = Delta(), Delta()
        self.moved, self.flawed = {}, []

    def results(self) -> tuple[Admitted, Admitted | None]:
        """Copies of the whole results: from all lines, and from those that count."""
        return self._every.admitted, None if self._counted is None else self._counted.admitted

    def links(self) -> Mapping[str, Link]:
        """The links that were needed so far."""
        return self._links
