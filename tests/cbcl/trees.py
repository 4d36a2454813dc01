"""What the tests of CBCL have in common: short ways to read, to define, to expand, to count, and trees of any kind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import strategies as st

from bb.cbcl.judge import verification
from bb.cbcl.judge.expansion import MAXIMUM_ROOM, Expansion, Limits, expand
from bb.cbcl.read import grammar, reader
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.message import Message
from bb.cbcl.read.reader import BOUNDS, Bounds, Malformed, Text
from bb.cbcl.read.tree import AGENT, BOOLEAN, KEYWORD, LIST, NUMBER, QUOTED, STRING, SYMBOL, Node, text_of
from bb.kernel.errors import BbError
from tests.examples import examples

ROOM = Path(grammar.__file__).parents[1]
CORPUS = Path(__file__).parents[1] / "data" / "cbcl"
CORE = ("tell", "ask", "reply", "hello", "bye", "ok", "error", "cancel")
REASONS = (
    *("encoding", "lex", "paren", "structure", "head", "recipient", "content", "param", "wrapper"),
    *("meta", "lang", "dialect", "depth", "limit"),
)
LIMITS = ":max-depth 16 :max-expansion-size 4096 :max-verify-time 1000"
STEADY = examples(120, derandomize=True, database=None)


# -- reading


def octets(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def read(text: str | bytes, bounds: Bounds = BOUNDS) -> Message:
    return grammar.message(octets(text), bounds)


def tree(text: str | bytes, bounds: Bounds = BOUNDS) -> Node:
    """The one list that a text is, whatever it says."""
    return reader.single_tree(Text(octets(text), bounds))


def refused(text: str | bytes, bounds: Bounds = BOUNDS) -> BbError:
    """How a text is refused as a message."""
    with pytest.raises(Malformed.error) as refusal:
        read(text, bounds)
    return refusal.value


def place(refusal: BbError) -> tuple[str, int]:
    """Why something is refused, and at which octet."""
    return refusal.details["reason"], refusal.details["offset"]


# -- dialects


def dialect(*extensions: str, name: str = "d", author: str = "@ada", limits: str = LIMITS, more: str = "") -> str:
    """The text of a definition that is sound, but for what is given."""
    by = f":author {author}" if author else ""
    return f"(define {name} {more} {by} :resources ({limits}) {' '.join(extensions)})"


def definition(text: str | bytes, bounds: Bounds = BOUNDS) -> Definition:
    return grammar.definition_in(octets(text), bounds)[1]


def broken(text: str, installed: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    """Which rules a definition breaks, and by which performative."""
    verdict = verification.verify(definition(text), installed)
    return [(each.rule, each.performative) for each in verdict.violations]


# -- expansion


def expansion(text: str, *dialects: str, room: Limits = MAXIMUM_ROOM, bounds: Bounds = BOUNDS) -> Expansion:
    """What a text comes to among dialects, all of them sound."""
    known = {each.name: each for each in map(definition, dialects)}
    for each in known.values():
        assert verification.verify(each, known).is_sound, verification.verify(each, known).violations
    found = expand(read(text, bounds), known, room)
    assert found is not None
    return found


def expanded(text: str, *dialects: str, room: Limits = MAXIMUM_ROOM) -> list[str]:
    return [text_of(each.node) for each in expansion(text, *dialects, room=room).messages]


# -- counting


def steps(act: Callable[[], Any]) -> int:
    """How many lines of the room are run through while something is done: what it costs on any machine."""
    count = 0
    before = sys.gettrace()

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(str(ROOM)) else None

    sys.settrace(entered)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


# -- trees of any kind

IDENTIFIERS = st.text("abcXYZ019-_", min_size=1, max_size=6)
NAMES = IDENTIFIERS.filter(lambda name: not name.removeprefix("-").isdigit())
WORDS = st.sampled_from(["or", "cond", "else", "member", "list", "lang", "meta", "tell", "a", "b", "param"])
STRINGS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"), max_size=8),
    st.text(' "\\()#:;@\n\t\r', max_size=8),
)
NUMBERS = st.one_of(
    st.integers().map(str),
    st.tuples(st.integers(-(10**6), 10**6), st.text("0123456789", max_size=4), st.sampled_from("0123456789")).map(
        lambda parts: reader.decimal(f"{parts[0]}.{parts[1]}{parts[2]}")
    ),
)
ATOMS = st.one_of(
    st.builds(Node, st.just(SYMBOL), NAMES | WORDS),
    st.builds(Node, st.just(QUOTED), IDENTIFIERS | WORDS),
    st.builds(Node, st.just(KEYWORD), IDENTIFIERS | WORDS),
    st.builds(Node, st.just(AGENT), IDENTIFIERS),
    st.builds(Node, st.just(STRING), STRINGS | IDENTIFIERS | WORDS),
    st.builds(Node, st.just(NUMBER), NUMBERS),
    st.builds(Node, st.just(BOOLEAN), st.booleans()),
)


def _listed(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(Node, st.just(LIST), st.lists(children, max_size=4))


TREES = st.recursive(ATOMS, _listed, max_leaves=20)
LISTS = _listed(TREES)
