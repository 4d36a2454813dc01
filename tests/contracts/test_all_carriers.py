"""What holds behind the door whatever orders the lines: PostgreSQL, NATS, or a git remote.

A remote orders commits, which may have other lines too, and cannot do all that an engine can. `test_carriers.py` has
what engines must do beyond this, and `test_git_carrier.py` what a remote cannot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.carrier import door
from bb.ledger.carrier.door import Row
from tests.contracts import carriers, sides
from tests.contracts.sides import Both, Side

pytestmark = pytest.mark.each  # of the carriers


@pytest.fixture(params=["git", *carriers.SHARED])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Both]:
    with sides.both(request.param, tmp_path) as made:
        yield made


def appended(side: Side) -> tuple[int, int]:
    """The number and the place of one more line."""
    n = side.record()
    return n, side.carrier.append(side.writer, n, side.lines()[n - 1 :])


def lines_of(rows: list[Row], writer: str) -> list[bytes]:
    return b"".join(row.octets for row in rows if row.writer == writer).splitlines()


def test_rows_are_read_as_they_were_appended(both: Both):
    here, there = both.here, both.there
    before = there.carrier.head()
    there.carrier.read(before.place)

    _, place = appended(here)

    assert place == before.place + 1
    assert there.carrier.head().place == place
    (row,) = there.carrier.read(before.place)
    assert (row.place, row.writer) == (place, here.writer)
    assert here.lines()[-1] in row.octets.splitlines()
    assert row.digest == there.carrier.head().digest


def test_lines_that_are_known_are_not_appended_again(both: Both):
    here = both.here
    n, place = appended(here)
    appended(here)

    assert here.carrier.append(here.writer, n, here.lines()[n - 1 : n]) == place
    assert here.carrier.append(here.writer, 1, here.lines()[:n]) == place


def test_other_lines_under_known_numbers_and_gaps_are_refused(both: Both):
    here = both.here
    appended(here)
    before, last = here.carrier.head(), len(here.lines())

    with pytest.raises(door.Forked.error):
        here.carrier.append(here.writer, 1, [b"{}"])
    with pytest.raises(door.Gap.error) as refusal:
        here.carrier.append(here.writer, last + 2, [b"{}"])
    assert refusal.value.details["next"] in (last + 1, last + 2), "a remote takes what the journal has, and no more"
    assert here.carrier.head().place == before.place


def test_of_two_that_append_at_once_both_get_a_place(both: Both):
    here, there = both.here, both.there
    here.carrier.head(), there.carrier.head()
    n, m = here.record(), there.record()

    places = [
        there.carrier.append(there.writer, m, there.lines()[m - 1 :]),
        here.carrier.append(here.writer, n, here.lines()[n - 1 :]),
    ]

    assert places[0] < places[1]
    assert here.carrier.head().place == places[1]


def test_reading_goes_on_from_any_place(both: Both):
    here = both.here
    places = [appended(here)[1] for _ in range(3)]

    since = here.carrier.head().oldest - 1
    every = here.carrier.read(since)

    assert [row.place for row in every if row.writer == here.writer][-3:] == places
    assert [row.place for row in here.carrier.read(places[0])] == places[1:]
    assert [row.place for row in here.carrier.read(places[0], 1)] == places[1:2]
    assert here.carrier.read(places[2]) == []
    assert here.carrier.read(places[2] + 600) == []
    assert lines_of(every, here.writer) == here.lines()[: len(lines_of(every, here.writer))]


def test_two_readers_read_the_same(both: Both):
    here, there = both.here, both.there
    for side in (here, there, here):
        appended(side)

    rows = []
    for side in (here, there):
        since = side.carrier.head().oldest - 1
        rows.append([(row.place, row.writer, row.first, row.octets, row.digest) for row in side.carrier.read(since)])
    assert rows[0] == rows[1]
    assert [place for place, *_ in rows[0]] == sorted(place for place, *_ in rows[0])


def test_a_reader_finds_what_came(both: Both):
    since = both.there.carrier.head().place
    appended(both.here)

    while not (both.there.carrier.wait(since, 600) and both.there.carrier.read(since)):
        pass  # a carrier may wake a reader for nothing
    assert lines_of(both.there.carrier.read(since), both.here.writer)


def test_a_wait_ends_when_a_file_can_be_read(both: Both):
    carrier = both.here.carrier
    reads, writes = os.pipe()
    try:
        since = carrier.head().place
        os.write(writes, b"x")
        carrier.wait(since, 600, [reads])  # it may return earlier, but not only after 600 seconds
        assert carrier.read(since) == []
    finally:
        os.close(reads)
        os.close(writes)


def test_what_cannot_be_reached_is_refused_and_found_again_when_it_is_back(both: Both):
    here = both.here
    here.carrier.head()
    n = here.record()
    both.cut()

    for call in (here.carrier.head, lambda: here.carrier.append(here.writer, n, here.lines()[n - 1 :])):
        with pytest.raises(door.EngineUnreachable.error):
            call()
    both.mend()

    assert here.carrier.append(here.writer, n, here.lines()[n - 1 :]) == here.carrier.head().place
