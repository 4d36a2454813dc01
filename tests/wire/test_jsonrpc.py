"""Lines of JSON-RPC: what they say, however the bytes come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.wire import jsonrpc
from bb.wire.jsonrpc import Answer, Framer, FramingLost, Invalid, Notification, Request, read


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (line(id=1, method="ping"), Request(1, "ping", {})),
        (line(id="a", method="x", params={"b": 2}), Request("a", "x", {"b": 2})),
        (line(id=1.5, method="ping", params=None), Request(1.5, "ping", {})),
        (line(method="ping"), Notification("ping", {})),
        (line(method="ping", params={"a": 1}), Notification("ping", {"a": 1})),
        (line(method="ping", params=[1]), Notification("ping", {})),
        (line(id=1, result=None), Answer(1, None)),
        (line(id="a", result={"status": "busy"}), Answer("a", {"status": "busy"})),
        (line(id="a", error={"code": -1, "message": ""}), Answer("a", error={"code": -1, "message": ""})),
        (line(id=None, error={"code": -32700, "message": ""}), Answer(None, error={"code": -32700, "message": ""})),
        (b"", None),
        (b" \t\r", None),
    ],
)
def test_what_a_line_says(octets: bytes, message: object):
    assert read(octets) == message


@pytest.mark.parametrize(
    ("octets", "code", "request_id"),
    [
        (None, jsonrpc.PARSE_ERROR, None),
        (b"{", jsonrpc.PARSE_ERROR, None),
        (b'{"a": NaN}', jsonrpc.PARSE_ERROR, None),
        (b'"\\ud800"', jsonrpc.PARSE_ERROR, None),
        (b"\x00", jsonrpc.PARSE_ERROR, None),
        (b"[" * 100_000, jsonrpc.PARSE_ERROR, None),
        (b"7", jsonrpc.INVALID_REQUEST, None),
        (b"[]", jsonrpc.INVALID_REQUEST, None),
        (b"{}", jsonrpc.INVALID_REQUEST, None),
        (b'{"jsonrpc":2.0,"id":3,"method":"ping"}', jsonrpc.INVALID_REQUEST, 3),
        (line(id=None, method="ping"), jsonrpc.INVALID_REQUEST, None),
        (line(id=False, method="ping"), jsonrpc.INVALID_REQUEST, None),
        (line(id=3, method=None), jsonrpc.INVALID_REQUEST, 3),
        (line(id=3, method="ping", params="x"), jsonrpc.INVALID_PARAMS, 3),
        (line(id=3, result=1, error={"code": 1}), jsonrpc.INVALID_REQUEST, None),
        (line(id=3, error="x"), jsonrpc.INVALID_REQUEST, None),
        (line(id=None, result=1), jsonrpc.INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_says_why(octets: bytes | None, code: int, request_id: int | None):
    found = read(octets)

    assert isinstance(found, Invalid)
    assert (found.code, found.id) == (code, request_id)
    assert found.reason


@given(st.lists(st.binary(max_size=30).map(lambda each: each.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_how_they_are_cut(lines: list[bytes], data: st.DataObject):
    octets = b"".join(each + b"\n" for each in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(octets)), max_size=8)))
    framer = Framer(most=20)

    found = []
    for start, end in zip([0, *cuts], [*cuts, len(octets)], strict=True):
        found += list(framer.feed(octets[start:end]))

    assert found == [each if len(each) < 20 else None for each in lines]


def test_a_line_that_is_too_long_is_passed_over():
    framer = Framer(most=4)

    assert list(framer.feed(b"abc\nabcd\nab")) == [b"abc", None]
    assert list(framer.feed(b"c\nd\n")) == [b"abc", b"d"]


def test_a_line_without_an_end_is_the_end():
    framer = Framer()
    block = b"x" * jsonrpc.MOST
    for _ in range(16):
        assert list(framer.feed(block)) == []

    with pytest.raises(FramingLost):
        list(framer.feed(b"x"))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_what_is_written_reads_back(value: Any):
    assert read(jsonrpc.result("a", value).rstrip(b"\n")) == Answer("a", value)
    assert read(jsonrpc.request(1, "x", {"a": value})[:-1]) == Request(1, "x", {"a": value})
    assert read(jsonrpc.notification("x", {"a": value})[:-1]) == Notification("x", {"a": value})
    assert b"\n" not in jsonrpc.result("a", value)[:-1]


def test_half_a_surrogate_pair_harms_no_line():
    octets = jsonrpc.result(1, "\ud800")

    assert json.loads(octets)["result"] == "\ud800"
