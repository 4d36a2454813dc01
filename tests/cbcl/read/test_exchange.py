"""The JSON form of messages, which other programs read: every field of every form, exactly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.cbcl.read import exchange
from tests.cbcl.trees import read

DEFINED = {
    "name": "d",
    "extends": "e",
    "author": "@a",
    "resources": {"max-depth": 1, "max-expansion-size": 2, "max-verify-time": None},
    "performatives": [
        {
            "name": "p",
            "params": [["req", "a"], ["optional", "b"], ["rest", "c"], ["key", "k"]],
            "template": ["list", [["sym", "ok"], ["agent", "b"], ["list", [["op", "="], ["num", "1.0"]]]]],
        }
    ],
}
BARE = {"name": "d", "extends": None, "author": None, "resources": None, "performatives": []}
DEFINITION = """(define d :extends e :author @a :resources (:max-expansion 2 :max-depth 1)
  (extend p (a &optional b &rest c &key k) (ok @b (= 1.00))))"""
ATOMS = '(s \'q :k @a "t\\n" 007 -0.0 #t #f ())'
OK = {"type": "simple", "performative": "ok", "recipient": "@b", "content": None, "params": []}
SHOWN: dict[str, dict[str, Any]] = {
    "(ok @b)": OK,
    f"(tell @b {ATOMS} :k 1 :a (x))": {
        "type": "simple",
        "performative": "tell",
        "recipient": "@b",
        "content": [
            "list",
            [
                ["sym", "s"],
                ["qsym", "q"],
                ["kw", "k"],
                ["agent", "a"],
                ["str", "t\n"],
                ["num", "7"],
                ["num", "0.0"],
                ["bool", True],
                ["bool", False],
                ["list", []],
            ],
        ],
        "params": [["k", ["num", "1"]], ["a", ["list", [["sym", "x"]]]]],
    },
    f"(meta {DEFINITION})": {"type": "meta", "op": "define", "dialect": DEFINED},
    "(meta (define d))": {"type": "meta", "op": "define", "dialect": BARE},
    "(meta (define d :resources ()))": {
        "type": "meta",
        "op": "define",
        "dialect": BARE | {"resources": {"max-depth": None, "max-expansion-size": None, "max-verify-time": None}},
    },
    "(meta (query (speak? d)))": {"type": "meta", "op": "query", "dialect": "d"},
    "(meta (teach @b (define d)))": {
        "type": "meta",
        "op": "teach",
        "recipient": "@b",
        "signature": None,
        "dialect": BARE,
    },
    "(meta (teach @b (signed 007 (define d))))": {
        "type": "meta",
        "op": "teach",
        "recipient": "@b",
        "signature": "007",
        "dialect": BARE,
    },
    "(lang d (ok @b))": {"type": "lang", "dialect": "d", "inner": OK},
    "(lang d (p 1 :k x))": {
        "type": "lang",
        "dialect": "d",
        "inner": {"type": "call", "name": "p", "args": [["num", "1"]], "kwargs": [["k", ["sym", "x"]]]},
    },
    "(envelope (ok @b))": {"type": "envelope", "from": None, "to": None, "timestamp": None, "inner": OK},
    "(envelope :to @b :timestamp 2025-01-15T14:30:00Z :from @a (ok @b))": {
        "type": "envelope",
        "from": "@a",
        "to": "@b",
        "timestamp": "2025-01-15T14:30:00Z",
        "inner": OK,
    },
    "(signed ab= (ok @b))": {"type": "signed", "signature": "ab=", "inner": OK},
    "(with-limits :max-depth 3 (signed ab (ok @b)))": {
        "type": "with-limits",
        "timeout": None,
        "max-depth": 3,
        "max-expansion-size": None,
        "inner": {"type": "signed", "signature": "ab", "inner": OK},
    },
}


@pytest.mark.parametrize("text", SHOWN)
def test_0_every_form_of_a_message_is_shown_with_all_its_fields(text: str):
    assert exchange.message_json(read(text)) == SHOWN[text]


@pytest.mark.parametrize("text", SHOWN)
def test_0_what_is_shown_is_json_as_it_is(text: str):
    shown = exchange.message_json(read(text))

    assert json.loads(json.dumps(shown)) == shown


def test_0_a_number_is_text_because_no_float_could_hold_it():
    shown = exchange.message_json(read("(tell @b (0.1000000000000000055 123456789012345678901234567890))"))

    assert shown["content"] == ["list", [["num", "0.1000000000000000055"], ["num", "123456789012345678901234567890"]]]
