"""Where two versions of a file differ, line by line.

Most edits change one place of a long file, so equal lines at both ends are cut off first. What remains is divided at
the lines that occur once in both versions (patience diff), because those are rarely a coincidence. Stretches without
such lines are compared exactly (Myers) while that is cheap. Otherwise all of the stretch counts as changed.
"""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Change = tuple[int, int, int, int]  # lines [0:1] of the one version were replaced by lines [2:3] of the other
MANY = 256  # lines that are compared at once
MOST_STEPS = 200  # lines inserted and deleted in one stretch that are searched for exactly


def split(content: bytes) -> list[bytes]:
    """The lines of CONTENT with their ends. Only a line feed ends a line, as in git."""
    if b"\r" not in content:
        return content.splitlines(keepends=True)
    lines = content.split(b"\n")
    last = lines.pop()
    whole = [line + b"\n" for line in lines]
    return [*whole, last] if last else whole


def changes(before: Sequence[bytes], after: Sequence[bytes]) -> list[Change]:
    """The places where AFTER differs from BEFORE, in order. Between two of them the versions are equal."""
    found: list[Change] = []
    todo = [(0, len(before), 0, len(after))]
    while todo:
        a, b, c, d = _without_equal_ends(before, after, *todo.pop())
        if a == b or c == d:
            if a != b or c != d:
                found.append((a, b, c, d))
        elif anchors := _anchors(before, after, a, b, c, d):
            todo += reversed(list(_between(anchors, a, b, c, d)))
        else:
            found += _exact(before, after, a, b, c, d)
    return list(_joined(found))


def moved(places: Sequence[Change], before: Sequence[bytes], after: Sequence[bytes]) -> set[int]:
    """The lines of BEFORE that the changes at PLACES remove and add again elsewhere. Blank lines say nothing."""
    added: dict[bytes, int] = {}
    for _, _, start, stop in places:
        for text in after[start:stop]:
            added[text] = added.get(text, 0) + 1
    found = set()
    for first, end, _, _ in places:
        for line in range(first, end):
            if before[line].strip() and added.get(before[line], 0):
                added[before[line]] -= 1
                found.add(line)
    return found


def _without_equal_ends(
    before: Sequence[bytes], after: Sequence[bytes], a: int, b: int, c: int, d: int
) -> tuple[int, int, int, int]:
    while b - a > MANY < d - c and before[a : a + MANY] == after[c : c + MANY]:
        a, c = a + MANY, c + MANY
    while a < b and c < d and before[a] == after[c]:
        a, c = a + 1, c + 1
    while b - a > MANY < d - c and before[b - MANY : b] == after[d - MANY : d]:
        b, d = b - MANY, d - MANY
    while a < b and c < d and before[b - 1] == after[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _anchors(before: Sequence[bytes], after: Sequence[bytes], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """The lines that occur once on both sides, as many as are in the same order: the longest rising subsequence."""
    there = _single(after, c, d)
    pairs = [(at, there[line]) for line, at in _single(before, a, b).items() if line in there]
    return _longest_rising(pairs)


def _single(lines: Sequence[bytes], first: int, end: int) -> dict[bytes, int]:
    """The place of each line that occurs exactly once, in order."""
    places: dict[bytes, int] = {}
    twice: set[bytes] = set()
    for at in range(first, end):
        line = lines[at]
        if line in places:
            twice.add(line)
        places[line] = at
    for line in twice:
        del places[line]
    return places


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most PAIRS, which rise in their first number, that also rise in their second."""
    ends: list[int] = []  # the lowest second number with which a sequence of this length can end
    last: list[int] = []  # the pair with that number
    previous: list[int] = []
    for place, (_, there) in enumerate(pairs):
        length = bisect_left(ends, there)
        ends[length : length + 1] = [there]
        last[length : length + 1] = [place]
        previous.append(last[length - 1] if length else -1)
    chosen: list[tuple[int, int]] = []
    place = last[-1] if last else -1
    while place >= 0:
        chosen.append(pairs[place])
        place = previous[place]
    return chosen[::-1]


def _between(anchors: list[tuple[int, int]], a: int, b: int, c: int, d: int) -> Iterator[tuple[int, int, int, int]]:
    for here, there in anchors:
        yield a, here, c, there
        a, c = here + 1, there + 1
    yield a, b, c, d


def _exact(before: Sequence[bytes], after: Sequence[bytes], a: int, b: int, c: int, d: int) -> list[Change]:
    """The shortest way from one stretch to the other, by Myers; one change if it has too many steps."""
    width, height = b - a, d - c
    reach = {1: 0}  # the farthest line of BEFORE that is reached on a diagonal
    trail: list[dict[int, int]] = []
    for steps in range(min(MOST_STEPS, width + height) + 1):
        trail.append(dict(reach))
        for diagonal in range(-steps, steps + 1, 2):
            is_down = diagonal == -steps or (diagonal != steps and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if is_down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < width and y < height and before[a + x] == after[c + y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= width and y >= height:
                return _walked_back(trail, width, height, a, c)
    return [(a, b, c, d)]


def _walked_back(trail: list[dict[int, int]], x: int, y: int, a: int, c: int) -> list[Change]:
    found: list[Change] = []
    for steps in range(len(trail) - 1, 0, -1):
        reach, diagonal = trail[steps], x - y
        is_down = diagonal == -steps or (diagonal != steps and reach[diagonal - 1] < reach[diagonal + 1])
        diagonal += 1 if is_down else -1
        x = reach[diagonal]
        y = x - diagonal
        found.append((a + x, a + x + (not is_down), c + y, c + y + is_down))
    return found[::-1]


def _joined(found: list[Change]) -> Iterator[Change]:
    """Changes without an equal line between them are one change."""
    current: Change | None = None
    for one in found:
        if current and current[1] == one[0] and current[3] == one[2]:
            current = (current[0], one[1], current[2], one[3])
            continue
        if current:
            yield current
        current = one
    if current:
        yield current
