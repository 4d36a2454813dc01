"""The reader of JSON objects that come from outside."""

from __future__ import annotations

from typing import Any

import pytest

from bb.kernel.errors import Usage
from bb.kernel.members import REASONS, Form, Members, json_pointer


def refused(reason: str, path: str) -> Usage:
    return Usage(f"{path} {reason}", path=path)


def members(value: Any, form: Form | None = None, path: str = "$") -> Members:
    return Members(value, form or Form(refused), path)


WRONG: list[tuple[dict[str, Any], Any, str]] = [
    ({}, lambda m: m.text("a", is_needed=True), "$.a is missing"),
    ({"a": None}, lambda m: m.text("a", is_needed=True), "$.a is missing"),
    ({"a": 1}, lambda m: m.text("a"), "$.a must be a string"),
    ({"a": "\ud800"}, lambda m: m.text("a"), "$.a must be a string"),
    ({"a": "abc"}, lambda m: m.text("a", 2), "$.a is longer than 2 characters"),
    ({"a": " "}, lambda m: m.filled("a"), "$.a must be a string that is not blank"),
    ({"a": "x\ny"}, lambda m: m.line("a", 9), "$.a must be a string that is not blank"),
    ({"a": "x"}, lambda m: m.one_of("a", ("b", "c")), "$.a must be one of b, c"),
    ({}, lambda m: m.one_of("a", ("b", "c")), "$.a is missing"),
    ({"a": True}, lambda m: m.number("a"), "$.a must be a whole number of at least 0"),
    ({"a": -1}, lambda m: m.number("a"), "$.a must be a whole number of at least 0"),
    ({"a": 1}, lambda m: m.flag("a"), "$.a must be true or false"),
    ({"a": "soon"}, lambda m: m.time("a"), "$.a must be an RFC 3339 time"),
    ({"a": []}, lambda m: m.object("a"), "$.a must be an object"),
    ({}, lambda m: m.object("a", is_needed=True), "$.a is missing"),
    ({"a": {}}, lambda m: m.items("a"), "$.a must be a list"),
    ({"a": [1, 2]}, lambda m: m.items("a", 1), "$.a has more than 1 items"),
    ({"a": [{}, 2]}, lambda m: m.objects("a"), "$.a[1] must be an object"),
    ({"a": [{"b.c": 1}]}, lambda m: m.objects("a")[0].text("b.c"), '$.a[0]["b.c"] must be a string'),
]


@pytest.mark.parametrize(("value", "read", "message"), WRONG)
def test_a_wrong_member_is_refused_with_its_path(value: dict[str, Any], read: Any, message: str):
    with pytest.raises(Usage) as refusal:
        read(members(value))

    assert refusal.value.message == message
    assert refusal.value.details == {"path": message.split()[0]}


def test_an_absent_member_has_a_neutral_value():
    found = members({"a": None})

    assert (found.text("a"), found.number("a"), found.flag("a"), found.time("a")) == ("", None, False, None)
    assert (found.one_of("a", ("b",), "b"), found.maybe_one_of("a", ("b",))) == ("b", None)
    assert (dict(found.object("a").value), list(found.items("a")), "a" in found) == ({}, [], False)


def test_a_form_chooses_the_paths_the_words_and_what_counts_as_absent():
    reasons = {**REASONS, "text": "is no text"}
    found = members({"a": {"b": [1]}, "c": ""}, Form(refused, reasons, json_pointer, absent=(None, "")), "")

    with pytest.raises(Usage, match="/a/b/0 is no text"):
        found.object("a").items("b").text(0)
    with pytest.raises(Usage, match="/c is missing"):
        found.text("c", is_needed=True)
