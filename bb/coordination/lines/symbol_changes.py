"""What a change of a file did to its symbols, so that an agent can be told in a few lines.

A symbol that is gone and a new one with nearly the same lines are one symbol that was renamed. Of symbols within each
other, only the outermost is listed if it was added, removed or renamed with all that is in it; of a changed one, the
innermost.
"""

from __future__ import annotations

from bb.coordination.lines import line_diff
from bb.coordination.lines.symbols import symbols
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bb.coordination.lines.symbol import Symbol

ALIKE = 0.6  # the part of the lines that a renamed symbol keeps, at least
MOST_PAIRS = 2500  # comparisons of removed with added symbols


class Changes(Record):
    """What happened to the symbols of a file. The names are dotted; RENAMED has pairs of the old and the new name."""

    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()  # to another place in the file, with the same lines
    changed: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.renamed or self.removed or self.added or self.moved or self.changed)


def changed_symbols(path: str, old: bytes, new: bytes) -> Changes:
    """What the change from OLD to NEW did to the symbols of a file, by the simple rules."""
    return compared(symbols(path, old), old, symbols(path, new), new)


def compared(before: Iterable[Symbol], old: bytes, after: Iterable[Symbol], new: bytes) -> Changes:
    """What the change from OLD to NEW did, if BEFORE and AFTER are the symbols."""
    was, now = _bodies(before, old), _bodies(after, new)
    gone = [name for name in was if name not in now]
    come = [name for name in now if name not in was]
    renamed = _renamed(gone, come, was, now)
    gone = [name for name in gone if name not in renamed]
    come = [name for name in come if name not in renamed.values()]
    kept = [name for name in now if name in was]
    return Changes(
        tuple(
            pair
            for pair in renamed.items()
            if renamed.get(_parent(pair[0])) != _parent(pair[1]) or not _parent(pair[0])
        ),
        _outermost(gone),
        _outermost(come),
        _moved(kept, was, now),
        _changed(kept, was, now, {*renamed, *gone}, {*renamed.values(), *come}),
    )


Body = tuple[bytes, ...]


def _bodies(found: Iterable[Symbol], content: bytes) -> dict[str, Body]:
    """The lines of each symbol. Several of one name are one symbol."""
    lines = line_diff.split(content)
    bodies: dict[str, Body] = {}
    for one in found:
        rows = (line.strip() for line in lines[one.first : one.end])
        bodies[one.name] = (*bodies.get(one.name, ()), *(row for row in rows if row))
    return bodies


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _outermost(names: Sequence[str]) -> tuple[str, ...]:
    known = set(names)
    return tuple(name for name in names if not known.intersection(_above(name)))


def _above(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _renamed(
    gone: Sequence[str], come: Sequence[str], was: Mapping[str, Body], now: Mapping[str, Body]
) -> dict[str, str]:
    """The pairs of symbols that are most alike, each symbol in one pair."""
    if len(gone) * len(come) > MOST_PAIRS:
        return {}
    scored = sorted(
        (
            (-_likeness(one, was[one], other, now[other]), at, there)
            for at, one in enumerate(gone)
            for there, other in enumerate(come)
        ),
    )
    pairs: dict[str, str] = {}
    for score, at, there in scored:
        if score <= -ALIKE and gone[at] not in pairs and come[there] not in pairs.values():
            pairs[gone[at]] = come[there]
    return pairs


def _likeness(old: str, was: Body, new: str, now: Body) -> float:
    """The part of the lines that two symbols share, if their names count as equal."""
    one, other = old.rpartition(".")[2].encode(), new.rpartition(".")[2].encode()
    plain = [line.replace(one, b"\0") for line in was]
    left = [line.replace(other, b"\0") for line in now]
    if len(plain) < 2 and plain != left:
        return 0.0
    longest = max(len(plain), len(left))
    counts: dict[bytes, int] = {}
    for line in plain:
        counts[line] = counts.get(line, 0) + 1
    same = 0
    for line in left:
        if counts.get(line, 0):
            counts[line] -= 1
            same += 1
    return same / longest if longest else 0.0


def _moved(kept: Sequence[str], was: Mapping[str, Body], now: Mapping[str, Body]) -> tuple[str, ...]:
    """The unchanged symbols that are at another place among the KEPT ones, as few as explain the new order."""
    after = [name for name in kept if was[name] == now[name] and was[name]]
    before = [name for name in was if name in set(after)]
    places = line_diff.changes([name.encode() for name in before], [name.encode() for name in after])
    return _outermost([name for _, _, first, end in places for name in after[first:end]])


def _changed(
    kept: Sequence[str], was: Mapping[str, Body], now: Mapping[str, Body], gone: set[str], come: set[str]
) -> tuple[str, ...]:
    """The symbols whose lines changed, without those in which only symbols within them did."""
    different = [name for name in kept if was[name] != now[name]]
    inner = [*different, *gone, *come]
    found = []
    for name in different:
        within = {each for each in inner if each.startswith(name + ".")}
        if not within or _own(name, was, within) != _own(name, now, within):
            found.append(name)
    return tuple(found)


def _own(name: str, bodies: Mapping[str, Body], within: set[str]) -> list[bytes]:
    """The lines of a symbol without those of the symbols WITHIN it."""
    left = list(bodies[name])
    for inner in sorted(within):
        if _parent(inner) in within:
            continue
        for line in bodies.get(inner, ()):
            if line in left:
                left.remove(line)
    return left
