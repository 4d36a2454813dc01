"""To leave out `inReplyTo` avoids nothing: claims bind the thread, and an answer is an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, Host, InMemory

IN_THREAD = {"target": {"conversation": "C1", "thread": "T"}, "visibility": "thread"}
IN_C1 = {"target": {"conversation": "C1"}}


def claimed(host: Host, **where: Any) -> None:
    """A question to the role of Amber and Blue, which Blue has claimed."""
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend, why is the build red?", mentions=["@backend"], **where)
    host.wait("31s")
    host.do(claim={"agent": BLUE, "eventId": "1"})


def refused(host: Host, agent: str, text: str, **more: Any) -> str:
    said = {"content": text, "idempotencyKey": text, "visibility": "channel", "directedness": "ambient", **more}
    return host.refusal(send={"agent": agent, **said}).code


def test_a_claim_on_an_event_binds_its_thread(host: Host):
    claimed(host, thread="T")

    assert refused(host, AMBER, "It is the cache.", **IN_THREAD) == "CLAIMED_BY_OTHER"
    assert host.send(BLUE, "It is the cache.", "b", **IN_THREAD)["state"] == "sent"


def test_so_does_a_claim_on_the_thread_itself(host: Host):
    host.people()
    host.says("1", "hello", thread="T")
    host.do(claim={"agent": BLUE, "thread": "C1/T"})

    assert refused(host, CORAL, "Well.", **IN_THREAD) == "CLAIMED_BY_OTHER"
    host.wait("16m")
    assert host.send(CORAL, "Well.", "c", **IN_THREAD)["state"] == "sent", "the claim is over"


def test_the_thread_that_a_claimed_message_opens_is_bound_too(host: Host):
    claimed(host)
    thread = {"target": {"conversation": "C1", "thread": "1"}, "visibility": "thread"}

    assert refused(host, AMBER, "It is the cache.", **thread) == "CLAIMED_BY_OTHER"


def test_outside_of_threads_while_the_claimed_message_is_the_last_one(host: Host):
    claimed(host)

    assert refused(host, AMBER, "It is the cache.", **IN_C1) == "CLAIMED_BY_OTHER"
    host.says("2", "by the way, lunch is at noon")
    assert host.send(AMBER, "The lift is out of order.", "a", **IN_C1)["state"] == "sent"


def test_thanks_and_words_to_the_holder_are_free(host: Host):
    claimed(host, thread="T")

    assert host.send(AMBER, "Thanks!", "a", **IN_THREAD)["state"] == "sent"
    to_holder = {"mentions": ["U2"], "directedness": "to_me", **IN_THREAD}
    assert host.send(AMBER, "@blue-heron, do you need the logs?", "b", **to_holder)["state"] == "sent"


def test_who_was_asked_something_else_in_the_thread_may_answer_that(host: Host):
    claimed(host, thread="T")
    host.says("2", "U1, and the deploy?", thread="T", mentions=["U1"])

    assert host.send(AMBER, "It waits for the build.", "a", **IN_THREAD)["state"] == "sent"


def test_a_question_to_another_in_a_thread_is_not_answered_by_leaving_out_the_field(host: Host):
    host.people()
    host.says("1", "U2, is the build green?", thread="T", mentions=["U2"])

    assert refused(host, AMBER, "It is green, I think.", **IN_THREAD) == "POLICY_FORBIDS"
    assert host.send(BLUE, "It is green.", "b", inReplyTo="1", visibility="thread")["disposition"] == "responded"
    assert host.send(AMBER, "Then I merge.", "a", **IN_THREAD)["state"] == "sent", "the last word was no question"


def test_who_says_that_it_answers_is_taken_at_its_word(host: Host):
    host.people()
    host.says("1", "lunch is at noon")

    assert refused(host, AMBER, "I am not hungry at noon.", intent="answer", **IN_C1) == "POLICY_FORBIDS"
    assert host.send(AMBER, "The lift is out of order.", "a", **IN_C1)["state"] == "sent"


# -- private content without inReplyTo

PUBLIC = {"target": {"conversation": "PUB"}}
SECRET = "the quartz lantern in the cellar of the old mill is broken again"


def shown(host: Host, text: str) -> None:
    host.people()
    host.dm("1", text)
    host.wait("31s")
    host.inject()


def test_the_answer_to_a_private_message_in_public_waits_for_the_person_without_the_field_too(host: Host):
    shown(host, "is the quartz lantern broken?")

    assert refused(host, AMBER, "It is broken.", **PUBLIC) == "CONFIRM_REQUIRED"
    assert host.send(AMBER, "It is broken.", "d", inReplyTo="1", visibility="dm")["disposition"] == "responded"
    assert host.send(AMBER, "The lift is out of order.", "a", **PUBLIC)["state"] == "sent", "nothing is owed any more"


def test_what_was_not_shown_yet_is_not_answered(host: Host):
    host.people()
    host.dm("1", "is the quartz lantern broken?")

    assert host.send(AMBER, "The lift is out of order.", "a", **PUBLIC)["state"] == "sent"


def test_who_was_asked_in_public_too_answers_there(host: Host):
    shown(host, "is the quartz lantern broken?")
    host.says("2", "U1, how is the lift?", conversation="PUB", mentions=["U1"])

    assert host.send(AMBER, "The lift is out of order.", "a", **PUBLIC)["state"] == "sent"


def test_words_of_a_private_message_are_recognised_whatever_the_message_answers(host: Host):
    shown(host, SECRET)
    host.send(AMBER, "I will look.", "d", inReplyTo="1", visibility="dm")
    host.says("2", "U1, what is new?", conversation="PUB", mentions=["U1"])
    said = "News: The quartz lantern, in the cellar of the OLD mill!"

    assert refused(host, AMBER, said, inReplyTo="2") == "CONFIRM_REQUIRED"
    assert refused(host, AMBER, said, **PUBLIC) == "CONFIRM_REQUIRED"
    (first, second) = host.do(confirmations={})
    assert {first["eventId"], second["eventId"]} == {"1"}
    assert "the quartz lantern in the cellar" in first["why"]
    assert host.send(AMBER, "The lantern in the mill.", "a", inReplyTo="2")["state"] == "sent", "too few words"


@pytest.mark.parametrize(
    "said",
    [
        "the lan\u200btern: The quar\u00adtz lantern in\u2060 the cel\ufefflar of",
        "\uff34he \uff51uartz lantern \uff49n the \U0001d41cellar of",
    ],
)
def test_invisible_characters_and_other_forms_of_letters_hide_no_words(host: Host, said: str):
    shown(host, SECRET)
    host.send(AMBER, "I will look.", "d", inReplyTo="1", visibility="dm")

    assert refused(host, AMBER, said, **PUBLIC) == "CONFIRM_REQUIRED"


def test_a_progress_report_repeats_no_private_words(host: Host):
    """Digests show it to every agent, and the person is asked about messages only."""
    shown(host, SECRET)
    report = {"agent": AMBER, "token": "lantern", "progress": 1, "message": SECRET}

    assert host.refusal(progress=report).code == "PERMISSION_DENIED"
    assert SECRET not in json.dumps(host.do(digest=BLUE))
    assert host.do(progress=report | {"message": "looked at it"})["message"] == "looked at it"


def test_in_another_private_conversation_and_to_one_agent_nothing_is_asked(host: Host):
    shown(host, SECRET)
    host.do(conversation={"id": "P1", "is_private": True, "members": [AMBER]})

    assert host.send(AMBER, SECRET, "a", target={"conversation": "P1"})["state"] == "sent"
    assert host.send(AMBER, SECRET, "b", target={"recipient": BLUE}, visibility="dm")["state"] == "sent"


def test_the_own_words_of_an_agent_are_its_own(host: Host):
    shown(host, "what is new?")
    host.send(AMBER, SECRET, "d", inReplyTo="1", visibility="dm")

    assert host.send(AMBER, SECRET, "a", **PUBLIC)["state"] == "sent"


@pytest.mark.parametrize(
    "text", ["古い水車小屋の地下室にある石英ランタンがまた壊れました", "старый фонарь в подвале мельницы снова сломан"]
)
def test_so_it_is_in_other_scripts(memory: InMemory, text: str):
    shown(memory, text)
    memory.send(AMBER, "I will look.", "d", inReplyTo="1", visibility="dm")

    assert refused(memory, AMBER, f"News: {text}", **PUBLIC) == "CONFIRM_REQUIRED"


def test_a_week_later_it_is_forgotten(memory: InMemory):
    shown(memory, SECRET)
    memory.send(AMBER, "I will look.", "d", inReplyTo="1", visibility="dm")
    memory.wait("8d")

    assert memory.send(AMBER, SECRET, "a", **PUBLIC)["state"] == "sent"
