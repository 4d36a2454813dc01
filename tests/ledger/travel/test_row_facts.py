"""What admission reads in a row: the quick way, for lines as bb writes them, finds what the slow way finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Registered, Released, Reserved, Seen
from bb.kernel import ids
from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.records.drafts import draft_of
from bb.ledger.travel import quick_row_facts, row_facts

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


def written(fact: Any, n: int, key: str | None = None) -> bytes:
    draft = draft_of(fact, getattr(fact, "agent", "ada"))
    event = Event(
        ids.event_id(WRITER, n),
        n,
        "2026-01-01T12:00:00.000Z",
        draft.kind,
        "ada",
        draft.data,
        "g",
        draft.scope_key,
        key,
    )
    return lines.write(event, lines.Link(n - 1, n - 1, "0" * 32), "saltsalt")[0].rstrip(b"\n")


@st.composite
def rows(draw: Any) -> bytes:
    """Lines of which some bytes are other ones than bb writes."""
    found = []
    for n in range(1, draw(st.integers(1, 4)) + 1):
        line = written(draw(st.sampled_from(FACTS)), n, draw(st.sampled_from([None, None, "k1"])))
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(0, len(line)))
            end = start + draw(st.sampled_from([0, 0, 1, 5]))
            line = line[:start] + draw(st.sampled_from(PIECES)) + line[end:]
        found.append(line)
    return b"".join(line + b"\n" for line in found)


@given(octets=rows())
def test_the_quick_way_finds_what_the_slow_way_finds(octets: bytes):
    slow = row_facts.of_row(WRITER, 1, octets)

    assert quick_row_facts.of_row(WRITER, 1, octets) == slow
    assert quick_row_facts.of_row(WRITER, 1, octets) == slow, "also when it has seen such lines"


def test_the_facts_of_usual_lines_are_read():
    """So that the comparison above compares something."""
    octets = b"".join(written(fact, n) + b"\n" for n, fact in enumerate(FACTS, 1))

    facts, recorders = quick_row_facts.of_row(WRITER, 1, octets)

    assert [name for name, _ in facts] == [f"{WRITER}.{n}" for n in range(1, 6)]
    assert recorders == ["ada"]
