"""Trees: their canonical text, how long and how deep it is, when two are the same, and how they are walked."""

from __future__ import annotations

import pytest

from bb.cbcl.read import tree as trees
from bb.cbcl.read.tree import (
    LIST,
    NIL,
    Node,
    as_json,
    equal,
    extent,
    head,
    is_list,
    is_nil,
    lexeme,
    list_of,
    text_of,
    walk,
)
from tests.cbcl.trees import tree

TEXTS = {
    "( )": "()",
    "(a)": "(a)",
    '( a  "b"\n:c )': '(a "b" :c)',
    "(a(b)c)": "(a (b) c)",
    "(()())": "(() ())",
    "((a)((b)) c)": "((a) ((b)) c)",
    r'("\"\\\n\r\t" "é")': r'("\"\\\n\r\t" "é")',
    "('q :k @a 007 1.50 -0 #t #f)": "('q :k @a 7 1.5 0 #t #f)",
}


@pytest.mark.parametrize("written", TEXTS)
def test_0_canonical_text_has_one_space_between_elements_and_none_beside_parentheses(written: str):
    assert text_of(tree(written)) == TEXTS[written]
    assert text_of(tree(TEXTS[written])) == TEXTS[written]


@pytest.mark.parametrize("written", TEXTS)
def test_5_the_extent_is_that_of_the_canonical_text(written: str):
    found = extent(tree(written))

    assert found.size == len(TEXTS[written])


@pytest.mark.parametrize(
    ("written", "depth"), [("()", 1), ("(a)", 1), ("(a (b))", 2), ("((((()))) (a))", 5), ("(() () ())", 2)]
)
def test_5_the_outermost_list_is_the_first_level_and_atoms_add_none(written: str, depth: int):
    assert extent(tree(written)).depth == trees.depth(tree(written)) == depth


def test_5_an_atom_has_no_depth():
    assert extent(trees.symbol("abc")) == (3, 0)
    assert trees.depth(trees.symbol("abc")) == 0


def test_11_20_size_is_counted_in_characters():
    assert extent(tree('("é漢😀")')).size == 7


def test_0_a_string_is_written_with_the_five_escapes_only():
    said = "".join(map(chr, range(0x20))) + '"\\\x7f é\u0085'

    written = lexeme(trees.string(said))

    assert written.count("\\") == 5 + 1  # of which one is that which is escaped
    assert written.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t") == (
        '"' + said.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("(a)", " ( a ) ", True),
        ("(007 1.50)", "(7 1.5)", True),
        (r'("\n")', r'("\n")', True),
        ("(a)", '("a")', False),
        ("(a)", "('a)", False),
        ("(a)", "(:a)", False),
        ("(a)", "(@a)", False),
        ("(a)", "(A)", False),
        ("(1)", "(1.0)", False),
        ("(1)", '("1")', False),
        ("(#t)", "(#f)", False),
        ("(#t)", "(1)", False),
        ("(a b)", "(b a)", False),
        ("(a)", "(a a)", False),
        ("(a)", "((a))", False),
        ("(())", "()", False),
        ("((a) b)", "(a (b))", False),
    ],
)
def test_7_trees_are_the_same_if_they_say_the_same(one: str, other: str, are_same: bool):
    assert equal(tree(one), tree(other)) is equal(tree(other), tree(one)) is are_same
    assert (as_json(tree(one)) == as_json(tree(other))) is are_same


def test_a_head_is_a_plain_symbol():
    assert [head(tree(text)) for text in ("(a b)", "()", "('a)", '("a")', "((a))", "(:a)")] == ["a", *[None] * 5]
    assert head(trees.symbol("a")) is None


def test_nil_is_the_empty_list_and_nothing_else():
    assert is_nil(NIL)
    assert not any(map(is_nil, tree('(#f 0 "" nil (()))').value))
    assert is_list(NIL)
    assert not is_list(trees.string(""))


def test_a_walk_meets_every_list_when_it_begins_and_when_it_ends():
    met = [
        (each.node.value if each.node.tag != LIST else "list", each.depth, each.is_end)
        for each in walk(tree("(a (b) ())"))
    ]

    assert met == [
        ("list", 1, False),
        ("a", 1, False),
        ("list", 2, False),
        ("b", 2, False),
        ("list", 2, True),
        ("list", 2, False),
        ("list", 2, True),
        ("list", 1, True),
    ]


def test_however_deep_a_tree_is_nothing_is_called_again_for_it():
    made = one = trees.symbol("a")
    for _ in range(100_000):
        made, one = list_of(made), list_of(one)

    assert extent(made) == (200_001, 100_000)
    assert trees.depth(made) == 100_000
    assert text_of(made) == "(" * 100_000 + "a" + ")" * 100_000
    assert equal(made, one)
    shown = as_json(made)
    while shown[0] == LIST:
        (shown,) = shown[1]
    assert shown == ["sym", "a"]
    _unmade(made, one)


def _unmade(*nodes: Node) -> None:
    """Taken apart from without, as the interpreter would call itself to do so."""
    for node in nodes:
        while node.tag == LIST and node.value:
            node = node.value.pop()
