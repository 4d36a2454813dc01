"""Verification: each rule of the draft, Section 3.2, with all that breaks it, and how much work it is."""

from __future__ import annotations

import pytest

from bb.cbcl.judge import verification
from bb.cbcl.judge.verification import CEILINGS, MOST_REPORTED, RECOMMENDED, Violation, verify
from bb.cbcl.read.reader import Bounds
from tests.cbcl.trees import CORE, broken, definition, dialect, expanded, steps

RESERVED = ("meta", "lang", "envelope", "signed", "with-limits")


def verdict(text: str, *installed: str) -> tuple[Violation, ...]:
    return verification.verify(definition(text), installed).violations


def rules(template: str, params: str = "a b") -> list[str]:
    """Which rules a template breaks."""
    return [rule for rule, _ in broken(dialect(f"(extend p ({params}) {template})"))]


def test_3_2_a_sound_dialect_breaks_no_rule():
    found = verification.verify(definition(dialect("(extend p (a) (tell @b (x a)))")))

    assert (found.violations, found.warnings, found.is_sound) == ((), (), True)


def test_3_2_a_dialect_that_adds_nothing_is_sound():
    assert broken(dialect()) == []


# -- R1: what a template may be


@pytest.mark.parametrize(
    "template",
    [
        *(f"({each} @b)" for each in CORE),
        "(tell a b :k a)",
        "(envelope :from @x (tell @b a))",
        "(signed abc (tell @b a))",
        "(with-limits :max-depth 3 (envelope (tell @b a)))",
        "(envelope a)",
        "a",
        "(tell @b (a-list-is-data a))",
        "((tell @b a) (ask @b b))",
        "((tell @b a))",
        "(((tell @b a)) (ask @b b))",
        "((cond ((= a 1) (ok @b)) (else ((ok @c) (ok @d)))) a)",
        "(cond ((= a 1) (ok @b)))",
        "(cond ((= a 1) (ok @b)) ((member a (1 2 x)) (bye @b)) ((type? b agent) (tell b)) (else a))",
        "(cond ((= a 1) (cond ((= b 1) (ok @b)) (else (ok @c)))) (else (ok @d)))",
        "(envelope (cond ((= a 1) (ok @b)) (else (ok @c))))",
        '(tell @b (x (or a "y") (cond ((= a 1) b) (else "z"))))',
        "(tell (or a @b) (or a (or b ())))",
        "(tell @b (lang meta (q 'or 'cond else)))",
        "(tell @b (meta (define d)))",
        "(tell @b (a 1 2))",
        "(tell @b ('or 1))",
        "(tell @b (x or))",
        '(tell @b "(or)" :or 1)',
    ],
)
def test_r1_a_template_is_a_message_with_gaps_choices_and_sequences(template: str):
    assert rules(template) == []


@pytest.mark.parametrize(
    "template",
    [
        "(q a)",
        "(map a b)",
        "(eval a)",
        "(lambda (x) x)",
        "(Tell @b)",
        "(define d)",
        "(list (tell @b))",
        "(or (tell @b) (ok @b))",
        "(lang d (q))",
        "(lang d (tell @b))",
        "(meta (define d))",
        "(meta (query (speak? d)))",
        '"x"',
        "()",
        "c",
        "'a",
        ":a",
        "@a",
        "42",
        "#t",
        "(a @b)",
        "('tell @b)",
        '("tell" @b)',
        "(@b tell)",
        "(42)",
        "(envelope)",
        "(envelope :from @a)",
        "(envelope (q a))",
        "(envelope (lang d (q)))",
        "(envelope (signed abc (meta (define d))))",
        "(envelope ((ok @b) (ok @c)))",
        "((ok @b) (q a))",
        "((ok @b) ())",
        '((ok @b) "x")',
        "(((q a)))",
        "(cond ((= a 1) (q a)))",
        "(cond ((= a 1) (ok @b)) (else (q a)))",
        "(cond ((= a 1) (ok @b)) (else c))",
        "(envelope (cond ((= a 1) (q)) (else (ok @c))))",
    ],
)
def test_r1_a_template_is_nothing_else(template: str):
    assert set(rules(template)) == {"R1"}


@pytest.mark.parametrize("where", ["{}", "(envelope {})", "((ok @b) {})", "(tell @b (x ({})))", "(tell @b :k {})"])
@pytest.mark.parametrize(
    "form",
    [
        "(cond)",
        "(cond (else (ok @b)))",
        "(cond ((= a 1)))",
        "(cond ((= a 1) (ok @b) (ok @c)))",
        "(cond a)",
        "(cond ())",
        "(cond ((= a 1) (ok @b)) (else))",
        "(cond ((= a 1) (ok @b)) (else (ok @b) (ok @c)))",
        "(cond (else (ok @b)) ((= a 1) (ok @c)))",
        "(cond ((= a 1) (ok @b)) (else (ok @b)) (else (ok @c)))",
        "(cond (a (ok @b)))",
        "(cond (#t (ok @b)))",
        "(cond (() (ok @b)))",
        "(cond ((a 1) (ok @b)))",
        "(cond ((= a) (ok @b)))",
        "(cond ((= a 1 2) (ok @b)))",
        "(cond ((= c 1) (ok @b)))",
        "(cond ((= 1 a) (ok @b)))",
        "(cond ((= 'a 1) (ok @b)))",
        '(cond ((= "a" 1) (ok @b)))',
        "(cond ((= (a) 1) (ok @b)))",
        "(cond ((member a 1) (ok @b)))",
        "(cond ((member a b) (ok @b)))",
        "(cond ((member c (1)) (ok @b)))",
        "(cond (('member a (1)) (ok @b)))",
        "(cond ((type? a text) (ok @b)))",
        "(cond ((type? a String) (ok @b)))",
        "(cond ((type? a 'string) (ok @b)))",
        '(cond ((type? a "string") (ok @b)))',
        "(cond ((type? a (string)) (ok @b)))",
        "(cond ((type? c string) (ok @b)))",
        "(cond ((equal a 1) (ok @b)))",
        "(cond ((not (= a 1)) (ok @b)))",
        "(cond ((&key a 1) (ok @b)))",
    ],
)
def test_r1_a_cond_is_tests_of_parameters_and_else_last_wherever_it_stands(where: str, form: str):
    assert set(rules(where.format(form))) == {"R1"}


@pytest.mark.parametrize("form", ["(or)", "(or a)", "(or a b a)"])
def test_r1_an_or_is_of_two_wherever_it_stands(form: str):
    assert rules(f"(tell @b (x {form}))") == ["R1"]
    assert rules(f"(tell {form})") == ["R1"]
    assert rules(f"(tell @b (or a (x ((or {form} b)))))") == ["R1"]


@pytest.mark.parametrize("operator", ["=", "type?", "speak?", "&key", "&optional", "&rest"])
def test_r1_an_operator_stands_in_a_test_only(operator: str):
    assert rules(f"(tell @b {operator})") == ["R1"]
    assert rules(f"(tell @b ({operator} a 1))") == ["R1"]
    assert rules(f"(tell @b (x ({operator})))") == ["R1"]
    assert rules(f"(cond ((= a {operator}) (ok @b)))") == ["R1"]
    assert rules(f"(cond ((member a ({operator})) (ok @b)))") == ["R1"]
    assert rules(f"(tell @b (or {operator} a))") == ["R1"]


@pytest.mark.parametrize(
    "literal", ["(or)", "(or and)", "(or and not)", "(cond)", "(cond (else 1))", "(x ((or)) (or))"]
)
def test_r1_what_a_test_compares_with_is_data(literal: str):
    assert rules(f"(tell @b (cond ((= a {literal}) 1) (else 2)))") == []
    assert rules(f"(tell @b (cond ((member a {literal}) 1) (else 2)))") == []
    assert rules(f"(tell @b (cond ((member a {literal}) 1) (else (or))))") == ["R1"]
    said = dialect(f"(extend p (a) (tell @b (cond ((= a {literal}) (same)) (else (other)))))")
    assert expanded(f"(lang d (p {literal}))", said) == ["(tell @b (same))"]
    assert expanded("(lang d (p (x)))", said) == ["(tell @b (other))"]


# -- R1: nothing leads back to itself


def chain(*edges: str) -> str:
    """A dialect in which each performative has those as heads in its template: `p:q,r`."""
    extensions = []
    for each in edges:
        name, _, heads = each.partition(":")
        data = " ".join(f"(({head} a))" for head in heads.split(",") if head)
        extensions.append(f"(extend {name} (a) (tell @b (x {data})))")
    return dialect(*extensions)


@pytest.mark.parametrize(
    ("edges", "on_the_way_back"),
    [
        (["p:p"], "p"),
        (["p:q", "q:p"], "p q"),
        (["p:q", "q:r", "r:p"], "p q r"),
        (["p:q", "q:r", "r:q"], "q r"),
        (["p:q", "q:q"], "q"),
        (["p:p,q", "q:p"], "p q"),
        (["p:q,r", "q:", "r:p"], "p r"),
        (["p:q", "q:p", "r:s", "s:r"], "p q r s"),
        (["p:q", "q:p", "q2:p", "p2:q2"], "p q"),
        (["a1:b1", "b1:a1,c1", "c1:d1", "d1:c1"], "a1 b1 c1 d1"),
        (["a1:b1", "b1:a1,c1", "c1:d1", "d1:e1", "e1:d1"], "a1 b1 d1 e1"),
        (["None:x"], ""),
        (["p:q", "q:r", "r:"], ""),
        (["p:q,r", "q:s", "r:s", "s:"], ""),
        (["p:unknown", "q:tell"], ""),
    ],
)
def test_r1_no_performative_occurs_as_a_head_in_its_own_expansion(edges: list[str], on_the_way_back: str):
    assert broken(chain(*edges)) == [("R1", name) for name in on_the_way_back.split()]


@pytest.mark.parametrize(
    "template",
    [
        "(tell @b (x p))",
        '(tell @b "p" :p 1)',
        "(tell @p (x 'p :p @p))",
        "(tell @b ('p))",
        '(tell @b ("p"))',
        "(tell @b ((x p)))",
    ],
)
def test_r1_a_name_that_is_no_head_is_data(template: str):
    assert rules(template) == []


@pytest.mark.parametrize(
    "template",
    [
        "(tell @b (p))",
        "(tell @b (x ((p a))))",
        "(tell @b :k (p))",
        "(tell @b (or a (p)))",
        "(tell @b (cond ((= a 1) (p)) (else b)))",
        "((ok @b) (tell @b (p)))",
        "(envelope (tell @b (p)))",
    ],
)
def test_r1_a_head_is_one_wherever_it_stands(template: str):
    assert rules(template) == ["R1"]


def test_r1_a_core_performative_within_data_leads_nowhere():
    assert broken(dialect("(extend tell (a) (tell @b (tell)))")) == [("R3", "tell")]


def test_r1_it_is_told_by_which_way_it_leads_back():
    one, other = verdict(chain("p:q", "q:p"))

    assert (one.why, other.why) == (
        "a list in its template leads back to it through `q`: give that list another head",
        "a list in its template leads back to it through `p`: give that list another head",
    )
    assert verdict(chain("p:p"))[0].why == "a list in its template leads back to it: give that list another head"


def layered(layers: int, each: int = 2) -> str:
    """Every performative of a layer has all of the next as heads: two to the power of LAYERS ways, and no cycle."""
    return chain(
        *(
            f"l{layer}n{place}:" + ",".join(f"l{layer + 1}n{other}" for other in range(each) if layer + 1 < layers)
            for layer in range(layers)
            for place in range(each)
        )
    )


def test_r1_a_layered_dialect_without_a_cycle_is_judged_in_no_time():
    text = layered(40)

    assert broken(text) == []
    assert steps(lambda: broken(text)) < 200_000


def test_r1_a_layered_dialect_with_one_way_back_is_found_out():
    text = layered(40).replace("(extend l39n1 (a) (tell @b (x ))", "(extend l39n1 (a) (tell @b (x (l0n0)))")

    found = broken(text)

    assert len(found) == MOST_REPORTED
    assert verify(definition(text)).count == 78  # all but the other two ends, from which nothing leads back
    assert {rule for rule, _ in found} == {"R1"}


# -- R2


@pytest.mark.parametrize("missing", RECOMMENDED)
def test_r2_all_three_limits_are_declared(missing: str):
    limits = " ".join(
        f":{name} 100" if name != "max-depth" else ":max-depth 10" for name in RECOMMENDED if name != missing
    )

    (found,) = verdict(dialect(limits=limits))
    assert (found.rule, found.performative) == ("R2", None)
    assert f":{missing} is not declared" in found.why


def test_r2_each_limit_that_is_missing_is_named():
    assert [each.rule for each in verdict("(define d :author @a)")] == ["R2"] * 3
    assert [each.rule for each in verdict("(define d :author @a :resources ())")] == ["R2"] * 3


def with_limit(name: str, value: int) -> str:
    limits = dict.fromkeys(RECOMMENDED, 30) | {name: value}
    return dialect(limits=" ".join(f":{each} {limit}" for each, limit in limits.items()))


@pytest.mark.parametrize("name", RECOMMENDED)
def test_r2_limits_are_above_0_warned_about_above_what_is_recommended_and_refused_above_the_ceiling(name: str):
    def judged(value: int) -> tuple[int, int]:
        found = verification.verify(definition(with_limit(name, value)))
        assert {each.rule for each in (*found.violations, *found.warnings)} <= {"R2"}
        return len(found.violations), len(found.warnings)

    sound, warned, refused = (0, 0), (0, 1), (1, 0)
    assert [judged(each) for each in (-1, 0, 1)] == [refused, refused, sound]
    most, ceiling = RECOMMENDED[name], CEILINGS[name]
    assert [judged(each) for each in (most - 1, most, most + 1)] == [sound, sound, warned]
    assert [judged(each) for each in (ceiling - 1, ceiling, ceiling + 1)] == [warned, warned, refused]


def test_r2_what_is_recommended_and_what_is_granted_at_most():
    assert RECOMMENDED == {"max-depth": 32, "max-expansion-size": 8192, "max-verify-time": 5000}
    assert CEILINGS == {"max-depth": 64, "max-expansion-size": 65_536, "max-verify-time": 60_000}


@pytest.mark.parametrize("value", [2**32 + 16, 2**64 + 16, 10**998], ids=["32 bits", "64 bits", "999 digits"])
@pytest.mark.parametrize("name", RECOMMENDED)
def test_r2_limits_are_compared_as_large_as_they_are(name: str, value: int):
    assert broken(with_limit(name, value)) == [("R2", None)]
    assert broken(with_limit(name, -value)) == [("R2", None)]


@pytest.mark.parametrize(
    ("template", "params", "size", "depth"),
    [
        ("(ok @b)", "", 7, 1),
        ("(tell a b)", "a b", 10, 1),
        ("(tell longer b)", "longer b", 10, 1),
        ("(tell @b (x (y)))", "", 17, 3),
        ("(tell @b ())", "", 12, 2),
        ('(tell @b "\\n\\"")', "", 16, 1),
        ("(tell @b :k 1.50)", "", 16, 1),
        ("a", "a", 1, 0),
        ("((ok @b) (ok @b))", "", 14, 1),
        ("((ok @b) ((tell @b (x)) (ok @c)))", "", 27, 2),
        ("(cond ((= a 1) (tell @b (((x))))) (else (ok @b)))", "a", 7, 1),
        ("(cond ((= a 1) (ok @b)) ((= a (((((x))))) ) (ok @b)))", "a", 7, 1),
        ('(tell @b (or a "long"))', "a", 11, 1),
        ('(tell @b (x (or "long" ((a)))))', "a", 19, 2),
        ("(tell @b (cond ((= a 1) (x)) (else (y z))))", "a", 13, 2),
        ("(envelope (tell @b a))", "a", 22, 2),
        ("(tell @b (xyz r))", "&rest r", 18, 3),  # a rest is a list, be it empty
        ("(tell @b (or a r))", "a &rest r", 11, 1),
        ('(tell @b (x \'a :a @a "a"))', "a", 26, 2),
    ],
)
def test_r2_there_is_room_for_the_smallest_message_of_each_template(template: str, params: str, size: int, depth: int):
    def room(size: int, depth: int) -> list[tuple[str, str | None]]:
        limits = f":max-depth {depth} :max-expansion-size {size} :max-verify-time 1"
        return broken(dialect(f"(extend p ({params}) {template})", limits=limits))

    assert room(size, max(depth, 1)) == []
    assert room(size + 1, depth + 1) == []
    if size > 1:
        assert room(size - 1, max(depth, 1)) == [("R2", "p")]
    if depth > 1:
        assert room(size, depth - 1) == [("R2", "p")]


@pytest.mark.parametrize(
    ("template", "call", "size", "depth"),
    [
        ("(tell @b (x a))", "(p y)", 15, 2),
        ("((ok @b) (tell @b (x a)))", "(p y)", 22, 2),
        ("(tell @b (cond ((= a 1) (x)) (else (y z))))", "(p 1)", 13, 2),
        ('(tell @b (x (or a "long")))', "(p 1)", 15, 2),
    ],
)
def test_r2_the_smallest_message_can_be_made(template: str, call: str, size: int, depth: int):
    limits = f":max-depth {depth} :max-expansion-size {size} :max-verify-time 1"
    made = expanded(f"(lang d {call})", dialect(f"(extend p (a) {template})", limits=limits))

    assert sum(map(len, made)) == size


# -- R3


@pytest.mark.parametrize("name", [*CORE, "Tell", "TELL", "eRRor", *RESERVED, "Meta", "With-Limits", "SIGNED"])
def test_r3_nothing_that_the_core_is_told_by_is_defined_anew_in_whatever_case(name: str):
    assert broken(dialect(f"(extend {name} (a) (tell @b (x a)))")) == [("R3", name)]


@pytest.mark.parametrize("name", ["tells", "tell-", "-tell", "or", "cond", "list", "define", "query", "teach", "cbcl"])
def test_r3_other_names_are_free(name: str):
    assert broken(dialect(f"(extend {name} (a) (tell @b (x a)))")) == []


@pytest.mark.parametrize("name", ["cbcl", "CBCL", "Cbcl"])
def test_r3_no_dialect_is_named_like_the_core(name: str):
    assert broken(dialect(name=name)) == [("R3", None)]


# -- R4


def test_r4_the_author_is_named():
    assert broken(dialect(author="")) == [("R4", None)]


# -- structure


def test_structure_no_performative_is_defined_twice():
    twice = "(extend p (a) (tell @b (x a)))"

    assert broken(dialect(twice, "(extend P (a) (ok @b))")) == []
    assert broken(dialect(twice, twice)) == [("structure", "p")]
    assert broken(dialect(twice, twice, twice)) == [("structure", "p")] * 2


@pytest.mark.parametrize("params", ["a a", "a &key a", "a &optional a", "&optional a &rest a", "&key a a"])
def test_structure_no_parameter_is_named_twice(params: str):
    assert rules("(tell @b (x a))", params) == ["structure"]


@pytest.mark.parametrize("name", [*CORE, *RESERVED, "or", "cond", "else", "member", "list"])
@pytest.mark.parametrize("section", ["", "&optional ", "&rest ", "&key "])
def test_structure_no_parameter_takes_the_place_of_a_word(name: str, section: str):
    assert "structure" in rules("(ok @b)", section + name)


@pytest.mark.parametrize("name", ["Tell", "Or", "define", "query", "teach", "p", "d", "cbcl", "string", "x"])
def test_structure_other_parameters_are_free(name: str):
    assert rules("(ok @b)", name) == []


# -- parent


def test_parent_a_dialect_builds_on_the_core_or_on_what_is_installed():
    assert broken(dialect()) == []
    assert broken(dialect(more=":extends cbcl")) == []
    assert broken(dialect(more=":extends e"), ("e",)) == []
    assert broken(dialect(more=":extends e")) == [("parent", None)]
    assert broken(dialect(more=":extends e"), ("E", "d")) == [("parent", None)]


def test_parent_a_dialect_does_not_build_on_itself():
    assert broken(dialect(more=":extends d")) == [("parent", None)]
    assert broken(dialect(more=":extends d"), ("d",)) == [("parent", None)]


# -- all of them, with where


def test_3_2_all_rules_that_are_broken_are_told_in_the_order_of_the_text():
    text = """(define CBCL :extends e
  :resources (:max-depth 0 :max-expansion-size 5 :max-verify-time 5001)
  (extend tell (a a) (ok @b))
  (extend p (or) (q))
  (extend r (a) (tell @b (r))))"""
    found = verification.verify(definition(text))

    assert [(each.rule, each.performative) for each in found.violations] == [
        ("R4", None),
        ("R3", None),
        ("parent", None),
        ("R2", None),
        ("R3", "tell"),
        ("R2", "tell"),
        ("structure", "tell"),
        ("structure", "p"),
        ("R1", "p"),
        ("R1", "r"),
        ("R2", "r"),
    ]
    assert [each.rule for each in found.warnings] == ["R2"]
    assert [each.at for each in found.violations] == sorted(each.at for each in found.violations)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (dialect(more=":extends e"), ":extends e"),
        (dialect(limits=":max-depth 0 :max-expansion-size 1 :max-verify-time 1"), ":max-depth 0"),
        (dialect(limits=":max-depth 1"), ":resources"),
        (dialect("(extend ok (a) (ok @b))"), "(extend ok"),
        (dialect("(extend p (a tell) (ok @b))"), "tell) (ok"),
        (dialect("(extend p (a) ((ok @b) (q)))"), "(q)"),
        (dialect("(extend p (a) (tell @b (x (or a))))"), "(or a)"),
        (dialect("(extend p (a) (tell @b (x &key)))"), "&key)"),
        (dialect("(extend p (a) (cond ((= c 1) (ok @b))))"), "c 1"),
        (dialect("(extend p (a) (tell @b (p)))"), "(extend p"),
        (dialect(author=""), "(define"),
    ],
)
def test_3_2_it_is_told_where_a_rule_is_broken(text: str, begins: str):
    before = "; é\n"
    found = verdict(before + text)

    assert {(before + text).encode()[each.at :].decode()[: len(begins)] for each in found} == {begins}


def test_what_is_told_repeats_no_more_than_a_few_characters_of_a_name():
    long = "x" * 5000
    texts = [
        dialect(more=f":extends {long}"),
        dialect(f"(extend {long} () (ok @b))", f"(extend {long} () (ok @b))"),
        dialect(f"(extend p ({long} {long}) (ok @b))"),
        dialect(f"(extend p () (tell @b ({long})))", f"(extend {long} () (tell @b (p)))"),
        dialect(f"(extend p (a) ({long}))"),
        dialect(f"(extend p (a) (cond ((= {long} 1) (ok @b))))"),
        dialect(f"(extend p (a) (cond ((type? a {long}) (ok @b))))"),
    ]

    for text in texts:
        assert verdict(text)
        assert max(len(each.why) for each in verdict(text)) < 150


def test_a_violation_is_exchanged_with_its_place():
    (found,) = verdict(dialect("(extend p (a) (q))"))

    shown = verification.violation_json(found, lambda at: (1, at + 1))
    assert shown["rule"] == "R1"
    assert shown["performative"] == "p"
    assert (shown["offset"], shown["line"], shown["column"]) == (found.at, 1, found.at + 1)
    assert shown["message"] == found.why


# -- how much work it is


def trap(count: int) -> str:
    """Every performative names the first, and the next."""
    return chain(*(f"p{place}:p0,p{place + 1}" for place in range(count)))


SHAPES = {
    "many performatives": lambda n: dialect(*(f"(extend p{i} (a) (tell @b (x a)))" for i in range(n))),
    "a layered dialect": layered,
    "every performative names the first": trap,
    "a long chain": lambda n: chain(*(f"p{i}:p{i + 1}" for i in range(n))),
    "a long cycle": lambda n: chain(*(f"p{i}:p{(i + 1) % n}" for i in range(n))),
    "many parameters": lambda n: dialect(f"(extend p ({' '.join(f'a{i}' for i in range(n))}) (tell @b (x a1)))"),
    "one parameter many times": lambda n: dialect(f"(extend p ({'a ' * n}) (tell @b (x a)))"),
    "one performative many times": lambda n: dialect(*("(extend p (a) (tell @b (p)))" for _ in range(n))),
    "a wide template": lambda n: dialect(f"(extend p (a) (tell @b (x {'(y a) ' * n})))"),
    "many clauses": lambda n: dialect(f"(extend p (a) (cond {'((= a 1) (ok @b)) ' * n}))"),
    "many wrong clauses": lambda n: dialect(f"(extend p (a) (cond {'(= c) ' * n}))"),
    "many choices": lambda n: dialect(f"(extend p (a) (tell @b (x {'(or a (cond ((= a 1) 2))) ' * n})))"),
    "many members": lambda n: dialect(f"(extend p (a) (cond ((member a ({'(or) ' * n})) (ok @b))))"),
    "a long sequence": lambda n: dialect(f"(extend p (a) ({'((q)) ' * n}))"),
    "many operators": lambda n: dialect(f"(extend p (a) (tell @b (x {'= ' * n})))"),
    "long names": lambda n: chain(f"{'p' * n}:{'q' * n}", f"{'q' * n}:{'p' * n}"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_5_3_twice_the_definition_is_no_more_than_twice_the_work(shape: str):
    one, two = (definition(SHAPES[shape](count), Bounds(size=1 << 22)) for count in (200, 400))

    once, twice = (steps(lambda: verification.verify(each)) for each in (one, two))  # noqa: B023

    assert twice <= 2.1 * once + 200


def nested(levels: int) -> str:
    within = "a"
    for _ in range(levels):
        within = f"(cond ((= a 1) {within}) (else a))"
    return dialect(f"(extend p (a) (tell @b (x {within})))")


def test_5_3_work_grows_with_depth_as_with_length():
    once, twice = (steps(lambda: broken(nested(levels))) for levels in (6, 12))  # noqa: B023

    assert twice <= 2.1 * once
