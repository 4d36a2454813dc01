"""The tools of C2A over MCP: by three names the same, and the same as over C2A's own protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.acts import tools
from bb.kernel.errors import BbError
from bb.ops.attention import greeting
from bb.wire import c2a
from tests.mcp.mcp_support import AMBER, COBALT, Here, call, code, got

CAN = {
    "chatTools": dict.fromkeys(
        ("readThread", "sendMessage", "react", "reactionSignals", "claim", "defer", "resolve"), True
    )
}
HELLO = {
    "target": {"recipient": COBALT},
    "content": "The deploy is red. Can you look?",
    "visibility": "dm",
    "directedness": "to_me",
}


@pytest.fixture
def asked(both: Here) -> tuple[Here, str]:
    """amber-otter has asked cobalt-harbor something; what that event is called."""
    sent = got(both.toolbox(AMBER), "chat_send_message", idempotencyKey="k1", **HELLO)
    return both, str(sent["messageId"])


def over_c2a(here: Here, agent: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a harness is answered, or the data of its error."""
    desk = here.toolbox(agent).desk()
    begin = {"protocolVersion": "2026-06-02", "clientInfo": {}, "capabilities": CAN, "session": {"agent": agent}}
    try:
        hosting, _ = greeting.begin(desk, begin, agent)
        return hosting.call(name, given)
    except BbError as refusal:
        return {"refused": c2a.data_of(refusal)}
    finally:
        desk.close()


@pytest.mark.parametrize("tool", tools.TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_answers_alike_by_its_dotted_name_its_plain_one_and_through_chat(both: Here, tool: tools.Tool):
    box = both.toolbox(AMBER)

    dotted, plain = box.call(tool.name, {}), box.call(tool.plain_name, {})
    chosen = [call(box, "chat", tool=name, arguments={}) for name in (tool.name, tool.plain_name, tool.name[5:])]

    assert box.has(tool.name)
    assert box.has(tool.plain_name)
    assert all(each.data == dotted.data and each.is_error == dotted.is_error for each in [plain, *chosen])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("chat.list_events", {}),
        ("chat.list_events", {"state": "odd"}),
        ("chat.list_events", {"limit": -1}),
        ("chat.read_thread", {}),
        ("chat.read_thread", {"eventId": "nothing"}),
        ("chat.send_message", {}),
        ("chat.send_message", {**HELLO, "idempotencyKey": 5}),
        ("chat.react", {"inReplyTo": "nothing", "signal": "seen"}),
        ("chat.react", {"inReplyTo": "EVENT", "signal": "wave"}),
        ("chat.claim", {"eventId": "nothing"}),
        ("chat.claim", {"eventId": "EVENT", "action": "transfer"}),
        ("chat.defer", {"eventId": "EVENT"}),
        ("chat.resolve", {"eventId": "EVENT", "outcome": "fine"}),
    ],
)
def test_m_equals_r_the_same_arguments_have_the_same_answer_or_the_same_code(
    asked: tuple[Here, str], name: str, given: dict[str, Any]
):
    here, event = asked
    given = json.loads(json.dumps(given).replace("EVENT", event))

    harness = over_c2a(here, COBALT, name, given)
    host = here.toolbox(COBALT).call(name, given)

    assert host.is_error is ("refused" in harness)
    if host.is_error:
        assert host.data["code"] == harness["refused"]["code"]
        assert host.data["code"] == host.data["code"].lower()
        assert host.data["details"].get("path") == harness["refused"].get("path")
    else:
        assert host.data == {"untrusted": True, **harness}


def test_6_two_sends_with_one_key_are_one_message_on_whichever_surface(asked: tuple[Here, str]):
    here, event = asked

    again = got(here.toolbox(AMBER), "chat.send_message", idempotencyKey="k1", **HELLO)
    harness = over_c2a(here, AMBER, "chat.send_message", {"idempotencyKey": "k1", **HELLO})

    assert again["messageId"] == harness["messageId"] == event
    assert again["deduplicated"] is harness["deduplicated"] is True


def test_a_question_is_seen_read_and_answered(asked: tuple[Here, str]):
    here, event = asked
    cobalt = here.toolbox(COBALT)

    told = got(cobalt, "session")
    assert told["chat_owed"] == 1
    assert {"tool": "list_events", "arguments": {"state": "open"}} in [step["arguments"] for step in told["next"]]
    (row,) = got(cobalt, "chat", tool="list_events", arguments={"state": "open"})["events"]
    assert (row["eventId"], row["policy"]) == (event, "must_respond")
    (item,) = got(cobalt, "chat_read_thread", eventId=event)["items"]
    assert item["untrusted"] is True
    got(cobalt, "chat_react", inReplyTo=event, signal="done")
    assert got(cobalt, "session")["chat_owed"] == 0


def test_31_a_reply_to_what_must_not_be_answered_is_refused_and_nothing_is_sent(both: Here):
    amber, cobalt = both.toolbox(AMBER), both.toolbox(COBALT)
    fyi = HELLO | {"content": "thanks!", "intent": "thanks", "idempotencyKey": "k2"}
    event = got(amber, "chat_send_message", **fyi)["messageId"]
    (row,) = got(cobalt, "chat_list_events")["events"]
    answer = {"target": {"recipient": AMBER}, "content": "Let me explain at length:\n1\n2", "inReplyTo": event}

    refused = code(cobalt, "chat_send_message", idempotencyKey="k3", visibility="dm", directedness="to_me", **answer)

    assert row["policy"] in ("ack_only", "must_not_respond")
    assert refused == "policy_forbids"
    assert len(got(amber, "chat_list_events")["events"]) == 0


def test_11_what_the_tools_can_do_is_told_without_a_session(both: Here):
    told = got(both.toolbox(), "chat_capabilities")

    assert set(told["capabilities"]["chatTools"].values()) == {True}
    assert set(told["capabilities"]["delivery"].values()) == {False}
    assert told["protocolVersion"] == greeting.PROTOCOL
    assert "C2A RESPONSE RULES" in told["instructions"]
