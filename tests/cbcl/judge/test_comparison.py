"""What differs between two dialects is found where it begins."""

from __future__ import annotations

import pytest

from bb.cbcl.judge.comparison import Comparison, compare, comparison_json, first_difference
from bb.cbcl.read import grammar
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.reader import Places, Text, single_tree
from bb.cbcl.read.tree import text_of

LIMITS = ":resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)"
GREET = "(extend greet (who) (hello who))"


def dialect(*clauses: str, name: str = "d") -> Definition:
    return grammar.definition_in(f"(define {name} {' '.join(clauses)})".encode())[1]


def between(one_: Definition, other: Definition) -> Comparison:
    return compare(one_, other)


def test_layout_and_comments_are_no_difference():
    found = between(dialect(LIMITS, GREET), dialect("; a remark\n", LIMITS, "\n", GREET))
    assert found.is_same
    assert (found.clauses, found.added, found.removed, found.changed) == ((), (), (), ())


def test_order_is_no_difference_that_can_be_named_but_makes_another_dialect():
    found = between(dialect(LIMITS, GREET), dialect(GREET, LIMITS))
    assert not found.is_same
    assert (found.clauses, found.added, found.removed, found.changed) == ((), (), (), ())


def test_clauses_and_limits_are_compared_by_what_they_say():
    a = dialect(":extends cbcl", ":author @ada", LIMITS)
    b = dialect(":author @bob", LIMITS.replace("200", "300"), name="e")
    found = {each.name: (each.a, each.b) for each in between(a, b).clauses}
    assert found == {
        "name": ("d", "e"),
        "extends": ("cbcl", None),
        "author": ("@ada", "@bob"),
        "max-expansion-size": ("200", "300"),
    }


def test_performatives_come_and_go():
    found = between(dialect(GREET, "(extend a () (ok @x))"), dialect(GREET, "(extend b () (ok @x))"))
    assert (found.added, found.removed, found.changed) == (("b",), ("a",), ())


def test_a_changed_performative_is_shown_where_it_begins_to_differ():
    a = dialect("(extend p (x &key y) (tell @b (v x (or y 1))))")
    b = dialect("(extend p (x &optional y) (tell @b (v x (or y 2))))")
    (change,) = between(a, b).changed
    assert change.params == ("(x &key y)", "(x &optional y)")
    assert change.template is not None
    assert [node and node.value for node in change.template] == ["1", "2"]


@pytest.mark.parametrize(
    ("a", "b", "differs"),
    [
        ("(a b)", "(a b)", None),
        ("(a b)", "(a c)", ("b", "c")),
        ("(a b)", "(a b c)", (None, "c")),
        ("(a (b c) d)", "(a (b) e)", ("c", None)),
        ("(a b)", '(a "b")', ("b", '"b"')),
        ("(a (b))", "(a b)", ("(b)", "b")),
    ],
)
def test_the_first_difference_is_the_first_in_the_text(a: str, b: str, differs: tuple[str | None, str | None] | None):
    found = first_difference(*(single_tree(Text(each.encode())) for each in (a, b)))
    assert (found and tuple(node and text_of(node) for node in found)) == differs


def test_places_are_those_of_each_text():
    texts = [b"(define d\n(extend p ()\n (ok @a)))", b"(define d (extend p () (ok @b)))"]
    a, b = (grammar.definition_in(text)[1] for text in texts)
    found = comparison_json(compare(a, b), (Places(texts[0]), Places(texts[1])))["changed"][0]["template"]
    assert found == {
        "a": {"text": "@a", "offset": 28, "line": 3, "column": 6},
        "b": {"text": "@b", "offset": 27, "line": 1, "column": 28},
    }


def test_lines_and_columns_count_characters_and_may_be_asked_for_in_any_order():
    text = 'é "ü"\n(x\n y)'.encode()
    places = Places(text)
    asked = [text.index(each) for each in (b"y", b"(", b'"', b"y")]
    assert [places(at) for at in asked] == [(3, 2), (2, 1), (1, 3), (3, 2)]


@pytest.mark.parametrize("line", ["x" * 100, "é" * 3000, "\U0001f600" * 5000, "a\né\n" * 9999], ids=len)
def test_a_place_far_behind_is_where_it_would_be_counted_to(line: str):
    text = f"{line}\n{line}(".encode()
    places = Places(text)
    for at in (len(text) - 1, len(line.encode()), 4096 if len(text) > 4096 else 0, 8190 if len(text) > 8190 else 0):
        before = text[:at].decode("utf-8", "ignore")
        lines = before.split("\n")
        assert places(at) in [(len(lines), len(lines[-1]) + 1), (len(lines), len(lines[-1]) + 2)]
    assert places(len(text) - 1) == (2 * line.count("\n") + 2, len(line.rpartition("\n")[2]) + 1)
