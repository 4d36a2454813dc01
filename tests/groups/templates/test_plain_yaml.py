"""YAML is read as far as it says the same as JSON, and what is built to hurt is not read at all."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from bb.groups.templates.plain_yaml import DEPTH, NODES, NotPlain, dump, read

texts = st.text(st.characters(exclude_categories=("Cs",)))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_what_is_written_is_read_as_it_was(value: Any):
    assert read(dump(value)) == value


@given(values)
def test_other_readers_take_it_for_the_same(value: Any):
    assert yaml.safe_load(dump(value)) == value


@given(texts)
@example("yes")
@example("off")
@example("null")
@example("~")
@example("12")
@example("0x1f")
@example("1_000")
@example("1e3")
@example("12:30")
@example("2026-01-01")
@example("<<")
@example("=")
@example("")
@example(" ")
@example("\n")
@example("a\n\nb\n")
@example("  a\nb")
@example("a \nb")
@example("a\n ")
@example("a\tb\n")
@example("a\rb\r\n")
@example("a\x85b\u2028c\u2029d")
@example("\ufeff")
@example("# no comment\n- no list\n")
@example("---\n...\n")
@example("&a *b !c %d @e `f")
@example("{a: b}, [c]")
@example("'\"\\")
@example("😀\n😀")
@example("x" * 500 + "\n" + "y " * 500)
def test_a_text_is_read_as_it_was_written_to_the_letter(text: str):
    for value in (text, [text], {"prompt": text}, {text: 1}):
        assert read(dump(value)) == value


def test_lines_are_written_as_lines():
    assert dump({"help": "Be kind.\nAsk.\n"}) == "help: |\n  Be kind.\n  Ask.\n"


def test_what_is_there_twice_is_written_twice():
    word = ["claude"]
    assert "&" not in dump([word, word, {"a": word}])
    assert read(dump([word, word])) == [word, word]


# -- words mean themselves


@pytest.mark.parametrize(
    "word", ["off", "on", "yes", "no", "y", "N", "2026-01-01", "12:30:00", "0x1f", "0b1", "010", "1_000", "1e3", ".inf"]
)
def test_a_word_means_itself_although_it_once_was_more_in_yaml(word: str):
    assert read(f"a: {word}") == {"a": word}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("9" * 18, 10**18 - 1),
        ("0.5", 0.5),
        ("-1.0e+3", -1000.0),
    ],
)
def test_true_false_null_and_decimal_numbers_are_what_they_are_in_json(word: str, value: object):
    found = read(f"a: {word}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_a_number_of_any_length_is_read_at_once():
    assert read("9" * 100_000) == "9" * 100_000
    assert math.isinf(read("9.9e+999"))


# -- what is not taken

LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (LAUGHS, "anchors"),
        ("a: &a x", "anchors"),
        ("a: *a", "anchors"),
        ("&a\n- *a", "anchors"),
        ("a: !!python/object/apply:os.system [x]", "tags"),
        ("a: !!binary aGk=", "tags"),
        ("a: !!set {x}", "tags"),
        ("!x a", "tags"),
        ("a: 1\na: 2", "repeated"),
        ("? [a]\n: 1", "word"),
        ("? {a: 1}\n: 1", "word"),
    ],
)
def test_what_json_could_not_say_is_refused(text: str, what: str):
    with pytest.raises(NotPlain, match=what):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a: [",
            "a: }",
            "\ta: 1",
            "a: 1\n--- \nb: 2",
            '"\\UFFFFFFFF"',
            '"\\x"',
            "a\0b",
            "\ud800",
            "%YAML 9.9\n---\na",
        ),
        *("@a", "a: b: c", "'", '"' + "x" * 10_000, "- a\nb", "[" + "a" * 5_000 + ": ? }"),
    ],
)
def test_what_is_no_yaml_is_refused_in_one_short_line(text: str):
    with pytest.raises(NotPlain) as refusal:
        read(text)
    assert str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_refusal_says_where():
    with pytest.raises(NotPlain, match="in line 3"):
        read("a: 1\nb: 2\nc: &x 3\n")


def test_the_keys_of_a_merge_are_keys_like_any_other():
    assert read("a: {<<: {b: 1}, c: 2}") == {"a": {"<<": {"b": 1}, "c": 2}}


@pytest.mark.parametrize(("before", "after"), [("[", "]"), ("{a: ", "}"), ("- ", "")])
def test_nesting_has_an_end(before: str, after: str):
    read(before * (DEPTH - 1) + "x" + after * (DEPTH - 1))
    with pytest.raises(NotPlain, match="nested"):
        read(before * DEPTH + "x" + after * DEPTH)


def test_how_much_there_may_be_has_an_end():
    read("- x\n" * (NODES - 1))
    with pytest.raises(NotPlain, match="more than"):
        read("- x\n" * NODES)


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 200_000, "- " * 100_000, "? " * 100_000, "{a: " * 50_000, "&a " * 50_000, "x" * 262_144, "'" * 262_144),
        *("# x\n" * 60_000, "-\n" * 130_000, ": " * 130_000, "\n" * 262_144, "%x\n" * 80_000, LAUGHS * 3_000),
    ],
    ids=lambda text: text[:4],
)
def test_no_text_of_the_size_of_a_template_keeps_a_reader_busy(text: str):
    before = time.process_time()
    with contextlib.suppress(NotPlain):
        read(text)
    assert time.process_time() - before < 10


@given(st.text(alphabet="ab:-?[]{}&*!|>'\"%@#, \n\t~<0.", max_size=40) | st.text(max_size=20))
def test_whatever_a_text_holds_it_is_read_or_refused(text: str):
    try:
        value = read(text)
    except NotPlain:
        return
    assert read(dump(value)) == value
