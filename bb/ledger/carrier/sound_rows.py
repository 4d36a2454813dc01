"""Which rows of an engine's log count, decided alike by every reader.

A machine with the right to append can send any bytes, and an engine does not read them. So each reader checks each row.
A row counts if its first line is the next one of its writer, and every line is chained to the line before it: to the
last line of the writer that counts, be it in the published ledger or in an earlier row. A row that does not count keeps
its place and its part in the running digest, and nothing of it counts, not even its sound lines.

An engine has gone on after such a row: the next row of its writer has a later number, so no row of that writer counts
any more in this incarnation. The machine that owns the writer goes on under a new one. The archive leaves the lines of
such rows out: in its `order` they have a count of 0, and a writer that is no writer's id is written as `-`.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.ledger.carrier.door import VOID
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine, Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.carrier.door import Row

MANY = 2  # lines from which on checking them together is faster


def has_lines(row: Row) -> bool:
    """Whether ROW has lines of a writer. If not, it does not count. A writer's id becomes part of paths."""
    return row.writer != VOID and row.octets != b"" and ids.is_writer_id(row.writer)


def link_after(row: Row, before: Link) -> Link:
    """The link of the last line of ROW, whose writer's last line that counts has the link BEFORE. BadLine, with the
    reason, if the row does not count."""
    octets = row.octets
    if not has_lines(row):
        raise BadLine("it has no lines, or names no writer")
    if row.first != before.n + 1:
        raise BadLine(f"its first line has the number {row.first}, and line {before.n + 1} is the next one that counts")
    if not octets.endswith(b"\n"):
        raise BadLine("its last line has no end")
    raws = octets.split(b"\n")
    raws.pop()
    if len(raws) >= MANY and max(map(len, raws)) < lines.MAX_LINE:
        from bb.ledger.journal import bulk_check  # noqa: PLC0415  (most rows have few lines)

        if checked := bulk_check.check_octets(octets, len(raws), row.writer, before):
            return checked.link
    link = before
    for raw in raws:
        link = lines.check(raw, row.writer, link)
    return link
