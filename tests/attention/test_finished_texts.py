"""Which texts end the compose window at once, and which do not."""

from __future__ import annotations

import pytest

from bb.attention.messages.finished_texts import is_finished, is_only_a_call

FINISHED = (
    "is the build green?",
    "@bo can you look at the build?",
    "<@U1> can you look at the build?",
    "why?",
    "the deploy is stuck, can you look @bo",
    "please review the migration <@U1>",
    "please review the migration, <@!1234>!",
    "is it green? 🙏",
    "**is it green?**",
    "(is it green?)",
    "is it really green?!",
    "first line\n\nis it green?",
    "构建好了吗？",
    "هل انتهى البناء؟",
    "is it green @bo?",
    "`make test` fails, why?",
)
NOT_FINISHED = (
    "",
    "   ",
    "@bo",
    "hey @bo",
    "hey @bo, quick question",
    "hey?",
    "?",
    "look at the build",
    "the build is red.",
    "is it green? thanks",
    "can you look at the build...",
    "is it green?…",
    "I have a list: (first, is it green?",
    "```\nis it green?",
    "~~~\nis it green?",
    "is it green?\n```\nerror\n```",
    "> is it green?",
    "look at this\n> is it green?",
    "what does `make",
    'it says "is it green?',
    "1/2 is it green?",
    "(1/3) is it green?",
    "is it green? 1/2",
    "is it green? (1/n)",
    "https://ci.example/run?",
    "see https://ci.example/run?",
    "ok @bo",
    "good morning @bo",
    "well, @bo,",
)


@pytest.mark.parametrize("text", FINISHED)
def test_nothing_more_is_waited_for_after_a_question_or_a_name_at_the_end(text: str):
    assert is_finished([text])


@pytest.mark.parametrize("text", NOT_FINISHED)
def test_a_text_without_a_clear_end_may_go_on(text: str):
    assert not is_finished([text])


def test_the_pieces_count_together():
    assert is_finished(["can you look at the build", "@bo"])
    assert is_finished(["the build is red", "?"])
    assert not is_finished(["the build (see below", "is it red?"])
    assert not is_finished(["hey @bo", "?"])
    assert not is_finished([])


@pytest.mark.parametrize("text", ["@bo", "hey @bo", "<@U1>", "hello!", "@bo ?", "hey"])
def test_a_call_alone_says_that_more_follows(text: str):
    assert is_only_a_call([text])


@pytest.mark.parametrize("text", ["", "@bo look", "why?", "done"])
def test_any_word_of_its_own_makes_it_more_than_a_call(text: str):
    assert not is_only_a_call([text])
