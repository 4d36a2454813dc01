"""Expansion: binding, filling, choosing, counting; and that what an argument says is never taken for anything else."""

from __future__ import annotations

import pytest

from bb.cbcl.judge.expansion import (
    MAXIMUM_ROOM,
    InvalidArguments,
    Limits,
    ResourceLimit,
    UnknownDialect,
    UnknownPerformative,
    expand,
    limited_by_hints,
)
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.reader import Bounds
from bb.cbcl.read.templates import ExpansionFailed
from bb.cbcl.read.tree import equal, text_of
from bb.kernel.errors import BbError
from tests.cbcl.trees import definition, dialect, expanded, expansion, read, steps, tree


def filled(template: str, params: str, args: str) -> str:
    """The one message that a call of `p` comes to."""
    (found,) = expanded(f"(lang d (p {args}))", dialect(f"(extend p ({params}) {template})"))
    return found


def said(params: str, args: str) -> str:
    """What each parameter stands for, in order."""
    names = " ".join(each for each in params.split() if not each.startswith("&"))
    return filled(f"(tell @b ({names}))", params, args).removeprefix("(tell @b (").removesuffix("))")


def refusal(kind: type[BbError], text: str, *dialects: str, room: Limits = MAXIMUM_ROOM) -> BbError:
    with pytest.raises(kind) as found:
        expanded(text, *dialects, room=room)
    return found.value


# -- §7.1 binding


@pytest.mark.parametrize(
    ("params", "args", "expected"),
    [
        ("", "", ""),
        ("a b", "1 2", "1 2"),
        ("a &optional b", "1", "1 ()"),
        ("a &optional b", "1 2", "1 2"),
        ("&optional a b", "1", "1 ()"),
        ("a &rest b", "1", "1 ()"),
        ("a &rest b", "1 2 3", "1 (2 3)"),
        ("&rest a", "", "()"),
        ("&rest a", "(1 2)", "((1 2))"),
        ("a &optional b &rest c", "1 2 3 4", "1 2 (3 4)"),
        ("a &optional b &rest c", "1", "1 () ()"),
        ("&key a b", "", "() ()"),
        ("&key a b", ":b 1", "() 1"),
        ("&key a b", ":b 1 :a 2", "2 1"),
        ("a &optional b &rest c &key d", "1 2 3 :d 4", "1 2 (3) 4"),
        ("a", "()", "()"),
    ],
)
def test_7_1_arguments_fill_required_then_optional_then_rest_and_keys_by_name(params: str, args: str, expected: str):
    assert said(params, args) == expected


@pytest.mark.parametrize(
    ("params", "args"),
    [
        ("", "1"),
        ("a", ""),
        ("a b", "1"),
        ("a", "1 2"),
        ("a &optional b", ""),
        ("a &optional b", "1 2 3"),
        ("a &rest b", ""),
        ("a &key b", "1 2"),
        ("a &key b", ":b 1"),
        ("a &key b", ":a 1"),
        ("a", "1 :a 1"),
        ("a", "1 :b 1"),
        ("&optional a", ":a 1"),
        ("&rest a", ":a 1"),
        ("&key a", ":A 1"),
    ],
)
def test_7_1_a_call_that_does_not_fit_is_refused(params: str, args: str):
    found = refusal(InvalidArguments.error, f"(lang d (p {args}))", dialect(f"(extend p ({params}) (ok @b))"))

    assert found.code == "INVALID_ARGUMENTS"


def test_7_1_a_refusal_repeats_no_more_than_a_few_characters():
    long = "x" * 5000
    texts = [f"(lang {long} (p))", f"(lang d ({long}))", f"(lang d (p 1 :{long} 1))", f"(lang d ({long[1:]} 1))"]
    more = dialect(f"(extend {long[1:]} () (ok @b))", "(extend p (a) (ok @b))")

    for text in texts:
        with pytest.raises((UnknownDialect.error, UnknownPerformative.error, InvalidArguments.error)) as found:
            expanded(text, more)
        assert len(found.value.message) < 200
        assert all(len(str(each)) < 100 for each in found.value.details.values())


# -- §7.2 values


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("(list 1 2)", "(1 2)"),
        ("(list)", "()"),
        ("(list (list 1) (list))", "((1) ())"),
        ('(list "a" (b (list 1)) :k)', '("a" (b (list 1)) :k)'),
        ("((list 1))", "((list 1))"),
        ("(1 2)", "(1 2)"),
        ("('list 1)", "('list 1)"),
        ("list", "list"),
        ('("list" 1)', '("list" 1)'),
    ],
)
def test_7_2_a_list_is_built_in_arguments_only(argument: str, value: str):
    assert said("a", argument) == value
    assert said("&key a", f":a {argument}") == value
    assert said("&rest a", argument) == f"({value})"
    assert filled("(tell @b (x (list 1)))", "", "") == "(tell @b (x (list 1)))"
    assert expanded("(lang d (p))", dialect("(extend p (&optional a) (tell @b (list 1 a)))")) == [
        "(tell @b (list 1 ()))"
    ]


# -- §7.3 filling


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("(tell @b (a))", "(tell @b (1))"),
        ("(tell @b (a b a))", "(tell @b (1 (2) 1))"),
        ("(tell @b (x (a (b))))", "(tell @b (x (1 ((2)))))"),
        ("(tell @b b)", "(tell @b (2))"),
        ("(tell @b :a a)", "(tell @b :a 1)"),
        ('(tell @a (\'a :a @a "a" A))', '(tell @a (\'a :a @a "a" A))'),
        ("(tell @b (a-b ab))", "(tell @b (a-b ab))"),
        ("(envelope (tell @b b))", "(envelope (tell @b (2)))"),
    ],
)
def test_7_3_only_plain_symbols_are_gaps_and_they_are_anywhere(template: str, expected: str):
    assert filled(template, "a b", "1 (2)") == expected


INERT = [
    *(
        "a",
        "b",
        "or",
        "(or a b)",
        "(cond ((member a (1)) (ok @b)))",
        "(cond)",
        "(or)",
        "else",
        "(p 1 2)",
        "(list)",
        "(tell @x)",
    ),
    *("(lang d (p))", "(meta (define d))", "(member a (1))", "'a", "@a", "(a b)", "((a))", '"(or a b)"'),
]


@pytest.mark.parametrize("argument", INERT)
def test_7_3_an_argument_stays_what_it_is_whatever_it_spells(argument: str):
    value = "()" if argument == "(list)" else argument

    assert filled("(tell @b (x a b))", "a b", f"{argument} 7") == f"(tell @b (x {value} 7))"
    assert filled("(tell @b (x a b))", "&key a b", f":b 7 :a {argument}") == f"(tell @b (x {value} 7))"
    assert filled("(tell @b (x a))", "&rest a", argument) == f"(tell @b (x ({value})))"


@pytest.mark.parametrize("argument", [each for each in INERT if each != "(list)"])
def test_7_3_an_argument_stays_what_it_is_where_a_choice_takes_it(argument: str):
    assert filled("(tell @b (x (or a b)))", "a b", f"{argument} 7") == f"(tell @b (x {argument}))"
    template = "(tell @b (x (cond ((= b 7) a) (else 1))))"
    assert filled(template, "a b", f"{argument} 7") == f"(tell @b (x {argument}))"


def test_7_3_what_comes_out_is_not_expanded_again():
    more = dialect("(extend p (a) (tell @b (q a)))", "(extend r (a) (tell @b (x a)))")

    assert expanded("(lang d (p (r 1)))", more) == ["(tell @b (q (r 1)))"]


def test_7_3_a_string_never_becomes_syntax():
    assert said("a", r'"x\") (bye @b) (\""') == r'"x\") (bye @b) (\""'


def test_7_3_nothing_is_spliced():
    assert said("&rest a", "1 2") == "(1 2)"
    assert filled("(tell @b (x a y))", "&rest a", "1 2") == "(tell @b (x (1 2) y))"


# -- §7.4 or


@pytest.mark.parametrize("value", ["#f", "0", '""', "'nil", "nil", "(())", '("")'])
def test_7_4_only_the_empty_list_is_nil(value: str):
    assert filled("(tell @b (x (or a 9)))", "a", value) == f"(tell @b (x {value}))"


@pytest.mark.parametrize(
    ("choice", "args", "expected"),
    [
        ("(or a 9)", "()", "9"),
        ("(or a 9)", "(list)", "9"),
        ("(or a b)", "() 2", "2"),
        ("(or a b)", "() ()", "()"),
        ("(or () a)", "1", "1"),
        ("(or a ())", "()", "()"),
        ("(or (or a b) 9)", "() ()", "9"),
        ("(or (or a b) 9)", "() 2", "2"),
        ("(or (or a b) 9)", "1 ()", "1"),
        ("(or a (or b 9))", "() ()", "9"),
        ("(or (or () ()) (or () a))", "1", "1"),
        ("(or (x a) 9)", "1", "(x 1)"),
        ("(or (cond ((= a 1) b) (else 8)) 9)", "1 ()", "9"),
        ("(or (cond ((= a 1) b) (else 8)) 9)", "2 ()", "8"),
        ("(or a (x (or b (y b))))", "() ()", "(x (y ()))"),
    ],
)
def test_7_4_or_is_its_first_unless_that_is_nil(choice: str, args: str, expected: str):
    assert filled(f"(tell @b (z {choice}))", "a &optional b", args) == f"(tell @b (z {expected}))"


def test_7_4_or_stands_anywhere_in_a_message():
    template = '(envelope (tell (or who @b) (or text "nothing") :k (or k (1 (or k 2)))))'

    assert filled(template, "&key who text k", "") == '(envelope (tell @b "nothing" :k (1 2)))'
    assert filled(template, "&key who text k", ':k 3 :who @c :text "x"') == '(envelope (tell @c "x" :k 3))'


# -- §7.5 cond


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ("(= a 1)", "1", True),
        ("(= a 1)", "001", True),
        ("(= a 1)", "1.0", False),
        ("(= a 1.0)", "1.00", True),
        ("(= a 1)", '"1"', False),
        ("(= a x)", "x", True),
        ("(= a x)", '"x"', False),
        ("(= a x)", "'x", False),
        ("(= a 'x)", "'x", True),
        ("(= a x)", "X", False),
        ("(= a @x)", "@x", True),
        ("(= a #t)", "#t", True),
        ("(= a #t)", "#f", False),
        ("(= a ())", "()", True),
        ("(= a ())", "(list)", True),
        ("(= a (x (1.50)))", "(x (1.5))", True),
        ("(= a (x y))", "(y x)", False),
        ("(= a b)", "b", True),
        ("(= a b)", "2", False),
        ("(member a (1 x (y)))", "1", True),
        ("(member a (1 x (y)))", "(y)", True),
        ("(member a (1 x (y)))", "y", False),
        ("(member a (1 x (y)))", "(1 x (y))", False),
        ("(member a ())", "()", False),
        ("(member a (()))", "()", True),
        ("(type? a string)", '"x"', True),
        ("(type? a string)", "x", False),
        ("(type? a number)", "1", True),
        ("(type? a number)", "-1.5", True),
        ("(type? a boolean)", "#f", True),
        ("(type? a symbol)", "x", True),
        ("(type? a symbol)", "'x", True),
        ("(type? a symbol)", "@x", False),
        ("(type? a list)", "(x)", True),
        ("(type? a list)", "()", True),
        ("(type? a agent)", "@x", True),
        ("(type? a agent)", '"@x"', False),
    ],
)
def test_7_5_a_test_is_of_the_tree_that_a_parameter_stands_for(test: str, value: str, holds: bool):
    template = f"(cond ({test} (ok @yes)) (else (ok @no)))"

    assert filled(template, "a &optional b", f"{value} 2") == ("(ok @yes)" if holds else "(ok @no)")


def test_7_5_the_first_test_that_holds_decides():
    template = "(cond ((type? a number) (ok @one)) ((= a 1) (ok @two)) ((= a x) (ok @three)) (else (ok @four)))"

    assert [filled(template, "a", each) for each in ("1", "x", "y")] == ["(ok @one)", "(ok @three)", "(ok @four)"]


def test_7_5_without_a_test_that_holds_and_without_else_there_is_nothing():
    more = dialect("(extend p (a) (cond ((= a 1) (ok @b))))", "(extend q (a) (tell @b (x (cond ((= a 1) 1)))))")

    for name in ("p", "q"):
        assert refusal(ExpansionFailed.error, f"(lang d ({name} 2))", more).code == "EXPANSION_FAILED"


def test_7_5_a_cond_within_a_message_is_decided_as_well():
    template = "(tell @b (x (cond ((= a 1) (y (cond ((= b 2) a) (else z)))) (else (or b w)))))"

    assert filled(template, "a &optional b", "1 2") == "(tell @b (x (y 1)))"
    assert filled(template, "a &optional b", "1") == "(tell @b (x (y z)))"
    assert filled(template, "a &optional b", "2") == "(tell @b (x w))"


# -- §7.6 sequences


def test_7_6_a_sequence_is_several_messages_in_order():
    template = "((ok @a) ((tell @b (x a)) (cond ((= a 1) ((ok @c) (ok @d))) (else a))) (ok @e))"
    more = dialect(f"(extend p (a) {template})")

    assert expanded("(lang d (p 1))", more) == ["(ok @a)", "(tell @b (x 1))", "(ok @c)", "(ok @d)", "(ok @e)"]
    assert expanded("(lang d (p (bye @f)))", more) == ["(ok @a)", "(tell @b (x (bye @f)))", "(bye @f)", "(ok @e)"]


def test_7_6_a_sequence_is_of_all_or_of_nothing():
    refusal(ExpansionFailed.error, "(lang d (p x))", dialect("(extend p (a) ((ok @b) (ok a)))"))


def test_7_6_an_argument_is_no_sequence():
    refusal(ExpansionFailed.error, "(lang d (p ((ok @b) (ok @c))))", dialect("(extend p (a) a)"))
    refusal(ExpansionFailed.error, "(lang d (p (ok @b) (ok @c)))", dialect("(extend p (&rest a) a)"))


def test_7_6_a_list_of_lists_within_a_message_is_data():
    assert filled("(tell @b ((x a) (y)))", "a", "1") == "(tell @b ((x 1) (y)))"


# -- §7.8 what comes out is read again


@pytest.mark.parametrize(
    ("template", "argument"),
    [
        ("(tell a)", '"b"'),
        ("(tell a)", "b"),
        ("(tell a)", "()"),
        ("(tell @b a)", "x"),
        ("(tell @b a)", "1"),
        ("(tell @b a)", "@c"),
        ("a", "x"),
        ("a", "()"),
        ("a", "(p 1)"),
        ("a", "(meta (define d))"),
        ("a", "(lang d (p (ok @b)))"),
        ("(envelope a)", "(lang d (p (ok @b)))"),
        ("a", "(envelope (signed abc (meta (define d))))"),
        ("(envelope :from a (ok @b))", "x"),
        ("(envelope :timestamp a (ok @b))", '"yesterday"'),
        ("(with-limits :timeout a (ok @b))", "0"),
        ("(signed a (ok @b))", "()"),
    ],
)
def test_7_8_what_is_no_message_is_not_said(template: str, argument: str):
    found = refusal(ExpansionFailed.error, f"(lang d (p {argument}))", dialect(f"(extend p (a) {template})"))

    assert found.code == "EXPANSION_FAILED"


@pytest.mark.parametrize(
    ("template", "argument", "expected"),
    [
        ("a", "(ok @b)", "(ok @b)"),
        ("(envelope a)", '(signed abc (tell @b "x"))', '(envelope (signed "abc" (tell @b "x")))'),
        ("(tell a)", "@c", "(tell @c)"),
        ("(tell @b a)", '"x"', '(tell @b "x")'),
        (
            "(envelope :timestamp a (ok @b))",
            '"2025-01-15T14:30:00Z"',
            '(envelope :timestamp "2025-01-15T14:30:00Z" (ok @b))',
        ),
    ],
)
def test_7_8_what_is_a_message_is_said(template: str, argument: str, expected: str):
    assert filled(template, "a", argument) == expected


# -- §5 limits


def limited(template: str, depth: int, size: int, params: str = "a") -> str:
    return dialect(
        f"(extend p ({params}) {template})",
        limits=f":max-depth {depth} :max-expansion-size {size} :max-verify-time 1",
    )


@pytest.mark.parametrize(
    ("template", "argument"),
    [
        ("(tell @b (x a))", '"é漢😀\\n"'),
        ("(tell @b (x a))", "(1 (2 ()) 3)"),
        ("(tell @b (a a ()))", "()"),
        ("(tell @b :k a)", "12"),
        ("(tell @b (x (or a 12)))", "()"),
        ("((tell @b (x a)) (ok @c) (tell @d a))", "(x y)"),
        ("(envelope (tell @b (x (cond ((= a 1) (y)) (else (z a))))))", "2"),
    ],
)
def test_5_what_reaches_a_limit_keeps_it_and_what_exceeds_it_is_not_said(template: str, argument: str):
    call = f"(lang d (p {argument}))"
    made = expansion(call, dialect(f"(extend p (a) {template})"))
    size, depth = made.size, made.depth

    assert size == sum(len(text_of(each.node)) for each in made.messages)
    assert expanded(call, limited(template, depth, size)) == expanded(call, limited(template, depth + 1, size + 1))
    assert refusal(ResourceLimit, call, limited(template, depth, size - 1)).code == "RESOURCE_LIMIT"
    refusal(ResourceLimit, call, dialect(f"(extend p (a) {template})"), room=Limits(depth, size - 1))
    refusal(ResourceLimit, call, dialect(f"(extend p (a) {template})"), room=Limits(depth - 1, size))
    assert expansion(call, dialect(f"(extend p (a) {template})"), room=Limits(depth, size)).size == size


def test_5_depth_is_counted_with_what_is_filled_in():
    more = limited("(tell @b (x a))", 4, 100)

    assert expanded("(lang d (p ((y))))", more) == ["(tell @b (x ((y))))"]
    refusal(ResourceLimit, "(lang d (p (((y)))))", more)


def test_5_size_is_counted_over_a_whole_sequence():
    template = "((tell @b a) (tell @b a))"

    assert len(expanded('(lang d (p "1234"))', limited(template, 3, 32))) == 2
    refusal(ResourceLimit, '(lang d (p "12345"))', limited(template, 3, 32))


def test_5_too_much_is_refused_before_it_is_made():
    template = f"(tell @b (x {'a ' * 500}))"
    long = "y" * 500_000
    more = dialect(f"(extend p (a) {template})")
    message = read(f'(lang d (p "{long}"))')
    known = {"d": definition(more)}

    def call() -> None:
        with pytest.raises(ResourceLimit):
            expand(message, known)

    assert steps(call) < 1_000


def test_5_no_more_than_sixty_four_levels_are_ever_made():
    more = dialect(
        "(extend p (a) (tell @b (x (y a))))", limits=":max-depth 64 :max-expansion-size 999 :max-verify-time 1"
    )
    deepest, deeper = (f"(lang d (p {'(' * levels}{')' * levels}))" for levels in (61, 62))

    assert expansion(deepest, more, bounds=Bounds(depth=64)).depth == 64
    with pytest.raises(ResourceLimit):
        expansion(deeper, more, bounds=Bounds(depth=64))


# -- §5 hints


@pytest.mark.parametrize(
    ("hints", "room"),
    [
        ("", Limits(64, 65_536)),
        (":max-depth 10", Limits(10, 65_536)),
        (":max-expansion-size 99", Limits(64, 99)),
        (":timeout 5", Limits(64, 65_536)),
        (":max-depth 100 :max-expansion-size 100000", Limits(64, 65_536)),
        (":max-depth 99999999999999999999", Limits(64, 65_536)),
    ],
)
def test_5_a_hint_makes_the_room_smaller_and_never_larger(hints: str, room: Limits):
    assert limited_by_hints(read(f"(with-limits {hints} (ok @b))"), MAXIMUM_ROOM) == room


def test_5_of_several_hints_the_smallest_counts():
    text = "(with-limits :max-depth 9 (envelope (with-limits :max-depth 12 :max-expansion-size 50 (ok @b))))"

    assert limited_by_hints(read(text), MAXIMUM_ROOM) == Limits(9, 50)
    assert limited_by_hints(read(text), Limits(5, 40)) == Limits(5, 40)


@pytest.mark.parametrize("around", ["{}", "(signed abc {})", "(envelope {})", "(lang e {})"])
def test_5_a_depth_hint_is_of_what_is_wrapped(around: str):
    inner = around.format("(tell @b (x (y)))")
    depth = 3 + (around != "{}")

    assert limited_by_hints(read(f"(with-limits :max-depth {depth} {inner})"), MAXIMUM_ROOM).depth == depth
    with pytest.raises(ResourceLimit):
        limited_by_hints(read(f"(with-limits :max-depth {depth - 1} {inner})"), MAXIMUM_ROOM)
    with pytest.raises(ResourceLimit):
        limited_by_hints(
            read(f"(with-limits :max-depth {depth - 1} (with-limits :max-depth 60 {inner}))"), MAXIMUM_ROOM
        )


def test_5_hints_hold_for_what_a_call_comes_to():
    more = dialect("(extend p (a) (tell @b (x (y a))))")

    assert expanded("(with-limits :max-depth 3 (lang d (p 1)))", more) == ["(tell @b (x (y 1)))"]
    refusal(ResourceLimit, "(with-limits :max-depth 2 (lang d (p 1)))", more)
    refusal(ResourceLimit, "(with-limits :max-expansion-size 18 (lang d (p 1)))", more)
    assert expanded("(with-limits :max-expansion-size 19 (lang d (p 1)))", more)
    refusal(ResourceLimit, "(lang d (with-limits :max-expansion-size 18 (lang d (p 1))))", more)


def test_5_many_hints_cost_no_more_than_one():
    def text(wrappers: int) -> str:
        return "(with-limits :max-depth 60 " * wrappers + f"(tell @b ({'(a) ' * 2000}))" + ")" * wrappers

    one, many = (read(text(each)) for each in (1, 28))

    assert (
        steps(lambda: limited_by_hints(many, MAXIMUM_ROOM)) < steps(lambda: limited_by_hints(one, MAXIMUM_ROOM)) + 500
    )


# -- dialects


def test_6_a_call_is_of_the_dialect_that_is_named_then_of_those_it_builds_on():
    parent = dialect("(extend p () (ok @parent))", "(extend q () (ok @parent))", name="e")
    child = dialect("(extend p () (ok @child))", more=":extends e")
    other = dialect("(extend p () (ok @other))", "(extend r () (ok @other))", name="f")

    assert expanded("(lang d (p))", parent, child, other) == ["(ok @child)"]
    assert expanded("(lang d (q))", parent, child, other) == ["(ok @parent)"]
    assert expanded("(lang e (p))", parent, child, other) == ["(ok @parent)"]
    for text in ("(lang d (r))", "(lang cbcl (p))", "(lang d (P))"):
        assert refusal(UnknownPerformative.error, text, parent, child, other).code == "UNKNOWN_PERFORMATIVE"


def test_6_the_limits_are_those_of_the_dialect_that_has_the_performative():
    parent = dialect(
        "(extend q (a) (tell @b a))", name="e", limits=":max-depth 2 :max-expansion-size 20 :max-verify-time 1"
    )
    child = dialect(more=":extends e")

    made = expansion('(lang d (q "1234567"))', parent, child)
    assert (made.dialect.name, made.room) == ("e", Limits(2, 20))
    refusal(ResourceLimit, '(lang d (q "123456789012"))', parent, child)


def test_what_a_parent_adds_keeps_the_limits_of_the_dialect_it_is_said_in_too():
    parent = dialect("(extend q (x) (tell @b (v x)))", name="e")
    child = dialect(more=":extends e", limits=":max-depth 8 :max-expansion-size 15 :max-verify-time 100")

    assert expanded("(lang d (q a))", parent, child) == ["(tell @b (v a))"]
    refusal(ResourceLimit, "(lang d (q ab))", parent, child)
    assert expanded("(lang e (q ab))", parent, child) == ["(tell @b (v ab))"]


def test_6_dialects_that_build_on_each_other_in_a_ring_end_somewhere():
    ring = {name: definition(dialect(name=name, more=f":extends {of}")) for name, of in (("d", "e"), ("e", "d"))}

    with pytest.raises(UnknownPerformative.error):
        expand(read("(lang d (p))"), ring)


@pytest.mark.parametrize("text", ["(lang e (p))", "(lang e (ok @b))", "(envelope (lang e (p)))", "(lang D (p))"])
def test_an_unknown_dialect_is_named(text: str):
    with pytest.raises(UnknownDialect.error) as found:
        expand(read(text), {"d": definition(dialect())})
    assert (found.value.code, found.value.details) == ("UNKNOWN_DIALECT", {"dialect": text.split("lang ")[1][0]})


@pytest.mark.parametrize(
    "text", ["(ok @b)", "(envelope (ok @b))", "(lang d (ok @b))", "(lang cbcl (ok @b))", "(meta (define e))"]
)
def test_what_calls_nothing_comes_to_nothing_else(text: str):
    known: dict[str, Definition] = {"d": definition(dialect())}

    assert expand(read(text), known) is None


def test_a_call_may_stand_in_several_dialects_and_the_nearest_counts():
    one, other = dialect("(extend p () (ok @d))"), dialect("(extend p () (ok @e))", name="e")

    assert expanded("(envelope (lang e (signed abc (lang d (p)))))", one, other) == ["(ok @d)"]


def test_an_expansion_says_how_it_came_about():
    made = expansion("(lang d (p 1 :k (x)))", dialect("(extend p (a &optional b &key k) (tell @b (y k)))"))

    assert (made.dialect.name, made.performative.name) == ("d", "p")
    assert {name: text_of(value) for name, value in made.bound.items()} == {"a": "1", "b": "()", "k": "(x)"}
    assert equal(made.messages[0].node, tree("(tell @b (y (x)))"))
