"""What a real `bb chat serve` does when a text changes while its answer is being written."""

from __future__ import annotations

from tests.stories.attention.harness_support import Harness, World, dm, edit
from tests.stories.attention.test_serve_turns import working

HOW = {"visibility": "dm", "directedness": "to_me", "target": {}}


def answer(harness: Harness, key: str, **more: object) -> dict[str, object]:
    return {"inReplyTo": "1", "content": "It is staging.", "idempotencyKey": key, **HOW, **more}


def test_an_answer_to_a_text_that_was_edited_meanwhile_is_refused_with_the_new_text(world: World):
    said = dm("1", "which is next, staging?")
    harness = working(world, said)
    world.says(edit(said, "which is next, production?"))

    refused = harness.refusal("chat.send_message", **answer(harness, "a"))

    assert (refused.number, refused.code) == (-32067, "stale_content")
    assert (refused.data["seenVersion"], refused.data["contentVersion"]) == (1, 2)
    assert refused.data["content"] == [{"type": "text", "text": "which is next, production?"}]
    assert world.show("1")["disposition"] is None


def test_an_answer_that_names_the_new_version_is_accepted(world: World):
    said = dm("1", "which is next, staging?")
    harness = working(world, said)
    world.says(edit(said, "which is next, production?"))

    assert harness.call("chat.send_message", **answer(harness, "a", contentVersion=2))["disposition"] == "responded"


def test_a_new_version_counts_as_seen_only_when_it_is_acknowledged(world: World):
    said = dm("1", "which is next, staging?")
    harness = working(world, said)
    world.says(edit(said, "which is next, production?"))
    world.wait(3, harness)
    again = harness.deliver()
    assert again["params"]["contentVersion"] == 2

    assert harness.refusal("chat.send_message", **answer(harness, "a")).code == "stale_content"
    harness.answer(again)
    assert harness.call("chat.send_message", **answer(harness, "a"))["disposition"] == "responded"


def test_an_edit_of_white_space_refuses_nothing(world: World):
    said = dm("1", "which is next, staging?")
    harness = working(world, said)
    world.says(edit(said, " which is next,  staging?\n"))

    assert harness.call("chat.send_message", **answer(harness, "a"))["disposition"] == "responded"


def test_a_late_piece_makes_the_answer_to_half_of_the_text_stale(world: World):
    harness = working(world, dm("1", "check the deploy"))
    world.says(dm("2", "but not the one of today"))
    world.wait(4, harness)
    _, again = harness.news()
    assert (again["params"]["eventId"], again["params"]["contentVersion"]) == ("1", 2)

    refused = harness.refusal("chat.send_message", **answer(harness, "a"))

    assert refused.code == "stale_content"
    assert [part["text"] for part in refused.data["content"]] == ["check the deploy", "but not the one of today"]


def test_what_was_read_counts_as_seen(world: World):
    said = dm("1", "which is next, staging?")
    harness = working(world, said)
    world.says(edit(said, "which is next, production?"))
    (item,) = harness.call("chat.read_thread", eventId="1")["items"]
    assert item["contentVersion"] == 2

    assert harness.call("chat.send_message", **answer(harness, "a"))["disposition"] == "responded"
