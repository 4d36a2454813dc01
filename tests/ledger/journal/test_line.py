"""How an event is written as a line, and how a line is checked for being the next one of its chain."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine, LineTooLong, Link, Unreadable

WRITER, OTHER = "abcdefghij27", "zyxwvutsrq23"
SALT = "saltsal2"
ADD = Event(
    id=f"{WRITER}.1",
    lamport=1,
    ts="2026-01-05T12:00:00.000Z",
    kind="actor.add",
    by="amber-otter",
    data={"actor_id": "amber-otter", "role": "builder", "title": "Ämber 🦦"},
    group_id="g_0123456789ab",
    scope_key="",
    key="once",
)
REMOVE = Event(
    id=f"{WRITER}.2",
    lamport=7,
    ts="2026-01-05T12:00:01.000Z",
    kind="actor.remove",
    by="amber-otter",
    data={"actor_id": "amber-otter"},
    group_id="g_0123456789ab",
)

# Lines are stored for ever: what these two are today, they are in every version to come.
GOLDEN_ADD = (
    '{"v":1,"id":"abcdefghij27.1","l":1,"ts":"2026-01-05T12:00:00.000Z","kind":"actor.add",'
    '"group_id":"g_0123456789ab","scope_key":"","by":"amber-otter","k":"once",'
    '"p":"00000000000000000000000000000000","dh":"7e0cb4850d5127ceb66e8972e13a0dbe",'
    '"data":{"_":"saltsal2","actor_id":"amber-otter","role":"builder","title":"Ämber 🦦"}}'
).encode()
GOLDEN_REMOVE = (
    b'{"v":1,"id":"abcdefghij27.2","l":7,"ts":"2026-01-05T12:00:01.000Z","kind":"actor.remove",'
    b'"group_id":"g_0123456789ab","scope_key":"","by":"amber-otter",'
    b'"p":"a1f850e09c0735756d94f82835fb8a8e","dh":"58fa4a17cd1a6eb69f9d5dfa1fd7a59b",'
    b'"data":{"_":"saltsal2","actor_id":"amber-otter"}}'
).replace(b"saltsal2", b"saltsal3")
AFTER_ADD = Link(1, 1, "a1f850e09c0735756d94f82835fb8a8e")
AFTER_REMOVE = Link(2, 7, "7994eb101d9bde57faee1c05940f2b8b")


def hashed(octets: bytes) -> bytes:
    return sha256(octets).hexdigest()[:32].encode()


def forged(
    *, n: bytes = b"1", lamport: bytes = b"1", after: Link = lines.START, extra: bytes = b"", data: bytes = b'{"_":"s"}'
) -> bytes:
    """A line as no writer of ours makes it, with links and digests that are right all the same."""
    head = b'{"v":1,"id":"%s.%s","l":%s,"ts":"2026-01-05T12:00:00.000Z","kind":"x.some"'
    head += b',"group_id":"","scope_key":"","by":"user"'
    place = b',"p":"%s","dh":"%s"' % (after.head_digest.encode(), hashed(data))
    return head % (WRITER.encode(), n, lamport) + extra + place + b',"data":' + data + b"}"


def blanked(line: bytes, by: bytes = b"null") -> bytes:
    """LINE without its payload, in the same number of bytes."""
    head, mark, data = line.partition(b',"data":')
    return head + mark + by.ljust(len(data) - 1) + b"}"


def is_refused(line: bytes, previous: Link, writer: str = WRITER) -> bool:
    try:
        lines.check(line, writer, previous)
    except BadLine as error:
        return bool(str(error))
    return False


# -- writing


@pytest.mark.parametrize(
    ("event", "previous", "salt", "line", "link"),
    [
        (ADD, lines.START, "saltsal2", GOLDEN_ADD, AFTER_ADD),
        (REMOVE, AFTER_ADD, "saltsal3", GOLDEN_REMOVE, AFTER_REMOVE),
    ],
    ids=["the first", "the second"],
)
def test_a_line_is_written_and_checked_the_same_for_ever(
    event: Event, previous: Link, salt: str, line: bytes, link: Link
):
    assert lines.write(event, previous, salt) == (line + b"\n", link)
    assert lines.check(line, WRITER, previous) == link
    assert lines.event(line) == event.replace(data={"_": salt, **event.data})


def test_a_chain_begins_with_line_1_after_nothing():
    assert lines.START.as_dict() == {"n": 0, "lamport": 0, "head_digest": "0" * 32}


def test_the_digests_are_those_of_the_head_and_of_the_exact_data():
    head, _, rest = GOLDEN_ADD.partition(b',"data":')
    assert json.loads(GOLDEN_ADD)["dh"].encode() == hashed(rest[:-1])
    assert json.loads(GOLDEN_REMOVE)["p"].encode() == hashed(head) == AFTER_ADD.head_digest.encode()


def test_the_members_stand_in_a_fixed_order_and_data_stands_last():
    assert list(json.loads(GOLDEN_ADD)) == [
        *("v", "id", "l", "ts", "kind", "group_id", "scope_key", "by", "k", "p", "dh", "data"),
    ]
    assert "k" not in json.loads(GOLDEN_REMOVE)
    assert next(iter(json.loads(GOLDEN_ADD)["data"])) == "_"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from([',"data":', '","p":"', '"}', "\\", "\x00\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("data"), inner, max_size=3),
    max_leaves=8,
)
payloads = st.dictionaries((st.text() | st.just("data")).filter("_".__ne__), values, max_size=4)
events = st.builds(
    Event,
    id=st.just(f"{WRITER}.8"),
    lamport=st.integers(8, 2**32),
    ts=st.just("2026-01-05T12:00:00.000Z") | st.text(max_size=30),
    kind=st.just("x.some") | st.text(max_size=20),
    by=st.just("user") | st.text(max_size=20),
    data=payloads,
    group_id=st.just("") | st.text(max_size=20),
    scope_key=st.just("") | st.text(max_size=20),
    key=st.none() | st.text(max_size=20),
)


@given(events)
def test_whatever_an_event_says_its_line_says_too(event: Event):
    previous = Link(7, 7, "f" * 32)
    written, link = lines.write(event, previous, SALT)

    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1
    assert lines.check(written[:-1], WRITER, previous) == link
    assert (link.n, link.lamport) == (8, event.lamport)
    assert json.loads(written)["data"] == {"_": SALT, **event.data}
    try:
        read = lines.event(written[:-1])
    except lines.Unreadable:  # a head that no bb could have written says nothing
        return
    assert read == event.replace(data={"_": SALT, **event.data})
    assert repr(read.data) == repr({"_": SALT, **event.data})
    assert read.envelope() == event.envelope()
    assert json.loads(written)["data"] == read.data


def test_different_salts_make_different_digests_of_the_same_payload():
    one, other = (json.loads(lines.write(ADD, lines.START, salt)[0]) for salt in ("saltsal2", "saltsal3"))
    assert one["dh"] != other["dh"]


@pytest.mark.parametrize("field", ["ts", "kind", "by", "group_id", "scope_key", "key", "data"])
def test_half_a_surrogate_pair_is_no_text_to_record(field: str):
    half = {"title": "\ud83e"} if field == "data" else "\ud83e"
    with pytest.raises(BbError) as refusal:
        lines.write(ADD.replace(**{field: half}), lines.START, SALT)
    assert refusal.value.code == "INVALID_TEXT"


def test_a_line_of_one_mebibyte_is_the_longest():
    empty = len(lines.write(ADD.replace(data={"text": ""}), lines.START, SALT)[0])
    longest = ADD.replace(data={"text": "x" * ((1 << 20) - empty)})
    written, link = lines.write(longest, lines.START, SALT)
    assert len(written) == 1 << 20
    assert lines.check(written[:-1], WRITER, lines.START) == link

    with pytest.raises(LineTooLong.error) as refusal:
        lines.write(longest.replace(data={"text": longest.data["text"] + "x"}), lines.START, SALT)
    assert (refusal.value.code, refusal.value.exit_status) == ("EVENT_TOO_LARGE", 4)
    assert refusal.value.details == {"bytes": (1 << 20) + 1}


def test_a_longer_line_is_refused_however_right_it_is_otherwise():
    def of(length: int) -> bytes:
        return forged(data=b'{"_":"' + b"x" * (length - len(forged(data=b'{"_":""}'))) + b'"}')

    assert len(of(1 << 20)) == 1 << 20  # and a line feed makes one byte more
    assert not is_refused(of((1 << 20) - 1), lines.START)
    assert is_refused(of(1 << 20), lines.START)
    assert is_refused(of(1 << 21), lines.START)


@pytest.mark.parametrize(
    ("octets", "salt"), [(bytes(5), "aaaaaaaa"), (b"\xff" * 5, "77777777"), (b"\0\0\0\0\x01", "baaaaaaa")]
)
def test_five_random_octets_make_eight_characters_of_salt(octets: bytes, salt: str):
    assert lines.salt(octets) == salt


@given(st.binary(min_size=5, max_size=5), st.binary(min_size=5, max_size=5))
def test_no_randomness_of_a_salt_is_lost(one: bytes, other: bytes):
    assert (lines.salt(one) == lines.salt(other)) == (one == other)


# -- checking the place in the chain


def test_every_flipped_bit_is_noticed_by_the_line_itself_or_by_the_next_one():
    head = GOLDEN_ADD.index(b',"data":')
    for place in range(len(GOLDEN_ADD)):
        for bit in range(8):
            flipped = bytearray(GOLDEN_ADD)
            flipped[place] ^= 1 << bit
            try:
                link = lines.check(bytes(flipped), WRITER, lines.START)
            except BadLine:
                continue
            assert place < head, f"bit {bit} of byte {place} is behind the head, and only the line itself covers it"
            assert is_refused(GOLDEN_REMOVE, link), f"bit {bit} of byte {place}"


@given(st.integers(0, len(GOLDEN_ADD)), st.binary(max_size=3), st.integers(0, 3))
def test_bytes_put_in_or_taken_out_are_noticed_too(place: int, more: bytes, fewer: int):
    changed = GOLDEN_ADD[:place] + more + GOLDEN_ADD[place + fewer :]
    if changed != GOLDEN_ADD and not is_refused(changed, lines.START):
        assert is_refused(GOLDEN_REMOVE, lines.check(changed, WRITER, lines.START))


def test_a_torn_line_is_no_line():
    for length in range(len(GOLDEN_ADD)):
        assert is_refused(GOLDEN_ADD[:length], lines.START)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"null",
        b"\x00" * 300,
        b"\xff\xfe",
        b'{"v":1}',
        b"[" * 100_000,
        GOLDEN_ADD + b"\n",
        GOLDEN_ADD + b" ",
    ],
)
def test_what_is_no_ledger_line_is_refused(line: bytes):
    assert is_refused(line, lines.START)


def test_a_line_without_data_is_refused():
    head, _, _ = forged(data=b"").partition(b',"data":')
    assert is_refused(head, lines.START)
    assert is_refused(head + b"}", lines.START)
    assert is_refused(head[:-1] + b"}", lines.START)


@pytest.mark.parametrize("quotes", range(12))
def test_a_line_with_too_few_members_is_refused_or_linked_and_never_a_crash(quotes: int):
    head = b'{"v":1,"id":"%s.1","l":1,' % WRITER.encode() + b'"' * quotes
    line = head + b'------%s--------%s-,"data":{}}' % (b"0" * 32, hashed(b"{}"))
    assert is_refused(line, lines.START) == (quotes < 7)  # the kind stands behind the fifteenth of all quotes


@pytest.mark.parametrize("data", [b"{}", b'{"_":"s"', b"nul", b""])
def test_a_line_that_does_not_end_where_its_data_ends_is_refused(data: bytes):
    assert is_refused(forged(data=data)[:-1] + b"]", lines.START)


def test_a_line_of_another_writer_is_refused():
    assert is_refused(GOLDEN_ADD, lines.START, OTHER)
    assert is_refused(GOLDEN_ADD, lines.START, WRITER[:-1])
    assert not is_refused(GOLDEN_ADD, lines.START, WRITER)


@pytest.mark.parametrize("n", [0, 2, 10, 11])
def test_a_line_out_of_turn_is_refused(n: int):
    with pytest.raises(BadLine, match=f"not line {n + 1} of writer {WRITER}"):
        lines.check(GOLDEN_REMOVE, WRITER, Link(n, 1, AFTER_ADD.head_digest))
    assert not is_refused(GOLDEN_REMOVE, AFTER_ADD)


@pytest.mark.parametrize("n", [b"01", b"1.0", b"+1", b" 1", b"1 ", b"", b"0", b"-1", b"1e0"])
def test_the_number_of_a_line_is_written_in_one_way(n: bytes):
    assert is_refused(forged(n=n), lines.START)
    assert not is_refused(forged(n=b"1"), lines.START)


@pytest.mark.parametrize("digest", ["0" * 32, "f" * 32, AFTER_ADD.head_digest.upper(), "", "é"])
def test_a_line_that_links_to_another_line_is_refused(digest: str):
    assert is_refused(GOLDEN_REMOVE, Link(1, 1, digest))


@pytest.mark.parametrize("before", [7, 8, 2**40])
def test_a_line_whose_lamport_time_does_not_rise_is_refused(before: int):
    assert is_refused(GOLDEN_REMOVE, Link(1, before, AFTER_ADD.head_digest))
    assert not is_refused(GOLDEN_REMOVE, Link(1, 6, AFTER_ADD.head_digest))


def test_a_line_whose_lamport_time_leaps_is_refused():
    for after in (0, 5):
        previous = Link(0, after, "0" * 32)
        assert not is_refused(forged(lamport=b"%d" % (after + 2**32)), previous)
        assert is_refused(forged(lamport=b"%d" % (after + 2**32 + 1)), previous)


@pytest.mark.parametrize(
    "lamport", [b"", b"0", b"-1", b"+1", b"1.0", b"1e1", b"1_0", b" 1", b'"1"', b"null", b"\xd9\xa3", b"9" * 5000]
)
def test_a_lamport_time_that_is_no_plain_positive_number_is_refused(lamport: bytes):
    assert is_refused(forged(lamport=lamport), lines.START)


def test_the_clock_and_the_kind_are_found_without_reading_all_of_a_line():
    assert lines.clock_and_kind(GOLDEN_ADD) == (1, b"actor.add")
    assert lines.clock_and_kind(GOLDEN_REMOVE.partition(b',"data":')[0]) == (7, b"actor.remove")


@given(events)
def test_a_line_found_without_its_predecessor_makes_the_same_link(event: Event):
    previous = Link(7, 7, "f" * 32)
    written, link = lines.write(event, previous, SALT)
    assert lines.link_without_previous(written[:-1], WRITER) == link


def test_a_line_found_without_its_predecessor_must_be_sound_in_itself():
    numbers = [forged(n=n) for n in (b"x", b"01", b"", b"9" * 5_000)]
    for bad in (b"", b"{}", GOLDEN_ADD[:-1], GOLDEN_ADD.replace(b"builder", b"builded"), *numbers):
        with pytest.raises(BadLine):
            lines.link_without_previous(bad, WRITER)
    with pytest.raises(BadLine):
        lines.link_without_previous(GOLDEN_ADD, OTHER)


# -- blanking


def test_a_blanked_payload_keeps_its_line_in_the_chain_and_reads_as_an_empty_one():
    line = blanked(GOLDEN_ADD)

    assert len(line) == len(GOLDEN_ADD)
    assert lines.check(line, WRITER, lines.START) == AFTER_ADD
    assert lines.link_without_previous(line, WRITER) == AFTER_ADD
    assert not is_refused(GOLDEN_REMOVE, lines.check(line, WRITER, lines.START))
    assert lines.event(line) == ADD.replace(data={})


@pytest.mark.parametrize(
    "by", [b"{}", b"[]", b"true", b"NULL", b"nullnull", b"null\t", b"null,", b"", b'{"_":"other"}']
)
def test_a_payload_replaced_by_anything_else_is_refused(by: bytes):
    assert is_refused(blanked(GOLDEN_ADD, by), lines.START)


def test_a_blanked_line_can_say_nothing_more():
    assert is_refused(blanked(GOLDEN_ADD, b'null,"by":"mallory"'), lines.START)


# -- reading what it says


def test_a_line_in_its_place_that_is_no_json_stays_in_the_chain_and_says_nothing():
    for data in (b"{", b'{"_":NaN}', b'{"_":"\xff"}', b'{"_":"\\ud83e"}', b"{'_':1}", b'{"_":"\x01"}'):
        line = forged(data=data)
        assert lines.check(line, WRITER, lines.START).n == 1
        with pytest.raises(Unreadable):
            lines.event(line)


def compact(said: dict[str, Any]) -> bytes:
    """SAID as a line would say it, whatever its digests."""
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def test_what_a_line_says_is_read_whatever_its_digests():
    said = json.loads(GOLDEN_ADD)
    assert compact(said) == GOLDEN_ADD
    assert lines.event(compact(said | {"by": "bo1", "p": "x", "dh": 1})).by == "bo1"
    del said["k"]
    assert lines.event(compact(said)).key is None


@pytest.mark.parametrize("member", ["id", "l", "ts", "kind", "group_id", "scope_key", "by", "data"])
def test_a_line_that_lacks_a_member_says_nothing(member: str):
    said = json.loads(GOLDEN_ADD)
    del said[member]
    with pytest.raises(Unreadable):
        lines.event(compact(said))


WRONG = {
    "id": [1, None, [], {}],
    "l": ["1", None, True, 1.0, [], {}],
    "ts": [1, None, [], {}],
    "kind": [1, None, [], {}],
    "group_id": [1, None, [], {}],
    "scope_key": [1, None, [], {}],
    "by": [1, None, [], {}],
    "k": [1, False, [], {}],
    "data": [1, "text", "", 0, False, [], ["_"]],
}


@pytest.mark.parametrize(("member", "wrong"), [(member, value) for member in WRONG for value in WRONG[member]])
def test_a_line_with_a_member_of_the_wrong_type_says_nothing(member: str, wrong: object):
    with pytest.raises(Unreadable):
        lines.event(compact(json.loads(GOLDEN_ADD) | {member: wrong}))


@pytest.mark.parametrize("line", [b"", b"1", b"null", b'"text"', b"[]", b"[1]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_object_says_nothing(line: bytes):
    with pytest.raises(Unreadable):
        lines.event(line)


def test_members_that_this_version_does_not_know_are_skipped():
    line = forged(extra=b',"later":{"x":[1]}')
    assert not is_refused(line, lines.START)
    assert lines.event(line).by == "user"


def place_and_words(line: bytes) -> tuple[str, int] | None:
    """The id and Lamport time that readers take from a line; None when they refuse it or pass over it."""
    try:
        lines.check(line, WRITER, lines.START)
        event: Any = lines.event(line)
    except (BadLine, Unreadable):
        return None
    return event.id, event.lamport


@pytest.mark.parametrize(
    "line",
    [
        forged(extra=b',"id":"%s.9"' % OTHER.encode()),
        forged(extra=b',"id":"../../x"'),
        forged(extra=b',"l":99'),
        forged(data=b'{"_":"s"},"id":"%s.9"' % OTHER.encode()),
        forged(data=b'{"_":"s"},"l":99'),
        forged(data=b'{"_":"s"},"data":{},"id":"%s.9"' % OTHER.encode()),
        forged(extra=b',"i\\u0064":"%s.9"' % OTHER.encode()),
        forged(extra=b',"id" :"%s.9"' % OTHER.encode()),
        forged(data=b'{"_":"s"},"\\u006c":99'),
        forged(data=b'{"_":"s"},"l"\t:99'),
    ],
    ids=[
        *("id in the head", "path in the head", "clock in the head", "id behind", "clock behind", "data and id behind"),
        *("id with an escape", "id with a blank", "clock with an escape", "clock with a blank"),
    ],
)
def test_a_line_that_says_a_member_twice_cannot_pass_for_another_line(line: bytes):
    assert place_and_words(line) in (None, (f"{WRITER}.1", 1))


def test_a_payload_may_have_members_called_like_those_of_its_line():
    event = ADD.replace(data={"id": "another", "l": 99, "by": [{"id": 1, "l": 2}], "data": None})
    written, _ = lines.write(event, lines.START, SALT)
    assert lines.event(written[:-1]) == event.replace(data={"_": SALT, **event.data})
