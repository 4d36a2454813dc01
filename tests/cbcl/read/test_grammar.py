"""The grammar of messages: which lists are messages, which are refused, why and where."""

from __future__ import annotations

import pytest

from bb.cbcl.read import exchange, grammar
from bb.cbcl.read.message import Call, Envelope, Lang, Limited, Query, Signed, Simple, Teach, core_of, layers
from bb.cbcl.read.reader import CONTENT, DIALECT, HEAD, LANG, LEX, META, PARAM, RECIPIENT, WRAPPER, Malformed
from bb.cbcl.read.tree import as_json, text_of
from tests.cbcl.trees import CORE, place, read, refused

WRAPPINGS = ("(envelope {})", "(signed abc {})", "(with-limits {})", "(lang d {})")


def simple(text: str) -> Simple:
    found = read(text)
    assert isinstance(found, Simple)
    return found


# -- §2 heads


@pytest.mark.parametrize("performative", CORE)
def test_2_the_core_has_eight_performatives(performative: str):
    found = simple(f"({performative} @bob)")

    assert (found.performative, found.recipient, found.content, found.params) == (performative, "bob", None, ())


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(inform @bob)", 1),
        ("(Tell @bob)", 1),
        ("(TELL @bob)", 1),
        ("(define d)", 1),
        ("(query (speak? d))", 1),
        ("(teach @b (define d))", 1),
        ("(p 1)", 1),
        ("(Meta (define d))", 1),
        ("(With-Limits (ok @b))", 1),
        ("()", 0),
        ("('tell @bob)", 0),
        ('("tell" @bob)', 0),
        ("(:tell @bob)", 0),
        ("(@bob tell)", 0),
        ("((tell @bob))", 0),
        ("(42 @bob)", 0),
        ("(#t @bob)", 0),
        ("(= @bob)", 0),
        ("(envelope (inform @bob))", 11),
        ("(signed abc (p 1))", 13),
        ("(with-limits ())", 13),
    ],
)
def test_2_any_other_head_begins_no_message(text: str, at: int):
    assert place(refused(text)) == (HEAD, at)


# -- §2 simple messages


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(tell)", 1),
        ('(tell "x")', 6),
        ("(tell bob)", 6),
        ("(tell :to @bob)", 6),
        ("(tell (x) @bob)", 6),
        ("(bye 1)", 5),
    ],
)
def test_2_a_recipient_is_mandatory(text: str, at: int):
    assert place(refused(text)) == (RECIPIENT, at)


@pytest.mark.parametrize(
    "content", ['"x"', '""', "()", "(a b)", "((a) (b))", "(tell @b (meta (define x)))", '(:a @b "c")']
)
def test_2_what_is_said_is_a_string_or_a_list(content: str):
    found = simple(f"(tell @bob {content} :k 1)")

    assert found.content is not None
    assert (text_of(found.content), found.text("k")) == (content, "1")


@pytest.mark.parametrize("content", ["x", "'x", "1", "1.5", "#t", "@bob"])
def test_2_what_is_said_is_nothing_else(content: str):
    assert place(refused(f"(tell @bob {content})")) == (CONTENT, 11)


@pytest.mark.parametrize("value", ["x", "'x", "1", "-1.5", "#f", "@b", '"x"', "()", "(a (b :c))"])
def test_2_a_value_is_any_atom_or_list(value: str):
    found = simple(f"(ask @bob :k {value} :l {value})")

    assert [(key, text_of(each)) for key, each in found.params] == [("k", value), ("l", value)]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(tell @bob :k)", 11),
        ('(tell @bob "x" :k)', 15),
        ("(tell @bob :k 1 :l)", 16),
        ("(tell @bob :k :l)", 14),
        ("(tell @bob :k :l 1)", 14),
        ('(tell @bob "x" "y")', 15),
        ('(tell @bob "x" y 1)', 15),
        ('(tell @bob :k 1 "x")', 16),
        ('(tell @bob :k 1 "x" :l 2)', 16),
        ("(tell @bob () ())", 14),
        ("(tell @bob :k 1 :k 1)", 16),
        ("(tell @bob :k 1 :l 2 :k 3)", 21),
    ],
)
def test_2_parameters_are_keywords_with_one_value_each_given_once(text: str, at: int):
    assert place(refused(text)) == (PARAM, at)


def test_2_parameters_are_told_apart_by_case():
    assert [key for key, _ in simple("(tell @bob :k 1 :K 2)").params] == ["k", "K"]


def test_2_within_data_no_head_means_anything():
    text = "(tell @b (meta (lang (or) (cond (signed)))) :k (tell))"

    assert text_of(read(text).node) == text


@pytest.mark.parametrize("operator", ["speak?", "type?", "=", "&key", "&optional", "&rest"])
def test_1_an_operator_is_no_data(operator: str):
    assert place(refused(f"(tell @b {operator})")) == (LEX, 9)
    assert place(refused(f"(tell @b (x ({operator})))")) == (LEX, 13)
    assert place(refused(f"(tell @b :k {operator})")) == (LEX, 12)
    assert place(refused(f"(lang d (p {operator}))")) == (LEX, 11)
    assert place(refused(f"(lang d (p :k ({operator})))")) == (LEX, 15)


def test_9_a_thread_is_the_same_as_a_name_or_a_string():
    names = [simple(f"(tell @b :thread {written})").text("thread") for written in ("t-1", '"t-1"', "'t-1")]

    assert names == ["t-1"] * 3
    assert simple("(tell @b :thread (t))").text("thread") is None
    assert simple("(tell @b)").text("thread") is None


# -- §2 meta


def test_2_meta_is_a_definition_a_query_or_a_lesson():
    shown = [
        exchange.message_json(read(text))
        for text in (
            "(meta (define d))",
            "(meta (query (speak? d)))",
            "(meta (teach @b (define d)))",
            '(meta (teach @b (signed "s" (define d))))',
            "(meta (teach @b (signed abc= (define d))))",
        )
    ]

    assert [each["op"] for each in shown] == ["define", "query", "teach", "teach", "teach"]
    assert [each["signature"] for each in shown[2:]] == [None, "s", "abc="]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(meta)", 1),
        ("(meta define)", 6),
        ("(meta ())", 6),
        ("(meta (tell @b))", 6),
        ("(meta (Define d))", 6),
        ("(meta (define d) (define e))", 17),
        ("(meta (define d) 1)", 17),
        ("(meta (query))", 6),
        ("(meta (query speak?))", 13),
        ("(meta (query (speak? d) e))", 6),
        ("(meta (query (speak?)))", 13),
        ("(meta (query (speak? 'd)))", 13),
        ('(meta (query (speak? "d")))', 13),
        ("(meta (query (speak? 42)))", 13),
        ("(meta (query (speak? d e)))", 13),
        ("(meta (query (speak d)))", 13),
        ("(meta (teach))", 7),
        ("(meta (teach @b))", 13),
        ("(meta (teach (define d) @b))", 24),
        ("(meta (teach @b (define d) 1))", 27),
        ("(meta (teach @b d))", 16),
        ("(meta (teach @b (tell @c)))", 16),
        ("(meta (teach @b (signed s (tell @c))))", 26),
        ("(meta (teach @b (signed s (signed s (define d)))))", 26),
        ("(meta (teach @b (envelope (define d))))", 16),
    ],
)
def test_2_meta_is_exactly_one_operation(text: str, at: int):
    assert place(refused(text)) == (META, at)


def test_11_a_signed_definition_is_no_message():
    assert place(refused("(signed abc (define d))"))[0] == HEAD


# -- §2 lang


def test_2_in_a_dialect_stands_a_message_or_a_call():
    call = read('(lang d (p 1 "x" (y) :k 2 :l @b))')
    message = read("(lang d (tell @b))")

    assert isinstance(call, Lang)
    assert isinstance(call.inner, Call)
    assert isinstance(message, Lang)
    assert isinstance(message.inner, Simple)
    assert exchange.message_json(call.inner) == {
        "type": "call",
        "name": "p",
        "args": [["num", "1"], ["str", "x"], ["list", [["sym", "y"]]]],
        "kwargs": [["k", ["num", "2"]], ["l", ["agent", "b"]]],
    }


def test_2_dialects_and_wrappers_stand_in_each_other_in_any_order():
    text = "(lang d (envelope (lang e (signed abc (lang d (meta (query (speak? f))))))))"

    assert exchange.message_json(read(text))["inner"]["inner"]["inner"]["inner"]["inner"]["op"] == "query"


@pytest.mark.parametrize("name", ["define", "query", "teach", "or", "cond", "list", "Tell", "cbcl"])
def test_2_what_is_no_message_in_a_dialect_is_a_call(name: str):
    found = read(f"(lang d ({name} 1))")

    assert isinstance(found, Lang)
    assert isinstance(found.inner, Call)
    assert found.inner.name == name


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(lang)", 1),
        ("(lang d)", 6),
        ("(lang (p))", 6),
        ("(lang 'd (p))", 6),
        ('(lang "d" (p))', 6),
        ("(lang @d (p))", 6),
        ("(lang 42 (p))", 6),
        ("(lang d p)", 8),
        ('(lang d "p")', 8),
        ("(lang d (p) (q))", 12),
        ("(lang d (p) :k 1)", 12),
        ("(lang d ())", 8),
        ("(lang d ((p)))", 8),
        ("(lang d ('p))", 8),
        ("(lang d (42))", 8),
    ],
)
def test_2_lang_is_one_name_and_one_message_or_call(text: str, at: int):
    assert place(refused(text)) == (LANG, at)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(lang d (p :k))", 11),
        ("(lang d (p :k :l))", 14),
        ("(lang d (p :k 1 2))", 16),
        ("(lang d (p 1 :k 1 :k 2))", 18),
    ],
)
def test_7_what_is_given_in_order_comes_before_what_is_given_by_name(text: str, at: int):
    assert place(refused(text)) == (PARAM, at)


@pytest.mark.parametrize("wrapping", WRAPPINGS[:3])
def test_2_a_call_stands_directly_in_lang(wrapping: str):
    assert refused(f"(lang d {wrapping.format('(p 1)')})").details["reason"] == HEAD


# -- §2 wrappers


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("inner", ["(ok @b)", "(meta (define d))", "(lang d (p))", "(envelope (ok @b))"])
def test_2_a_wrapper_holds_any_message(wrapping: str, inner: str):
    assert exchange.message_json(read(wrapping.format(inner)))["inner"] == exchange.message_json(read(inner))


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_2_a_wrapper_holds_exactly_one(wrapping: str):
    reason = LANG if "lang" in wrapping else WRAPPER

    assert refused(wrapping.format("")).details["reason"] == reason
    assert refused(wrapping.format('"x"')).details["reason"] == reason
    text = wrapping.format("(ok @b) (ok @c)")
    assert place(refused(text)) == (reason, text.rindex("(ok"))


def test_2_the_layers_of_a_message_are_its_wrappers_then_itself():
    message = read("(envelope (with-limits (signed abc (lang d (ok @b)))))")

    assert [type(each) for each in layers(message)] == [Envelope, Limited, Signed, Lang]
    assert type(core_of(message)) is Lang


@pytest.mark.parametrize(
    "fields",
    [
        "",
        ":from @a",
        ":to @b :from @a",
        ':timestamp "2025-01-15T14:30:00Z" :to @b',
        ":from @a :timestamp 2025-01-15T14:30:00Z :to @b",
    ],
)
def test_2_an_envelope_has_its_fields_in_any_order(fields: str):
    shown = exchange.message_json(read(f"(envelope {fields} (ok @b))"))

    assert (shown["from"], shown["to"]) == ("@a" if "@a" in fields else None, "@b" if "@b" in fields else None)
    assert shown["timestamp"] == ("2025-01-15T14:30:00Z" if "2025" in fields else None)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(envelope :from a (ok @b))", 16),
        ('(envelope :to "@b" (ok @b))', 14),
        ("(envelope :cc @b (ok @b))", 10),
        ("(envelope :From @b (ok @b))", 10),
        ("(envelope :from @a :from @a (ok @b))", 19),
        ("(envelope (ok @b) :from @a)", 18),
        ("(envelope :from (ok @b))", 16),
        ("(envelope :from)", 10),
        ("(envelope @a (ok @b))", 13),
    ],
)
def test_2_an_envelope_has_no_other_fields(text: str, at: int):
    assert place(refused(text)) == (WRAPPER, at)


# -- §1 §11.9 times

TIMES = [
    *("2025-01-15T14:30:00Z", "2025-01-15t14:30:00z", "2025-01-15T14:30:00.5Z", "2025-01-15T14:30:00.123456789+01:00"),
    *("2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2025-12-31T23:59:60Z", "2025-01-31T23:59:59-23:59"),
    *("0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2025-04-30T00:00:00-00:00"),
]
NO_TIMES = [
    *("2025-01-15T14:30:00", "2025-01-15", "2025-13-01T00:00:00Z", "2025-00-01T00:00:00Z", "2025-01-00T00:00:00Z"),
    *("2025-01-32T00:00:00Z", "2025-04-31T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z"),
    *("2025-01-15T24:00:00Z", "2025-01-15T14:60:00Z", "2025-01-15T14:30:61Z", "2025-01-15T14:30:00+24:00"),
    *("2025-01-15T14:30:00+01:60", "2025-01-15T14:30:00.Z", "2025-01-15T14:30:00+0100", "2025-1-15T14:30:00Z"),
    *("2025-01-15 14:30:00Z", "2025-01-15T14:30Z", "12025-01-15T14:30:00Z", "", "2025-01-15T14:30:00Z "),
    *("٢٠٢٥-01-15T14:30:00Z", f"2025-01-15T14:30:00.{'0' * 99}Z"),
]


@pytest.mark.parametrize("written", TIMES)
def test_2_a_time_may_be_quoted_or_not_and_is_a_string_either_way(written: str):
    bare, quoted = (read(f"(envelope :timestamp {each} (ok @b))") for each in (written, f'"{written}"'))

    assert text_of(bare.node) == text_of(quoted.node) == f'(envelope :timestamp "{written}" (ok @b))'
    assert as_json(bare.node) == as_json(quoted.node)
    assert exchange.message_json(bare)["timestamp"] == written


@pytest.mark.parametrize("written", NO_TIMES)
def test_2_a_time_is_one_that_there_is(written: str):
    assert place(refused(f'(envelope :timestamp "{written}" (ok @b))')) == (WRAPPER, 21)


@pytest.mark.parametrize("written", [each for each in NO_TIMES if " " not in each])
def test_2_a_time_that_there_is_not_is_refused_unquoted_as_well(written: str):
    assert refused(f"(envelope :timestamp {written} (ok @b))").details["reason"] in (WRAPPER, LEX)


# -- §1 §11.10 signatures


@pytest.mark.parametrize("written", ["abc", "007", "aGk=", "a/b+c==", "+", "0", "tell"])
def test_2_a_signature_may_be_quoted_or_not_and_is_a_string_either_way(written: str):
    bare, quoted = (read(f"(signed {each} (ok @b))") for each in (written, f'"{written}"'))

    assert text_of(bare.node) == text_of(quoted.node) == f'(signed "{written}" (ok @b))'
    assert exchange.message_json(bare)["signature"] == written


def test_2_a_quoted_signature_is_looked_at_when_it_is_checked():
    assert exchange.message_json(read('(signed "not base64, é" (ok @b))'))["signature"] == "not base64, é"


@pytest.mark.parametrize("written", ['""', "@a", ":k", "'q", "#t", "1.5", "-7", "a_b", "(x)", "a-b", "-7x", "="])
def test_2_a_signature_is_text(written: str):
    assert place(refused(f"(signed {written} (ok @b))")) == (WRAPPER, 8)


# -- §5 with-limits


@pytest.mark.parametrize("name", ["timeout", "max-depth", "max-expansion-size"])
def test_5_a_hint_is_a_whole_number_above_0(name: str):
    for good in ("1", "64", "999999999999999999999999", "007"):
        assert exchange.message_json(read(f"(with-limits :{name} {good} (ok @b))"))[name] == int(good)
    for bad in ("0", "-1", "-0", "1.0", '"1"', "x", "(1)", "9" * 1001, "#t"):
        assert place(refused(f"(with-limits :{name} {bad} (ok @b))")) == (WRAPPER, 15 + len(name))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("(with-limits :max-expansion 10 (ok @b))", 13),
        ("(with-limits :max-verify-time 10 (ok @b))", 13),
        ("(with-limits :Timeout 10 (ok @b))", 13),
        ("(with-limits :timeout 10 :timeout 10 (ok @b))", 25),
        ("(with-limits 10 (ok @b))", 16),
        ("(with-limits (ok @b) :timeout 10)", 21),
    ],
)
def test_5_there_are_three_hints(text: str, at: int):
    assert place(refused(text)) == (WRAPPER, at)


def test_5_hints_that_are_not_given_are_null():
    shown = exchange.message_json(read("(with-limits :max-depth 3 (ok @b))"))

    assert (shown["timeout"], shown["max-depth"], shown["max-expansion-size"]) == (None, 3, None)


@pytest.mark.parametrize(
    "around", ["{}", "(envelope :from @a {})", "(signed abc {})", "(lang d {})", "(with-limits {})"]
)
def test_5_a_message_knows_how_deep_it_is_beneath_its_hints(around: str):
    found = read("(with-limits " + around.format("(tell @b ((x) (()) y))") + ")")

    assert isinstance(found, Limited)
    assert found.deep == 4 + (around != "{}")


# -- files


def test_2_a_file_may_hold_several_messages():
    found = grammar.messages(b"; one\n(ok @a)\n(ok @b)(ok @c)")

    assert [each.recipient for each in found if isinstance(each, Simple)] == ["a", "b", "c"]
    assert list(grammar.messages(b" ; none")) == []


def test_2_the_messages_before_a_mistake_are_read():
    found = grammar.messages(b"(ok @a) (nobody) (ok @b)")

    assert isinstance(next(found), Simple)
    with pytest.raises(Malformed.error) as refusal:
        next(found)
    assert place(refusal.value) == (HEAD, 9)


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("(define d)", None),
        ("(signed abc (define d))", "abc"),
        ('(signed "a b" (define d))', "a b"),
        ("(meta (define d))", None),
        ("(meta (teach @b (define d)))", None),
        ("(meta (teach @b (signed abc (define d))))", "abc"),
    ],
)
def test_11_a_file_with_a_definition_may_hold_it_bare_signed_or_as_a_message(text: str, signature: str | None):
    found, definition = grammar.definition_in(text.encode())

    assert (found, definition.name) == (signature, "d")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(ok @b)", DIALECT),
        ("(meta (query (speak? d)))", DIALECT),
        ("(envelope (meta (define d)))", DIALECT),
        ("(extend p () (ok @b))", HEAD),
        ("(signed @a (define d))", WRAPPER),
        ("(signed abc (signed abc (define d)))", HEAD),
    ],
)
def test_11_a_file_without_a_definition_is_refused(text: str, reason: str):
    with pytest.raises(Malformed.error) as refusal:
        grammar.definition_in(text.encode())
    assert refusal.value.details["reason"] == reason


def test_what_a_message_says_is_read_from_its_own_tree():
    lesson = read("(meta (teach @b (signed abc (define d :author @a))))")
    query = read("(meta (query (speak? d)))")

    assert isinstance(lesson, Teach)
    assert (lesson.recipient, lesson.signature) == ("b", "abc")
    assert text_of(lesson.definition.node) == "(define d :author @a)"
    assert isinstance(query, Query)
    assert text_of(query.node) == "(meta (query (speak? d)))"
