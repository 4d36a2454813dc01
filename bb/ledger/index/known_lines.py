"""Finds the lines that have to be parsed and folded: those of a known kind, and those with an idempotency key.

Most lines are chat without a mark. A rebuild looks at every line, so this is done in few expressions for speed.
"""

from __future__ import annotations

from bb.kernel.event import MERGED, SIGNED
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from bb.ledger.journal.bulk_check import Checked

    Known: TypeAlias = tuple[int, bytes, bytes]  # the number, the kind and the text of a line

MARKS = kinds.MARKS  # one or two of each kind
OBJECT = b'":{'
ALWAYS = frozenset(kind.encode() for kind in [*kinds.KINDS, MERGED, SIGNED]) - MARKS.keys()
KEY_MARK = b',"k":"'
# What every mark of a kind ends with. Most lines do not contain it.
SIGNS = {kind: OBJECT if all(mark.endswith(OBJECT) for mark in marks) else marks[0] for kind, marks in MARKS.items()}


def needs_no_folding(octets: bytes) -> bool:
    """Whether no line in OCTETS needs to be folded."""
    return KEY_MARK not in octets and not in_lines(octets.split(b"\n")[:-1], 1)


def in_lines(raws: Sequence[bytes], first: int) -> list[Known]:
    """The known lines among valid lines, of which FIRST is the number of the first one."""
    line_kinds = [lines.clock_and_kind(raw)[1] for raw in raws]
    places = {*_places(raws, line_kinds), *(place for place, raw in enumerate(raws) if KEY_MARK in raw)}
    return [(first + place, line_kinds[place], raws[place]) for place in sorted(places)]


def in_block(checked: Checked, first: int) -> list[Known]:
    """The same for a checked block."""
    places = _places(checked.data, checked.kinds)
    if checked.has_keys:
        places = sorted({*places, *(place for place, head in enumerate(checked.heads) if KEY_MARK in head)})
    return [(first + place, checked.kinds[place], checked.line(place)) for place in places]


def _places(texts: Sequence[bytes], line_kinds: Sequence[bytes]) -> list[int]:
    """The places of the lines of a known kind. TEXTS are whole lines, or only their data."""
    return [
        place
        for place, kind in enumerate(line_kinds)
        if kind in ALWAYS
        or (
            (sign := SIGNS.get(kind))
            and sign in texts[place]
            and ((marks := MARKS[kind])[0] in texts[place] or marks[-1] in texts[place])
        )
    ]
