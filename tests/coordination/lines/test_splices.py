"""What a tool's replacements change, line by line, however they lie in the lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import line_diff
from bb.coordination.lines.splices import Splice, changes, of_lines, spliced
from tests.examples import examples

CONTENTS = st.text("ab\n\r", max_size=40).map(str.encode)
CUTS = st.lists(st.tuples(st.integers(0, 40), st.text("abc\n", max_size=8).map(str.encode)), max_size=8)


@examples(400)
@given(content=CONTENTS, cuts=CUTS)
def test_the_places_lead_from_the_lines_before_to_those_after(content: bytes, cuts: list[tuple[int, bytes]]):
    bounds = sorted(min(place, len(content)) for place, _ in cuts)
    texts = [text for _, text in cuts]
    splices = tuple(map(Splice, bounds[0::2], bounds[1::2], texts))  # an odd bound at the end is left out
    after = spliced(content, splices)

    old, new = line_diff.split(content), line_diff.split(after)
    here = there = 0
    for first, end, start, stop in changes(content, splices, after):
        assert (first, start) >= (here, there)
        assert old[here:first] == new[there:start]
        here, there = end, stop
    assert old[here:] == new[there:]


@pytest.mark.parametrize(
    ("splice", "place"),
    [
        (Splice(2, 2, b"x\n"), (1, 1, 1, 2)),  # a line that comes before an equal one
        (Splice(4, 4, b"x\n"), (2, 2, 2, 3)),  # and one behind it
        (Splice(2, 4, b""), (1, 2, 1, 1)),
        (Splice(4, 6, b""), (2, 3, 2, 2)),
        (Splice(0, 2, b"b\n"), (0, 1, 0, 1)),
        (Splice(2, 3, b"b"), (1, 2, 1, 2)),
        (Splice(6, 6, b"z"), (3, 3, 3, 4)),
    ],
)
def test_the_changed_line_is_the_one_that_the_tool_names(splice: Splice, place: line_diff.Change):
    before = b"a\nx\nx\n"
    assert changes(before, (splice,), spliced(before, (splice,))) == [place]


@examples(300)
@given(lines=st.lists(st.sampled_from([b"", b"a", b"b"]), min_size=1, max_size=6), data=st.data())
def test_lines_without_line_feeds_are_replaced_as_in_a_list(lines: list[bytes], data: st.DataObject):
    first = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(first, len(lines)))
    new = data.draw(st.lists(st.sampled_from([b"", b"c"]), max_size=3))
    wanted = [*lines[:first], *new, *lines[end:]]

    found = spliced(b"\n".join(lines), (of_lines(lines, first, end, new),))

    assert found == b"\n".join(wanted)
