"""A question of an agent and its answer, through a running `bb chat serve`: both are shown together."""

from __future__ import annotations

from tests.stories.attention.harness_support import World, dm, post

ASKED = "It is red. Shall I roll back?"


def test_a_yes_wakes_the_model_with_its_own_question_and_a_second_yes_does_not(world: World):
    harness = world.harness()
    world.says(dm("1", "check the deploy"))
    world.wait(5, harness)
    harness.take()
    answer = {"content": ASKED, "visibility": "dm", "directedness": "to_other", "idempotencyKey": "q"}
    asked = harness.call("chat.send_message", inReplyTo="1", **answer)["messageId"]
    world.wait(60, harness)

    world.says(dm("2", "ja"))
    world.wait(5, harness)
    envelope = harness.take()

    assert envelope["eventId"] == "2"
    assert (envelope["attention"]["policy"], envelope["attention"]["reason"]) == ("must_respond", "answer")
    assert envelope["answers"] == {"eventId": asked, "content": [{"type": "text", "text": ASKED}]}
    head, _, body = envelope["rendered"].partition("\nMESSAGE\n")
    assert f"answers: {asked}" in head
    assert f"| {ASKED}" in head
    assert body.startswith("ja\n")
    world.wait(60, harness)
    world.says(dm("3", "ok"))
    world.wait(5, harness)
    knock = harness.take()
    assert ("content" in knock, knock["attention"]["policy"]) == (False, "ack_only")


def test_words_after_the_answer_in_a_thread_reach_the_agent_without_its_name(world: World):
    harness = world.harness()
    world.says(post("slack:T1:C1:1.0", "<@U1> bump the timeout to 30 s", "U1"))
    world.wait(5, harness)
    harness.take()
    done = {"content": "Done.", "visibility": "thread", "directedness": "to_other", "idempotencyKey": "d"}
    harness.call("chat.send_message", inReplyTo="slack:T1:C1:1.0", **done)
    world.wait(60, harness)

    world.says(post("slack:T1:C1:2.0", "sorry, I meant 300", thread="1.0", replyTo="slack:T1:C1:1.0"))
    world.wait(5, harness)

    envelope = harness.take()
    assert (envelope["attention"]["policy"], envelope["attention"]["reason"]) == ("must_respond", "follow_up")
    assert envelope["conversation"]["threadId"] == "1.0"
