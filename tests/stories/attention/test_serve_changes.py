"""What a real `bb chat serve` does when a text changes while its answer is being written."""

from __future__ import annotations

from tests.stories.attention.harness_support import AMBER, Harness, World, dm, edit, post, without
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


# -- the compose window


def test_a_question_is_handed_over_as_soon_as_it_is_finished(world: World):
    harness = world.harness()
    world.says(post("1", "<@U1> is the build green?", "U1"), post("2", "<@U1> look at the build", "U1", thread="t"))
    assert harness.events() == []
    world.wait(0.2, harness)

    envelope = harness.take()

    assert (envelope["eventId"], envelope["attention"]["reason"]) == ("1", "direct_mention")
    world.wait(2.8, harness)
    assert harness.take()["eventId"] == "2"


def test_a_piece_that_comes_after_an_early_end_is_joined(world: World):
    harness = world.harness()
    world.says(post("1", "<@U1> is the build green?", "U1"))
    world.wait(0.2, harness)
    assert harness.take()["eventId"] == "1"
    harness.tell("chat/turn", eventId="1", attempt=1, state="started")
    world.wait(2, harness)
    world.says(post("2", "the one of today?"))
    world.wait(0.2, harness)

    cancelled, again = harness.news()

    assert cancelled["params"]["reason"] == "another piece of the message arrived"
    assert (again["params"]["eventId"], again["params"]["mergedFrom"]) == ("1", ["2"])
    assert [part["text"] for part in again["params"]["content"]] == ["<@U1> is the build green?", "the one of today?"]


def test_a_line_of_an_agent_between_two_pieces_does_not_keep_them_apart(world: World):
    harness = working(world, dm("1", "check"))
    world.says(
        dm("x", "Approve the deploy", author={"id": "U2", "kind": "agent"}, intent="approval_request"),
        dm("2", "the deploy"),
    )
    world.wait(4, harness)

    _, again = harness.news()

    assert [part["text"] for part in again["params"]["content"]] == ["check", "the deploy"]


def test_a_piece_of_long_ago_that_arrives_late_is_not_joined(world: World):
    harness = working(world, dm("1", "check the deploy"))
    world.says(dm("2", "and the build", timing={"createdAt": "2026-01-05T09:00:00Z"}))
    world.wait(4, harness)

    assert harness.news() == []
    harness.tell("chat/turn", eventId="1", state="ended")
    assert harness.take()["eventId"] == "2"


# -- the lease of a turn


def waiting(world: World) -> Harness:
    """A harness whose model works, while another question waits for the end of that turn."""
    harness = working(world, dm("1", "check the deploy?"))
    world.says(post("2", "<@U1> and the docs?", "U1"))
    world.wait(590, harness)
    assert harness.events() == []
    return harness


def test_a_turn_without_an_end_is_over_after_its_lease(world: World):
    harness = waiting(world)
    world.wait(10, harness)

    assert harness.events()[0] == "2"
    (over,) = [step for step in world.show("1")["steps"] if step["step"] == "ended"]
    assert over["about"] == {"why": "lease over"}


def test_signs_of_work_renew_the_lease(world: World):
    harness = waiting(world)
    harness.tell("notifications/progress", progressToken="deploy", progress=1)
    world.wait(590, harness)
    assert harness.events() == []
    harness.call("chat.list_events")
    world.wait(590, harness)
    assert harness.events() == []
    harness.tell("chat/turn", eventId="1", state="started")
    world.wait(590, harness)
    assert harness.events() == []
    world.wait(10, harness)

    assert "2" in harness.events()


def test_the_lease_can_be_set_and_a_late_end_changes_nothing(world: World):
    world.bb("chat", "policy", "--set", '{"turn_lease_ms": 60000}')
    harness = world.harness()
    harness.tell("chat/turn", state="started")
    world.says(dm("1", "check the deploy?"))
    world.wait(59, harness)
    assert harness.events() == []
    world.wait(1, harness)
    assert harness.take()["eventId"] == "1"

    harness.tell("chat/turn", state="ended")
    assert harness.news() == []


# -- orders to stop


def test_an_order_to_stop_cancels_the_work_and_comes_at_once(world: World):
    harness = working(world, dm("1", "please run the migration"))
    world.says(dm("2", "stop! cancel the migration"))

    cancelled, order = harness.news()

    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "deliver-1"
    assert order["params"]["injection"] == {"mode": "immediate", "role": "user", "interrupt": True}
    assert order["params"]["attention"]["reason"] == "cancel"
    assert world.show("1")["disposition"] == "superseded"
    assert harness.refusal("chat.send_message", **answer(harness, "a")).code == "superseded"
    harness.answer(order)
    said = {**answer(harness, "b"), "inReplyTo": "2", "content": "It is stopped."}
    assert harness.call("chat.send_message", **said)["disposition"] == "responded"


def test_an_order_interrupts_again_and_again(world: World):
    harness = working(world, dm("1", "please run the migration"))
    for event in ("2", "3"):
        world.says(dm(event, "stop!"))
        order = harness.news()[-1]
        assert order["params"]["eventId"] == event
        harness.answer(order)
        harness.tell("chat/turn", eventId=event, attempt=1, state="started")


def test_work_that_was_answered_but_goes_on_is_stopped_too(world: World):
    harness = working(world, dm("1", "please run the migration"))
    harness.call("chat.send_message", **answer(harness, "a"))
    world.says(dm("2", "abort"))

    cancelled, order = harness.news()

    assert cancelled["params"]["requestId"] == "deliver-1"
    assert order["params"]["eventId"] == "2"
    assert world.show("1")["disposition"] == "responded"


def test_a_harness_that_can_neither_cancel_nor_interrupt_gets_the_order_first_of_all(world: World):
    can = without("utilities.cancellation", "injection.interrupt")
    harness = working(world, dm("1", "please run the migration"), capabilities=can)
    world.says(post("5", "<@U1> and the docs?", "U1"), dm("6", "stop!"))
    world.wait(5, harness)
    assert harness.news() == []

    harness.tell("chat/turn", eventId="1", state="ended")

    assert harness.events()[0] == "6"


def test_a_bystander_stops_nothing(world: World):
    harness = working(world, post("1", "<@U1> please run the migration", "U1"))
    world.says(post("2", "<@U1> stop!", "U1", author={"id": "W2"}))

    assert harness.news() == []
    assert world.show("1")["disposition"] is None


def test_the_person_stops_an_agent_by_a_command(world: World):
    harness = working(world, dm("1", "please run the migration"))

    stopped = world.bb("chat", "stop", AMBER, "--reason", "the machine is needed")

    assert stopped["stopped"] == ["1"]
    cancelled, order = harness.news()
    assert cancelled["params"]["requestId"] == "deliver-1"
    assert order["params"]["content"][0]["text"] == "Stop what you are doing. the machine is needed"
    assert order["params"]["author"] == {"id": "user", "kind": "human"}
    assert world.show("1")["disposition"] == "superseded"


def test_an_agent_may_not_give_the_order_of_the_person(world: World):
    refused = world.repo.json("chat", "stop", AMBER, BB_AGENT="blue-heron")

    assert refused.envelope["error"]["code"] == "PERSON_ONLY"
