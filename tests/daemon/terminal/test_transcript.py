"""What a terminal has shown: the last bytes of it, and how they read as text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bb.daemon.terminal import transcript
from bb.daemon.terminal.screen import MOST_CHARS, WIDEST
from bb.daemon.terminal.sequences import Parser
from bb.daemon.terminal.transcript import Transcript, compacted, stripped


def shown(*pieces: bytes, limit: int = 1 << 20) -> Transcript:
    kept = Transcript(limit)
    for piece in pieces:
        kept.append(piece)
    return kept


# -- the last bytes


@given(st.lists(st.binary(max_size=20)), st.integers(1, 30))
def test_the_last_bytes_are_kept_and_everything_has_its_position(pieces: list[bytes], limit: int):
    kept, whole = shown(*pieces, limit=limit), b"".join(pieces)
    assert kept.position == len(whole)
    for position in range(len(whole) + 1):
        assert kept.since(position) == whole[max(position, len(whole) - limit) :]


def test_positions_go_on_counting_after_all_was_forgotten():
    kept = shown(b"before")
    kept.clear()
    assert (kept.position, kept.recent(), kept.tail(100)) == (6, b"", "")
    kept.append(b"after")
    assert (kept.position, kept.since(6), kept.since(0), kept.tail(100)) == (11, b"after", b"after", "after")


@pytest.mark.parametrize(
    ("pieces", "limit", "recent"),
    [
        ([b"one\ntwo\n"], 8, b"one\ntwo\n"),
        ([b"one\ntwo\n"], 7, b"two\n"),
        ([b"one\n", b"two\n"], 7, b"two\n"),
        ([b"one"], 2, b"ne"),
        ([b"ne\n"], 2, b"e\n"),
        (["é1".encode()], 2, b"1"),
        (["one €uro".encode()], 5, b"uro"),
        ([b"one\x1b[31mtwo\x1b[32mthree"], 15, b"\x1b[32mthree"),
    ],
)
def test_what_is_there_in_part_only_is_not_shown(pieces: list[bytes], limit: int, recent: bytes):
    assert shown(*pieces, limit=limit).recent() == recent


def test_nobody_is_given_more_memory_than_the_largest_transcript_needs():
    kept = Transcript(transcript.LARGEST * 2)
    for _ in range(12):
        kept.append(b"x" * (1 << 20))
    assert len(kept.since(0)) == transcript.LARGEST


# -- what is no text

TEXTS: list[tuple[bytes, str]] = [
    (b"plain\r\ntext\r\n", "plain\ntext\n"),
    (b"\x1b[1;31mred\x1b[0m", "red"),
    (b"\x1b[38:2::255:0:0mred\x1b[m", "red"),
    (b"\x1b]0;a title\x07text", "text"),
    (b"\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
    (b"\x1bP1$r0m\x1b\\text", "text"),
    (b"\x1bP a\x07b\x1b\\text", "text"),
    (b"\x1b_application\x1b\\\x1b^private\x1b\\\x1bXstring\x1b\\text", "text"),
    (b"\x1b(B\x1b)0\x1b#8text", "text"),
    (b"\x1b=\x1b>\x1b7\x1b8text", "text"),
    (b"\x1b[3\x1b[1mtext", "text"),
    (b"\x1b[3\x18text", "text"),
    (b"\x1b[3\x1atext", "text"),
    (b"\x1b[3\n1mtext", "\ntext"),
    (b"\x1b]0;title\x18text", "text"),
    ("\x1b[3étext".encode(), "étext"),
    ("\x1bétext".encode(), "étext"),
    ("\u009b31mred\u009d0;title\u009ctext".encode(), "redtext"),
    ("\u0090sixel\u009ctext\u0085next".encode(), "text\nnext"),
    (b"\x9b31m", "\N{REPLACEMENT CHARACTER}31m"),
    (b"caf\xc3", "caf\N{REPLACEMENT CHARACTER}"),
    (b"bell\x07 null\x00 delete\x7f", "bell null delete"),
    (b"a\tb", "a\tb"),
    (b"10%\r20%\r\r\ndone", "10%\n20%\ndone"),
    (b"\rfirst", "first"),
    (b"unfinished \x1b[3", "unfinished "),
    (b"unfinished \x1b]0;tit", "unfinished "),
    (b"\x1b[" + b"1" * 500 + b"mtext", "text"),
    ("日本 🎉 e\u0301".encode(), "日本 🎉 e\u0301"),
]


@pytest.mark.parametrize(("octets", "text"), TEXTS)
def test_sequences_are_no_text(octets: bytes, text: str):
    assert stripped(octets) == text


class Recorded:
    """What a parser has told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def text(self, run: str) -> None:
        if self.told and self.told[-1][0] == "text":
            run = self.told.pop()[1] + run
        self.told.append(("text", run))

    def control(self, character: str) -> None:
        self.told.append(("control", character))

    def csi(self, final: str, arguments: str) -> None:
        self.told.append(("csi", final, arguments))


def told(*pieces: str) -> list[tuple[str, ...]]:
    sink = Recorded()
    parser = Parser(sink)
    for piece in pieces:
        parser.feed(piece)
    return _without_returns_before_line_feeds(sink.told)


def _without_returns_before_line_feeds(told: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """They change nothing, and one that comes with its line feed is not told of."""
    kept: list[tuple[str, ...]] = []
    for each in told:
        while each == LINE_FEED and kept and kept[-1] == RETURN:
            kept.pop()
        kept.append(each)
    return kept


RETURN, LINE_FEED = ("control", "\r"), ("control", "\n")
SEQUENCES = [octets.decode(errors="replace") for octets, _ in TEXTS]
hostile = st.lists(st.sampled_from([*SEQUENCES, *"\x1b[]P;?0127mHJKABCDG@X\r\n\b\t\x07\x18\x9b\x9c é"])).map("".join)


@given(hostile, st.data())
def test_a_sequence_may_be_split_anywhere(text: str, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[one:other] for one, other in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert told(*pieces) == told(text)


@given(hostile)
def test_what_is_read_by_the_run_is_what_is_read_by_the_character(text: str):
    assert told(*text) == told(text)


# -- what can be seen


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"10%\r20%\r100%\r\ndone\r\n", "100%\ndone"),
        (b"long line\rshort\r\n", "shortline"),
        (b"long line\r\x1b[Kshort\r\n", "short"),
        (b"abc\b\bX", "aXc"),
        (b"password\b \b\b \b", "passwo"),
        (b"a\tb", "a       b"),
        (b"abcdef\x1b[4D\x1b[K", "ab"),
        (b"abcdef\x1b[3D\x1b[1Kx", "   xef"),
        (b"abcdef\x1b[2Kx", "      x"),
        (b"abcdef\r\x1b[2P", "cdef"),
        (b"abcdef\r\x1b[2@xy", "xyabcdef"),
        (b"abcdef\r\x1b[2X", "  cdef"),
        (b"ab\x1b[5Gc", "ab  c"),
        (b"ab\x1b[2Cc", "ab  c"),
        (b"one\r\ntwo\x1b[1A\x1b[2K\rONE", "ONE\ntwo"),
        (b"one\r\ntwo\r\n\x1b[2A\x1b[Jafter", "after"),
        (b"top\x1b[3;5Hmiddle\x1b[1;1Hnew", "new\n\n    middle"),
        (b"old\x1b[2J\x1b[Hnew", "new"),
        (b"one\r\n\x1b7two\x1b[1;1HONE\x1b8TWO", "ONE\nTWO"),
        (b"shell\r\n\x1b[?1049hprogram\x1b[?1049lshell again", "shell\nprogram\nshell again"),
        (b"a\x1bcb", "a\nb"),
        (b"one\r\ntwo\x1bMup", "oneup\ntwo"),
        (b"trailing   \r\n\r\n\r\n\r\nspace  ", "trailing\n\nspace"),
        (b"\r\n\r\nfirst\r\n\r\n", "first"),
        (b"\x1b[31mred\x1b[0m\x1b[?25l\x1b]0;title\x07", "red"),
    ],
)
def test_a_line_reads_as_a_terminal_would_show_it(octets: bytes, text: str):
    assert compacted(octets) == text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("⠋ Thinking 1s|⠙ Thinking 2s|⠹ Thinking 10s|Done", "⠹ Thinking 10s\nDone"),
        ("Thinking ⠋|Thinking ⠙", "Thinking ⠙"),
        ("✻ Brewing… (12s · 340 tokens)|✻ Brewing… (13s · 356 tokens)", "✻ Brewing… (13s · 356 tokens)"),
        ("✻ Brewing…|✻ Reading…", "✻ Brewing…\n✻ Reading…"),
        ("- build|\\ build|- build", "- build"),
        ("- one|- one|- two", "- one\n- one\n- two"),
        ("- step 1|/ step 2", "- step 1\n/ step 2"),
        ("-|/|-", "-\n/\n-"),
        ("⠋ one|words|⠙ one", "⠋ one\nwords\n⠙ one"),
        ("⠋ one||⠙ one", "⠋ one\n\n⠙ one"),
        ("step 1|step 2", "step 1\nstep 2"),
    ],
)
def test_of_a_spinner_the_last_frame_is_left(lines: str, text: str):
    assert compacted("\r\n".join(lines.split("|")).encode()) == text


def test_a_line_longer_than_any_screen_stays_one_line():
    long = "x" * (3 * WIDEST + 7)
    assert compacted(f"{long}\r\nnext".encode()) == f"{long}\nnext"


def test_rows_that_have_left_the_screen_are_not_written_to_any_more():
    lines = "".join(f"line {number}\r\n" for number in range(10)).encode()
    assert compacted(lines + b"\x1b[99A\x1b[2Kgone\x1b[J", height=3).splitlines()[-3:] == ["line 6", "line 7", "gone"]


class Cells:
    """The same screen again, cell by cell in one table, slowly."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}
        self.row = self.column = 0

    def obey(self, words: list[tuple[str, int]]) -> str:
        for word, number in words:
            getattr(self, word)(number)
        rows = range(1 + max((row for row, _ in self.cells), default=0))
        lines = ["".join(self.cells.get((row, at), " ") for at in range(60)).rstrip() for row in rows]
        kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
        return "\n".join(kept).strip("\n")

    def text(self, number: int) -> None:
        for character in "abcdefgh"[:number]:
            self.cells[self.row, self.column] = character
            self.column += 1

    def feed(self, _: int) -> None:
        self.row, self.column = self.row + 1, 0

    def carriage(self, _: int) -> None:
        self.column = 0

    def back(self, _: int) -> None:
        self.column = max(self.column - 1, 0)

    def up(self, number: int) -> None:
        self.row = max(self.row - max(number, 1), 0)

    def right(self, number: int) -> None:
        self.column += max(number, 1)

    def left(self, number: int) -> None:
        self.column = max(self.column - max(number, 1), 0)

    def to(self, number: int) -> None:
        self.row, self.column = max(number, 1) - 1, 2

    def erase_line(self, how: int) -> None:
        wanted = {0: range(self.column, 60), 1: range(self.column + 1), 2: range(60)}.get(how, ())
        for at in wanted:
            self.cells.pop((self.row, at), None)

    def erase_below(self, _: int) -> None:
        self.erase_line(0)
        self.cells = {place: cell for place, cell in self.cells.items() if place[0] <= self.row}


WRITTEN = {
    "text": lambda number: "abcdefgh"[:number],
    "feed": lambda _: "\r\n",
    "carriage": lambda _: "\r",
    "back": lambda _: "\b",
    "up": lambda number: f"\x1b[{number}A",
    "right": lambda number: f"\x1b[{number or ''}C",
    "left": lambda number: f"\x1b[{number}D",
    "to": lambda number: f"\x1b[{number};3H",
    "erase_line": lambda number: f"\x1b[{number}K",
    "erase_below": lambda _: "\x1b[J",
}


@given(st.lists(st.tuples(st.sampled_from([*WRITTEN, "text", "text"]), st.integers(0, 5)), max_size=12))
@example([("text", 3), ("feed", 0), ("up", 1), ("right", 5), ("text", 1), ("erase_line", 1)])
def test_the_screen_agrees_with_one_that_keeps_every_cell(words: list[tuple[str, int]]):
    written = "".join(WRITTEN[word](number) for word, number in words)
    assert compacted(written.encode()) == Cells().obey(words)


# -- what is given out

octets = st.one_of(
    st.binary(max_size=300),
    hostile.map(str.encode),
    st.lists(st.sampled_from([octets for octets, _ in TEXTS])).map(b"".join),
)


@given(octets, st.integers(1, 400), st.integers(-1, 200), st.booleans())
def test_text_never_holds_a_control_character_but_ends_of_lines_and_tabs(
    octets: bytes, limit: int, most: int, compact: bool
):
    text = shown(octets, limit=limit).tail(most, compact=compact)
    assert len(text) <= max(most, 0)
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"] == []


@pytest.mark.parametrize(
    ("most", "text"), [(0, ""), (2, "ee"), (5, "three"), (6, "three"), (9, "two\nthree"), (50, "one\ntwo\nthree")]
)
def test_a_line_that_would_be_cut_is_left_out_if_another_is_left(most: int, text: str):
    assert shown(b"one\r\ntwo\r\nthree").tail(most) == text


def test_ipc_8_10_at_most_two_hundred_thousand_characters_are_given_out():
    kept = shown(b"0123456789abcdef\r\n" * 50_000)
    for compact in (True, False):
        assert MOST_CHARS - 20 <= len(kept.tail(10**9, compact=compact)) <= MOST_CHARS
    assert len(shown(b"x" * 300_000).tail(10**9)) == MOST_CHARS


def test_ipc_8_10_what_is_not_to_be_stripped_is_given_as_it_came():
    kept = shown(b"one\r\n", b"\x1b[31mred\x1b[0m\r\n\xff")
    assert kept.tail(100, strip_ansi=False) == "one\r\n\x1b[31mred\x1b[0m\r\n\N{REPLACEMENT CHARACTER}"
    assert kept.tail(12, strip_ansi=False) == "\N{REPLACEMENT CHARACTER}"
    assert kept.tail(100, strip_ansi=True, compact=False) == "one\nred\n\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "unit",
    [
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1bP",
        b"\x1b[1",
        b"\x1b[999;999H",
        b"\x1b[999Cx\n",
        b"\x1b[1K",
        b"\x1b[2J",
        b"\r",
    ],
)
def test_hostile_output_leaves_little_and_takes_time_in_proportion(unit: bytes):
    # Anything quadratic would take minutes here.
    assert len(compacted(b"x" * 5000 + unit * (200_000 // len(unit)))) <= MOST_CHARS + 2 * WIDEST
