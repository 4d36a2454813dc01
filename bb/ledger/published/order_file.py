"""`order`: the rows of an engine's log that a commit adds to the branch, in the engine's order.

    <place> <writer> <number of the first line> <number of lines> <running digest>

Each commit that adds rows replaces the file, so it has only those of the last one. The lines themselves are in the
files of their writers, as always. A row that does not count, or is void, has no lines there, but it keeps its place:
`<place> - 0 0 <digest>`.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.digest import whole_digest
from bb.kernel.record import Record
from bb.ledger.published.charter import HIGHEST, NotALedger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VOID = "-"  # as in `carrier/door.py`
MOST_ROWS = 10_000  # in a commit
DIGEST_LENGTH = len(whole_digest(b""))
LONGEST_ROW = len(f"{HIGHEST} {'w' * 40} {HIGHEST} {HIGHEST} \n") + DIGEST_LENGTH
LARGEST = MOST_ROWS * LONGEST_ROW
HEXADECIMAL = frozenset("0123456789abcdef")


class ArchivedRow(Record):
    """One row: its PLACE, its WRITER, the number of its FIRST line, its number of lines, and the running digest. A row
    without lines has the writer VOID."""

    place: int
    writer: str
    first: int
    count: int
    digest: str

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + self.count - 1


def to_bytes(rows: Iterable[ArchivedRow]) -> bytes:
    return "".join(f"{row.place} {row.writer} {row.first} {row.count} {row.digest}\n" for row in rows).encode()


def read(octets: bytes) -> tuple[ArchivedRow, ...]:
    """The rows in the file. Refused if it is empty, or in any other form than `to_bytes` gives it."""
    try:
        rows = tuple(_row(*line.split(" ")) for line in octets.decode("ascii").split("\n")[:-1])
    except (ValueError, TypeError) as error:
        raise NotALedger("the order of a commit cannot be read") from error
    if not rows or len(rows) > MOST_ROWS or to_bytes(rows) != octets:
        raise NotALedger("the order of a commit has an invalid form")
    return rows


def _row(place: str, writer: str, first: str, count: str, digest: str) -> ArchivedRow:
    row = ArchivedRow(int(place), writer, int(first), int(count), digest)
    if row.count:
        are_right = ids.is_writer_id(writer) and all(0 < number < HIGHEST for number in (row.first, row.count))
    else:
        are_right = (writer, row.first) == (VOID, 0)
    is_digest = len(digest) == DIGEST_LENGTH and HEXADECIMAL.issuperset(digest)
    if not (are_right and is_digest and 0 < row.place < HIGHEST):
        raise ValueError(place)
    return row
