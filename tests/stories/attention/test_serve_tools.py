"""The tools of a harness (C2A checklist 3, 6, 114 to 126, 139 to 145)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stories.attention.harness_support import AMBER, BLUE, World, dm, post

NAMES = ["list_events", "read_thread", "send_message", "react", "claim", "defer", "resolve"]
REPLY = {
    "target": {"conversation": f"D-{AMBER}"},
    "inReplyTo": "1",
    "content": "all is well",
    "idempotencyKey": "k",
    "visibility": "dm",
    "directedness": "to_me",
}
FRESH = {
    "target": {"conversation": "C1"},
    "content": "who has the keys?",
    "idempotencyKey": "f",
    "visibility": "channel",
    "directedness": "ambient",
}


@pytest.fixture
def asked(world: World) -> World:
    """Somebody has asked something."""
    world.says(dm("1", "check the deploy?"), post("2", "@solo ping", "@solo"), post("3", "lunch"))
    return world


def test_c2a_143_144_the_tools_say_what_they_take_and_that_they_may_be_called_twice(world: World):
    tools = world.harness().ask("tools/list")["tools"]

    assert [tool["name"] for tool in tools] == [f"chat.{name}" for name in NAMES]
    for tool in tools:
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert "agent" not in tool["inputSchema"]["properties"]
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert tool["annotations"]["idempotentHint"] is True
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] in ("chat.list_events", "chat.read_thread"))


def test_a_tool_is_called_by_any_of_its_names(asked: World):
    harness = asked.harness()

    found = harness.call("chat.list_events", state="open")

    assert [row["eventId"] for row in found["events"]] == ["2", "1"]
    assert harness.call("chat_list_events", state="open") == found
    assert harness.ask("chat.list_events", state="open") == found
    assert harness.ask("chat_list_events", state="open", unknown=1) == found


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "/name"),
        ({"name": 1}, "/name"),
        ({"name": "chat.sing"}, "/name"),
        ({"name": "chat.claim", "arguments": []}, "/arguments"),
    ],
)
def test_what_is_no_call_is_pointed_at(world: World, params: dict[str, Any], path: str):
    refused = world.harness().refusal("tools/call", **params)

    assert (refused.number, refused.data["path"]) == (-32602, path)


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("list_events", {"policy": ["must"]}, "/policy/0"),
        ("list_events", {"limit": "many"}, "/limit"),
        ("list_events", {"since": "yesterday"}, "/since"),
        ("list_events", {"include": "all"}, "/include"),
        ("read_thread", {}, "/eventId"),
        ("read_thread", {"eventId": "1", "maxBytes": -1}, "/maxBytes"),
        ("react", {"signal": "done"}, "/inReplyTo"),
        ("react", {"inReplyTo": "1"}, "/signal"),
        ("react", {"inReplyTo": "1", "signal": "queued", "until": "soon"}, "/until"),
        ("claim", {}, "/eventId"),
        ("claim", {"eventId": "2", "action": "steal"}, "/action"),
        ("claim", {"eventId": "2", "ttlMs": "long"}, "/ttlMs"),
        ("defer", {"eventId": "1"}, "/reason"),
        ("defer", {"reason": "r"}, "/eventId"),
        ("resolve", {}, "/eventId"),
        ("resolve", {"eventId": "1", "outcome": "well"}, "/outcome"),
        ("send_message", {**FRESH, "content": []}, "/content"),
        ("send_message", {**FRESH, "content": [{"type": "text"}]}, "/content/0/text"),
        ("send_message", {**FRESH, "visibility": "all"}, "/visibility"),
        ("send_message", {**FRESH, "target": "C1"}, "/target"),
    ],
)
def test_what_is_wrong_with_an_argument_is_pointed_at(asked: World, tool: str, arguments: dict[str, Any], path: str):
    harness = asked.harness()

    for refused in (
        harness.refusal("tools/call", name=f"chat.{tool}", arguments=arguments),
        harness.refusal(f"chat.{tool}", **arguments),
    ):
        assert (refused.number, refused.data["path"]) == (-32602, path)
    assert asked.bb("chat", "outbox") == []


@pytest.mark.parametrize("name", ["target", "content", "idempotencyKey", "visibility", "directedness"])
@pytest.mark.parametrize("how", ["left out", "null"])
def test_c2a_122_124_125_126_145_nothing_of_a_message_is_guessed(asked: World, name: str, how: str):
    """And where a key lacks, nothing was tried even once."""
    said = {**FRESH, name: None} if how == "null" else {each: value for each, value in FRESH.items() if each != name}

    refused = asked.harness().refusal("tools/call", name="chat.send_message", arguments=said)

    assert (refused.number, refused.data["path"]) == (-32602, f"/{name}")
    assert asked.bb("chat", "audit")["records"][0]["what"] != "sent"


def test_c2a_123_what_answers_nothing_needs_no_event(asked: World):
    assert asked.harness().call("chat.send_message", **FRESH)["state"] == "sent"


def test_c2a_125_what_cannot_be_ephemeral_is_not_said_at_all(asked: World):
    refused = asked.harness().refusal("chat.send_message", **{**FRESH, "visibility": "ephemeral"})

    assert (refused.number, refused.code) == (-32062, "capability_missing")


def test_c2a_006_140_a_key_stands_for_one_message_on_every_face(asked: World):
    harness = asked.harness()
    first = harness.call("chat.send_message", **REPLY)

    again = harness.ask("chat.send_message", **REPLY)
    typed = asked.bb(
        *("chat", "send", "all is well", "--by", AMBER, "--in-reply-to", "1", "--idempotency-key", "k"),
        *("--visibility", "dm", "--directedness", "to_me", "--conversation", f"D-{AMBER}"),
    )

    assert again["messageId"] == typed["messageId"] == first["messageId"]
    assert (first["deduplicated"], again["deduplicated"], typed["deduplicated"]) == (False, True, True)
    refused = harness.refusal("chat.send_message", **{**REPLY, "content": "it burns"})
    assert (refused.number, refused.code) == (-32055, "idempotency_conflict")


def test_a_refusal_has_its_number_and_says_what_to_do(asked: World):
    harness, other = asked.harness(), asked.harness(agent=BLUE)
    answer = {**REPLY, "target": {"conversation": "C1"}, "visibility": "channel"}

    found = {
        "ambient": harness.refusal("chat.send_message", **{**answer, "inReplyTo": "3", "idempotencyKey": "a"}),
        "unclaimed": harness.refusal("chat.send_message", **{**answer, "inReplyTo": "2", "idempotencyKey": "b"}),
        "no such": harness.refusal("chat.read_thread", eventId="no-such"),
        "not theirs": other.refusal("chat.read_thread", eventId="1"),
        "not owed": harness.refusal("chat.defer", eventId="3", reason="later"),
    }

    assert {name: (each.number, each.code) for name, each in found.items()} == {
        "ambient": (-32050, "policy_forbids"),
        "unclaimed": (-32053, "claim_required"),
        "no such": (-32059, "not_found"),
        "not theirs": (-32059, "not_found"),
        "not owed": (-32065, "not_deferrable"),
    }
    assert all(each.data["hint"] for name, each in found.items() if name != "not owed")
    assert found["ambient"].data["eventId"] == "3"


def test_c2a_119_130_whoever_claims_is_named_to_the_others(asked: World):
    asked.says(post("4", "@backend ping", "@backend"))
    harnesses = {agent: asked.harness(agent=agent) for agent in (AMBER, BLUE)}
    refused = {}
    for agent, each in harnesses.items():
        try:
            granted = each.call("chat.claim", eventId="4")
        except Exception as error:
            refused[agent] = error
        else:
            owner = agent
    ((loser, error),) = refused.items()

    assert granted["owner"] == owner != loser
    assert granted["expiresAt"]
    assert (error.number, error.code) == (-32052, "claimed_by_other")
    assert error.data["owner"] == owner
    assert error.data["expiresAt"]


def test_c2a_132_of_two_harnesses_that_claim_at_once_one_wins(asked: World):
    """Each has a process of its own, and both were asked before either has answered."""
    asked.says(*(post(f"c{n}", "@backend ping", "@backend") for n in range(8)))
    asked.wait(31)  # whoever is asked first has had its time
    harnesses = [asked.harness(agent=agent) for agent in (AMBER, BLUE)]
    owners = []
    for n in range(8):
        for each in harnesses:
            each.say(id=f"c{n}", method="chat.claim", params={"eventId": f"c{n}"})
        answers = [each.until(f"c{n}") for each in harnesses]
        (granted,) = (each["result"] for each in answers if "result" in each)
        (refused,) = (each["error"] for each in answers if "error" in each)
        assert (refused["code"], refused["data"]["owner"]) == (-32052, granted["owner"])
        owners.append(asked.bb("chat", "show", f"c{n}", "--agent", AMBER)["claim"]["owner"] == granted["owner"])

    assert owners == [True] * 8


def test_c2a_118_120_121_each_tool_settles_what_it_says(asked: World):
    asked.says(*(dm(f"q{n}", "check?", conversation={"id": f"D{n}", "kind": "dm"}) for n in range(4)))
    asked.says(post("t", "<@U1> look", "U1", thread="7"))
    harness = asked.harness()

    assert (
        harness.call("chat.react", inReplyTo="q0", signal="queued", eta="after the deploy")["disposition"] == "deferred"
    )
    assert harness.call("chat.react", onMessage="q1", signal="seen")["disposition"] is None
    assert harness.call("chat.defer", eventId="q2", reason="the deploy runs")["disposition"] == "deferred"
    assert harness.call("chat.resolve", assignment="q3", outcome="done")["disposition"] == "responded"
    assert harness.call("chat.claim", thread="C1/7")["subject"] == "thread C1 7"


def test_c2a_115_a_long_list_comes_in_parts_that_fit(world: World):
    """Whatever is asked for: a line has its limit, and the cursor goes on behind it."""
    world.says(*(post(str(n), "x" * 60_000) for n in range(40)))
    harness = world.harness()
    seen: list[str] = []
    cursor = None
    while True:
        found = harness.call("chat.list_events", include="body", limit=200, **({"cursor": cursor} if cursor else {}))
        seen += [row["eventId"] for row in found["events"]]
        cursor = found["cursor"]
        if not cursor:
            break

    assert seen == [str(n) for n in reversed(range(40))]
    assert len(harness.call("chat.read_thread", conversation="C1", limit=100, maxBytes=1_000_000)["items"]) < 40


def test_c2a_003_what_an_agent_is_called_changes_nothing(asked: World):
    def decisions() -> list[list[Any]]:
        rows = asked.harness().call("chat.list_events", include="envelope")["events"]
        return [[row["envelope"][name] for name in ("eventId", "target", "attention", "injection")] for row in rows]

    before = decisions()
    title = ["--role", "chief-of-everything", "--display", "Chief of Everything"]
    asked.bb("agent", "register", "--name", AMBER, *title, "--force-update")

    assert decisions() == before


def test_c2a_139_142_what_the_platform_refuses_for_good_is_told(asked: World):
    asked.bb("chat", "arrange", f"D-{AMBER}", "--external")
    harness = asked.harness()
    sent = harness.call("chat.send_message", **REPLY)
    asked.bb("chat", "outbox", "ack", sent["messageId"], "--unknown")
    assert harness.call("chat.send_message", **REPLY)["state"] == "unknown"
    asked.bb("chat", "outbox", "ack", sent["messageId"], "--failed", "channel is archived")

    refused = harness.refusal("chat.send_message", **REPLY)

    assert (refused.number, refused.code) == (-32064, "delivery_failed")
    assert refused.data["messageId"] == sent["messageId"]


def test_c2a_141_what_may_have_been_posted_is_looked_for_and_not_said_twice(asked: World):
    asked.bb("chat", "arrange", f"D-{AMBER}", "--external")
    harness = asked.harness()
    sent = harness.call("chat.send_message", **REPLY)
    asked.bb("chat", "outbox", "ack", sent["messageId"], "--unknown")  # accepted, and then silence
    (waiting,) = asked.bb("chat", "outbox")
    assert waiting["state"] == "unknown"

    harness.ask("chat/ingest", lines=[dm("posted", "all is well", author={"id": "U1"}, marker=waiting["marker"])])

    assert asked.bb("chat", "outbox") == []
    again = harness.call("chat.send_message", **REPLY)
    assert (again["messageId"], again["state"], again["deduplicated"]) == (sent["messageId"], "sent", True)
    said = harness.call("chat.read_thread", conversation=f"D-{AMBER}")["items"]
    assert [item["parts"][0]["text"] for item in said] == ["check the deploy?", "all is well"]
