"""`order`: the rows of an engine's log that a commit adds to the branch, in the engine's order.

    <place> <writer> <number of the first line> <number of lines> <running digest>

Each commit that adds lines replaces the file, so it has only the rows of the last one. The lines themselves are in the
files of their writers, as always.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.digest import whole_digest
from bb.kernel.record import Record
from bb.ledger.published.charter import HIGHEST, NotALedger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_ROWS = 10_000  # in a commit
DIGEST_LENGTH = len(whole_digest(b""))
LONGEST_ROW = len(f"{HIGHEST} {'w' * 40} {HIGHEST} {HIGHEST} \n") + DIGEST_LENGTH
LARGEST = MOST_ROWS * LONGEST_ROW
HEXADECIMAL = frozenset("0123456789abcdef")


class ArchivedRow(Record):
    """One row: its PLACE, its WRITER, the number of its FIRST line, its number of lines, and the running digest."""

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
    numbers = int(place), int(first), int(count)
    are_right = all(0 < number < HIGHEST for number in numbers)
    if not (are_right and ids.is_writer_id(writer) and len(digest) == DIGEST_LENGTH and HEXADECIMAL.issuperset(digest)):
        raise ValueError(place)
    return ArchivedRow(numbers[0], writer, *numbers[1:], digest)
