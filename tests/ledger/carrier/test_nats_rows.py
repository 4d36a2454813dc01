"""Which messages of a log on NATS are rows of their writer, decided alike by every reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.carrier.door import VOID, Row, first_digest, next_digest
from bb.ledger.carrier.nats_names import ANY, Names, machine_of, may_publish
from bb.ledger.carrier.nats_rows import Checkpoint, Message, RowReader, Written, beginning
from tests.examples import examples

NAMES = Names("repo", "0123456789abcdef")
ADA, BOB = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
START = beginning("repo", "0123456789abcdef", 10, {BOB: 4})


def read(*messages: tuple[str, str, object, bytes], start: Checkpoint = START) -> tuple[list[Row], RowReader]:
    reader = RowReader(NAMES, start)
    rows = [
        reader.take(Message(start.place + at, NAMES.row(machine, writer), str(first), octets, 0))
        for at, (machine, writer, first, octets) in enumerate(messages, 1)
    ]
    return rows, reader


def sound(rows: list[Row]) -> list[bool]:
    return [bool(row.octets) for row in rows]


def test_lines_follow_the_last_ones_of_their_writer_published_ones_included():
    rows, reader = read(
        ("m", ADA, 1, b"1\n2\n"),
        ("m", ADA, 3, b"3\n"),
        ("m", BOB, 5, b"5\n"),
        ("m", BOB, 5, b"5\n"),
        ("m", ADA, 9, b"9\n"),
    )

    assert sound(rows) == [True, True, True, False, False]
    assert (reader.writers[ADA].last, reader.writers[BOB].last) == (3, 5)


def test_a_void_row_keeps_its_place_and_counts_in_the_digest():
    (row, after), _ = read(("m", ADA, 7, b"x\n"), ("m", ADA, 1, b"1\n"))

    assert (row.place, row.writer, row.first, row.octets) == (10, VOID, 0, b"")
    assert row.digest == next_digest(first_digest("repo", "0123456789abcdef"), 10, VOID, 0, b"")
    assert after.digest == next_digest(row.digest, 11, ADA, 1, b"1\n")


def test_a_writer_stays_with_the_first_machine_that_has_a_name():
    rows, _ = read(
        (ANY, ADA, 1, b"1\n"),
        ("m", ADA, 2, b"2\n"),
        ("evil", ADA, 3, b"3\n"),
        (ANY, ADA, 3, b"3\n"),
        ("m", ADA, 3, b"3\n"),
    )

    assert sound(rows) == [True, True, False, False, True]


def test_what_has_no_sound_form_is_void():
    forms = [("m", ADA, first, b"1\n") for first in ("", "0", "01", "-1", "1.0", "١", "9" * 99)]
    rows, _ = read(
        *forms, ("m", ADA, 1, b""), ("m", ADA, 1, b"no end"), ("m", f"{ADA}.more", 1, b"1\n"), ("m", "", 1, b"1\n")
    )

    assert not any(sound(rows))


def test_of_ten_thousand_writers_a_checkpoint_takes_messages_that_a_server_takes():
    heads = {f"{number:012}": number for number in range(10_000)}
    written = beginning("repo", "0123456789abcdef", 5, heads)

    pages = list(written.pages())

    assert all(len(page) < 1 << 19 for page in pages)
    assert Checkpoint.from_pages(pages) == written
    assert Checkpoint.from_pages(START.replace(writers={}).pages()) == START.replace(writers={})


@examples(200)
@given(
    messages=st.lists(
        st.tuples(
            st.sampled_from(["m", "n", ANY]),
            st.sampled_from([ADA, BOB]),
            st.integers(0, 7),
            st.sampled_from([b"1\n", b"1\n2\n", b"", b"x"]),
        ),
        max_size=12,
    ),
    at=st.integers(0, 12),
)
def test_a_reader_that_begins_at_a_checkpoint_sees_what_every_other_sees(messages: list, at: int):
    whole, reader = read(*messages)
    _, before = read(*messages[:at])

    pages = before.checkpoint().pages()
    rest, after = read(*messages[at:], start=Checkpoint.from_pages(pages))

    assert rest == whole[at:]
    assert after.checkpoint() == reader.checkpoint()


def test_the_machine_of_a_user_is_the_one_whose_rows_it_may_append():
    assert machine_of({"allow": may_publish("box-1")}) == "box-1"
    for others in (None, {}, {"allow": ["bb.>"]}, {"allow": ["bb.*.*.*.>"]}, {"allow": ["bb.r.i.box.>"]}):
        assert machine_of(others) is None
    assert Written(1).machine == ""
