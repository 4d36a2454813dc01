"""JSON by the interpreter's C core says what the standard package says, on interpreters with and without that core."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel import json_text


def _on_an_interpreter_without_the_core() -> ModuleType:
    """The module as it comes up where `_json` cannot be imported."""
    spec = importlib.util.find_spec("bb.kernel.json_text")
    assert spec is not None
    assert spec.loader is not None
    module, core = importlib.util.module_from_spec(spec), sys.modules["_json"]
    sys.modules["_json"] = None  # type: ignore[assignment]
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules["_json"] = core
    return module


VARIANTS = pytest.mark.parametrize(
    "jsons", [json_text, _on_an_interpreter_without_the_core()], ids=["core", "without core"]
)

any_text = st.text(st.characters())  # halves of surrogate pairs among them
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4), max_leaves=12
)


def standard(text: str) -> Any:
    """What the standard package reads, which admits NaN unless told otherwise."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def test_the_two_variants_are_two():
    assert "Scanner" in type(json_text._scan).__name__
    assert "Scanner" not in type(_on_an_interpreter_without_the_core()._scan).__name__


@VARIANTS
@given(values)
def test_values_are_written_as_the_standard_package_writes_them_compactly(jsons: ModuleType, value: object):
    assert jsons.dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert jsons.dumps_ascii(value) == json.dumps(value, separators=(",", ":"))


@VARIANTS
@given(values)
def test_what_was_written_is_read_back(jsons: ModuleType, value: object):
    for write in (jsons.dumps, jsons.dumps_ascii):
        read = jsons.loads(write(value))
        assert read == value
        assert repr(read) == repr(value)  # 1 is not 1.0, and 0.0 not -0.0


@VARIANTS
@given(values)
def test_the_ascii_form_survives_any_encoding(jsons: ModuleType, value: object):
    assert jsons.dumps_ascii(value).isascii()
    assert jsons.dumps_ascii(value).isprintable()


@VARIANTS
@given(values, st.integers(0, 200), st.sampled_from([*'{}[]",:0e.-\\u tnN', "", "\x01", "\ufeff"]))
def test_a_damaged_text_is_read_or_refused_as_the_standard_package_does(
    jsons: ModuleType, value: object, place: int, other: str
):
    text = json.dumps(value)
    damaged = text[:place] + other + text[place + 1 :]
    try:
        expected = standard(damaged)
    except (ValueError, RecursionError):
        with pytest.raises(jsons.NotJson):
            jsons.loads(damaged)
    else:
        if "inf" not in repr(expected):
            assert repr(jsons.loads(damaged)) == repr(expected)


@VARIANTS
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" \t\r\n1 \t\r\n", 1),
        ("-0", 0),
        ("1.0", 1.0),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\u0000"', "\0"),
        ('{"a":1,"b":[{}],"a":2}', {"a": 2, "b": [{}]}),
        ("12345678901234567890123", 12345678901234567890123),
    ],
)
def test_json_is_read(jsons: ModuleType, text: str, value: object):
    assert jsons.loads(text) == value
    assert type(jsons.loads(text)) is type(value)


@VARIANTS
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n",
        "NaN",
        "Infinity",
        "-Infinity",
        "[NaN]",
        '{"a":-Infinity}',
        "nan",
        "1 2",
        "1,",
        "{}{}",
        "{} x",
        "[1,]",
        "[,1]",
        '{"a":1,}',
        '{"a" 1}',
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "[1",
        '{"a":',
        '"a',
        '"\x01"',
        '"\n"',
        '"\\x41"',
        '"\\u12"',
        "01",
        "1.",
        ".5",
        "+1",
        "0x10",
        "1_000",
        "True",
        "None",
        "\ufeff{}",
        "\u00a01",
        "1\u2028",
        "\x0c1",
        "// 1",
        "9" * 5_000,
    ],
)
def test_what_is_no_json_is_refused(jsons: ModuleType, text: str):
    with pytest.raises(jsons.NotJson):
        jsons.loads(text)


@VARIANTS
@pytest.mark.parametrize("text", ["1e999", "-1e999", '{"a":[1e400]}'])
def test_a_number_beyond_all_floats_is_refused_like_the_infinity_it_would_become(jsons: ModuleType, text: str):
    # An infinity cannot be written as JSON, so to let one in is to fail later, where somebody else is waiting.
    with pytest.raises(jsons.NotJson):
        jsons.loads(text)


@VARIANTS
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nesting_beyond_all_reason_is_refused_and_no_crash(jsons: ModuleType, opening: str):
    with pytest.raises(jsons.NotJson):
        jsons.loads(opening * 100_000)


@VARIANTS
def test_a_hundred_levels_are_within_reason(jsons: ModuleType):
    value: Any = "deep"
    for _ in range(100):
        value = [value]
    assert jsons.loads(jsons.dumps(value)) == value


@VARIANTS
@pytest.mark.parametrize("text", ["", "  "])
def test_the_refusal_of_an_empty_text_is_a_sentence_and_no_number(jsons: ModuleType, text: str):
    with pytest.raises(jsons.NotJson) as refusal:
        jsons.loads(text)
    assert not str(refusal.value).isdigit()


@VARIANTS
def test_the_refusal_of_a_second_value_says_where_it_begins(jsons: ModuleType):
    with pytest.raises(jsons.NotJson, match="character 3"):
        jsons.loads(' {} {"a":1}')


@VARIANTS
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], {"a": math.inf}])
def test_what_json_has_no_word_for_is_not_written(jsons: ModuleType, value: object):
    for write in (jsons.dumps, jsons.dumps_ascii, jsons.canonical):
        with pytest.raises(ValueError):  # noqa: PT011  (each variant in its own words)
            write(value)


@VARIANTS
@pytest.mark.parametrize("value", [{1, 2}, b"octets", object(), 1j, {(1, 2): 3}])
def test_what_is_no_json_value_is_not_written(jsons: ModuleType, value: object):
    for write in (jsons.dumps, jsons.dumps_ascii):
        with pytest.raises(TypeError):
            write(value)


@VARIANTS
@given(values)
def test_the_octets_of_a_file_are_read_when_all_its_texts_are_text(jsons: ModuleType, value: object):
    octets = jsons.dumps_ascii(value).encode()
    try:
        jsons.dumps(value).encode()
    except UnicodeEncodeError:
        with pytest.raises(jsons.NotJson):
            jsons.read(octets)
    else:
        assert jsons.read(octets) == jsons.read(jsons.dumps(value).encode()) == value


@VARIANTS
@pytest.mark.parametrize(
    "octets",
    [b"", b"{", b'"\xff"', b'"\xed\xa0\xbe"', b'"\\ud83e"', b'{"\\udda6":1}', b'"\\udda6\\ud83e"', b"\xef\xbb\xbf{}"],
)
def test_octets_that_are_no_json_or_no_text_are_refused(jsons: ModuleType, octets: bytes):
    with pytest.raises(jsons.NotJson):
        jsons.read(octets)


@VARIANTS
def test_an_escape_that_only_looks_like_half_a_pair_is_text(jsons: ModuleType):
    assert jsons.read(b'"\\\\ud83e \\ud83e\\udda6"') == "\\ud83e \U0001f9a6"


def _reversed(value: object) -> object:
    """The same value, with the members of every object given the other way round."""
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@VARIANTS
@given(values)
def test_the_canonical_text_does_not_depend_on_the_order_of_members(jsons: ModuleType, value: object):
    assert jsons.canonical(value) == jsons.canonical(_reversed(value))
    assert jsons.canonical(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert jsons.loads(jsons.canonical(value)) == value


@VARIANTS
def test_the_canonical_text_is_one_text_for_ever(jsons: ModuleType):
    value = {"b": [2, 1, {"d": None, "c": True}], "a": "é", "B": 1.5}
    assert jsons.canonical(value) == '{"B":1.5,"a":"é","b":[2,1,{"c":true,"d":null}]}'


@VARIANTS
def test_the_canonical_text_tells_values_apart(jsons: ModuleType):
    texts = [jsons.canonical(value) for value in ([1, 2], [2, 1], [[1], 2], {"a": 1}, {"a": "1"}, {"a": [1]}, "a", 1)]
    assert len(set(texts)) == len(texts)


@VARIANTS
def test_a_tuple_is_written_as_a_list(jsons: ModuleType):
    assert jsons.dumps((1, ("a",))) == jsons.canonical((1, ("a",))) == '[1,["a"]]'
