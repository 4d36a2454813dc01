"""Which texts order an agent to stop, and which only hold the word."""

from __future__ import annotations

import pytest

from bb.attention.messages.stop_words import WORDS, StopOrder, stop_order

AT_ONCE = (
    "stop",
    "Stop!",
    "STOP!!!",
    "stop it",
    "stop that now",
    "please stop",
    "stop please",
    "@bo stop",
    "<@U1> stop!",
    "hey @bo, stop",
    "no, stop!",
    "wait! stop!",
    "stop! cancel the migration",
    "> I start the migration now\nstop!",
    "Stop. That is the wrong database, roll back what you can.",
    "stop, that is production",
    "stop what you are doing",
    "cancel",
    "cancel that",
    "abort!",
    "halt",
    "stop everything",
    "stopp!",
    "bitte abbrechen",
    "brich ab",
    "hör auf",
    "arrêtez tout",
    "annule ça",
    "cancela eso",
    "fermati",
    "стоп",
    "停止",
    "取消！",
    "止めて。",
    "중지",
)
NO_ORDER = (
    "",
    "stop by at 5",
    "stop by the office",
    "stop over in Paris",
    "don't stop",
    "do not stop the build",
    "please don't cancel",
    "can we cancel the meeting?",
    "stop?",
    "should I stop the migration?",
    "the stop button is broken",
    "we should stop the migration",
    "it stopped",
    "stopping now",
    "> stop",
    "`stop`",
    "```\nstop\n```",
    '"stop" is what he said',
    "“stop!”",
    "he said stop",
    "nonstop",
    "stop for lunch",
    "stop the migration of all the tables in the old database",
    "non-stop work",
    "cancellation is supported",
)


@pytest.mark.parametrize("text", AT_ONCE)
def test_an_imperative_at_the_start_is_an_order(text: str):
    assert stop_order(text) == StopOrder()


@pytest.mark.parametrize("text", NO_ORDER)
def test_the_word_alone_is_no_order(text: str):
    assert stop_order(text) is None


@pytest.mark.parametrize(
    ("text", "work", "is_meant"),
    [
        ("cancel the migration", "please run the migration", True),
        ("cancel the migration", "migrate the database", True),
        ("stop migrating", "run the migration", True),
        ("cancel the meeting", "run the migration", False),
        ("stop words are slow", "run the migration", False),
        ("cancel culture", "run the migration", False),
        ("abort the deploy now", "deploy 1.4 to staging", True),
    ],
)
def test_an_order_about_a_thing_is_for_who_works_on_it(text: str, work: str, is_meant: bool):
    order = stop_order(text)

    assert order is not None
    assert order.concerns(work) is is_meant


def test_every_word_of_the_table_has_a_reason():
    assert all(reason.strip() for reason in WORDS.values())
    assert all(stop_order(word) == StopOrder() for word in WORDS)
