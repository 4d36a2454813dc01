"""One hostile or odd line never stops a batch: it is set aside with its reason, and all valid lines are recorded."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.ops import catalogue
from bb.ops.attention.ingest import LONGEST_LINE
from bb.ops.desk.desk import Desk
from tests.attention.hosts import AMBER, message
from tests.attention.surfaces import stored
from tests.near import near
from tests.support import environment

NOW = "2026-06-02T19:00:00.000Z"
SURFACES = {"slack": "message", "github": "comment-created", "discord": "message", "matrix": "message"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    repo = near(tmp_path / "repo")
    found = Desk(str(repo.path), environment(BB_NOW=NOW))
    run(found, "init")
    run(found, "agent.register", name=AMBER, role="builder")
    run(found, "chat.bind", agent=AMBER, handle=["slack:U1"])
    return found


def run(desk: Desk, name: str, /, **given: Any) -> Any:
    op = catalogue.find(name)
    return op.run(desk, catalogue.bind(op, given, is_typed=True))


def ingest(desk: Desk, lines: list[bytes], format: str = "c2a", agent: str = "") -> dict[str, Any]:  # noqa: A002
    """The counts of an import, whether lines were set aside or not."""
    desk.stdin = io.BytesIO(b"\n".join(lines) + b"\n")
    desk.env = {**desk.env, "BB_AGENT": agent}
    try:
        return {"refused": [], **run(desk, "chat.ingest", format=format)}
    except BbError as refusal:
        return {"counts": refusal.details["counts"], "refused": refusal.details["refused"]}


def valid(number: int) -> bytes:
    return json.dumps(message(f"good-{number}", f"U1, is it {number}?", mentions=["U1"])).encode()


def recorded(desk: Desk) -> set[str]:
    rows = run(desk, "chat.list", agent=AMBER, limit=200)["events"]
    return {row["eventId"] for row in rows}


TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", "\x00", "\x1b[2J", "\u202eabc", "a" * 300, "slack:", "~", "confirm-000000000000", "\ufffe"]
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**30), 1 << 63, 1 << 62, -1]),
    st.floats(allow_nan=True, allow_infinity=True),
    TEXTS,
)
JSON = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4))
)
MEMBERS = (
    *("type", "eventId", "source", "conversation", "author", "target", "content", "text", "timing", "attention"),
    *("intent", "priority", "replyTo", "version", "marker", "glyph", "signal", "added", "typing", "member", "joined"),
)
TYPES = st.sampled_from(["message", "edit", "delete", "reaction", "typing", "membership", "conversation", "x", 7, None])


@st.composite
def odd_lines(draw: st.DrawFn) -> bytes:
    """A line that is a valid one in most members, or nothing like one."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.binary(max_size=200)).replace(b"\n", b" ").replace(b"\r", b" ") or b"?"
    line: Any = message("odd", "U1, odd?", mentions=["U1"]) | {"type": draw(TYPES), "member": {"id": "U1"}}
    line["glyph"] = "x"
    for name in draw(st.lists(st.sampled_from(MEMBERS), max_size=4)):
        line[name] = draw(JSON)
    inner = draw(st.sampled_from(["source", "conversation", "author", "target", "timing", "member"]))
    if kind == 2 and isinstance(line.get(inner), dict):
        line[inner] = {
            **line[inner],
            **draw(
                st.dictionaries(
                    st.sampled_from(
                        [
                            "id",
                            "kind",
                            "platform",
                            "workspaceId",
                            "threadId",
                            "private",
                            "members",
                            "mentions",
                            "recipient",
                            "createdAt",
                            "sequence",
                        ]
                    ),
                    JSON,
                    max_size=3,
                )
            ),
        }
    octets = json.dumps(line).encode()
    if kind == 3:  # a member twice
        octets = octets[:-1] + b',"eventId":"twice","author":{"id":"W9"}}'
    return octets.replace(b"\n", b" ")


LONG = json.dumps(message("long", "x" * LONGEST_LINE)).encode()
NAMED = [
    b"[" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b'{"eventId":"s","text":"\\ud800","author":{"id":"\\udfff"},"conversation":{"id":"\\ud800","kind":"dm"}}',
    b'{"eventId":NaN}',
    b'{"eventId":"n","timing":{"createdAt":"2026-06-02T19:00:00Z","sequence":1e999}}',
    LONG,
    b"\xff\xfe\x00",
    b'{"eventId":""}',
    b"null",
    b"[]",
    b'"text"',
]


@pytest.mark.parametrize("format", ["c2a", "envelope", *SURFACES])
def test_the_odd_lines_that_have_a_name_stop_no_other(desk: Desk, format: str):  # noqa: A002
    batch: list[bytes] = []
    for number, odd in enumerate(NAMED):
        batch += [odd, *([valid(number)] if format == "c2a" else [])]
    good = valid_payload(format)
    found = ingest(desk, [*batch, good], format, AMBER if format == "envelope" else "")

    assert len(found["refused"]) >= len(NAMED) - 4
    assert sum(found["counts"].values()) >= 1
    if format == "c2a":
        assert {f"slack:good-{number}" for number in range(len(NAMED))} <= recorded(desk)
    said = run(desk, "chat.audit", limit=200)["records"]
    assert [record for record in said if record["what"] == "refused"]


def valid_payload(format: str) -> bytes:  # noqa: A002
    if format == "c2a":
        return valid(99)
    if format == "envelope":
        from tests.attention.test_c2a_core import EXAMPLE

        return json.dumps(EXAMPLE).encode()
    name = next(each for each in stored.names(format) if each.startswith(SURFACES[format]))
    headers, body = stored.stored(format, name)
    return json.dumps({"headers": headers, "body": body}).encode()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(odd_lines(), min_size=1, max_size=8), number=st.integers(0, 10**9))
def test_the_valid_lines_beside_any_odd_ones_are_recorded(desk: Desk, batch: list[bytes], number: int):
    lines = [line for odd in batch for line in (odd, valid(number))] + [valid(number + 1)]
    found = ingest(desk, lines)

    assert {f"slack:good-{number}", f"slack:good-{number + 1}"} <= recorded(desk)
    assert not [row for row in found["refused"] if row["code"] == "LINE_NOT_PROCESSED"], found["refused"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), format=st.sampled_from(sorted(SURFACES)))
def test_so_are_the_payloads_of_a_platform_beside_spoilt_ones(desk: Desk, data: st.DataObject, format: str):  # noqa: A002
    headers, body = stored.stored(format, data.draw(st.sampled_from(stored.names(format))))
    place = data.draw(st.sampled_from(list(stored.places(body))))
    spoilt = json.dumps({"headers": headers, "body": stored.spoilt(body, place, data.draw(JSON))}).encode()
    found = ingest(desk, [spoilt, b"{", valid_payload(format)], format)

    assert sum(found["counts"].values()) >= 1
    assert not [row for row in found["refused"] if row["code"] == "LINE_NOT_PROCESSED"], found["refused"]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=JSON, member=st.sampled_from(["eventId", "source", "conversation", "author", "target", "content", "knock"]))
def test_so_are_the_envelopes_beside_spoilt_ones(desk: Desk, odd: Any, member: str):
    good = json.loads(valid_payload("envelope"))
    lines = [
        json.dumps({**good, member: odd, "eventId": "e1"}).encode(),
        json.dumps({**good, "eventId": "e2"}).encode(),
    ]
    found = ingest(desk, lines, "envelope", AMBER)

    assert sum(found["counts"].values()) >= 1
    assert not [row for row in found["refused"] if row["code"] == "LINE_NOT_PROCESSED"], found["refused"]


def test_a_line_that_makes_bb_fail_is_set_aside_too(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    from bb.attention.incoming import receiving

    original = receiving.receive

    def failing(book: Any, line: Any, by: str, now: int) -> Any:
        if line.event == "slack:good-1":
            raise ZeroDivisionError("a bug")
        return original(book, line, by, now)

    monkeypatch.setattr(receiving, "receive", failing)
    found = ingest(desk, [valid(0), valid(1), valid(2)])

    assert [(row["line"], row["code"]) for row in found["refused"]] == [(2, "LINE_NOT_PROCESSED")]
    assert recorded(desk) == {"slack:good-0", "slack:good-2"}


def test_the_same_bad_batch_again_adds_nothing_to_the_audit(desk: Desk):
    for _ in range(3):
        ingest(desk, [b"no json", valid(1)])
    said = run(desk, "chat.audit", limit=200)["records"]

    assert len([record for record in said if record["what"] == "refused"]) == 1
