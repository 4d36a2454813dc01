"""Which regions of a file a change of it touches: a commit, compared with what it is based on.

A region is looked up on both sides of the change: the lines that went are judged by where the region was, and the lines
that came by where it is. So a commit that removes or renames a function is seen. Lines that were only inserted or only
removed can often be shown at several places (a blank line before them or behind them): a region is touched only if it
is at each of these places. A region that is on neither side counts as the whole file, so a guard errs on the safe side.
"""

from __future__ import annotations

from bb.coordination.holdings import regions
from bb.coordination.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bb.coordination.holdings.regions import File, Range
    from bb.coordination.lines.line_diff import Change

MOST_PLACES = 200  # that are looked at for lines which can be shown at several places


class FileChange:
    """A change of a file from one version to another. A version that is not there has no lines. NOW is the file in the
    work tree, if there is one: a region that is only there is no part of the change."""

    def __init__(self, old: File, new: File, now: File | None = None) -> None:
        self._old, self._new, self._now = old, new, now
        self._places: list[list[Change]] | None = None

    def touches(self, region: str) -> bool:
        if regions.is_new(region):
            return False
        before, after = regions.located(region, self._old), regions.located(region, self._new)
        if before is None and after is None:
            return self._now is None or regions.located(region, self._now) is None
        return any(
            all(_is_touched(place, before or (), after or ()) for place in places) for places in self._all_places()
        )

    def stays_in(self, own: Sequence[str]) -> bool:
        """Whether the change stays in the regions OWN."""
        before = [each for region in own for each in regions.located(region, self._old) or ()]
        after = [each for region in own for each in regions.located(region, self._new) or ()]
        return all(
            any(
                regions.contains(after, [(c, d)]) and (a == b or regions.contains(before, [(a, b)]))
                for a, b, c, d in places
            )
            for places in self._all_places()
        )

    def _all_places(self) -> list[list[Change]]:
        """The changes, each with all the places at which it can be shown."""
        if self._places is None:
            old, new = self._old.lines, self._new.lines
            self._places = [list(_shown_at(one, old, new)) for one in line_diff.changes(old, new)]
        return self._places


def _is_touched(place: Change, before: Iterable[Range], after: Iterable[Range]) -> bool:
    first, end, start, stop = place
    is_there = first < end and regions.touches([(first, end)], tuple(before))
    comes = start < stop and regions.touches([(start, stop)], tuple(after))
    return is_there or comes or (first == end and regions.touches([(first, first)], tuple(before)))


def _shown_at(change: Change, old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Change]:
    """The places at which a CHANGE that only inserts or only removes lines can be shown."""
    yield change
    first, end, start, stop = change
    if first != end and start != stop:
        return
    lines, begin, behind = (new, start, stop) if first == end else (old, first, end)
    for up in range(1, MOST_PLACES):
        if begin - up < 0 or min(first, start) - up < 0 or lines[begin - up] != lines[behind - up]:
            break
        yield first - up, end - up, start - up, stop - up
    for down in range(MOST_PLACES):
        if behind + down >= len(lines) or lines[begin + down] != lines[behind + down]:
            break
        yield first + down + 1, end + down + 1, start + down + 1, stop + down + 1
