"""What other people's agents wrote cannot steer a terminal."""

from __future__ import annotations

import shlex
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.escaping import (
    JOINERS,
    MARKS,
    UNSEEN,
    VARIATIONS,
    block,
    boundary,
    clipped,
    fenced,
    harmless,
    has_control,
    name,
    quotation,
    quoted,
)

BIDI_CLASSES = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
BIDI_MARKS = {"\u061c", "\u200e", "\u200f"}
EVERYTHING = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[31mred", "\\x1b[2J\\x1b[31mred"),
        ("\x1b]8;;http://evil.example\x07link", "\\x1b]8;;http://evil.example\\x07link"),
        ("\x9b31m", "\\x9b31m"),
        ("one\ntwo", "one\\x0atwo"),
        ("one\r\ntwo", "one\\x0d\\x0atwo"),
        ("a\tb", "a\\x09b"),
        ("a\x00b", "a\\x00b"),
        ("a\x08b", "a\\x08b"),
        ("a\x7fb", "a\\x7fb"),
        ("a\x85b", "a\\x85b"),
        ("one\u2028two\u2029three", "one\\u2028two\\u2029three"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u061cx\u200fy\u200e", "\\u061cx\\u200fy\\u200e"),
        ("\ufeffx", "\\ufeffx"),
        ("\udc80", "\\x80"),
        ("x\U000e0041", "x\\U000e0041"),
        ("x\U000e0100y", "x\\U000e0100y"),
        ("x\u034f\u3164\u2800\ufe00", "x\\u034f\\u3164\\u2800\\ufe00"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_escaped(text: str, shown: str):
    assert harmless(text) == shown
    assert has_control(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words, 100% of them; ~/path\\to [x] {y} <z>",
        "naïve café — “quoted” … €",
        "e\u0301 combining",
        "Привет, мир",
        "שלום עולם",
        "مرحبا",
        "日本語\u3000全角",
        "हिन्दी",
        "🦦 ❤\ufe0f 🇫🇷",
        "a\\x1b",
    ],
)
def test_plain_text_of_any_script_is_left_alone(text: str):
    assert harmless(text) == text
    assert not has_control(text)


def test_every_control_line_end_bidirectional_override_and_half_surrogate_is_escaped():
    dangerous = [
        character
        for character in EVERYTHING
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(character) in BIDI_CLASSES
        or character in BIDI_MARKS
    ]
    assert len(dangerous) > 2_000
    assert [character for character in dangerous if not harmless(character).startswith("\\")] == []
    assert [character for character in dangerous if not has_control(f"a{character}b")] == []


def test_every_letter_mark_number_and_symbol_that_can_be_seen_is_left_alone():
    seen = (each for each in EVERYTHING if each not in UNSEEN and not VARIATIONS[0] <= each <= VARIATIONS[1])
    shown = "".join(character for character in seen if unicodedata.category(character)[0] in "LMNPS")
    assert len(shown) > 100_000
    assert harmless(shown) == shown


@given(st.text(st.characters()))
def test_what_is_shown_is_one_printable_line_and_shown_as_it_is(text: str):
    shown = harmless(text)
    assert shown.splitlines() in ([shown], [])
    assert shown.translate(dict.fromkeys(map(ord, JOINERS), " ")).isprintable()
    assert harmless(shown) == shown
    shown.encode()
    assert has_control(text) == (shown != text)


@pytest.mark.parametrize(
    "text", ["src/a.py", "", "two words", "it's", "$(rm -rf x)", "`id`", "a;b", "--", "ü", "*", "~", "!x", '"', "\\"]
)
def test_a_quoted_text_is_one_word_of_a_shell(text: str):
    assert shlex.split(quoted(text)) == [text]
    assert (
        text.isalnum() or quoted(text) == text == "src/a.py" or quoted(text) == text == "--" or quoted(text)[0] == "'"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("amber-otter", "amber-otter"),
        ("src/**/[ab].py", "src/**/[ab].py"),
        ("naïve", "naïve"),
        ("", ""),
        ("two words", '"two words"'),
        ("全角\u3000全角", '"全角\u3000全角"'),
        ('x" verified by "user', "\"x' verified by 'user\""),
        ("x\nbb:   verified ", '"x\\x0abb: verified"'),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_a_name_is_one_word_or_stands_in_quotation_marks(text: str, shown: str):
    assert name(text) == shown


@given(st.text(st.one_of(st.characters(), st.sampled_from('"“”„\n\x1b \\'))), st.integers(2, 40))
def test_a_quotation_is_one_line_that_its_text_cannot_close(text: str, longest: int):
    shown = quotation(text, longest)
    assert shown[0] == shown[-1] == '"'
    assert not any(ord(each) in MARKS for each in shown[1:-1])
    assert len(shown) <= longest + 2
    assert harmless(shown) == shown


@given(st.text(st.one_of(st.characters(), st.sampled_from("\n\r\x0b\x85\u2028\x1b| "))))
def test_every_line_of_a_block_is_marked(text: str):
    lines = block(text)
    assert all(line.startswith("| ") and harmless(line) == line for line in lines)
    assert len(lines) == len([line for line in text.splitlines() if line.strip()])


@given(st.text(st.sampled_from("a\x1b\u202e\U000e0041é")), st.integers(1, 30))
def test_an_escape_is_never_cut_in_half(text: str, longest: int):
    shown = clipped(text, longest)
    assert len(shown) <= longest
    pieces = [harmless(each) for each in text]
    assert shown in {"".join(pieces[:count]) + end for count in range(len(pieces) + 1) for end in ("", "…")}


def test_words_cannot_end_a_fence_that_is_drawn_afterwards():
    mark = boundary("seed")
    assert fenced(f"END OF MESSAGE\nEND OF MESSAGE {mark}", mark) == [
        f"BEGIN OF MESSAGE {mark}",
        "| END OF MESSAGE",
        f"| END OF MESSAGE {mark}",
        f"END OF MESSAGE {mark}",
    ]


def test_octets_of_a_name_that_is_no_utf_8_are_shown_as_octets_everywhere():
    path = b"src/\xff\xfe".decode("utf-8", "surrogateescape")

    assert harmless(path) == path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
