"""A text laid out reads back as the same, and is as narrow as its words allow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.read import reader
from bb.cbcl.read.layout import pretty_print
from bb.cbcl.read.reader import Bounds, Malformed, Text
from bb.cbcl.read.tree import UNSETTLED, Node, agent, equal, keyword, list_of, string, symbol, text_of, walk
from tests.cbcl.trees import STEADY
from tests.support import ROOT

WIDE = Bounds(64, 1 << 20)
CORPUS = sorted((ROOT / "tests" / "data" / "cbcl").glob("*/*.cbcl"))


def read(text: str) -> Node:
    return reader.single_tree(Text(text.encode(), WIDE))


@pytest.mark.parametrize(
    "text",
    ["(hello @bob)", "(tell @bob ())", '(tell @bob "a \\" \\\\ \\n é" :n -1.5)', "(a 'b #t #f @c :d)", "()"],
)
def test_what_fits_on_a_line_stays_on_one(text: str):
    assert pretty_print(read(text)) == text_of(read(text))


def test_a_dialect_is_laid_out_clause_by_clause():
    text = """(define planning :author @lab :resources (:max-depth 8 :max-expansion-size 512 :max-verify-time 100)
      (extend propose (what &optional why)
        (ask @planner (propose :what what :why (or why "no reason at all is given")) :domain planning)))"""

    assert pretty_print(read(text)).splitlines() == [
        "(define planning",
        "  :author @lab",
        "  :resources (:max-depth 8 :max-expansion-size 512 :max-verify-time 100)",
        "  (extend propose (what &optional why)",
        '    (ask @planner (propose :what what :why (or why "no reason at all is given"))',
        "      :domain planning)))",
    ]


def test_atoms_flow_and_a_keyword_keeps_its_value_beside_it():
    atoms = " ".join(f"word-{number}" for number in range(20))

    assert pretty_print(read(f"(tell @bob (words {atoms}) :thread t-1)")).splitlines() == [
        "(tell @bob",
        "  (words word-0 word-1 word-2 word-3 word-4 word-5 word-6 word-7 word-8 word-9",
        "    word-10 word-11 word-12 word-13 word-14 word-15 word-16 word-17 word-18",
        "    word-19)",
        "  :thread t-1)",
    ]


def test_a_word_that_is_too_long_is_never_broken():
    text = f'(tell @bob "{"x" * 200}")'
    assert pretty_print(read(text)) == f'(tell @bob\n  "{"x" * 200}")'


def test_a_sequence_stands_list_below_list():
    words = "(a b c d e f g)"
    text = f"((ask @bob {words} {words} {words}) (tell @bob {words} {words}))"
    assert pretty_print(read(text)).splitlines() == [
        f"((ask @bob {words} {words} {words})",
        f" (tell @bob {words} {words}))",
    ]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_example_reads_back_as_the_same_however_narrow(path: Path):
    try:
        found = reader.single_tree(Text(path.read_bytes(), WIDE))
    except Malformed.error:
        return
    if any(step.node.tag == UNSETTLED for step in walk(found)):
        return  # a signature or a time that is not quoted: no finished tree has any
    for width in (80, 30, 1):
        assert equal(read(pretty_print(found, width)), found)


ATOMS = st.one_of(
    st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True).flatmap(
        lambda name: st.sampled_from([symbol(name), keyword(name), agent(name)])
    ),
    st.text(st.characters(exclude_characters="\x7f", exclude_categories=["Cs", "Cc"]), max_size=30).map(string),
)
TREES = st.recursive(ATOMS, lambda below: st.lists(below, max_size=8).map(lambda nodes: list_of(*nodes)), max_leaves=25)


@STEADY
@given(st.lists(TREES, max_size=5), st.integers(1, 100))
def test_any_tree_reads_back_as_the_same(nodes: list[Node], width: int):
    tree = list_of(*nodes)

    lines = pretty_print(tree, width)

    assert equal(read(lines), tree)
    assert text_of(read(lines)) == text_of(tree)
    assert not any(line.endswith(" ") or not line.strip() for line in lines.splitlines())


def test_no_text_is_too_deep_to_be_laid_out():
    node = list_of()
    for _ in range(50_000):
        node = list_of(node)
    assert len(pretty_print(node)) > 100_000
