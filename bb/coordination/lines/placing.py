"""Where a change stands, if equal lines leave a choice.

If a function is added before another one, either the blank line before it or the one behind it is new. A comparison of
two contents takes any of these places. The right one is where the fewest lines change owners.
"""

from __future__ import annotations

from bb.coordination.lines.weave import OwnersByLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bb.coordination.lines.line_diff import Change
    from bb.coordination.lines.weave import Weave

    Cost = Callable[[Change], int]

MOST_STEPS = 100  # lines by which a change is moved up or down


def beside_others(
    places: Sequence[Change], weave: Weave, now: Sequence[bytes], after: Sequence[bytes], agent: str
) -> list[Change]:
    """The PLACES of AGENT's change from NOW to AFTER, each where it meets the fewest uncommitted lines of others."""
    own = ((), (agent,))
    if all(run.owners in own for run in weave):
        return list(places)
    owners = OwnersByLine(weave)

    def cost(change: Change) -> int:
        first, end, _, _ = change
        if first < end:
            return sum(owners[line] not in own for line in range(first, end))
        is_inside = 0 < first < len(now) and owners[first - 1] == owners[first]
        return int(is_inside and owners[first] not in own)

    return placed(places, now, after, cost)


def placed(places: Sequence[Change], before: Sequence[bytes], after: Sequence[bytes], cost: Cost) -> list[Change]:
    """PLACES, each moved up or down to where it has the lowest COST and makes the same content."""
    found: list[Change] = []
    for number, place in enumerate(places):
        if cost(place):
            above = place[0] - found[-1][1] - 1 if found else place[0]
            below = places[number + 1][0] - place[1] - 1 if number + 1 < len(places) else len(before) - place[1]
            place = min(_alternatives(place, above, below, before, after), key=cost)
        found.append(place)
    return found


def _alternatives(
    change: Change, above: int, below: int, before: Sequence[bytes], after: Sequence[bytes]
) -> Iterator[Change]:
    """CHANGE, and the places that it could have as well, the nearest first. ABOVE and BELOW are the numbers of equal
    lines through which it may be moved."""
    first, end, start, stop = change
    up = down = 0
    if (first == end) != (start == stop):
        lines, a, b = (before, first, end) if first < end else (after, start, stop)
        while up < min(above, MOST_STEPS) and lines[a - up - 1] == lines[b - up - 1]:
            up += 1
        while down < min(below, MOST_STEPS) and lines[a + down] == lines[b + down]:
            down += 1
    for by in sorted(range(-up, down + 1), key=abs):
        yield first + by, end + by, start + by, stop + by
