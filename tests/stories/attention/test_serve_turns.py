"""While the model works, and what each capability changes (C2A checklist 45, 137, 138, 151 to 153, 156, 158)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stories.attention.harness_support import (
    AMBER,
    BLUE,
    Harness,
    World,
    delete,
    dm,
    edit,
    post,
    without,
)

URGENT = {"attention": {"priority": "urgent"}}
CANARY = "the heron nests behind the old boiler"


def working(world: World, *lines: dict[str, Any], capabilities: dict[str, Any] | None = None) -> Harness:
    """A harness whose model works at what was said."""
    world.says(*lines)
    harness = world.harness(capabilities)
    world.wait(5, harness)
    envelope = harness.take()
    harness.tell("chat/turn", eventId=envelope["eventId"], attempt=1, state="started")
    assert harness.news() == []
    return harness


# -- a boundary


def test_c2a_045_a_turn_is_not_interrupted(world: World):
    harness = working(world, dm("1", "check the deploy?"))
    assert world.show("1")["phase"] == "in_turn"
    world.says(post("2", "<@U1> deploy is blocked", "U1", intent="blocker", attention={"priority": "high"}))
    world.says(post("3", "<@U1> and the build?", "U1", conversation={"id": "C2", "kind": "channel"}))
    world.wait(10, harness)
    assert harness.events() == []
    rows = {row["eventId"]: row["phase"] for row in harness.call("chat.list_events")["events"]}
    assert rows["2"] == "held_for_boundary"

    harness.tell("chat/turn", eventId="1", attempt=1, state="ended")

    assert harness.events() == ["2", "3"]


def test_c2a_045_what_is_urgent_interrupts_where_that_was_agreed_on(world: World):
    harness = working(world, dm("1", "check the deploy?"))
    world.says(post("2", "<@U1> stop the deploy!", "U1", **URGENT))

    envelope = harness.take()

    assert envelope["injection"] == {"mode": "immediate", "role": "user", "interrupt": True}
    world.says(post("3", "<@U1> stop the build, too!", "U1", **URGENT))
    assert harness.events() == []  # once in five minutes is enough
    world.wait(300, harness)
    assert "3" in harness.events()


def test_c2a_045_without_interrupt_even_that_waits(world: World):
    harness = working(world, dm("1", "check the deploy?"), capabilities=without("injection.interrupt"))
    world.says(post("2", "<@U1> stop the deploy!", "U1", **URGENT))
    assert harness.events() == []

    harness.tell("chat/turn", eventId="1", state="ended")

    assert "interrupt" not in harness.take()["injection"]


def test_a_turn_of_its_own_is_not_interrupted_either(world: World):
    harness = world.harness()
    harness.tell("chat/turn", state="started")
    world.says(dm("1", "check the deploy?"))
    world.wait(5, harness)
    assert harness.events() == []

    harness.tell("chat/turn", state="ended")

    assert harness.events() == ["1"]


# -- a turn that fails


def test_c2a_137_a_turn_that_failed_is_tried_again_three_times_in_all(world: World):
    world.bb("chat", "arrange", f"D-{AMBER}", "--lead", BLUE)
    harness = working(world, dm("1", "check the deploy?"))
    for attempt in (2, 3):
        harness.tell("chat/turn", eventId="1", attempt=attempt - 1, state="failed", outbound=False)
        assert harness.take()["reliability"]["attempt"] == attempt
        harness.tell("chat/turn", eventId="1", attempt=attempt, state="started")

    harness.tell("chat/turn", eventId="1", attempt=3, state="failed", outbound=False)

    assert harness.events() == []
    assert world.show("1")["disposition"] == "failed"
    assert [row["reason"] for row in world.bb("chat", "pending", "--agent", BLUE)["events"]] == ["escalated"]


def test_c2a_138_a_turn_that_has_said_something_never_runs_again(world: World):
    harness = working(world, dm("1", "check the deploy?"))

    harness.tell("chat/turn", eventId="1", attempt=1, state="failed", outbound=True)
    world.wait(400, harness)

    assert harness.events() == []
    assert harness.news() == []


def test_c2a_138_there_is_one_answer_unless_the_first_has_failed_for_good(world: World):
    world.bb("chat", "arrange", f"D-{AMBER}", "--external", "--platform", "slack", "--kind", "dm")
    harness = working(world, dm("1", "check the deploy?"))
    how = {"target": {"conversation": f"D-{AMBER}"}, "inReplyTo": "1", "visibility": "dm", "directedness": "to_me"}
    first = harness.call("chat.send_message", content="all is well", idempotencyKey="a", **how)
    assert (first["state"], first["deduplicated"]) == ("pending", False)

    assert harness.refusal("chat.send_message", content="no, it burns", idempotencyKey="b", **how).number == -32056

    world.bb("chat", "outbox", "ack", first["messageId"], "--failed", "channel is archived")
    assert harness.refusal("chat.send_message", content="all is well", idempotencyKey="a", **how).number == -32064
    assert harness.call("chat.send_message", content="no, it burns", idempotencyKey="b", **how)["state"] == "pending"


def test_what_is_said_of_an_earlier_attempt_is_too_late(world: World):
    harness = working(world, dm("1", "check the deploy?"))
    harness.tell("chat/turn", eventId="1", attempt=1, state="failed", outbound=False)
    harness.take()
    harness.tell("chat/turn", eventId="1", attempt=2, state="started")

    harness.tell("chat/turn", eventId="1", attempt=1, state="ended")
    harness.tell("chat/turn", eventId="no-such", attempt=1, state="failed")
    harness.tell("chat/turn", eventId="1", attempt="x", state="ended")
    harness.tell("chat/turn", eventId="1", state="somehow")

    assert harness.news() == []
    assert world.show("1")["phase"] == "in_turn"


def test_a_session_that_ended_in_a_turn_leaves_no_turn_behind(world: World):
    working(world, dm("1", "check the deploy?")).close()

    harness = world.harness()

    assert harness.events() == []
    assert world.show("1")["phase"] == "accepted"
    world.wait(500, harness)  # half of its time is over
    assert harness.take()["injection"]["mode"] == "notify"


# -- what changes meanwhile


def test_c2a_158_a_piece_that_comes_meanwhile_restarts_the_turn(world: World):
    harness = working(world, dm("1", "check"))
    world.says(dm("2", "the deploy"))
    assert harness.news() == []
    world.wait(3, harness)

    cancelled, deliver = harness.news()

    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "deliver-1"
    envelope = deliver["params"]
    assert (envelope["eventId"], envelope["mergedFrom"], envelope["contentVersion"]) == ("1", ["2"], 2)
    assert [part["text"] for part in envelope["content"]] == ["check", "the deploy"]
    assert "event_id: 1\n" in envelope["rendered"]
    assert world.show("2")["disposition"] == "superseded"
    assert world.show("2")["supersededBy"] == "1"
    assert world.show("1")["phase"] == "offered"


def test_c2a_158_that_happens_twice_and_then_a_piece_is_a_message(world: World):
    harness = working(world, dm("1", "check"))
    for event in ("2", "3"):
        world.says(dm(event, "and more"))
        world.wait(3, harness)
        _, deliver = harness.news()
        assert deliver["params"]["eventId"] == "1"
        harness.answer(deliver)
        harness.tell("chat/turn", eventId="1", state="started")
    world.says(dm("4", "and more"))
    world.wait(3, harness)
    assert harness.news() == []

    harness.tell("chat/turn", eventId="1", state="ended")

    assert harness.take()["eventId"] == "4"


@pytest.mark.parametrize("why", ["answered", "somebody else spoke", "too late", "no cancellation"])
def test_c2a_158_otherwise_it_is_a_message_of_its_own(world: World, why: str):
    lines, capabilities = [dm("2", "the deploy")], None
    if why == "no cancellation":
        capabilities = without("utilities.cancellation")
    if why == "somebody else spoke":
        lines = [dm("x", "hm", author={"id": "W2"}), *lines]
    harness = working(world, dm("1", "check"), capabilities=capabilities)
    if why == "answered":
        how = {"visibility": "dm", "directedness": "to_me", "target": {}}
        harness.call("chat.send_message", inReplyTo="1", content="done", idempotencyKey="k", **how)
    if why == "too late":
        world.wait(30, harness)
    world.says(*lines)
    world.wait(5, harness)

    assert harness.news() == []
    harness.tell("chat/turn", eventId="1", state="ended")
    taken = []
    while found := harness.delivers():
        taken += [each["params"]["eventId"] for each in found]
        harness.answer(found[0])
    assert taken == (["x", "2"] if why == "somebody else spoke" else ["2"])


def test_c2a_154_158_an_edit_calls_it_off_and_comes_instead(world: World):
    said = dm("1", "check the deploy?")
    harness = working(world, said)
    world.says(edit(said, "check the build?"))

    (cancelled,) = harness.news()
    assert harness.news() == []
    world.wait(3, harness)  # perhaps it is edited once more
    deliver = harness.deliver()

    assert cancelled["params"] == {"requestId": "deliver-1", "reason": "the message was edited"}
    envelope = deliver["params"]
    assert (envelope["eventId"], envelope["contentVersion"]) == ("1", 2)
    assert envelope["reliability"] == {"attempt": 2, "idempotencyKey": "1:agent_amber_otter"}
    assert envelope["content"][0]["text"] == "check the build?"


def test_an_edit_of_one_piece_calls_off_all_of_them(world: World):
    first = dm("1", "check")
    harness = working(world, first, dm("2", "the deploy"))
    world.says(edit(first, "please check"))

    _, deliver = harness.news()

    assert deliver["params"]["eventId"] == "2"
    assert [part["text"] for part in deliver["params"]["content"]] == ["please check", "the deploy"]
    assert deliver["params"]["contentVersion"] == 3
    harness.answer(deliver)
    world.says(delete(first))
    _, deliver = harness.news()
    assert [part["text"] for part in deliver["params"]["content"]] == ["the deploy"]
    assert deliver["params"]["contentVersion"] == 4


def test_c2a_156_a_deletion_calls_it_off(world: World):
    said = dm("1", "check the deploy?")
    harness = working(world, said)
    world.says(delete(said))

    (cancelled,) = harness.news()

    assert cancelled["params"] == {"requestId": "deliver-1", "reason": "the message was deleted"}
    assert world.show("1")["disposition"] == "superseded"
    assert "deploy" not in json.dumps(harness.call("chat.read_thread", eventId="1"))


def test_c2a_156_what_was_answered_is_not_called_off(world: World):
    said = dm("1", "check the deploy?")
    harness = working(world, said)
    how = {"visibility": "dm", "directedness": "to_me", "target": {}, "inReplyTo": "1"}
    harness.call("chat.send_message", content="done", idempotencyKey="k", **how)
    world.says(delete(said))

    assert harness.news() == []


def test_c2a_151_a_harness_may_drop_what_it_was_handed(world: World):
    harness = working(world, dm("1", "check the deploy?"))

    harness.tell("notifications/cancelled", requestId="deliver-1", reason="no room")
    harness.tell("notifications/cancelled", requestId="no-such")
    harness.tell("notifications/cancelled")

    assert harness.news() == []
    world.wait(1, harness)
    assert harness.take()["reliability"]["attempt"] == 2


def test_c2a_152_153_progress_is_no_message(world: World):
    harness, other = world.harness(), world.harness(agent=BLUE)
    for progress in (2, 3, 1, -1, "x"):
        harness.tell("notifications/progress", progressToken="deploy", progress=progress, total=5, message="built")
    assert harness.news() == other.news() == []

    (told,) = world.bb("chat", "digest", "--agent", BLUE, "--peek")["progress"]
    assert (told["token"], told["progress"], told["total"], told["message"]) == ("deploy", 3, 5, "built")
    assert harness.call("chat.list_events")["events"] == []


def test_logging_goes_to_whoever_looks_after_the_host(world: World):
    harness = world.harness()
    harness.tell("notifications/message", level="info", data="out of \x1b[31mtokens")
    harness.ask("shutdown")

    assert "amber-otter says: out of" in harness.line.last_words()
    silent = world.harness(without("utilities.logging"))
    silent.tell("notifications/message", level="info", data="out of tokens")
    silent.ask("shutdown")
    assert silent.line.last_words() == ""


# -- capabilities


def test_without_notify_a_knock_that_obliges_is_told_in_words_of_the_host(world: World):
    world.bb("chat", "policy", "--set", json.dumps({"rules": [
        {"match": {"directedness": "to_me"}, "set": {"injection": "notify"}},
    ]}))  # fmt: skip
    world.says(dm("1", CANARY), post("2", f"@solo {CANARY}", "@solo"))
    harness = world.harness(without("injection.notify"))

    envelope = harness.take()

    assert envelope["eventId"] == "1"
    assert envelope["injection"]["mode"] == "buffered"
    assert envelope["content"][0]["from"] == "host"
    assert envelope["content"][0]["text"].startswith("C2A KNOCK")
    assert "knock" not in envelope
    assert CANARY.encode() not in harness.octets
    assert [row["phase"] for row in harness.call("chat.list_events")["events"]] == ["knocked", "accepted"]


def test_without_buffered_it_is_immediate_at_a_boundary(world: World):
    harness = working(world, dm("1", "check the deploy?"), capabilities=without("injection.buffered"))
    world.says(post("2", "<@U1> status?", "U1"))
    world.wait(5, harness)
    assert harness.events() == []

    harness.tell("chat/turn", eventId="1", state="ended")

    assert harness.take()["injection"]["mode"] == "immediate"


def test_a_digest_comes_by_the_hour_where_it_was_agreed_on(world: World):
    lines = [post(str(n), "built", author={"id": "ci", "kind": "system"}) for n in range(3)]
    harness, other = world.harness(), world.harness(without("injection.digest"), agent=BLUE)
    world.says(*lines)
    assert harness.events() == []
    world.wait(3600, harness, other)

    deliver = harness.deliver()

    envelope = deliver["params"]
    assert (envelope["conversation"]["kind"], envelope["injection"]["mode"]) == ("system", "digest")
    assert envelope["attention"]["policy"] == "must_not_respond"
    assert "3 messages from 1 author" in envelope["content"][0]["text"]
    assert other.events() == []
    assert world.bb("chat", "digest", "--agent", AMBER, "--peek")["sections"]
    harness.answer(deliver)
    assert harness.news() == []
    assert not world.bb("chat", "digest", "--agent", AMBER, "--peek")["sections"]


def test_a_digest_that_did_not_arrive_is_not_lost(world: World):
    harness = world.harness()
    world.says(post("1", "built", author={"id": "ci", "kind": "system"}))
    world.wait(3600, harness)
    harness.answer(harness.deliver(), "busy", retryAfterMs=1000)
    world.wait(1, harness)
    assert harness.events() == []
    world.wait(60, harness)

    assert harness.take()["injection"]["mode"] == "digest"


def test_without_redelivery_it_comes_once(world: World):
    world.says(dm("1", "check the deploy?"))
    harness = world.harness(without("delivery.redelivery"))
    world.wait(5, harness)
    harness.deliver()

    for _ in range(8):
        world.wait(30, harness)
    assert harness.events() == []
    assert world.show("1")["phase"] == "parked"
    harness.close()
    assert world.harness(without("delivery.redelivery")).events() == []
    assert world.harness().events() == ["1"]


def test_without_ack_there_is_no_redelivery_either(world: World):
    answer = world.connect().initialize(without("delivery.ack"))

    assert answer["capabilities"]["delivery"] == {"ack": False, "redelivery": False, "idempotency": True}


def test_without_reaction_signals_there_is_no_tool_to_react(world: World):
    world.says(dm("1", "check the deploy?"))
    harness = world.harness(without("chatTools.reactionSignals"))

    assert "chat.react" not in [tool["name"] for tool in harness.ask("tools/list")["tools"]]
    refused = harness.refusal("tools/call", name="chat.react", arguments={"inReplyTo": "1", "signal": "done"})
    assert (refused.number, refused.code) == (-32062, "capability_missing")
    assert world.show("1")["disposition"] is None
