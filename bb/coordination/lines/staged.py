"""What is staged of a file, when lines of it are committed beside the index."""

from __future__ import annotations

from bb.coordination.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.lines.line_diff import Change


def merged(base: Sequence[bytes], staged: Sequence[bytes], committed: Sequence[bytes]) -> list[bytes] | None:
    """The staged lines on what was COMMITTED, if STAGED and COMMITTED both come from BASE; None if they contradict.

    Changes that touch each other do not contradict: the committed ones come first. Only changes of the same lines do.
    """
    ours, theirs = line_diff.changes(base, staged), line_diff.changes(base, committed)
    made: list[bytes] = []
    at = 0
    while ours or theirs:
        is_ours = not theirs or (bool(ours) and _starts_before(ours[0], theirs[0]))
        first, end, start, stop = (ours if is_ours else theirs).pop(0)
        lines = (staged if is_ours else committed)[start:stop]
        other = theirs if is_ours else ours
        if other and other[0][0] < end:
            if not _is_equal(other[0], (first, end), (committed if is_ours else staged), lines):
                return None
            other.pop(0)
        elif other and other[0][:2] == (first, end) and first == end:
            twin = (committed if is_ours else staged)[other[0][2] : other[0][3]]
            if twin == lines:  # both insert the same lines
                other.pop(0)
        made += [*base[at:first], *lines]
        at = end
    return [*made, *base[at:]]


def _starts_before(ours: Change, theirs: Change) -> bool:
    """Whether OURS comes first. Of two changes in one place, an insertion does, and then the committed one."""
    return (ours[0], ours[1]) < (theirs[0], theirs[1])


def _is_equal(change: Change, place: tuple[int, int], source: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    return (change[0], change[1]) == place and list(source[change[2] : change[3]]) == list(lines)
