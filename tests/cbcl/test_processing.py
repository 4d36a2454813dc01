"""How an agent takes a message: notes §9 and §10, clause by clause."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl import grammar, names, processing
from bb.cbcl.effects import Believed, Discharged, Obliged, Parted, Settled
from bb.cbcl.memory import Agent
from bb.cbcl.message import Simple, core_of
from bb.cbcl.reader import BOUNDS, DEPTH_MOST
from bb.cbcl.standing import MOST_OPEN
from bb.cbcl.tree import text_of
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
    signed,
)
from tests.cbcl.trees import LISTS, STEADY, dialect, read

CONTROLS = "\x1b[2J\x07\u202e"


def asked(who: Agent, *texts: str) -> Agent:
    """WHO, having asked these questions."""
    for text in texts:
        who.say(text.encode())
    return who


def expected(who: Agent) -> list[str]:
    return [each.id for each in who.standing.expected]


def obliged(who: Agent) -> list[tuple[str, str]]:
    return [(each.from_, each.id) for each in who.standing.obliged]


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


QUESTIONS = (
    '(ask @bob "1" :id a)',
    '(ask @bob "2" :id b :thread t)',
    '(ask @bob "3" :id c)',
    '(ask @carol "4" :id a :thread t)',
)


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
        ("(reply @alice (x) :in-reply-to nothing :thread t)", None),
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
    for n in range(MOST_OPEN):
        assert hear(bob, f"(ask @bob (n {n}))").status == "ok"

    assert error(hear(bob, "(ask @bob (one more))"))[0] == "RESOURCE_LIMIT"
    assert hear(bob, "(ask @bob (x))", "carol").status == "ok"
    hear(bob, "(cancel @bob)")
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
        ("(cancel @bob)", "a"),
        ("(cancel @bob :id mine :thread t)", "b"),
        ("(cancel @bob :id mine)", None),
        ("(cancel @bob :in-reply-to nothing)", None),
        ("(cancel @bob :in-reply-to nothing :thread t)", None),
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
    bob = agent(given=rules({"lab": LAB}))
    text = lesson(WORK, LAB, to="carol")
    found = hear(bob, text)

    assert (found.status, found.effects, found.answers) == ("ok", (), ())
    ((to, passed),) = found.passed_on
    assert (to, read(passed)) == ("carol", read(passed))
    carol = agent("carol", given=rules({"lab": LAB}))
    assert hear(carol, passed, "bob").effects[0].signature == "valid"


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


# -- who it is from, and for whom


def test_an_envelope_from_another_than_it_came_from_is_refused():
    for text in ('(envelope :from @carol (tell @bob "x"))', '(envelope (envelope :from @carol (tell @bob "x")))'):
        assert error(hear(agent(), text))[0] == "SENDER_MISMATCH"
    for text in ('(envelope :from @alice (tell @bob "x"))', '(envelope :to @carol (tell @bob "x"))'):
        assert hear(agent(), text).effects == (Believed("alice", '"x"'),)


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
    hear(bob, "(cancel @bob :id q)")
    again = hear(bob, text)

    assert (again.status, again.effects, again.answers, obliged(bob)) == ("duplicate", (), (), [])


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


def test_a_signature_of_somebody_without_a_key_here_is_not_taken():
    assert error(hear(agent(), signed('(tell @bob "x")', LAB)))[0] == "UNTRUSTED_AUTHOR"


def test_another_may_not_send_what_one_has_signed():
    bob = agent(given=rules({"alice": LAB, "carol": MALLORY}))
    assert error(hear(bob, signed('(tell @bob "x")', LAB), "carol"))[0] == "INVALID_SIGNATURE"


def test_a_signed_message_about_dialects_is_no_signed_dialect():
    bob = agent(given=rules({"alice": LAB}))
    assert error(hear(bob, signed(f"(meta {WORK})", LAB)))[0] == "UNSIGNED_DIALECT"


# -- limits


def clock(*moments: int) -> Callable[[], int]:
    """A clock that shows these moments one after the other, then the last for ever."""
    left = list(moments)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    ("text", "moment", "status"),
    [
        ("(with-limits :timeout 100 (tell @bob (x)))", 100, "ok"),
        ("(with-limits :timeout 100 (tell @bob (x)))", 101, "error"),
        ("(with-limits :timeout 100 (with-limits :timeout 50 (tell @bob (x))))", 51, "error"),
        ("(with-limits :timeout 50 (with-limits :timeout 100 (tell @bob (x))))", 51, "error"),
        ("(tell @bob (x) :timeout 1)", 10**6, "ok"),
    ],
)
def test_what_takes_longer_than_it_may_is_refused(text: str, moment: int, status: str):
    bob = agent(given=rules(clock=clock(0, moment)))
    found = hear(bob, text)
    assert found.status == status
    assert found.code == ("RESOURCE_LIMIT" if status == "error" else "")
    assert len(bob.shown()["beliefs"]) == (status == "ok")


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
    bob = agent(given=rules(clock=clock(0, 0, 5000), **LOOSE))
    _, said = error(hear(bob, f"(meta {WORK})"))
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
    '(with-limits :timeout 1 (lang work (task "x" :thread t)))',
    "(lang work (odd 1))",
    '(envelope :from @carol (ask @bob "x"))',
    "(meta (define d :author @lab))",
    "(lang work (lang chess (move)))",
]


@pytest.mark.parametrize("text", HALFWAY)
def test_a_message_that_fails_half_way_has_changed_nothing(text: str):
    bob = agent("bob", WORK, given=rules(clock=itertools.count(0, 500).__next__, **LOOSE))
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
