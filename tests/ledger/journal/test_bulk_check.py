"""Checking many lines at once never says anything else than checking them one by one.

Two clones of which one read a line alone and the other within a block must come to the same state.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.event import Event
from bb.ledger.journal import bulk_check
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine, Link, Unreadable

WRITER = "abcdefghij27"
PADDED = b'{"_":"s"}'


def hashed(octets: bytes) -> bytes:
    return sha256(octets).hexdigest()[:32].encode()


NOON = "2026-01-05T12:00:00.000Z"


def chain(first: int, count: int, rise: int = 1) -> tuple[list[bytes], Link, Link]:
    """COUNT lines from number FIRST on, the link before them, and the link they make."""
    before = link = Link(first - 1, first * rise, "f" * 32)
    block = []
    for n in range(first, first + count):
        event = Event(
            id=f"{WRITER}.{n}",
            lamport=link.lamport + rise,
            ts="2026-01-05T12:00:00.000Z",
            kind=f"x.{n % 3}",
            by="user",
            data={"n": n},
        )
        line, link = lines.write(event, link, "saltsal2")
        block.append(line[:-1])
    return block, before, link


def one_by_one(block: list[bytes], previous: Link) -> tuple[list[bytes], Link]:
    """What checking line by line says; BadLine at the first that is wrong."""
    kinds = []
    for line in block:
        previous = lines.check(line, WRITER, previous)
        kinds.append(lines.clock_and_kind(line)[1])
    return kinds, previous


def agree(block: list[bytes], previous: Link) -> bool:
    """Whether the block is either handed back or passed with the verdict that each of its lines gets alone."""
    verdict = bulk_check.check(block, WRITER, previous)
    try:
        return verdict in (None, one_by_one(block, previous))
    except BadLine:
        return verdict is None


@pytest.mark.parametrize("first", [1, 2, 9, 95, 998, 999, 1_000, 1_001, 9_998, 123_456, 9_999_990])
@pytest.mark.parametrize("count", [1, 2, 30, 1_100])
def test_a_sound_block_passes_at_once_with_the_kinds_and_the_link_of_its_lines(first: int, count: int):
    block, before, after = chain(first, count)
    assert bulk_check.check(block, WRITER, before) == one_by_one(block, before)
    assert bulk_check.check(block, WRITER, before) == ([b"x.%d" % (n % 3) for n in range(first, first + count)], after)


def test_a_block_of_another_writer_or_behind_another_line_is_handed_back():
    block, before, _ = chain(5, 4)
    assert bulk_check.check(block, WRITER, before) is not None
    assert bulk_check.check(block, "z" * 12, before) is None
    assert bulk_check.check(block, WRITER, before.replace(n=5)) is None
    assert bulk_check.check(block, WRITER, before.replace(head_digest="0" * 32)) is None
    assert bulk_check.check(block, WRITER, before.replace(lamport=6)) is None
    assert bulk_check.check(block[1:], WRITER, before) is None


def test_lines_that_are_swapped_left_out_or_repeated_are_handed_back():
    block, before, _ = chain(5, 4)
    one, two, three, four = block
    for wrong in ([two, one, three, four], [one, three, four], [one, two, two, three], [one, two, four, three]):
        assert bulk_check.check(wrong, WRITER, before) is None


@pytest.mark.parametrize("first", [1, 995, 1_990, 12_000])
@pytest.mark.parametrize("place", [0, 1, 9, 10, 1_000, 1_099])
def test_a_line_with_the_number_of_another_is_noticed_wherever_it_stands(first: int, place: int):
    block, before, _ = chain(first, 1_100)
    own = b'.%d","l"' % (first + place)
    for wrong in (first + place - 1, first + place + 1, first + place + 1_000, first + place + 10_000):
        changed = list(block)
        changed[place] = block[place].replace(own, b'.%d","l"' % wrong)
        assert bulk_check.check(changed, WRITER, before) is None


@given(st.integers(0, 11), st.data())
def test_a_changed_byte_gets_the_same_verdict_in_a_block_and_alone(which: int, data: st.DataObject):
    block, before, _ = chain(4, 12)
    place = data.draw(st.integers(0, len(block[which]) - 1))
    changed = bytearray(block[which])
    changed[place] = data.draw(st.integers(0, 255))
    block[which] = bytes(changed)
    assert agree(block, before)


def test_every_flipped_bit_of_a_line_amid_others_gets_the_same_verdict():
    block, before, _ = chain(9, 3)
    for place in range(len(block[1])):
        for bit in range(8):
            flipped = bytearray(block[1])
            flipped[place] ^= 1 << bit
            assert agree([block[0], bytes(flipped), block[2]], before)


def last_line(
    *,
    lamport: bytes = b"1",
    ts: bytes = b"2026-01-05T12:00:00.000Z",
    rest: bytes = b',"kind":"x.some","group_id":"","scope_key":"","by":"user"',
    data: bytes = PADDED,
    mark: bytes = b'","data":',
) -> bytes:
    """A first line that no writer of ours makes, with digests that are right all the same."""
    head = b'{"v":1,"id":"%s.1","l":%s,"ts":"%s"' % (WRITER.encode(), lamport, ts) + rest
    return head + b',"p":"%s","dh":"%s' % (b"0" * 32, hashed(data)) + mark + data + b"}"


ODD = {
    "plain": last_line(),
    "leading zeros": last_line(lamport=b"007"),
    "very many leading zeros": last_line(lamport=b"0" * 20 + b"7"),
    "no clock": last_line(lamport=b""),
    "clock at zero": last_line(lamport=b"0"),
    "negative clock": last_line(lamport=b"-1"),
    "clock with a plus": last_line(lamport=b"+1"),
    "clock with an underscore": last_line(lamport=b"1_0"),
    "clock with a blank": last_line(lamport=b" 1"),
    "clock with a fraction": last_line(lamport=b"1.0"),
    "clock as text": last_line(lamport=b'"1"'),
    "clock in other digits": last_line(lamport="٣".encode()),
    "clock that leaps": last_line(lamport=b"%d" % (2**32 + 1)),
    "clock that nearly leaps": last_line(lamport=b"%d" % 2**32),
    "clock without end": last_line(lamport=b"9" * 5_000),
    "few members": last_line(rest=b""),
    "quotes in the time": last_line(ts=b'\\"\\"'),
    "empty data": last_line(data=b""),
    "data is null": last_line(data=b"null"),
    "no mark before the data": last_line(data=b"", mark=b""),
    "blanks at the end": last_line() + b" ",
    "no brace at the end": last_line()[:-1],
    "blanked": last_line()[: -len(PADDED) - 1] + b"null".ljust(len(PADDED)) + b"}",
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD.keys())
def test_an_odd_line_gets_the_same_verdict_in_a_block_and_alone(line: bytes):
    assert agree([line], lines.START)


SAID = {
    "text": b'"plain \\u00e9 \\ud83e\\udda6"',
    "nothing": b"null",
    "half a surrogate pair": b'"\\ud83e"',
    "the other half": b'"\\udda6"',
    "half a pair as a name": b'{"\\ud83e":1}',
    "half a pair in octets": b'"\xed\xa0\xbe"',
    "a name given twice": b'{"a":1,"a":2}',
    "a control character": b'"\x01"',
    "no octets of a text": b'"\xff"',
    "NaN": b"NaN",
    "infinity": b"-Infinity",
    "a number beyond all floats": b"1e999",
    "a whole number beyond all floats": b"9" * 400,
    "a number within reason": b"-9223372036854775808",
    "a number of no standing": b"01",
    "a comma too many": b"[1,]",
    "nested": b"[" * 100 + b"]" * 100,
    "nested too deep for one of them": b"[" * 1_010 + b"]" * 1_010,
    "nested beyond all reason": b"[" * 50_000 + b"]" * 50_000,
    "never closed": b"[",
}


def said_by(line: bytes, decoder: Any) -> Any:
    """What a line says, read by a decoder; None when it says nothing."""
    try:
        return lines.members(line, decoder)
    except Unreadable:
        return None


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
def test_a_line_says_the_same_whichever_decoder_reads_it(said: bytes):
    line = last_line(data=b'{"_":"s","later":' + said + b"}")
    alone, in_bulk = said_by(line, None), said_by(line, bulk_check.decode)
    assert (alone is None) == (in_bulk is None)
    assert alone == in_bulk


@pytest.mark.parametrize("text", ["", "[{" * 900, '"[' * 900, "\\[" * 900, '\\"{' * 900, "]" * 900, "[" * 900 + "\\"])
@pytest.mark.parametrize("levels", [1, 497, 498, 499, 600])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_five_hundred_levels_are_read_by_every_decoder_and_one_more_by_none(opening: str, levels: int, text: str):
    nested = opening * levels + "1" + ("]" if opening == "[" else "}") * levels
    line = last_line(data=f'{{"_":"s","text":{json.dumps(text)},"later":{nested}}}'.encode())
    for decoder in (None, bulk_check.decode):
        found = said_by(line, decoder)
        assert (found is not None) == (levels + 2 <= 500)  # the line and its data are two levels themselves
        assert found is None or found["data"]["text"] == text
