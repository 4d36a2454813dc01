"""Regions: a scope may name a part of a file. `src/number.py::roman` is that function, wherever it is in the file now.

    roman, Class.method    a symbol by its name: a function, class, heading or key (`coordination/lines/symbols.py`)
    new                    what the holder adds to the file; regions of others never overlap it
    new:NAME               a symbol that the holder adds; once it is there, the region is its lines
    40-60                  lines; what they are is kept as an anchor, so that the region moves with them

In the ledger, lines have their anchor after a `~`, and `new` has its holder: `40-60~3fa9…`, `new~amber-otter`.
A symbol has no anchor: its name finds it. Two regions overlap if they share a line of the file as it is now. If one of
them cannot be found there, their names decide: equal names overlap, and so do a name and what is within it.
"""

from __future__ import annotations

from bb.coordination.holdings.globs import InvalidScope, composed
from bb.kernel.errors import NotFound
from bb.kernel.escaping import name as named_safely
from bb.kernel.validation import is_unfolded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from bb.coordination.lines.symbol import Symbol

    class File(Protocol):
        """A file as it is now: its lines, and its symbols."""

        @property
        def lines(self) -> Sequence[bytes]: ...
        @property
        def symbols(self) -> Sequence[Symbol]: ...
        def named(self, name: str) -> Sequence[Symbol]:
            """The symbols that NAME means, as in `symbol.named`."""


Range = tuple[int, int]  # lines from 0; the second one is not in it. Two equal numbers: between two lines
EXACT, PARTIAL, DISJOINT = "exact", "partial", "disjoint"
SEPARATOR, MARK, NEW = "::", "~", "new"
LONGEST = 300
NEAR = 5  # names offered for one that is not there
DIGITS = "0123456789"

SymbolNotFound = NotFound.declare(
    "SYMBOL_NOT_FOUND",
    "The file has no such symbol, so it cannot be reserved as a region",
    hint="reserve the whole file, lines (`FILE::40-60`), or what you add (`FILE::new`)",
)


# -- the text of a region


def read(written: str) -> str:
    """The region that a user has WRITTEN, without an anchor."""
    region = composed(written.strip())
    if not is_unfolded(region, LONGEST) or shown(region) != region:
        raise InvalidScope(f"{written[:60]!r} is not the name of a region", hint="for example src/number.py::roman")
    if region.startswith(f"{NEW}:") and not region[len(NEW) + 1 :].strip():
        raise InvalidScope("::new: needs a name", hint="for example src/number.py::new:roman, or ::new without a name")
    if (lines := _lines(region)) and not 0 < lines[0] <= lines[1]:
        raise InvalidScope(f"{region} is not a range of lines", hint="lines are counted from 1: ::40-60")
    return region


def shown(region: str) -> str:
    """REGION as users write it, without its anchor."""
    head, mark, _ = region.partition(MARK)
    return head if mark and (head == NEW or _lines(head)) else region


def _lines(region: str) -> tuple[int, int] | None:
    """The lines of a region such as `40-60`, from 1."""
    first, dash, last = region.partition(MARK)[0].partition("-")
    is_range = dash and first and last and not first.strip(DIGITS) and not last.strip(DIGITS) and len(region) < 64
    return (int(first), int(last)) if is_range else None


def is_new(region: str) -> bool:
    """Whether REGION is `new`: what its holder adds, without a name."""
    return shown(region) == NEW


def is_to_come(region: str) -> bool:
    """Whether REGION is `new` or `new:NAME`, which need not be there yet."""
    return is_new(region) or region.startswith(f"{NEW}:")


def _name(region: str) -> str:
    """The name of the symbol that REGION is or will be."""
    return region.removeprefix(f"{NEW}:")


# -- where a region is


def located(region: str, file: File) -> tuple[Range, ...] | None:
    """The lines of REGION in FILE; None if it cannot be found there. `new` has no lines."""
    if is_new(region):
        return ()
    if lines := _lines(region):
        return _anchored_lines(region.partition(MARK)[2], lines, file.lines)
    found = file.named(_name(region))
    if not found and region.startswith(f"{NEW}:"):
        return ()
    return tuple((one.first, one.end) for one in found) or None


def anchored(region: str, file: File, holder: str) -> str:
    """REGION as the ledger stores it: the full name of a symbol, or with its anchor. Refused if it is not in FILE."""
    if is_new(region):
        return f"{NEW}{MARK}{holder}"
    if region.startswith(f"{NEW}:"):
        return region
    if lines := _lines(region):
        count = len(file.lines)
        if lines[1] > count:
            raise SymbolNotFound(f"the file has {count} lines, so it has no lines {shown(region)}")
        return f"{shown(region)}{MARK}{_anchor(lines[0] - 1, lines[1], file.lines)}"
    if found := file.named(region):
        return found[0].name
    from bb.coordination.lines import symbol  # noqa: PLC0415  (needed only for the refusal)

    near = symbol.near_names(region, file.symbols, NEAR)
    ambiguous = sorted({one.name for one in file.symbols if one.name.endswith(f".{region}")})
    if ambiguous:
        message = f"several symbols are called {named_safely(region)}"
        near = ambiguous[:NEAR]
    else:
        message = f"the file has no symbol {named_safely(region)}"
    hint = f"one of these? {', '.join(map(named_safely, near))}" if near else None
    raise SymbolNotFound(message, hint=hint, region=region, near=near)


def full_name(region: str, file: File) -> str:
    """REGION with the full name of its symbol; unchanged if it is not in FILE, or no symbol."""
    if is_to_come(region) or _lines(region):
        return region
    return next((one.name for one in file.named(region)), region)


def _anchor(first: int, end: int, lines: Sequence[bytes]) -> str:
    """The line before a range, its first and its last line and the line behind, each as eight digits."""
    return "".join(f"{_digest(lines, at):08x}" for at in (first - 1, first, end - 1, end))


def _digest(lines: Sequence[bytes], at: int) -> int:
    from binascii import crc32  # noqa: PLC0415

    return crc32(lines[at].strip()) if 0 <= at < len(lines) else 0


def _anchored_lines(anchor: str, written: tuple[int, int], lines: Sequence[bytes]) -> tuple[Range, ...] | None:
    """Where the lines with that ANCHOR are now: the most similar place, and of equal ones the nearest."""
    first, last = written[0] - 1, written[1]
    if not anchor:
        return ((first, last),) if last <= len(lines) else None
    if len(anchor) != 32 or anchor.strip(f"{DIGITS}abcdef"):
        return None
    before, start, end, behind = (int(anchor[at : at + 8], 16) for at in range(0, 32, 8))
    if _is_at(first, last, lines, (before, start, end, behind)):
        return ((first, last),)
    from binascii import crc32  # noqa: PLC0415

    digests = [0, *(crc32(line.strip()) for line in lines), 0]
    starts = [
        (2 * (digests[at + 1] == start) + (digests[at] == before), -abs(at - first), at) for at in range(len(lines))
    ]
    score, _, begin = max(starts, default=(0, 0, 0))
    size = last - first
    ends = [
        (2 * (digests[at] == end) + (digests[at + 1] == behind), -abs(at - begin - size), at)
        for at in range(begin + 1, len(lines) + 1)
    ]
    score_of_end, _, stop = max(ends, default=(0, 0, 0))
    return ((begin, stop),) if score >= 2 and score_of_end >= 2 else None


def _is_at(first: int, last: int, lines: Sequence[bytes], expected: tuple[int, ...]) -> bool:
    return last <= len(lines) and tuple(_digest(lines, at) for at in (first - 1, first, last - 1, last)) == expected


# -- whether two regions overlap


def overlap(one: str, other: str, file: File | None) -> str:
    """How two regions of a file overlap: `exact`, `partial` or `disjoint`. Without a FILE that can be read, partial."""
    is_same_text = shown(one) == shown(other) and not (_lines(one) and MARK in one and MARK in other)
    if is_new(one) or is_new(other) or is_same_text:
        return overlap_by_name(one, other)
    if file is None:
        return PARTIAL
    ours, theirs = located(one, file), located(other, file)
    if not ours or not theirs:  # gone, or a new symbol that is not there yet
        return overlap_by_name(one, other)
    if ours == theirs and shown(one) == shown(other):
        return EXACT
    return PARTIAL if share_a_line(ours, theirs) else DISJOINT


def overlap_by_name(one: str, other: str) -> str:
    """How two regions of a file overlap, by their names alone."""
    if is_new(one) or is_new(other):
        holders = [region.partition(MARK)[2] for region in (one, other)]
        is_same = is_new(one) and is_new(other) and (holders[0] == holders[1] or "" in holders)
        return EXACT if is_same else DISJOINT
    if shown(one) == shown(other):
        return EXACT
    if _lines(one) or _lines(other):
        is_to_come = one.startswith(f"{NEW}:") or other.startswith(f"{NEW}:")
        return DISJOINT if is_to_come else PARTIAL
    ours, theirs = _name(one), _name(other)
    are_nested = ours == theirs or ours.startswith(f"{theirs}.") or theirs.startswith(f"{ours}.")
    return PARTIAL if are_nested else DISJOINT


def share_a_line(ours: Iterable[Range], theirs: Sequence[Range]) -> bool:
    """Whether a range of OURS and one of THEIRS have a line in common."""
    return any(a < d and c < b for a, b in ours for c, d in theirs)


def touches(touched: Iterable[Range], region: Sequence[Range]) -> bool:
    """Whether an edit of the lines TOUCHED changes a REGION. An insertion does if it is between two lines of it."""
    return any((a < d and c < b) if a < b else c < a < d for a, b in touched for c, d in region)


def contains(region: Sequence[Range], touched: Iterable[Range]) -> bool:
    """Whether an edit of the lines TOUCHED stays in a REGION. An insertion at one of its ends does."""
    return all(any(c <= a and b <= d for c, d in region) for a, b in touched)
