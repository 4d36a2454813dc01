"""How an agent takes a message: notes §9, clause by clause."""

from __future__ import annotations

import pytest

from bb.cbcl.speak.effects import Believed, Discharged, Obliged, Parted, Settled
from bb.cbcl.speak.processing import SenderMismatch
from bb.cbcl.speak.state import MAX_OPEN_ANSWERS
from tests.cbcl.speakers import (
    LAB,
    LOOSE,
    MALLORY,
    QUESTIONS,
    WORK,
    agent,
    answers,
    asked,
    error,
    everything,
    expected,
    hear,
    obliged,
    rules,
    signed,
)
from tests.cbcl.trees import dialect

# -- tell


def test_what_is_told_is_its_senders_word():
    bob = agent()

    assert hear(bob, '(tell @bob "It rains")').effects == (Believed("alice", '"It rains"'),)
    hear(bob, "(tell @bob (rain :where here))", "carol")

    assert bob.shown()["beliefs"] == [
        {"who": "alice", "text": '"It rains"'},
        {"who": "carol", "text": "(rain :where here)"},
    ]


def test_what_is_told_twice_is_one_belief_however_it_is_written():
    bob = agent()
    for text in ("(tell @bob (n 1.50))", "(tell  @bob ( n 1.5 ) )", "(tell @bob (n 1.5) :id other)"):
        hear(bob, text)
    assert [each["text"] for each in bob.shown()["beliefs"]] == ["(n 1.5)"]


def test_who_tells_nothing_is_believed_nothing():
    assert hear(agent(), "(tell @bob)").effects == ()
    assert hear(agent(), "(tell @bob ())").effects == (Believed("alice", "()"),)


def test_what_is_told_is_answered_by_nothing():
    assert hear(agent(), '(tell @bob "x")').answers == ()


# -- conversations


def test_every_performative_with_a_thread_is_part_of_a_conversation():
    bob = agent()
    for performative in ("tell", "ask", "reply", "hello", "ok", "error", "cancel", "bye"):
        hear(bob, f"({performative} @bob :thread t-1 :id {performative}-1)")

    said = [each for each in bob.shown()["conversations"]["t-1"] if each["from"] == "alice"]
    assert [(each["performative"], each["id"]) for each in said] == [
        (name, f"{name}-1") for name in ("tell", "ask", "reply", "hello", "ok", "error", "cancel", "bye")
    ]


@pytest.mark.parametrize("spelling", ["t-1", '"t-1"', "'t-1"])
def test_threads_are_compared_by_their_text(spelling: str):
    alice = asked(agent("alice"), '(ask @bob "?" :thread t-1)')

    hear(alice, f'(reply @alice "!" :thread {spelling})', "bob")

    assert expected(alice) == []
    assert list(alice.shown()["conversations"]) == ["t-1"]


def test_our_own_answers_belong_to_the_conversation_too():
    bob = agent()
    hear(bob, "(ask @bob (x) :thread t :id q)")
    hear(bob, "(cancel @bob :thread t :id c)")

    said = bob.shown()["conversations"]["t"]
    assert [(each["from"], each["performative"]) for each in said] == [
        ("alice", "ask"),
        ("alice", "cancel"),
        ("bob", "ok"),
    ]


# -- ask and reply


def test_an_ask_is_owed_an_answer_and_not_answered_by_itself():
    bob = agent()
    found = hear(bob, '(ask @bob "?" :id q-1 :thread t)')

    assert (found.answers, obliged(bob)) == ((), [("alice", "q-1")])
    assert Obliged("alice", "q-1", "t") in found.effects


def test_an_ask_without_an_id_is_known_by_its_content():
    one, other = agent(), agent()
    hear(one, '(ask @bob "?")')
    hear(other, '(ask   @bob "?") ; again')
    hear(other, '(ask @bob "!")')

    assert obliged(one) == obliged(other)[:1]
    assert len({known for _, known in obliged(other)}) == 2
    assert all(known.startswith("m-") for _, known in obliged(other))


def test_the_same_ask_twice_is_owed_one_answer():
    bob = agent()
    for _ in range(2):
        hear(bob, '(ask @bob "?")')
    assert len(obliged(bob)) == 1


@pytest.mark.parametrize(
    ("reply", "settled"),
    [
        ("(reply @alice (x) :in-reply-to c)", "c"),
        ('(reply @alice (x) :in-reply-to "c")', "c"),
        ("(reply @alice (x) :in-reply-to b)", "b"),
        ("(reply @alice (x) :in-reply-to c :thread t)", "c"),
        ("(reply @alice (x) :thread t)", "b"),
        ("(reply @alice (x))", "a"),
        ("(reply @alice (x) :in-reply-to nothing)", None),
        ("(reply @alice (x) :in-reply-to nothing :thread t)", "b"),
        ("(reply @alice (x) :thread other)", None),
        ("(error @alice (x) :in-reply-to c)", "c"),
        ("(error @alice (x) :thread t)", "b"),
        ("(error @alice (x))", "a"),
        ("(error @alice (x) :in-reply-to nothing)", None),
    ],
)
def test_an_answer_settles_what_it_names_else_its_thread_else_the_oldest_in_none(reply: str, settled: str | None):
    alice = asked(agent("alice"), *QUESTIONS)
    found = hear(alice, reply, "bob")

    how = "failed" if reply.startswith("(error") else "replied"
    left = [each for each in found.effects if isinstance(each, Settled)]
    assert left == ([Settled("bob", settled, how)] if settled else [])
    assert (found.status, found.answers) == ("ok", ())
    assert expected(alice).count("a") == (1 if settled == "a" else 2), "what carol was asked stays"


@pytest.mark.parametrize("about", [":in-reply-to a", ":thread t", ""])
def test_nobody_answers_for_another(about: str):
    alice = asked(agent("alice"), *QUESTIONS)
    before = alice.standing

    assert hear(alice, f"(reply @alice (x) {about})", "mallory").status == "ok"
    assert (alice.standing.expected, alice.standing.obliged) == (before.expected, before.obliged)


def test_ok_acknowledges_and_settles_nothing():
    alice = asked(agent("alice"), *QUESTIONS)
    before = alice.standing

    assert hear(alice, "(ok @alice :in-reply-to a)", "bob").effects == ()
    assert alice.standing == before


def test_one_agent_may_wait_for_so_many_answers_of_another_and_no_more():
    bob = agent()
    for n in range(MAX_OPEN_ANSWERS):
        assert hear(bob, f"(ask @bob (n {n}) :id q{n})").status == "ok"

    assert error(hear(bob, "(ask @bob (one more))"))[0] == "RESOURCE_LIMIT"
    assert hear(bob, "(ask @bob (x))", "carol").status == "ok"
    hear(bob, "(cancel @bob :in-reply-to q7)")
    assert hear(bob, "(ask @bob (one more))").status == "ok"


# -- errors are never answered with errors


@pytest.mark.parametrize(
    "text",
    [
        "(error @bob (x))",
        "(error @carol (x))",
        "(error @bob)",
        "(lang cbcl (error @carol (x)))",
        "(lang unknown (error @bob (x)))",
        "(envelope :from @carol (error @bob (x)))",
        '(signed "x" (error @bob (x)))',
        "(with-limits :max-depth 1 (error @bob (x (y))))",
        "(error @bob (((((x))))))",
        f'(error @bob "{"x" * 300}")',
    ],
)
def test_an_error_is_answered_by_no_error_whatever_is_wrong_with_it(text: str):
    assert hear(agent(max_depth=4, max_size=250), text).answers == ()


def test_two_that_let_each_other_say_nothing_do_not_complain_for_ever():
    """The answer to what is too long is too long itself."""
    pair = {name: agent(name, max_size=20) for name in ("alice", "bob")}
    found, to = hear(pair["bob"], "(((((("), "alice"
    for _ in range(5):
        if found.answers:
            ((to, text),) = found.answers
            found = hear(pair[to], text, "bob" if to == "alice" else "alice")
    assert found.answers == ()


# -- cancel


@pytest.mark.parametrize(
    ("cancel", "gone"),
    [
        ("(cancel @bob :in-reply-to c)", "c"),
        ("(cancel @bob :id c)", "c"),
        ("(cancel @bob :thread t)", "b"),
        ("(cancel @bob)", None),
        ("(cancel @bob :id mine :thread t)", "b"),
        ("(cancel @bob :id mine)", None),
        ("(cancel @bob :in-reply-to nothing)", None),
        ("(cancel @bob :in-reply-to nothing :thread t)", "b"),
        ("(cancel @bob :thread nowhere)", None),
    ],
)
def test_who_cancels_an_ask_is_owed_nothing_more_and_told_so(cancel: str, gone: str | None):
    bob = agent()
    for text in ('(ask @bob "1" :id a)', '(ask @bob "2" :id b :thread t)', '(ask @bob "3" :id c)'):
        hear(bob, text)
    found = hear(bob, cancel)

    done = [each for each in found.effects if isinstance(each, Discharged)]
    assert done == ([Discharged("alice", gone, "cancelled")] if gone else [])
    assert [answer.split()[:2] for answer in answers(found)] == ([["(ok", "@alice"]] if gone else [])
    assert (("alice", gone) in obliged(bob)) is False


def test_nobody_cancels_what_another_has_asked():
    bob = agent()
    hear(bob, "(ask @bob (x) :id q)")

    assert hear(bob, "(cancel @bob :id q)", "mallory").answers == ()
    assert obliged(bob) == [("alice", "q")]


# -- sessions


def test_hello_is_answered_once():
    bob = agent()

    assert answers(hear(bob, "(hello @bob)")) == ["(hello @alice)"]
    assert answers(hear(bob, "(hello @bob)")) == []
    assert answers(hear(bob, "(hello @bob)", "carol")) == ["(hello @carol)"]
    assert bob.shown()["peers"] == ["alice", "carol"]


def test_who_has_greeted_first_is_not_made_to_greet_again():
    alice = asked(agent("alice"), "(hello @bob)")

    assert hear(alice, "(hello @alice)", "bob").answers == ()
    assert alice.shown()["peers"] == ["bob"]


def test_bye_ends_the_session_and_what_was_waited_for():
    alice = asked(agent("alice"), "(hello @bob)", *QUESTIONS)
    hear(alice, "(hello @alice)", "bob")
    found = hear(alice, "(bye @alice)", "bob")

    assert found.effects == (Parted("bob"), *(Settled("bob", known, "dropped") for known in "abc"))
    assert (expected(alice), alice.shown()["peers"], found.answers) == (["a"], [], ())
    assert next(iter(alice.standing.expected)).to == "carol"


def test_after_a_bye_hello_is_answered_again():
    bob = agent()
    for text, count in (("(hello @bob)", 1), ("(bye @bob)", 0), ("(hello @bob)", 1)):
        assert len(answers(hear(bob, text))) == count


# -- query


def test_a_query_is_answered_with_yes_or_no_and_what_is_spoken_by_name():
    bob = agent("bob", WORK, dialect("(extend a () (tell @x))", name="art"))

    (said,) = answers(hear(bob, "(meta (query (speak? work)))"))
    assert said.startswith('(reply @alice "yes" :dialects (art work) :in-reply-to m-')
    (said,) = answers(hear(bob, "(meta (query (speak? chess)))"))
    assert said.startswith('(reply @alice "no" :dialects (art work)')


def test_everybody_speaks_the_core_and_nobody_lists_it():
    (said,) = answers(hear(agent(), "(meta (query (speak? cbcl)))"))
    assert said.startswith('(reply @alice "yes" :dialects ()')


def test_the_answer_to_a_query_settles_the_query_and_no_older_ask():
    alice, bob = asked(agent("alice"), '(ask @bob "older" :id a)'), agent("bob")
    query = "(meta (query (speak? work)))"
    alice.say(query.encode(), ["bob"])

    hear(alice, answers(hear(bob, query))[0], "bob")

    assert expected(alice) == ["a"]


# -- who it is from, and for whom


def test_an_envelope_from_another_than_it_came_from_is_refused():
    for text in ('(envelope :from @carol (tell @bob "x"))', '(envelope (envelope :from @carol (tell @bob "x")))'):
        assert error(hear(agent(), text))[0] == "SENDER_MISMATCH"
    for text in ('(envelope :from @alice (tell @bob "x"))', '(envelope :to @carol (tell @bob "x"))'):
        assert hear(agent(), text).effects == (Believed("alice", '"x"'),)


FORGED = dialect(
    '(extend forged (who) (envelope :from @carol (tell who "x")))', '(extend bad (who) (signed "zz" (tell who "x")))'
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('(lang cbcl (envelope :from @carol (tell @bob "x")))', "SENDER_MISMATCH"),
        ('(envelope :from @alice (lang d (lang cbcl (envelope :from @carol (tell @bob "x")))))', "SENDER_MISMATCH"),
        ("(lang d (forged @bob))", "SENDER_MISMATCH"),
        ('(lang cbcl (signed "zz" (tell @bob "x")))', "INVALID_SIGNATURE"),
        ("(lang d (bad @bob))", "UNSIGNED_MESSAGE"),
    ],
)
def test_what_is_said_in_a_dialect_is_verified_as_if_it_had_come_by_itself(text: str, code: str):
    bob = agent("bob", FORGED, given=rules({} if code == "SENDER_MISMATCH" else {"alice": LAB}))
    before = everything(bob)
    assert error(hear(bob, text))[0] == code
    assert everything(bob) == before
    if code == "SENDER_MISMATCH":
        with pytest.raises(SenderMismatch.error):
            agent("alice", FORGED).say(text.encode())


def test_what_is_for_another_is_never_believed():
    bob = agent()
    code, said = error(hear(bob, '(tell @carol "x" :id i :thread t)'))
    assert (code, said.text("in-reply-to"), said.text("thread")) == ("NOT_RECIPIENT", "i", "t")
    assert bob.shown()["beliefs"] == []


def test_what_is_for_another_is_passed_on_where_the_policy_says_so():
    bob = agent(relay=True)
    found = hear(bob, '(tell  @carol "x")')
    assert (found.status, found.effects, found.answers) == ("ok", (), ())
    assert found.passed_on == (("carol", '(tell @carol "x")'),)


# -- signed messages


def test_a_message_that_its_sender_signed_is_taken_once():
    bob = agent(given=rules({"alice": LAB}))
    text = signed('(ask @bob "?" :id q)', LAB)

    assert hear(bob, text).status == "ok"
    hear(bob, signed("(cancel @bob :id q)", LAB))
    again = hear(bob, text)

    assert (again.status, again.effects, again.answers, obliged(bob)) == ("duplicate", (), (), [])
    for around in ("(lang cbcl {})", "(lang cbcl (lang cbcl (envelope {})))"):
        assert hear(bob, around.format(text)).status == "duplicate"


def test_a_message_that_was_refused_may_come_again():
    bob = agent(given=rules({"alice": LAB}, **LOOSE))
    text = signed('(lang work (note "x"))', LAB)

    assert hear(bob, text).code == "UNKNOWN_DIALECT"
    bob.speaks(WORK.encode())
    assert hear(bob, text).status == "ok"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (signed('(tell @bob "x")', MALLORY), "INVALID_SIGNATURE"),
        (signed('(tell @bob "x")', LAB).replace('"x"', '"y"'), "INVALID_SIGNATURE"),
        (signed('(tell @bob "x")', LAB).replace('"x"', "(x)"), "INVALID_SIGNATURE"),
        ('(signed "placeholder" (tell @bob "x"))', "INVALID_SIGNATURE"),
        (f"(envelope :from @alice {signed(chr(40) + 'tell @bob)', MALLORY)})", "INVALID_SIGNATURE"),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(text: str, code: str):
    bob = agent(given=rules({"alice": LAB}))
    assert error(hear(bob, text))[0] == code
    assert everything(bob) == everything(agent(given=rules({"alice": LAB})))


def test_a_signature_of_somebody_without_a_key_here_proves_as_much_as_none():
    found = hear(agent(), signed('(tell @bob "x")', LAB))

    assert (found.status, found.proof.state) == ("ok", "unchecked")
    bob = agent(given=rules(signed={"alice": "required"}))
    assert error(hear(bob, signed('(tell @bob "x")', LAB)))[0] == "UNTRUSTED_AUTHOR"


def test_another_may_not_send_what_one_has_signed():
    bob = agent(given=rules({"alice": LAB, "carol": MALLORY}))
    assert error(hear(bob, signed('(tell @bob "x")', LAB), "carol"))[0] == "INVALID_SIGNATURE"


def test_a_signed_message_about_dialects_is_no_signed_dialect():
    bob = agent(given=rules({"alice": LAB}))
    assert error(hear(bob, signed(f"(meta {WORK})", LAB)))[0] == "UNSIGNED_DIALECT"
