"""What it means for an agent to say something, and where it goes."""

from __future__ import annotations

import pytest

from bb.cbcl.judge.expansion import ResourceLimit, UnknownDialect
from bb.cbcl.read import names
from bb.cbcl.speak.effects import Believed, Discharged, Entered, Expected, Greeted, Obliged, Parted, Settled
from bb.cbcl.speak.processing import SenderMismatch
from bb.cbcl.speak.speaking import NoRecipient, OtherRecipient, speak
from bb.cbcl.speak.state import MAX_OPEN_ANSWERS, NONE, AgentState, Answers
from bb.kernel.errors import BbError
from tests.cbcl.speakers import LAB, WORK, agent, everything, expected, hear, lesson, obliged, rules, signed
from tests.cbcl.trees import definition, dialect, read

QUERY = "(meta (query (speak? work)))"


def effects(text: str, *before: str) -> tuple[object, ...]:
    """What saying TEXT does to bob, who has heard these from alice BEFORE."""
    bob = agent()
    for each in before:
        hear(bob, each)
    return bob.say(text.encode()).effects


# -- what it does


def test_who_tells_has_said_so():
    assert effects('(tell @alice "x")') == (Believed("bob", '"x"'),)
    assert effects("(tell @alice)") == ()


def test_who_asks_waits_for_an_answer():
    assert effects("(ask @alice (x) :id q)") == (Expected("alice", "q"),)
    assert effects("(ask @alice (x) :id q :thread t)")[1:] == (Expected("alice", "q", "t"),)


def test_what_is_said_in_a_thread_is_part_of_its_conversation():
    text = "(ok @alice :thread t :id a)"
    assert effects(text) == (Entered("t", "bob", "ok", "a", text),)


@pytest.mark.parametrize(
    ("answer", "settled"),
    [
        ("(reply @alice (x) :in-reply-to b)", Discharged("alice", "b", "replied")),
        ("(reply @alice (x) :thread t)", Discharged("alice", "b", "replied")),
        ("(reply @alice (x))", Discharged("alice", "a", "replied")),
        ("(error @alice (x))", Discharged("alice", "a", "failed")),
        ("(reply @carol (x))", None),
        ("(reply @alice (x) :in-reply-to nothing)", None),
        ("(ok @alice)", None),
    ],
)
def test_who_answers_owes_it_no_more(answer: str, settled: object):
    found = effects(answer, "(ask @bob (x) :id a)", "(ask @bob (x) :id b :thread t)", "(ask @bob (x) :id c)")
    assert [each for each in found if not isinstance(each, Entered)] == ([settled] if settled else [])


@pytest.mark.parametrize(
    ("cancel", "known"), [("(cancel @alice :id b)", "b"), ("(cancel @alice :thread t)", "c"), ("(cancel @carol)", None)]
)
def test_who_cancels_waits_no_longer(cancel: str, known: str | None):
    bob = agent()
    for text in ("(ask @alice (x) :id a)", "(ask @alice (x) :id b)", "(ask @alice (x) :id c :thread t)"):
        bob.say(text.encode())
    found = [each for each in bob.say(cancel.encode()).effects if not isinstance(each, Entered)]
    assert found == ([Settled("alice", known, "cancelled")] if known else [])


def test_greeting_and_parting():
    assert effects("(hello @alice)") == (Greeted("alice"),)
    bob = agent()
    bob.say(b"(ask @alice (x) :id a)")
    assert bob.say(b"(bye @alice)").effects == (Parted("alice"), Settled("alice", "a", "dropped"))


def test_who_waits_for_very_many_answers_of_one_agent_asks_it_nothing_more():
    bob = agent()
    for n in range(MAX_OPEN_ANSWERS):
        bob.say(f"(ask @alice (n {n}))".encode())
    with pytest.raises(ResourceLimit):
        bob.say(b"(ask @alice (one more))")
    assert bob.say(b"(ask @carol (one more))").effects


def test_a_query_is_waited_for_by_everybody_who_is_asked():
    found = agent().say(QUERY.encode(), ["alice", "carol"])
    assert found.effects == (Expected("alice", found.id), Expected("carol", found.id))


def test_who_defines_a_dialect_speaks_it_whether_somebody_is_told_or_not():
    bob = agent()
    found = bob.say(f"(meta {WORK})".encode())
    assert (found.to, [type(each).__name__ for each in found.effects]) == ((), ["Installed"])
    assert bob.say(b'(lang work (note "x"))').effects == (Believed("bob", '"x"'),)


def test_who_says_something_in_a_dialect_means_what_it_comes_to():
    bob = agent("bob", WORK)
    found = bob.say(b'(lang work (pass @alice "x"))')
    assert (found.to, found.effects) == (("alice",), (Believed("bob", '"x"'),))


def test_what_is_owed_twice_in_one_message_is_answered_once_each():
    two = dialect("(extend both () ((reply @alice (x)) (reply @alice (y))))", name="two")
    bob = agent("bob", two)
    for text in ("(ask @bob (x) :id a)", "(ask @bob (x) :id b)"):
        hear(bob, text)
    assert bob.say(b"(lang two (both))").effects == (
        Discharged("alice", "a", "replied"),
        Discharged("alice", "b", "replied"),
    )


# -- where it goes


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("(tell @alice)", ("alice",)),
        ("(with-limits :max-depth 9 (tell @alice))", ("alice",)),
        ("(envelope :to @carol (tell @alice))", ("carol",)),
        ("(envelope :to @carol (envelope :to @dora (tell @alice)))", ("carol",)),
        ("(envelope (tell @alice))", ("alice",)),
        ("(lang cbcl (tell @alice))", ("alice",)),
        ("(lang work (pass @alice (x)))", ("alice",)),
        ("(lang work (task (x)))", ("bob",)),
        (lesson(WORK, to="alice"), ("alice",)),
        (f"(envelope :to @alice {QUERY})", ("alice",)),
        (QUERY, None),
    ],
)
def test_a_message_goes_where_it_says_itself_unless_its_envelope_says_more(text: str, to: tuple[str, ...] | None):
    alice = agent("ann", WORK)
    if to is None:
        with pytest.raises(NoRecipient.error):
            alice.say(text.encode())
    else:
        assert alice.say(text.encode()).to == to


def test_its_sender_decides_where_the_message_does_not():
    assert agent().say(b"(lang unknown (call))", ["alice"]).to == ("alice",)
    assert agent().say(QUERY.encode(), ["alice", "carol"]).to == ("alice", "carol")
    assert agent().say(lesson(WORK, to="carol").encode(), ["alice"]).to == ("alice",)


def test_nobody_sends_to_others_what_is_for_somebody():
    with pytest.raises(OtherRecipient.error) as refusal:
        agent().say(b"(tell @alice)", ["carol"])
    assert refusal.value.details["to"] == ["alice"]
    with pytest.raises(OtherRecipient.error):
        agent().say(b"(tell @alice)", ["carol", "alice"])
    assert agent().say(b"(tell @alice)", ["alice", "alice"]).to == ("alice",)


@pytest.mark.parametrize("text", ["(lang unknown (call))", "(lang unknown (tell @alice))"])
def test_a_dialect_that_is_not_spoken_here_is_unknown_unless_somebody_is_named_who_may_speak_it(text: str):
    with pytest.raises(UnknownDialect.error):
        agent().say(text.encode())
    assert agent().say(text.encode(), ["alice"]).effects == ()


# -- what may not be said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(tell", "SYNTAX_ERROR"),
        ("(envelope :from @carol (tell @alice))", "SENDER_MISMATCH"),
        ("(tell @alice ((((x)))))", "SYNTAX_ERROR"),
        ("(lang work (move))", "UNKNOWN_PERFORMATIVE"),
        ('(lang work (pass "alice" "x"))', "EXPANSION_FAILED"),
        (f"(meta {dialect('(extend note () (note))', name='work')})", "DIALECT_REJECTED"),
        (f"(meta {dialect('(extend note () (tell @bob))', name='work')})", "DIALECT_CONFLICT"),
    ],
)
def test_what_is_refused_has_changed_nothing(text: str, code: str):
    bob = agent("bob", WORK, max_depth=4)
    before = everything(bob)
    with pytest.raises(BbError) as refusal:
        bob.say(text.encode())
    assert (refusal.value.code, everything(bob)) == (code, before)


def test_an_envelope_names_who_sends_it_or_nobody():
    agent().say(b"(envelope :from @bob (tell @alice))")
    with pytest.raises(SenderMismatch.error):
        agent().say(b"(envelope (envelope :from @carol (tell @alice)))")


def test_saying_something_changes_no_standing_by_itself():
    standing = AgentState("bob", obliged=Answers({"alice": (Obliged("alice", "a"),)}))
    known = {"work": definition(WORK)}
    found = speak(standing, known, b"(reply @alice (x))", rules())
    assert standing.obliged
    assert standing.after(found.effects).obliged == NONE


def test_what_one_signs_oneself_needs_no_key_here_to_be_sent():
    found = agent().say(signed('(ask @alice "?" :id q)', LAB).encode())
    assert (found.id, found.to, found.effects) == ("q", ("alice",), (Expected("alice", "q"),))


def test_sender_and_hearer_know_a_message_by_the_same_id():
    for text in ("(ask @bob (x))", "(ask @bob (x) :id q)", "(envelope :from @alice (ask @bob (x) :id 7))"):
        said, bob = agent("alice").say(text.encode()), agent()
        assert hear(bob, text).id == said.id == next(iter(bob.standing.obliged)).id


def test_each_of_several_questions_in_one_message_is_owed_an_answer_and_both_know_it_by_the_same_id():
    both = dialect(
        "(extend both (a b) ((ask @bob a) (ask @carol a) (ask @bob b) (ask @bob (own) :id own)))", author="@lab"
    )
    alice, bob, carol = (agent(name, both) for name in ("alice", "bob", "carol"))
    said = alice.say(b'(lang d (both "1" "2"))')
    for each in (bob, carol):
        hear(each, '(lang d (both "1" "2"))')

    first, second, third = obliged(bob)
    assert first == ("alice", said.id) == obliged(carol)[0]
    assert (second[1], third) == (names.id_of(read('(ask @bob "2")')), ("alice", "own"))
    assert sorted(expected(alice)) == sorted([said.id, *(known for _, known in obliged(bob))])

    hear(alice, f'(reply @alice "yes" :in-reply-to {second[1]})', "bob")
    assert sorted(expected(alice)) == sorted([said.id, said.id, "own"])
