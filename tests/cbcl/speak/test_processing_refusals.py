"""How an agent refuses a message, whole, and what it answers then: notes §9 and §10."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.read import grammar, names
from bb.cbcl.read.message import Simple, core_of
from bb.cbcl.read.reader import BOUNDS, DEPTH_MOST
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak import processing
from tests.cbcl.speakers import (
    LAB,
    LOOSE,
    QUESTIONS,
    WORK,
    agent,
    answers,
    error,
    everything,
    expected,
    hear,
    lesson,
    obliged,
    rules,
)
from tests.cbcl.trees import LISTS, STEADY, dialect

CONTROLS = "\x1b[2J\x07\u202e"


# -- limits


BRANCHES = " ".join(f"((= a {number}) (ok @bob))" for number in range(1200))
SLOW = dialect(  # looking for its branch takes more than 2,000 steps, and fewer than 3,000
    f"(extend slow (a) (cond {BRANCHES} (else (tell @bob (x)))))",
    name="slow",
)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("(with-limits :timeout 3 (lang slow (slow 1200)))", "ok"),
        ("(with-limits :timeout 2 (lang slow (slow 1200)))", "error"),
        ("(with-limits :timeout 2 (lang slow (slow 0)))", "ok"),
        ("(with-limits :timeout 100 (with-limits :timeout 2 (lang slow (slow 1200))))", "error"),
        ("(with-limits :timeout 2 (with-limits :timeout 100 (lang slow (slow 1200))))", "error"),
        ("(lang slow (slow 1200 :timeout 1))", "error"),
        ("(tell @bob (x) :timeout 1)", "ok"),
    ],
)
def test_what_takes_more_steps_than_its_timeout_stands_for_is_refused_every_time(text: str, status: str):
    for _ in range(5):
        bob = agent("bob", SLOW)
        found = hear(bob, text)
        assert found.status == status
        assert found.code in ("RESOURCE_LIMIT", "INVALID_ARGUMENTS") if status == "error" else not found.code


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("(with-limits :max-depth 2 (tell @bob (x)))", True),
        ("(with-limits :max-depth 2 (tell @bob (x (y))))", False),
        ("(with-limits :max-depth 9 (with-limits :max-depth 2 (tell @bob (x (y)))))", False),
        ("(with-limits :max-depth 3 (lang work (note (x))))", True),
        ("(with-limits :max-depth 1 (lang work (note 1)))", False),
        ('(with-limits :max-expansion-size 14 (lang work (note "")))', True),
        ('(with-limits :max-expansion-size 13 (lang work (note "")))', False),
        ("(lang work (deep (a (b (c)))))", True),
        ("(with-limits :max-depth 4 (lang work (deep (a (b)))))", True),
        ("(with-limits :max-depth 3 (lang work (deep (a (b)))))", False),
    ],
)
def test_hints_are_kept_to_and_each_only_where_it_stands(text: str, is_taken: bool):
    found = hear(agent("bob", WORK), text)
    assert (found.status, found.code) == (("ok", "") if is_taken else ("error", "RESOURCE_LIMIT"))


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ({"max_depth": 2}, "(tell @bob (x (y)))"),
        ({"max_size": 20}, "(tell @bob (x)       )"),
        ({"max_depth": DEPTH_MOST}, "(" * 10**6),
        ({"max_expansion_size": 10}, '(lang work (note "x"))'),
    ],
)
def test_what_is_more_than_the_policy_allows_is_beyond_a_limit(policy: dict[str, int], text: str):
    assert error(hear(agent("bob", WORK, **policy), text))[0] == "RESOURCE_LIMIT"


def test_a_definition_that_takes_too_long_to_verify_breaks_the_second_rule():
    bob = agent(given=rules(max_verify_time=1, **LOOSE))
    _, said = error(hear(bob, f"(meta {SLOW})"))
    rule = said.param("rule")
    assert rule is not None
    assert text_of(rule) == "(R2)"


# -- errors


@pytest.mark.parametrize(
    "text", ["", "x", "(", "(tell)", "(tell bob)", "(nonsense @bob)", '(tell @bob "\x1b")', "(a) (b)"]
)
def test_what_is_no_message_is_answered_with_the_place_and_the_reason(text: str):
    bob = agent()
    code, said = error(hear(bob, text))

    assert code == "SYNTAX_ERROR"
    assert said.content is not None
    assert " at octet " in str(said.content.value)
    assert (said.text("in-reply-to"), said.text("thread")) == (None, None)


def test_octets_that_are_no_text_are_answered():
    assert error(hear(agent(), b'(tell @bob "\xff\xfe")'))[0] == "SYNTAX_ERROR"


def test_an_error_names_the_message_by_the_id_its_sender_knows_it_by():
    alice, bob = agent("alice"), agent("bob")
    text = '(ask @bob "?" :thread "a b")'
    said = alice.say(f"(envelope {text})".encode())
    refused = hear(bob, f"(envelope {text})".replace("@bob", "@carol"))

    assert refused.code == "NOT_RECIPIENT"
    assert error(refused)[1].text("thread") == "a b"
    assert names.id_of(said.message) == said.id == hear(bob, f"(envelope {text})").id


@pytest.mark.parametrize("given_id", ["x" * 201, "x" * 100_000])
def test_a_name_too_long_to_be_repeated_is_none(given_id: str):
    alice, bob = agent("alice"), agent("bob")
    text = f'(ask @bob "?" :id "{given_id}" :thread "{given_id}")'
    alice.say(text.encode())
    found = hear(bob, text)

    assert found.id.startswith("m-")
    assert expected(alice) == [found.id] == [known for _, known in obliged(bob)]
    (said,) = answers(hear(bob, f'(tell @carol "x" :id "{given_id}" :thread "{given_id}")'))
    assert len(said) < 200


LOUD = dialect(f'(extend {"z" * 1000} () (tell @bob "\u202e"))', author="")
HOSTILE = [
    CONTROLS,
    f"(tell @bob {CONTROLS})",
    f'(tell @bob "{CONTROLS}")',
    f"(lang {'x' * 1000} (y))",
    f"(lang work ({'y' * 1000}))",
    f"(lang work (note 1 :{'y' * 1000} 2))",
    '(envelope :from @carol (tell @bob "\u009b2J\u202e"))',
    f"(meta {LOUD})",
    f"(({'q' * 5000}))",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_text_of_an_error_repeats_little_of_what_is_wrong_and_that_harmlessly(text: str):
    found = hear(agent("bob", WORK, **LOOSE), text)
    _, said = error(found)

    assert said.content is not None
    shown = str(said.content.value)
    assert shown.isprintable()
    assert len(shown) < 500
    assert not any(letter * 120 in shown for letter in "xyzq")
    assert CONTROLS not in answers(found)[0]


# -- one transaction


HALFWAY = [
    '(with-limits :timeout 1 (lang work (task "' + "x" * 1500 + '" :thread t)))',
    "(lang work (odd 1))",
    '(envelope :from @carol (ask @bob "x"))',
    "(meta (define d :author @lab))",
    "(lang work (lang chess (move)))",
]


@pytest.mark.parametrize("text", HALFWAY)
def test_a_message_that_fails_half_way_has_changed_nothing(text: str):
    bob = agent("bob", WORK, given=rules(**LOOSE))
    bob.say(b"(hello @alice)")
    hear(bob, '(ask @bob "?" :thread t)')
    standing, before = bob.standing, everything(bob)

    found = processing.receive(standing, bob.definitions, text.encode(), "alice", bob.rules)
    hear(bob, text)

    assert (found.status, found.effects, found.passed_on) == ("error", (), ())
    assert (bob.standing, everything(bob)) == (standing, before)


MESSAGES = st.one_of(
    LISTS.map(text_of),
    st.sampled_from([*HALFWAY, *QUESTIONS, *HOSTILE, "(hello @bob)", "(bye @bob)", "(cancel @bob)", lesson(WORK, LAB)]),
    st.builds(
        "({} @bob {} :thread {})".format,
        st.sampled_from(sorted(grammar.PERFORMATIVES)),
        LISTS.map(text_of),
        st.sampled_from("tu"),
    ),
)


@STEADY
@given(st.lists(st.tuples(MESSAGES | st.binary(max_size=30), st.sampled_from(["alice", "carol", "bob"])), max_size=6))
def test_whatever_comes_is_taken_or_refused_and_every_answer_is_a_message(said: list[tuple[str | bytes, str]]):
    bob = agent("bob", given=rules({"lab": LAB}))
    for text, sender in said:
        standing = bob.standing
        found = hear(bob, text, sender)
        assert found.status in ("ok", "error")
        if found.status == "error":
            assert bob.standing == standing
            assert len(found.answers) <= 1
        for to, answer in found.answers:
            core = core_of(grammar.message(answer.encode(), BOUNDS))
            assert to == sender
            assert isinstance(core, Simple)
            assert core.recipient == sender


@pytest.mark.parametrize("text", ["(error @bob 5)", "(error bob", "; c\n ( error @bob :k)", "(error @bob 1.)"])
def test_what_was_to_be_an_error_is_answered_by_none_though_it_is_no_message(text: str):
    found = hear(agent(), text)
    assert (found.status, found.code, found.answers) == ("error", "SYNTAX_ERROR", ())


def test_no_name_is_repeated_at_length():
    bob, name = agent("bob", dialect("(extend p () (ok @bob))", name="d" * 3000), given=rules(**LOOSE)), "x" * 3000
    other = dialect("(extend q () (ok @bob))", name="d" * 3000)
    for text in (f"(tell @{name} (x))", f"(envelope :from @{name} (tell @bob (x)))", f"(meta {other})"):
        assert len(hear(bob, text).why) < 200
