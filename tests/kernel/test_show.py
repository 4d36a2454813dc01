"""What other people's agents wrote cannot steer a terminal."""

from __future__ import annotations

import shlex
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.show import JOINERS, harmless, has_control, quoted

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
        ("\udc80", "\\udc80"),
        ("x\U000e0041", "x\\U000e0041"),
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


def test_every_letter_mark_number_and_symbol_is_left_alone():
    shown = "".join(character for character in EVERYTHING if unicodedata.category(character)[0] in "LMNPS")
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
