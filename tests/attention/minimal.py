"""The first useful implementation of C2A, as its §Minimal Viable C2A lists it: `pytest --profile minimal`.

Each of its nine items stands for some of the checklist, and a test of the checklist is named for its item:
`test_c2a_098_…`, or for several: `test_c2a_017_018_…`, `test_c2a_014_to_020_…`. So with the profile exactly those tests
are run that are named for one of these numbers, wherever they stand, and those of the nine themselves.
"""

from __future__ import annotations

import re

NUMBERED = re.compile(r"^test_c2a_(\d{3}(?:_(?:to_)?\d{3})*)_")


def _span(first: int, last: int) -> range:
    return range(first, last + 1)


MINIMAL: dict[int, tuple[int, ...]] = {
    166: (*_span(14, 20), 51),  # the envelope
    167: (24, 25, 27),  # defaults by directedness
    168: tuple(_span(28, 31)),  # the four policies
    169: tuple(_span(51, 54)),  # knocks
    170: tuple(_span(46, 50)),  # what people say in pieces is one turn
    171: (98, 101, 103),  # seen, queued and done
    172: (*_span(122, 126), 140),  # sends that say whom they oblige, and can be tried again
    173: tuple(_span(127, 130)),  # claims
    174: tuple(_span(133, 138)),  # what is tried again is the same
}
NUMBERS = frozenset(MINIMAL) | {number for numbers in MINIMAL.values() for number in numbers}


def numbers(test: str) -> frozenset[int]:
    """The items of the checklist that a test is named for."""
    found = NUMBERED.match(test)
    spans = found[1].replace("_to_", "-").split("_") if found else []
    ends = [[int(each) for each in span.split("-")] for span in spans]
    return frozenset(number for each in ends for number in _span(each[0], each[-1]))
