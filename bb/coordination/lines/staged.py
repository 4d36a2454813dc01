"""What is staged of a file, when lines of it are committed beside the index."""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines import weave as weaves
from bb.coordination.lines.edits import edited
from bb.coordination.lines.weave import ADDED, DELETED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.coordination.lines.weave import Weave

    Place = tuple[str, int]  # a line of the base that is gone (-), or a line of the file now (+)

STAGED = "?0"  # the owner of lines that are neither in the base nor in the file now, but only staged


def after_commit(
    weave: Weave, base: Sequence[bytes], now: Sequence[bytes], staged: Sequence[bytes], wanted: frozenset[str]
) -> list[bytes]:
    """The STAGED lines after a commit of the WANTED owners: what is committed, and what else was staged.

    WEAVE is that of the file NOW on its BASE. Of an earlier version of a committed line nothing is left.
    """
    places = _places(weave, base, now, staged)
    only_staged = _only_staged(weave, base, now, staged, wanted, places)
    has = set(places.values())
    lines = only_staged.pop(None, [])
    for place, line, is_committed in _lines(weave, base, now, wanted):
        if is_committed or (is_committed is None and place in has):
            lines.append(line)
        lines += only_staged.get(place, ())
    return weaves.with_ends(lines)


def _lines(
    weave: Weave, base: Sequence[bytes], now: Sequence[bytes], wanted: frozenset[str]
) -> Iterator[tuple[Place, bytes, bool | None]]:
    """All lines of the base and of the file, in order; whether the commit has them; None if it says nothing of them."""
    before = after = 0
    for run in weave:
        is_committed = bool(run.owners) and wanted.issuperset(run.owners)
        for _ in range(run.count):
            if run.kind == DELETED:
                yield (DELETED, before), base[before], False if is_committed else None
            else:
                yield (ADDED, after), now[after], True if is_committed else None
            before += run.kind != ADDED
            after += run.kind != DELETED


def _places(weave: Weave, base: Sequence[bytes], now: Sequence[bytes], staged: Sequence[bytes]) -> dict[int, Place]:
    """Where the staged lines stand in the weave, as far as the file now or its base have them."""
    gone = set(_gone(weave))
    found: dict[int, Place] = {at: (DELETED, line) for line, at in _equal(base, staged) if line in gone}
    return found | {at: (ADDED, line) for line, at in _equal(now, staged)}


def _gone(weave: Weave) -> Iterator[int]:
    before = 0
    for run in weave:
        if run.kind == DELETED:
            yield from range(before, before + run.count)
        before += run.count if run.kind != ADDED else 0


def _equal(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """The lines that did not change, with their places in both versions."""
    a = c = 0
    for first, end, start, stop in [*line_diff.changes(old, new), (len(old), 0, len(new), 0)]:
        yield from zip(range(a, first), range(c, start), strict=True)
        a, c = end, stop


def _only_staged(
    weave: Weave,
    base: Sequence[bytes],
    now: Sequence[bytes],
    staged: Sequence[bytes],
    wanted: frozenset[str],
    places: dict[int, Place],
) -> dict[Place | None, list[bytes]]:
    """The lines that are only in the index, behind the line that is before them there.

    Those in the place of a committed line are an earlier version of it, and left out.
    """
    owners = weaves.owners_of_lines(edited(weave, base, now, staged, STAGED))
    found: dict[Place | None, list[bytes]] = {}
    last: Place | None = None
    for at, line in enumerate(staged):
        last = places.get(at, last)
        if at not in places:
            replaced = set(owners[at]) - {STAGED}
            if not replaced or not replaced <= wanted:
                found.setdefault(last, []).append(line)
    return found
