"""The grammar of definitions: clauses, limits, performatives and their parameters."""

from __future__ import annotations

import pytest

from bb.cbcl.read import canonical
from bb.cbcl.read.reader import DIALECT, LEX
from bb.cbcl.read.tree import text_of
from tests.cbcl.trees import definition, place, refused


def at_of(text: str) -> tuple[str, int]:
    """Why a definition is refused, and at which octet of it."""
    reason, offset = place(refused(f"(meta {text})"))
    return reason, offset - len("(meta ")


def params(written: str) -> list[tuple[str, str]]:
    (found,) = definition(f"(define d (extend p ({written}) (ok @b)))").performatives
    return [(each.section, each.name) for each in found.params]


# -- §3 clauses


def test_3_clauses_stand_in_any_order():
    one = definition("(define d :extends e :author @a :resources (:max-depth 3) (extend p () (ok @b)))")
    other = definition("(define d (extend p () (ok @b)) :resources (:max-depth 3) :author @a :extends e)")

    for each in (one, other):
        assert (each.name, each.extends, each.parent, each.author) == ("d", "e", "e", "a")
        assert (each.resources, each.limit("max-depth"), each.limit("max-expansion-size")) == (
            {"max-depth": 3},
            3,
            None,
        )
        assert [performative.name for performative in each.performatives] == ["p"]


def test_3_a_definition_without_clauses_is_read():
    found = definition("(define d)")

    assert (found.extends, found.parent, found.author, found.resources) == (None, "cbcl", None, None)
    assert found.performatives == ()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(define)", 1),
        ("(define 42)", 8),
        ("(define 'd)", 8),
        ('(define "d")', 8),
        ("(define (d))", 8),
        ("(define :extends e)", 8),
        ("(define d e)", 10),
        ("(define d ())", 10),
        ("(define d (Extend p () (ok @b)))", 10),
        ("(define d (expand p () (ok @b)))", 10),
        ('(define d "about")', 10),
        ("(define d :examples ())", 10),
        ("(define d :signature abc)", 10),
        ("(define d :hash abc)", 10),
        ("(define d :protocol ())", 10),
        ("(define d :Author @a)", 10),
        ("(define d :extends)", 10),
        ("(define d :extends 'e)", 19),
        ('(define d :extends "e")', 19),
        ("(define d :extends (e f))", 19),
        ("(define d :extends 42)", 19),
        ("(define d :author a)", 18),
        ('(define d :author "@a")', 18),
        ("(define d :author)", 10),
        ("(define d :resources :max-depth 3)", 21),
        ("(define d :resources)", 10),
        ("(define d :extends e :extends e)", 21),
        ("(define d :author @a :author @b)", 21),
        ("(define d :resources () :resources ())", 24),
    ],
)
def test_3_there_are_no_other_clauses_and_each_stands_once(text: str, at: int):
    assert at_of(text) == (DIALECT, at)


# -- §3 limits


def test_3_limits_stand_in_any_order():
    found = definition("(define d :resources (:max-verify-time 3 :max-depth 1 :max-expansion-size 2))")

    assert found.resources == {"max-depth": 1, "max-expansion-size": 2, "max-verify-time": 3}


def test_11_1_the_short_form_of_a_limit_means_the_same_and_stays_as_it_is_written():
    text = "(define d :resources (:max-expansion 2))"
    found = definition(text)

    assert found.resources == {"max-expansion-size": 2}
    assert text_of(found.node) == text


@pytest.mark.parametrize("number", ["0", "-1", "4294967312", "9" * 1000])
def test_5_limits_are_read_as_large_as_they_are(number: str):
    assert definition(f"(define d :resources (:max-depth {number}))").limit("max-depth") == int(number)


@pytest.mark.parametrize(
    ("limits", "at"),
    [
        (":max-depth", 0),
        (":max-depth x", 11),
        (':max-depth "3"', 11),
        (":max-depth 3.0", 11),
        (":max-depth (3)", 11),
        (":max-depth :max-expansion-size 3", 11),
        (f":max-depth {'9' * 1001}", 11),
        (":max-time 3", 0),
        (":Max-depth 3", 0),
        (":timeout 3", 0),
        ("max-depth 3", 0),
        ("3", 0),
        (":max-depth 3 4", 13),
        (":max-depth 3 :max-depth 3", 13),
        (":max-expansion 3 :max-expansion-size 3", 17),
        (":max-expansion-size 3 :max-expansion 3", 22),
    ],
)
def test_3_there_are_three_limits_and_each_is_a_whole_number(limits: str, at: int):
    assert at_of(f"(define d :resources ({limits}))") == (DIALECT, 22 + at)


# -- §3 performatives


@pytest.mark.parametrize(
    ("extension", "at"),
    [
        ("(extend)", 0),
        ("(extend p)", 0),
        ("(extend p ())", 0),
        ("(extend p () (ok @b) (ok @c))", 21),
        ("(extend p () :k x)", 16),
        ("(extend 42 () (ok @b))", 8),
        ("(extend 'p () (ok @b))", 8),
        ('(extend "p" () (ok @b))', 8),
        ("(extend () () (ok @b))", 8),
        ("(extend p x (ok @b))", 10),
        ("(extend p (ok @b) ())", 14),
    ],
)
def test_3_an_extension_is_a_name_parameters_and_one_template(extension: str, at: int):
    assert at_of(f"(define d {extension})") == (DIALECT, 10 + at)


def test_3_what_makes_no_sense_as_a_template_is_read_all_the_same():
    for template in ('"x"', "x", "()", "42", "(lang e (q))", "(= 1 2)", "&key", "(or)"):
        (found,) = definition(f"(define d (extend p () {template}))").performatives
        assert text_of(found.template) == template


def test_1_a_template_holds_nothing_that_means_something_only_elsewhere():
    assert at_of("(define d (extend p () (tell @b (x a/b))))") == (LEX, 35)


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (
            "(envelope :from @a :timestamp 2026-11-22T10:00:00Z (ok @b))",
            '(envelope :from @a :timestamp "2026-11-22T10:00:00Z" (ok @b))',
        ),
        ("(signed aGk= (ok @b))", '(signed "aGk=" (ok @b))'),
        (
            "(cond ((= x 1) (with-limits :timeout 5 (signed a/b= (ok @b)))) (else ((ok @b) (signed c+d (ok @b)))))",
            '(cond ((= x 1) (with-limits :timeout 5 (signed "a/b=" (ok @b)))) (else ((ok @b) (signed "c+d" (ok @b)))))',
        ),
    ],
)
def test_11_9_11_10_a_wrapper_in_a_template_may_have_its_date_time_and_signature_unquoted(template: str, written: str):
    plain, quoted = (definition(f"(define d (extend p (x) {each}))") for each in (template, written))

    assert text_of(plain.performatives[0].template) == written
    assert canonical.digest(plain.node) == canonical.digest(quoted.node)


@pytest.mark.parametrize(
    "template",
    [
        "(envelope :timestamp 2026-13-22T10:00:00Z (ok @b))",  # there is no such month
        "(envelope :from 2026-11-22T10:00:00Z (ok @b))",
        "(envelope 2026-11-22T10:00:00Z :timestamp (ok @b))",
        "(signed 2026-11-22T10:00:00Z (ok @b))",
        '(signed "aGk" aGk= (ok @b))',
        "(tell @b (signed aGk= (ok @b)))",  # data, in which no head means anything
        "(with-limits :timeout aGk= (ok @b))",
    ],
)
def test_11_9_11_10_neither_stands_anywhere_else_in_a_template(template: str):
    assert at_of(f"(define d (extend p (x) {template}))")[0] == LEX


# -- §3 §11.15 parameters


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", []),
        ("a b", [("req", "a"), ("req", "b")]),
        ("&key a b", [("key", "a"), ("key", "b")]),
        ("a &key b", [("req", "a"), ("key", "b")]),
        ("&optional a b", [("optional", "a"), ("optional", "b")]),
        ("&rest a", [("rest", "a")]),
        (
            "a &optional b c &rest d &key e f",
            [("req", "a"), ("optional", "b"), ("optional", "c"), ("rest", "d"), ("key", "e"), ("key", "f")],
        ),
        ("&key a &key b", [("key", "a"), ("key", "b")]),
        ("&optional a &optional b &key c", [("optional", "a"), ("optional", "b"), ("key", "c")]),
        ("a a &key a", [("req", "a"), ("req", "a"), ("key", "a")]),
        ("tell or", [("req", "tell"), ("req", "or")]),
    ],
)
def test_3_a_marker_stays_in_force_until_the_next(written: str, expected: list[tuple[str, str]]):
    assert params(written) == expected


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("&key a &optional b", 7),
        ("&key a &rest b", 7),
        ("&rest a &optional b", 8),
        ("&rest a b", 8),
        ("&rest a &rest b", 8),
        ("&key", -1),
        ("&optional", -1),
        ("&rest", -1),
        ("a &rest", -1),
        ("&optional &key a", 10),
        ("&rest &key a", 6),
        ("&key &key a", 5),
        ("speak? a", 0),
        ("a = b", 2),
        ("42", 0),
        ("'a", 0),
        (":a", 0),
        ("@a", 0),
        ('"a"', 0),
        ("(a b)", 0),
        ("#t", 0),
        ("a/b", 0),
    ],
)
def test_3_parameters_are_names_in_sections_in_order(written: str, at: int):
    assert at_of(f"(define d (extend p ({written}) (ok @b)))") == (DIALECT, 21 + at)
