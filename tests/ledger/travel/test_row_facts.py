"""What admission reads in a row: the quick way, for lines as bb writes them, finds what the slow way finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Registered, Released, Reserved, Seen
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.event import Event
from bb.ledger.carrier import sound_rows
from bb.ledger.carrier.door import Row
from bb.ledger.journal import line as lines
from bb.ledger.journal.bulk_check import decode
from bb.ledger.journal.line import START, BadLine, Link
from bb.ledger.records.drafts import draft_of
from bb.ledger.travel import quick_rows, row_facts

WRITER, ORDER = "abcdefghijkl", "0123456789abcdef"
FACTS: list[Any] = [
    Reserved("ada", "src", "bb-1", 120, order=ORDER),
    Reserved("bo1", 'sr"c/ü', "bb-1", 5, shared=True, is_file=True, order=ORDER, takes=f"{WRITER}.1@12"),
    Reserved("ada", "docs", "bb-1", 120),
    Released("ada", f"{WRITER}.1"),
    Registered("cyd", "builder", "Cyd"),
    Seen("ada", f"{WRITER}.1", ""),
]
PIECES = [
    b'"',
    b"\\",
    b",",
    b"}",
    b"{",
    b"[",
    b"null",
    b'"by":"eve"',
    b"\x00",
    b"\xff",
    b"\x7f",
    b" ",
    b"0",
    b"1.5",
    b"a",
]


AUTHORS = ["ada", "ada", "ada", "bo1", ids.PERSON, ids.SYSTEM, "svc:ci", "-ada", ""]


def written(fact: Any, n: int, key: str | None = None, by: str = "ada") -> bytes:
    draft = draft_of(fact, getattr(fact, "agent", "ada"))
    event = Event(
        ids.event_id(WRITER, n),
        n,
        "2026-01-01T12:00:00.000Z",
        draft.kind,
        by,
        draft.data,
        "g",
        draft.scope_key,
        key,
    )
    return lines.write(event, lines.Link(n - 1, n - 1, "0" * 32), "saltsalt")[0].rstrip(b"\n")


def chained(line: bytes, before: bytes) -> bytes:
    """LINE with the right digests, whatever it contains: after the line BEFORE, or as the first one."""
    head, mark, data = line.partition(lines.DATA)
    head = head[: -lines.TAIL] if mark else head
    p = digest(before.partition(lines.DATA)[0]) if before else "0" * 32
    dh = digest(data[:-1])
    return head + lines.P_MARK + p.encode() + lines.DH_MARK + dh.encode() + b'"' + lines.DATA + data


@st.composite
def rows(draw: Any) -> Row:
    """A row with lines of which some bytes are other ones than bb writes. Most of them are chained all the same."""
    found = [b""]
    for n in range(1, draw(st.integers(1, 4)) + 1):
        fact, key = draw(st.sampled_from(FACTS)), draw(st.sampled_from([None, None, "k1"]))
        line = written(fact, n, key, draw(st.sampled_from(AUTHORS)))
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(0, len(line)))
            end = start + draw(st.sampled_from([0, 0, 1, 5]))
            line = line[:start] + draw(st.sampled_from(PIECES)) + line[end:]
        found.append(chained(line, found[-1]) if draw(st.integers(0, 9)) else line)
    end = draw(st.sampled_from([b"\n", b"\n", b"\n", b"", b"\nx"]))
    return Row(1, WRITER, draw(st.sampled_from([1, 1, 1, 2])), b"\n".join(found[1:]) + end, "")


def slowly(row: Row) -> tuple[Link, Any, list[str]] | None:
    """The same as `quick_rows.read`; None if the row does not count."""
    try:
        link = sound_rows.link_after(row, START)
    except BadLine:
        return None
    return link, *row_facts.of_row(row.writer, row.first, row.octets, None, decode)


@given(row=rows())
def test_the_quick_way_finds_what_the_slow_way_finds(row: Row):
    slow = slowly(row)

    assert quick_rows.read(row, START) in (slow, None)
    assert quick_rows.read(row, START) in (slow, None), "also when it has seen such lines"


def usual_row() -> Row:
    octets = b""
    for n, fact in enumerate(FACTS, 1):
        octets += chained(written(fact, n), octets.splitlines()[-1] if octets else b"") + b"\n"
    return Row(1, WRITER, 1, octets, "")


def test_the_quick_way_reads_the_rows_that_bb_writes():
    """So that the comparison above compares something."""
    found = quick_rows.read(usual_row(), START)

    assert found is not None
    assert found == slowly(usual_row())
    assert [name for name, _ in found[1]] == [f"{WRITER}.{n}" for n in range(1, 6)]
    assert found[2] == ["ada"]


def test_a_line_of_another_agent_is_read_as_quickly(monkeypatch: pytest.MonkeyPatch):
    """A fleet has a thousand agents, and each of them records a line of each kind for a first time."""
    quick_rows.read(usual_row(), START)
    monkeypatch.setattr(quick_rows, "_fact", lambda *_: pytest.fail("it was read member by member"))
    row = Row(1, WRITER, 1, chained(written(FACTS[0], 1, by="dee"), b"") + b"\n", "")

    found = quick_rows.read(row, START)

    assert found is not None
    assert [fact.agent for _, fact in found[1]] == ["dee"]


def reserving(data: str) -> Row:
    """A row with one line of the kind that reserves, and this DATA."""
    head, mark, _ = written(FACTS[0], 1).partition(lines.DATA)
    return Row(1, WRITER, 1, chained(head + mark + data.encode() + b"}", b"") + b"\n", "")


REST = f',"bead_id":"bb-1","ttl_minutes":120,"order":"{ORDER}"'


@pytest.mark.parametrize(
    "data",
    [
        '{"_":"saltsalt","scope":"%s"' + REST + "}",
        '{"_":"saltsalt","scope":"%s"' + REST + ',"scope":"b"}',
        '{"_":"saltsalt","scope":"%s"' + REST + ',"sc\\u006fpe":"b"}',
        '{"_":"saltsalt","scope":"%s"' + REST + '},"by":"eve","x":{}',
        '{"_":"saltsalt","_":"%s","scope":"b"' + REST + "}",
        '{"_":"saltsalt","x":"%s","scope":"b"' + REST + "}",
        '{"_":"saltsalt","bead_id":"%s","scope":"b","ttl_minutes":120}',
    ],
)
@pytest.mark.parametrize("text", ["c", "../c", "", " ", "c" * 5000, "{" * 5000, "bb-2"])
def test_a_line_like_a_valid_one_is_read_as_every_other_reader_reads_it(data: str, text: str):
    """Whoever may append can choose the first line, by which later ones are read more quickly."""
    for chosen in ("b", text):
        row = reserving(data % chosen)
        assert quick_rows.read(row, START) in (slowly(row), None)


def test_what_is_noted_of_long_lines_is_bounded():
    row = reserving('{"_":"saltsalt","scope":"src"' + REST + f',"x":"{"x" * 1000}"}}')
    before = len(quick_rows._MAKERS)

    assert quick_rows.read(row, START) == slowly(row)
    assert len(quick_rows._MAKERS) == before


def test_lines_must_rise_in_number_and_lamport_time():
    row = usual_row()

    assert quick_rows.read(row, Link(1, 0, "0" * 32)) is None
    assert quick_rows.read(row, Link(0, 1, "0" * 32)) is None, "its Lamport time does not rise"
    assert quick_rows.read(row, Link(0, 0, "1" * 32)) is None, "it does not follow that line"
    assert quick_rows.read(row.replace(writer="b" * 12), START) is None
    assert (
        quick_rows.read(row.replace(octets=row.octets.replace(b'"l":6', b'"l":%d' % (lines.LEAP + 7))), START) is None
    )
