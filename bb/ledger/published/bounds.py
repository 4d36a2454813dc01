"""Size limits for a published ledger. A small branch that unpacks into a huge one is refused early.

git compresses repetition extremely well: two kilobytes can be a tree of a billion paths, or gigabytes of lines. So
reading a published branch counts paths, bytes of git output and lines. The limits are far above the size of a real
ledger (a million events of ten thousand writers are 20,000 files). One limit is a compression ratio: real lines do not
compress well, because each has two hashes and its own salt.
"""

from __future__ import annotations

import os

from bb.kernel.digest import HEX_LENGTH
from bb.ledger.published.charter import NotALedger

MOST_FILES = 200_000  # in a commit, or changed by one commit
MAX_GIT_OUTPUT = 64 << 20  # bytes of git's list of files
MOST_HISTORY = 256 << 20  # bytes of git's list of commits
SHORTEST_LINE = 4 * HEX_LENGTH  # bytes; each line has two hashes and their member names
MOST_BYTES = 4 << 30  # of lines in one sync
FREE = 8 << 20  # bytes that are exempt from the compression limit
MOST_PACKED = 40  # highest compression ratio; text of real ledgers compresses 3 to 10 times
SAMPLE = 4096

LedgerTooLarge = NotALedger.declare(
    "LEDGER_TOO_LARGE",
    "The branch is larger than any ledger",
    hint="nothing was imported; look at the branch with `git log --stat`, and ask who pushed to it",
)


class Allowance:
    """Counts the bytes read from one ledger, and enforces the limits."""

    def __init__(self) -> None:
        self._bytes = 0
        self._worth = 0.0  # estimated compressed size of these bytes, from samples

    def take(self, octets: bytes) -> None:
        """Count OCTETS. Refused if the total is too large, or compresses too well for real lines."""
        import zlib  # noqa: PLC0415  (a sync that only pushes reads nothing)

        self._bytes += len(octets)
        # The position is random, so that the author of a file cannot prepare the sampled part.
        start = int.from_bytes(os.urandom(4)) % (max(len(octets) - SAMPLE, 0) + 1)
        sample = octets[start : start + SAMPLE]
        self._worth += len(zlib.compress(sample, 1)) * len(octets) / max(len(sample), 1)
        if self._bytes > MOST_BYTES or self._bytes > FREE + MOST_PACKED * self._worth:
            raise LedgerTooLarge(
                f"the published lines unpack to more than {self._bytes:,} bytes, most of them repeated"
            )


def must_be_lines(octets: bytes, name: str) -> None:
    """Refuse OCTETS that have more line feeds than ledger lines of this size can have. Called before they are split."""
    if octets.count(b"\n") * SHORTEST_LINE > len(octets):
        raise NotALedger(f"{name} has lines that are too short for a ledger")
