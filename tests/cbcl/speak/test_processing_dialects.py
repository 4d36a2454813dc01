"""How an agent takes what is about dialects, and what is said in one: notes §9."""

from __future__ import annotations

import pytest

from bb.cbcl.read.tree import text_of
from bb.cbcl.speak.effects import Believed
from tests.cbcl.speakers import (
    LAB,
    LOOSE,
    MALLORY,
    OTHER,
    WORK,
    agent,
    answers,
    error,
    everything,
    hashed,
    hear,
    lesson,
    rules,
)
from tests.cbcl.trees import dialect, read

# -- define and teach


def test_a_dialect_that_may_be_defined_is_installed_and_spoken():
    bob = agent(**LOOSE)
    found = hear(bob, f"(meta {WORK})")
    (installed,) = found.effects

    assert (installed.dialect, installed.by, installed.source, installed.hash) == (
        "work",
        "bob",
        "@alice",
        hashed(WORK),
    )
    assert (installed.author, installed.signature) == ("lab", "unsigned")
    assert answers(found)[0].startswith("(ok @alice :in-reply-to m-")
    assert hear(bob, '(lang work (note "x"))').effects == (Believed("alice", '"x"'),)


def test_what_is_installed_already_is_answered_and_changes_nothing():
    bob = agent("bob", WORK, **LOOSE)
    found = hear(bob, f"(meta {WORK})")
    assert (found.effects, len(found.answers)) == ((), 1)


def test_another_dialect_of_a_name_that_is_taken_is_a_conflict():
    bob = agent("bob", WORK, **LOOSE)
    before = everything(bob)

    assert error(hear(bob, f"(meta {OTHER})"))[0] == "DIALECT_CONFLICT"
    assert everything(bob) == before


def test_whoever_teaches_it_is_the_authors_key_that_counts():
    bob = agent(given=rules({"lab": LAB}))
    (installed,) = hear(bob, lesson(WORK, LAB), "mallory").effects
    assert (installed.author, installed.signature, installed.source) == ("lab", "valid", "@mallory")


@pytest.mark.parametrize(
    ("authors", "text", "code"),
    [
        ({}, lesson(WORK, LAB), "UNTRUSTED_AUTHOR"),
        ({"mallory": MALLORY}, lesson(WORK, MALLORY), "UNTRUSTED_AUTHOR"),
        ({"lab": LAB}, lesson(WORK, MALLORY), "INVALID_SIGNATURE"),
        ({"lab": LAB}, lesson(WORK, LAB).replace("@bob what)", "@bob  'what)", 1), "INVALID_SIGNATURE"),
        ({"lab": LAB}, lesson(WORK), "UNSIGNED_DIALECT"),
        ({}, lesson(WORK), "UNSIGNED_DIALECT"),
        ({}, f"(meta {WORK})", "UNSIGNED_DIALECT"),
        ({"lab": LAB}, lesson(dialect("(extend a () (a))", author="@lab"), LAB), "DIALECT_REJECTED"),
    ],
)
def test_a_lesson_that_is_not_to_be_trusted_is_refused_and_answered(authors: dict[str, bytes], text: str, code: str):
    bob = agent(given=rules(authors))
    before = everything(bob)

    assert error(hear(bob, text, "mallory"))[0] == code
    assert everything(bob) == before


def test_the_signature_is_looked_at_before_the_rules():
    bob = agent(given=rules({"lab": LAB}))
    unsound = dialect("(extend a () (a))", author="@lab")
    assert error(hear(bob, lesson(unsound, MALLORY)))[0] == "INVALID_SIGNATURE"


def test_a_lesson_for_another_is_passed_on_and_not_installed():
    bob = agent(given=rules({"lab": LAB}, relay=True))
    text = lesson(WORK, LAB, to="carol")
    found = hear(bob, text)

    assert (found.status, found.effects, found.answers) == ("ok", (), ())
    ((to, passed),) = found.passed_on
    assert (to, read(passed)) == ("carol", read(passed))
    carol = agent("carol", given=rules({"lab": LAB}))
    assert hear(carol, passed, "bob").effects[0].signature == "valid"


def test_a_lesson_for_another_is_refused_where_nothing_is_passed_on():
    bob = agent(given=rules({"lab": LAB}))
    code, _ = error(found := hear(bob, lesson(WORK, LAB, to="carol"), "lab"))

    assert code == "NOT_RECIPIENT"
    assert (found.passed_on, found.effects, bob.shown()["dialects"], bob.shown()["outbox"]) == ((), (), [], [])


def test_which_rules_a_dialect_breaks_is_told():
    _, said = error(hear(agent(**LOOSE), f"(meta {dialect('(extend Tell () (Tell))', author='')})"))
    rule = said.param("rule")
    assert rule is not None
    assert text_of(rule) == "(R1 R3 R4)"


# -- lang


def test_what_a_call_comes_to_is_taken_as_if_it_had_been_received():
    bob = agent("bob", WORK)
    found = hear(bob, '(lang work (task "x" :thread t-1))')

    assert [type(each).__name__ for each in found.effects] == ["Believed", "Entered", "Obliged"]
    assert [(each.id, each.thread) for each in bob.standing.obliged] == [(found.id, "t-1")]


def test_what_a_dialect_makes_for_another_is_not_said_in_ones_own_name():
    """Or anybody could let anybody say anything."""
    bob = agent("bob", WORK)
    found = hear(bob, '(lang work (pass @carol "x"))')

    assert (found.effects, found.passed_on) == ((), ())
    assert found.kept_back == (("carol", '(tell @carol "x")'),)
    assert bob.shown()["outbox"] == [{"to": "carol", "text": '(tell @carol "x")'}]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(lang chess (move))", "UNKNOWN_DIALECT"),
        ("(lang work (move))", "UNKNOWN_PERFORMATIVE"),
        ("(lang work (note))", "INVALID_ARGUMENTS"),
        ('(lang work (note "x" :y 1))', "INVALID_ARGUMENTS"),
        ('(lang work (pass "carol" "x"))', "EXPANSION_FAILED"),
        ("(lang work (odd 1))", "EXPANSION_FAILED"),
        (f'(lang work (note "{"x" * 5000}"))', "RESOURCE_LIMIT"),
    ],
)
def test_what_a_dialect_cannot_say_is_refused_whole(text: str, code: str):
    bob = agent("bob", WORK)
    before = everything(bob)

    assert error(hear(bob, text))[0] == code
    assert everything(bob) == before


def test_a_message_of_the_core_may_be_said_in_any_dialect():
    bob = agent("bob", WORK)
    for text in (
        '(lang work (tell @bob "x"))',
        '(lang cbcl (tell @bob "x"))',
        '(lang work (lang cbcl (tell @bob "x")))',
    ):
        assert hear(bob, text).effects == (Believed("alice", '"x"'),)


def test_a_dialect_that_is_not_here_is_unknown_even_to_say_what_the_core_says():
    assert error(hear(agent(), '(lang chess (tell @bob "x"))'))[0] == "UNKNOWN_DIALECT"
