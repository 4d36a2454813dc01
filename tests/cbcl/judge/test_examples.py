"""Examples beside a dialect are read strictly, and checked by what really comes of them."""

from __future__ import annotations

import pytest

from bb.cbcl.judge import examples
from bb.cbcl.judge.verification import Violation
from bb.cbcl.read import grammar
from bb.cbcl.read.reader import Malformed

_, DIALECT = grammar.definition_in(
    b"""(define work :author @lab :resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)
    (extend assign (who what) (ask who what))
    (extend both (who) ((hello who) (bye who))))"""
)


def checked(text: str) -> list[Violation]:
    return list(examples.check(examples.read(text.encode()), DIALECT, {}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "; nothing but a remark\n",
        '(example (assign @bob "x") (ask @bob "x"))',
        '(example (lang work (assign @bob "x")) (ask @bob "x"))',
        "(example (both @bob) (hello @bob) (bye @bob))",
        "(example (assign @bob) refused INVALID_ARGUMENTS)",
        '(example (assign @bob) refused "INVALID_ARGUMENTS")',
        "(example (assign bob x) refused EXPANSION_FAILED)",
        "(example (lang elsewhere (x)) refused UNKNOWN_DIALECT)",
        '(example (lang cbcl (tell @bob "x")) (tell @bob "x"))',
        '(example (assign @bob "x") ( ask  @bob\n "x" )) ; layout is nothing',
    ],
)
def test_an_example_that_turns_out_as_it_is_written_is_no_violation(text: str):
    assert checked(text) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('(example (assign @bob "x") (ask @bob "y"))', 'the expansion is (ask @bob "x")'),
        ("(example (both @bob) (hello @bob))", "the call expands to 2 messages, not 1: (hello @bob) (bye @bob)"),
        ("(example (both @bob) (hello @bob) (bye @eve))", "message 2 of the expansion is (bye @bob)"),
        (
            '(example (assign @bob "x") refused INVALID_ARGUMENTS)',
            'the call is not refused, but expands to (ask @bob "x")',
        ),
        ("(example (assign @bob) refused NEVER)", "the call is refused with INVALID_ARGUMENTS, not NEVER:"),
        ('(example (assign @bob) (ask @bob "x"))', "the call is refused with INVALID_ARGUMENTS: assign takes 2"),
    ],
)
def test_an_example_that_turns_out_otherwise_is_a_violation_with_its_place(text: str, why: str):
    (found,) = checked(f"\n{text}")

    assert (found.rule, found.at) == ("example", 1)
    assert found.performative in ("assign", "both")
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("(sample (both @bob) (bye @bob))", 0),
        ("(example (both @bob))", 0),
        ("(example both (bye @bob))", 9),
        ("(example (both @bob) (greet @bob))", 22),
        ("(example (both @bob) bye)", 21),
        ("(example (both @bob) refused)", 21),
        ("(example (both @bob) refused A B)", 21),
        ("(example (both @bob) refused 3)", 21),
        ("example", 0),
    ],
)
def test_what_is_no_example_is_refused_with_its_place(text: str, offset: int):
    with pytest.raises(Malformed.error) as refusal:
        examples.read(text.encode())
    assert refusal.value.details["offset"] == offset


def test_what_came_instead_is_harmless_and_short():
    (found,) = checked(f'(example (assign @bob "\u202e{"x" * 190}") (ask @bob "y"))')
    assert "\u202e" not in found.why
    assert len(found.why) < 300


def test_examples_that_come_to_too_much_are_not_all_tried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(examples, "MOST_CHARACTERS", 20)
    definition = grammar.definition_in(
        b"(define d :author @a :resources (:max-depth 8 :max-expansion-size 99 :max-verify-time 9)"
        b" (extend p (x) (tell @b (v x))))"
    )[1]
    three = examples.read(b"(example (p 1) (tell @b (v 1)))" * 3)

    (found,) = examples.check(three, definition, {})

    assert found.at == three[2].node.at
    assert found.why.startswith("not checked: the examples before it produce more than 20 characters")
