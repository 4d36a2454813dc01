"""How much a ledger may hold, so that a small branch that unpacks into a huge one is refused before it has cost much.

git packs what repeats itself into next to nothing: two kilobytes can be a tree of a billion paths, or gigabytes of
lines. So what others have published is walked with a count: of paths, of bytes git may say, of lines. The bounds are
far above what a real ledger comes to (a million events of ten thousand writers are 20,000 files), and relative where
no fixed one would do: real lines cannot be packed well, since each has two hashes and a salt of its own.
"""

from __future__ import annotations

import os

from bb.kernel.digest import HEX_LENGTH
from bb.ledger.published.charter import NotALedger

MOST_FILES = 200_000  # in a commit, or changed by one
MOST_SAID = 64 << 20  # bytes in which git lists them
MOST_HISTORY = 256 << 20  # bytes in which git lists the commits
SHORTEST_LINE = 4 * HEX_LENGTH  # bytes; two hashes stand in each line, and what names them
MOST_BYTES = 4 << 30  # of lines that come at once
FREE = 8 << 20  # bytes that are not asked how well they can be packed
MOST_PACKED = 40  # times; texts of real ledgers are packed to a third or a tenth
SAMPLE = 4096


class LedgerTooLarge(NotALedger):
    """There is more on that branch than a ledger has."""

    code = "LEDGER_TOO_LARGE"
    hint = "nothing was taken over; look at the branch with `git log --stat`, and ask who pushed to it"


class Allowance:
    """What may still be read of one ledger."""

    def __init__(self) -> None:
        self._bytes = 0
        self._worth = 0.0  # bytes that they would take when packed, as far as samples tell

    def take(self, octets: bytes) -> None:
        """Read OCTETS; refused where that is too much, or far too much for what it is packed in."""
        import zlib  # noqa: PLC0415  (a sync that only pushes reads nothing)

        self._bytes += len(octets)
        # Whoever makes a file must not know where it is looked at.
        start = int.from_bytes(os.urandom(4)) % (max(len(octets) - SAMPLE, 0) + 1)
        sample = octets[start : start + SAMPLE]
        self._worth += len(zlib.compress(sample, 1)) * len(octets) / max(len(sample), 1)
        if self._bytes > MOST_BYTES or self._bytes > FREE + MOST_PACKED * self._worth:
            raise LedgerTooLarge(f"what is published unpacks to more than {self._bytes:,} bytes, most of them alike")


def must_be_lines(octets: bytes, name: str) -> None:
    """Refuse OCTETS, before they are taken apart, when they have more line feeds than lines of a ledger can have."""
    if octets.count(b"\n") * SHORTEST_LINE > len(octets):
        raise NotALedger(f"{name} holds lines that are too short for a ledger")
