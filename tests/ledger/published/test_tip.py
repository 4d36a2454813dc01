"""When a snapshot of the published ledger is due: it costs more the more lines there are, and saves readers commits."""

from __future__ import annotations

import pytest

from bb.ledger.published.charter import Charter
from bb.ledger.published.tip import Compacted, Head, Tip


def tip(commits: int, lines: int, covered: int = 0) -> Tip:
    """A tip after so many COMMITS and LINES since a snapshot that COVERED so many; 0 if there was none."""
    generation = 40 if covered else 0
    compacted = Compacted(covered=covered, generation=generation)
    return Tip(
        "c" * 40,
        generation + commits,
        Charter("0fba2ae713d9"),
        {"w": Head(covered + lines, 1)},
        compacted=compacted,
        commits=commits,
    )


@pytest.mark.parametrize(
    ("commits", "lines", "covered", "is_due"),
    [
        (8, 1999, 0, False),
        (8, 2000, 0, True),
        (100, 400, 0, False),
        (101, 101, 0, True),  # the first snapshot of a young ledger does not wait for 2,000 lines
        (101, 499, 2000, False),
        (101, 500, 2000, True),
        (500, 1000, 100_000, False),
        (501, 999, 100_000, False),
        (501, 1000, 100_000, True),
        (200, 12_499, 100_000, False),
        (200, 12_500, 100_000, True),
        (1000, 0, 8, False),  # commits without lines
    ],
)
def test_a_snapshot_is_due_after_many_lines_or_after_many_commits(commits: int, lines: int, covered: int, is_due: bool):
    assert tip(commits, lines, covered).is_due is is_due
