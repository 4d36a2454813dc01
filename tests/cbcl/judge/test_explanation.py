"""How a call came to its messages: parameters, choices, limits, each with its reason."""

from __future__ import annotations

import pytest

from bb.cbcl.judge.expansion import InvalidArguments, Limits, UnknownDialect, UnknownPerformative
from bb.cbcl.judge.explanation import Explanation, explain
from bb.cbcl.read import grammar
from bb.cbcl.read.reader import MAXIMUM_BOUNDS
from bb.cbcl.read.tree import text_of
from bb.kernel.errors import Refusal
from tests.cbcl.trees import steps

_, WORK = grammar.definition_in(
    b"""(define work :author @lab :resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)
    (extend assign (who &optional why &rest more &key by)
      (cond ((= why urgent) (ask who (do :why why :by (or by now))))
            ((type? why string) (tell who why))
            (else (tell who (do more (or (cond ((= by never) ()) (else by)) "soon"))))))
    (extend only (x) (cond ((= x 1) (ok @a))))
    (extend long (x) (tell @a (v x x x x))))"""
)
POLICY = Limits(32, 8192)


def of(text: str, policy: Limits = POLICY) -> Explanation:
    found = explain(grammar.message(text.encode()), {"work": WORK}, policy)
    assert found is not None
    return found


def test_each_parameter_says_where_its_value_is_from():
    found = of("(lang work (assign @bob urgent a b :by friday))")
    assert [(each.name, text_of(each.value), each.source, each.place) for each in found.bound] == [
        ("who", "@bob", "argument", 1),
        ("why", "urgent", "argument", 2),
        ("more", "(a b)", "argument", 3),
        ("by", "friday", "keyword", None),
    ]


def test_what_is_not_given_is_nil():
    found = of("(lang work (assign @bob))")
    assert [(each.name, text_of(each.value), each.source) for each in found.bound[1:]] == [
        ("why", "()", "nil"),
        ("more", "()", "nil"),
        ("by", "()", "nil"),
    ]


def test_each_choice_says_which_branch_was_taken_and_which_test_held():
    found = of('(lang work (assign @bob "late"))')
    (choice,) = found.choices
    assert [(each.test and text_of(each.test), each.is_taken) for each in choice.tried] == [
        ("(= why urgent)", False),
        ("(type? why string)", True),
    ]
    assert choice.taken is not None
    assert text_of(choice.taken) == "(tell who why)"


@pytest.mark.parametrize(
    ("call", "taken"),
    [
        ("(assign @bob urgent)", ["(ask who (do :why why :by (or by now)))", "now"]),
        ("(assign @bob urgent :by x)", ["(ask who (do :why why :by (or by now)))", "by"]),
        ("(assign @bob)", ['"soon"', "by"]),
        ("(assign @bob () :by never)", ['"soon"', "()"]),
        ("(assign @bob () :by x)", ["(cond ((= by never) ()) (else by))", "by"]),
    ],
)
def test_choices_within_choices_are_told_as_far_as_they_were_met(call: str, taken: list[str]):
    found = of(f"(lang work {call})")
    assert [text_of(each.taken) for each in found.choices if each.taken][-2:] == taken
    assert found.expansion is not None


def test_what_comes_of_it_is_told_even_where_it_is_refused():
    found = of("(lang work (only 2))")
    assert found.expansion is None
    assert found.refusal is not None
    assert found.refusal.code == "EXPANSION_FAILED"
    assert found.choices[0].taken is None


@pytest.mark.parametrize(
    ("text", "policy", "granted"),
    [
        ("(lang work (long a))", POLICY, {"max-depth": (8, "declared"), "max-expansion-size": (200, "declared")}),
        ("(lang work (long a))", Limits(4, 100), {"max-depth": (4, "policy"), "max-expansion-size": (100, "policy")}),
        (
            "(with-limits :max-depth 5 :max-expansion-size 60 (lang work (long a)))",
            POLICY,
            {"max-depth": (5, "hint"), "max-expansion-size": (60, "hint")},
        ),
        (
            "(with-limits :max-depth 9 (with-limits :max-depth 6 (lang work (long a))))",
            POLICY,
            {"max-depth": (6, "hint"), "max-expansion-size": (200, "declared")},
        ),
    ],
)
def test_each_limit_says_who_has_set_it(text: str, policy: Limits, granted: dict[str, tuple[int, str]]):
    assert {each.name: (each.granted, each.source) for each in of(text, policy).limits} == granted


def test_the_limits_told_are_those_that_were_kept():
    found = of("(with-limits :max-depth 5 (lang work (long a)))", Limits(32, 50))
    assert found.expansion is not None
    assert [each.granted for each in found.limits] == [found.expansion.room.depth, found.expansion.room.size]


def test_too_much_is_told_with_the_limit():
    found = of(f"(lang work (long {'x' * 60}))")
    assert found.refusal is not None
    assert found.refusal.code == "RESOURCE_LIMIT"


@pytest.mark.parametrize("text", ['(tell @bob "x")', '(lang work (tell @bob "x"))', "(meta (query (speak? work)))"])
def test_what_calls_nothing_is_not_explained(text: str):
    assert explain(grammar.message(text.encode()), {"work": WORK}, POLICY) is None


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("(lang nowhere (x))", UnknownDialect),
        ("(lang work (x))", UnknownPerformative),
        ("(lang work (long))", InvalidArguments),
    ],
)
def test_a_call_that_fits_nothing_is_refused_as_when_it_is_expanded(text: str, refusal: Refusal):
    with pytest.raises(refusal.error):
        explain(grammar.message(text.encode()), {"work": WORK}, POLICY)


def test_choices_within_choices_are_told_once_each_in_the_order_of_the_text():
    _, nested = grammar.definition_in(
        b"""(define work :author @lab :resources (:max-depth 9 :max-expansion-size 200 :max-verify-time 100)
        (extend p (a &optional b)
          (tell @lab (x (or (or (cond ((= a 1) b) (else "no")) (or b ())) (cond ((= a 1) "one"))) (or a b)))))"""
    )
    found = explain(grammar.message(b"(lang work (p 1))"), {"work": nested}, POLICY)

    assert found
    assert found.expansion
    assert [
        (text_of(each.form)[:8], each.taken and text_of(each.taken), each.tried[-1].why) for each in found.choices
    ] == [
        ("(or (or ", '(cond ((= a 1) "one"))', "the first alternative is nil"),
        ("(or (con", "(or b ())", "the first alternative is nil"),
        ("(cond ((", "b", "the test holds"),
        ("(or b ()", "()", "the first alternative is nil"),
        ("(cond ((", '"one"', "the test holds"),
        ("(or a b)", "a", "the first alternative is not nil"),
    ]


def test_of_a_choice_within_others_of_which_no_test_holds_all_are_told():
    _, nested = grammar.definition_in(
        b"""(define work :author @lab :resources (:max-depth 9 :max-expansion-size 200 :max-verify-time 100)
        (extend p (a) (tell @lab (x (or (or (cond ((= a 1) a)) "two") "three")))))"""
    )
    found = explain(grammar.message(b"(lang work (p 2))"), {"work": nested}, POLICY)

    assert found
    assert found.refusal
    assert [each.tried[-1].why for each in found.choices] == [
        "no test of the first alternative holds",
        "no test of the first alternative holds",
        "the test does not hold",
    ]


def test_what_it_costs_to_explain_grows_with_the_text_and_not_with_how_choices_stand_in_each_other():
    def explained(deep: int) -> int:
        long = " ".join("y" for _ in range(2000))
        template = f'(tell @lab (x {"(or " * deep}(cond ((member a ({long})) "no") (else ())){" ())" * deep}))'
        text = f"(define work :author @lab (extend p (a) {template}))"
        _, nested = grammar.definition_in(text.encode(), MAXIMUM_BOUNDS)
        call = grammar.message(b"(lang work (p 1))")
        return steps(lambda: explain(call, {"work": nested}, POLICY))

    assert explained(50) < 2 * explained(1)
