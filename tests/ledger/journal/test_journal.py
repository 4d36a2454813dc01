"""A journal grows at the end, survives being cut anywhere, and never hides what it cannot read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.kernel.errors import BbError
from bb.ledger.index.index import Index
from bb.ledger.journal import journal as journals
from bb.ledger.journal import journal_reader
from bb.ledger.journal.journal import Journal, LedgerDamaged
from tests.grids import some
from tests.ledger.ledger_support import (
    bare_journal,
    chained,
    flip,
    head_of,
    message,
    refusal_of,
    say,
    segments,
    short_hash,
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return bare_journal(tmp_path)


def folder(journal: Journal) -> Path:
    return Path(journal.folder)


def texts(journal: Journal) -> list[str]:
    return [line["data"]["text"] for line in chained(folder(journal))]


def damage_found(journal: Journal) -> str | None:
    """What a reader that starts anew says is wrong with a journal."""
    index = Index(":memory:", None)
    try:
        index.rebuild([journal])
        return next((damage.reason for damage in index.damages()), None)
    finally:
        index.close()


def read_by_index(journal: Journal) -> int:
    """How many lines a reader that starts anew gets to see."""
    index = Index(":memory:", None)
    try:
        index.rebuild([journal])
        return sum(index.heads().values())
    finally:
        index.close()


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new segment for nearly every append."""
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)


# -- growing


def test_lines_are_chained_and_numbered_from_one(journal: Journal):
    assert say(journal, "one") + say(journal, "two", "three") == [f"{journal.writer}.{n}" for n in (1, 2, 3)]

    assert texts(journal) == ["one", "two", "three"]


def test_a_line_is_found_while_another_process_appends(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    say(journal, "one", "two")
    writer, found = Journal(journal.store, journal.writer), journal_reader.last_line_feed

    def found_a_moment_earlier(segment: journal_reader.Segment) -> int:
        end = found(segment)
        say(writer, "and another, which is longer")
        return end

    monkeypatch.setattr(journal_reader, "last_line_feed", found_a_moment_earlier)

    assert b'"text":"two"' in next(journal.lines_from(2))


def test_a_line_is_laid_out_as_the_format_says(journal: Journal):
    say(journal, "one", "two")
    first, second = segments(folder(journal))[0].read_bytes().splitlines()

    head = (
        b'{"v":1,"id":"%s.2","l":2,"ts":"2026-01-05T12:00:00.000Z","kind":"chat.message","group_id":"g_test",'
        b'"scope_key":"","by":"amber-otter","p":"%s","dh":"%s"'
    ) % (
        journal.writer.encode(),
        short_hash(head_of(first)).encode(),
        short_hash(b'{"_":"saltsalt","text":"two"}').encode(),
    )
    assert second == head + b',"data":{"_":"saltsalt","text":"two"}}'


def test_a_segment_that_is_full_is_followed_by_a_new_one_named_by_its_first_line(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 700)
    for turn in range(10):
        say(journal, str(turn))

    found = segments(folder(journal))

    assert len(found) > 2
    for segment in found:
        first = segment.read_bytes().splitlines()[0]
        assert first.startswith(f'{{"v":1,"id":"{journal.writer}.{int(segment.stem)}",'.encode())
    assert all(segment.stat().st_size >= 700 for segment in found[:-1])
    assert texts(journal) == [str(turn) for turn in range(10)]


def test_any_line_of_any_segment_is_found_by_its_number(journal: Journal, small_segments: None):
    for turn in range(12):
        say(journal, f"{turn}a", f"{turn}b")

    everything = b"".join(segment.read_bytes() for segment in segments(folder(journal))).splitlines()

    assert [journal.line(n) for n in range(1, 25)] == everything
    assert list(journal.backwards()) == everything[::-1]
    assert journal.line(25) is None
    assert journal.line(0) is None


@pytest.mark.parametrize("length", [4_000, 4_096, 4_097, 70_000, 262_144, 262_145, 600_000, 1_040_000])
def test_long_lines_are_read_back_whole_from_both_ends(journal: Journal, length: int):
    say(journal, "before")
    say(journal, "x" * length)
    say(journal, "after")

    assert [len(text) for text in texts(journal)] == [6, length, 5]
    assert damage_found(journal) is None
    assert read_by_index(journal) == 3
    assert [len(raw) > length for raw in journal.backwards()] == [False, True, False]


def test_the_longest_line_takes_exactly_a_mebibyte_and_a_longer_one_is_refused(journal: Journal):
    say(journal, "x")
    room = (1 << 20) - segments(folder(journal))[0].stat().st_size

    assert refusal_of(lambda: say(journal, "x" * (room + 1))) is None
    assert refusal_of(lambda: say(journal, "x" * (room + 2))) == "EVENT_TOO_LARGE"

    assert len(texts(journal)) == 2
    assert read_by_index(journal) == 2
    say(journal, "after")
    assert read_by_index(journal) == 3


def test_a_batch_with_one_line_too_long_records_none_of_it(journal: Journal):
    say(journal, "before")

    assert refusal_of(lambda: say(journal, "fine", "x" * (2 << 20))) == "EVENT_TOO_LARGE"

    assert texts(journal) == ["before"]


def test_text_that_is_no_unicode_is_refused_and_nothing_is_recorded(journal: Journal):
    assert refusal_of(lambda: say(journal, "half a pair \ud800")) == "INVALID_TEXT"

    assert texts(journal) == []


@pytest.mark.parametrize("text", ['","data":{"', "\n\r\u2028\x00", '"}\n{"v":1', "\\", '"', "é🦦", ',"k":"x"'])
def test_a_text_cannot_pass_for_the_end_of_its_line(journal: Journal, text: str):
    say(journal, text)
    say(journal, "after")

    assert texts(journal) == [text, "after"]
    assert damage_found(journal) is None


# -- cut off


@pytest.mark.parametrize("in_own_segment", [False, True])
def test_a_last_line_cut_at_any_byte_costs_nothing_that_was_acknowledged(
    journal: Journal, in_own_segment: bool, monkeypatch: pytest.MonkeyPatch
):
    say(journal, "one")
    if in_own_segment:
        monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    say(journal, "two")
    monkeypatch.undo()
    segment = segments(folder(journal))[-1]
    whole = segment.read_bytes()
    start = 0 if in_own_segment else whole.index(b"\n") + 1

    for cut in range(start, len(whole)):
        segment.write_bytes(whole[:cut])
        is_finished = cut == len(whole) - 1

        (acknowledged,) = say(journal, "three")

        assert texts(journal) == (["one", "two", "three"] if is_finished else ["one", "three"]), cut
        assert acknowledged == f"{journal.writer}.{len(texts(journal))}"
        aside = [file.read_bytes() for file in Path(journal.torn).glob("*")]
        assert aside == ([] if is_finished or cut == start else [whole[start:cut]])
        for file in Path(journal.torn).glob("*"):
            file.unlink()


def test_a_batch_cut_at_any_byte_keeps_its_whole_lines(journal: Journal):
    say(journal, "one")
    segment = segments(folder(journal))[0]
    start = segment.stat().st_size
    say(journal, "two", "three")
    whole = segment.read_bytes()
    second = whole.index(b"\n", start) + 1

    for cut in range(start, len(whole)):
        segment.write_bytes(whole[:cut])

        say(journal, "four")

        expected = ["one"] + ["two"] * (cut >= second - 1) + ["three"] * (cut == len(whole) - 1) + ["four"]
        assert texts(journal) == expected, cut


def test_a_cut_line_is_not_shown_before_it_is_mended(journal: Journal):
    say(journal, "one", "two")
    segment = segments(folder(journal))[0]
    segment.write_bytes(segment.read_bytes()[:-1])

    assert read_by_index(journal) == 1
    assert damage_found(journal) is None
    assert journal.is_torn()
    assert [b'"text":"one"' in raw for raw in journal.backwards()] == [True]


def test_mending_finishes_a_line_that_only_lacks_its_end(journal: Journal):
    say(journal, "one", "two")
    segment = segments(folder(journal))[0]
    segment.write_bytes(segment.read_bytes()[:-1])

    with journal.lock():
        assert journal.repair_tail()
        assert not journal.repair_tail()

    assert texts(journal) == ["one", "two"]
    assert not Path(journal.torn).exists()


def test_a_whole_line_that_does_not_follow_is_put_aside(journal: Journal, tmp_path: Path):
    say(journal, "one")
    segment = segments(folder(journal))[0]
    segment.write_bytes(segment.read_bytes() * 2)
    segment.write_bytes(segment.read_bytes()[:-1])

    say(journal, "two")

    assert texts(journal) == ["one", "two"]
    (aside,) = Path(journal.torn).iterdir()
    assert b'"text":"one"' in aside.read_bytes()


@pytest.mark.parametrize("length", [1, 100, 4_096, 70_000])
def test_a_tail_of_zeros_left_by_a_power_cut_is_put_aside(journal: Journal, length: int):
    say(journal, "one")
    with segments(folder(journal))[0].open("ab") as file:
        file.write(b"\0" * length)

    say(journal, "two")

    assert texts(journal) == ["one", "two"]
    assert [file.stat().st_size for file in Path(journal.torn).iterdir()] == [length]


def test_a_new_segment_that_a_crash_left_empty_is_used(journal: Journal, small_segments: None):
    say(journal, "one")
    (folder(journal) / "000000000002.jsonl").touch()

    assert read_by_index(journal) == 1
    assert damage_found(journal) is None
    say(journal, "two")
    say(journal, "three")

    assert texts(journal) == ["one", "two", "three"]
    assert [int(segment.stem) for segment in segments(folder(journal))] == [1, 2, 3]


def test_a_first_segment_that_a_crash_left_empty_is_used(journal: Journal):
    (folder(journal) / "000000000001.jsonl").touch()

    say(journal, "one")

    assert texts(journal) == ["one"]


# -- damaged


def test_a_flip_anywhere_before_the_last_head_is_found_or_refused(journal: Journal):
    """The last head alone has no witness in its own journal: no line that follows it yet, no digest of itself."""
    say(journal, "one", "two", "three")
    segment = segments(folder(journal))[0]
    whole = segment.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    last_head = range(last, whole.index(b',"data":', last))
    missed = []

    for offset in set(range(len(whole))) - set(last_head):
        for bit in some((0, 7), 1, of=offset):
            flip(segment, offset, bit)
            if not (damage_found(journal) or journal.is_torn()):
                missed.append((offset, bit, whole[max(0, offset - 20) : offset + 1]))
            flip(segment, offset, bit)

    assert missed == []
    assert segment.read_bytes() == whole


@pytest.mark.parametrize("what", [b"\n", b"\n\n\n", b"{}\n", b"\xff\xfe\n", b"<<<<<<< HEAD\n", b"\0" * 50 + b"\n"])
@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_foreign_text_in_a_journal_is_damage_and_nothing_is_written_behind_it(
    journal: Journal, what: bytes, where: str
):
    say(journal, "one", "two")
    segment = segments(folder(journal))[0]
    first, second = segment.read_bytes().splitlines(keepends=True)
    spoilt = {"before": what + first + second, "between": first + what + second, "after": first + second + what}[where]
    segment.write_bytes(spoilt)

    assert damage_found(journal) is not None
    assert read_by_index(journal) == {"before": 0, "between": 1, "after": 2}[where]
    if where == "after":
        assert refusal_of(lambda: say(journal, "three")) == "LEDGER_DAMAGED"
        assert segment.read_bytes() == spoilt


def test_carriage_returns_are_damage(journal: Journal):
    """A tool that changes line ends changes the ledger, and is found out."""
    say(journal, "one", "two")
    segment = segments(folder(journal))[0]
    segment.write_bytes(segment.read_bytes().replace(b"\n", b"\r\n"))

    assert damage_found(journal) is not None
    assert refusal_of(lambda: say(journal, "three")) == "LEDGER_DAMAGED"


@pytest.mark.parametrize("kept", [0, 1])
def test_a_line_of_two_mebibytes_is_damage_and_not_read_for_ever(journal: Journal, kept: int):
    say(journal, "one", "two")
    segment = segments(folder(journal))[0]
    raws = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(raws[:kept]) + b"x" * (2 << 20) + b"\n" + b"".join(raws[kept:]))

    assert read_by_index(journal) == kept
    assert damage_found(journal) is not None


def test_a_missing_middle_segment_is_damage(journal: Journal, small_segments: None):
    for text in ("one", "two", "three"):
        say(journal, text)
    segments(folder(journal))[1].unlink()

    assert damage_found(journal) is not None
    assert read_by_index(journal) == 1


def test_a_missing_first_segment_is_damage(journal: Journal, small_segments: None):
    for text in ("one", "two", "three"):
        say(journal, text)
    segments(folder(journal))[0].unlink()

    assert damage_found(journal) is not None
    assert read_by_index(journal) == 0


@pytest.mark.parametrize(
    "left", [b"", b'{"v":1,"id":"', b"\0" * 300, b"\0" * (2 << 20)], ids=["empty", "cut", "zeros", "many zeros"]
)
@pytest.mark.parametrize("which", [0, 1])
def test_a_segment_that_lost_its_lines_is_damage_when_others_follow(
    journal: Journal, small_segments: None, left: bytes, which: int
):
    """Else all behind it would be written and acknowledged, and never seen again."""
    for text in ("one", "two", "three"):
        say(journal, text)
    segments(folder(journal))[which].write_bytes(left)

    assert read_by_index(journal) == which
    assert damage_found(journal) is not None


def test_a_middle_segment_cut_in_its_last_line_is_damage(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    say(journal, "one", "two")
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    say(journal, "three")
    first = segments(folder(journal))[0]
    first.write_bytes(first.read_bytes()[:-20])

    assert damage_found(journal) is not None
    assert read_by_index(journal) == 1


def test_a_missing_last_segment_leaves_a_sound_journal(journal: Journal, small_segments: None):
    for text in ("one", "two", "three"):
        say(journal, text)
    segments(folder(journal))[-1].unlink()

    assert damage_found(journal) is None
    say(journal, "again")

    assert texts(journal) == ["one", "two", "again"]


def test_a_segment_that_is_a_symbolic_link_is_neither_read_nor_written(journal: Journal, tmp_path: Path):
    say(journal, "one")
    segment = segments(folder(journal))[0]
    elsewhere = tmp_path / "elsewhere"
    segment.rename(elsewhere)
    segment.symlink_to(elsewhere)
    before = elsewhere.read_bytes()

    with pytest.raises(BbError):
        say(journal, "two")
    with pytest.raises(BbError):
        read_by_index(journal)

    assert elsewhere.read_bytes() == before


def test_files_that_are_no_segments_are_left_alone(journal: Journal):
    say(journal, "one")
    for name in ("1.jsonl", "00000000000x.jsonl", "000000000002.jsonl.orig", "000000000002.txt", "٠٠٠٠٠٠٠٠٠٠٠٢.jsonl"):
        (folder(journal) / name).write_bytes(b"not ours\n")

    say(journal, "two")

    assert read_by_index(journal) == 2
    assert damage_found(journal) is None


# -- the last line decides how the next one is chained


def test_a_line_of_another_writer_at_the_end_stops_all_writing(journal: Journal, tmp_path: Path):
    say(journal, "one")
    other = bare_journal(tmp_path, "zzzzzzzzzzzz")
    say(other, "one", "two")
    foreign = segments(folder(other))[0].read_bytes().splitlines(keepends=True)[1]
    with segments(folder(journal))[0].open("ab") as file:
        file.write(foreign)

    with pytest.raises(LedgerDamaged.error) as refusal:
        say(journal, "two")

    assert refusal.value.details["path"] == os.fspath(segments(folder(journal))[0])


def test_a_payload_blanked_in_place_keeps_every_link(journal: Journal):
    say(journal, "one", "a secret", "three")
    segment = segments(folder(journal))[0]
    octets = segment.read_bytes()
    data = b'{"_":"saltsalt","text":"a secret"}'
    segment.write_bytes(octets.replace(data, b"null".ljust(len(data))))

    assert damage_found(journal) is None
    assert read_by_index(journal) == 3
    say(journal, "four")
    assert read_by_index(journal) == 4


def test_lamport_time_rises_with_every_line(journal: Journal):
    with journal.lock():
        journal.append(
            lambda link: [message(journal.writer, link.n + 1, link.lamport + 1000, "jump")], lambda: "saltsalt"
        )
    say(journal, "after")

    assert [line["l"] for line in chained(folder(journal))] == [1000, 1001]
