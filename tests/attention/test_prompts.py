"""A delivery as a prompt, and the text of a turn as an answer."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.acts.drafts import parse_draft
from bb.attention.harness import prompts
from bb.attention.turns.rendering import STANDING_RULES


def delivered(**more: Any) -> dict[str, Any]:
    return {
        "eventId": "e1",
        "contentVersion": 3,
        "conversation": {"id": "C1", "kind": "channel"},
        "author": {"id": "ada", "kind": "human"},
        "attention": {"policy": "must_respond", "reason": "direct_mention"},
        "rendered": "C2A EVENT\nevent_id: e1",
        **more,
    }


@pytest.mark.parametrize(
    ("where", "visibility"),
    [
        ({"id": "D1", "kind": "dm"}, "dm"),
        ({"id": "D1", "kind": "dm", "threadId": "t"}, "dm"),
        ({"id": "C1", "kind": "channel"}, "channel"),
        ({"id": "C1", "kind": "channel", "threadId": "t"}, "thread"),
    ],
)
def test_an_answer_has_the_readers_of_the_question(where: dict[str, str], visibility: str):
    draft = parse_draft(prompts.answer_to(delivered(conversation=where), "Yes."))

    assert (draft.visibility, draft.in_reply_to, draft.text) == (visibility, "e1", "Yes.")


def test_the_key_of_an_answer_is_that_of_its_event():
    first, second = (prompts.answer_to(delivered(contentVersion=version), "Yes.") for version in (1, 2))

    assert first["idempotencyKey"] == second["idempotencyKey"] == "turn:e1"
    assert (first["contentVersion"], second["contentVersion"]) == (1, 2)


def test_an_answer_to_a_person_obliges_no_agent():
    assert prompts.answer_to(delivered(), "@blue-heron knows it.")["directedness"] == "to_other"


def test_an_answer_to_an_agent_is_offered_to_that_agent_and_obliges_it_to_nothing():
    agent = {"id": "blue-heron", "kind": "agent"}

    in_public = prompts.answer_to(delivered(author=agent), "Yes.")
    in_private = prompts.answer_to(delivered(author=agent, conversation={"id": "D", "kind": "dm"}), "Yes.")

    assert (in_public["directedness"], in_public["mentions"], in_public["intent"]) == (
        "to_my_role",
        ["blue-heron"],
        "answer",
    )
    assert "mentions" not in in_private


@pytest.mark.parametrize(
    ("attention", "wake", "wakes"),
    [
        ({"policy": "must_respond", "reason": "direct_message"}, "must", True),
        ({"policy": "may_respond", "reason": "thread_participation"}, "must", False),
        ({"policy": "may_respond", "reason": "thread_participation"}, "may", True),
        ({"policy": "may_respond", "reason": "role_mention"}, "must", True),
        ({"policy": "may_respond", "reason": "owned_stream", "defaultResponder": True}, "must", True),
        ({"policy": "may_respond", "reason": "direct_message"}, "must", True),
        ({"policy": "ack_only", "reason": "acknowledgement"}, "may", False),
        ({"policy": "ack_only", "reason": "confirmation"}, "must", True),
        ({"policy": "must_not_respond", "reason": "digest"}, "may", False),
    ],
)
def test_what_wakes_an_idle_agent(attention: dict[str, Any], wake: str, wakes: bool):
    assert prompts.wakes(delivered(attention=attention), wake) is wakes


def test_a_prompt_has_the_rules_what_is_new_the_message_and_how_to_answer_it():
    rules = prompts.introduction("amber-otter", "bb", is_text_sent=True)

    text = prompts.prompt(delivered(), before=rules, news=["C2A KNOCK\nevent_id: e0"])

    parts = [
        "You are the agent amber-otter",
        STANDING_RULES,
        "C2A KNOCK",
        "C2A EVENT",
        "inReplyTo=e1, visibility=channel",
    ]
    assert [text.count(part) for part in parts] == [1] * 5
    assert sorted(parts, key=text.index) == parts


def test_a_knock_has_no_arguments_because_its_text_has_to_be_read_first():
    assert "To answer:" not in prompts.prompt(delivered(knock={}))


def test_a_message_that_was_too_long_to_be_rendered_is_its_parts():
    envelope = delivered(content=[{"type": "text", "text": "too long"}, 7])
    del envelope["rendered"]

    assert prompts.rendered(envelope) == "too long"


@pytest.mark.parametrize(("length", "is_cut"), [(1, False), (65_536, False), (65_537, True), (200_000, True)])
def test_an_answer_is_never_longer_than_a_message_may_be(length: int, is_cut: bool):
    text = prompts.answer_text("x" * length, is_cut=False)

    assert (len(text) <= 65_536, text.endswith(prompts.CUT)) == (True, is_cut)
    assert prompts.answer_text("It is", is_cut=True) == f"It is\n\n{prompts.CUT}"
