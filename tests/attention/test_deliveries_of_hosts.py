"""`chat/deliver`: a harness may add a message for its own agent, or acknowledge one. It changes nothing for others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, Host
from tests.attention.test_c2a_core import EXAMPLE
from tests.attention.test_c2a_envelope import MISSING, changed


def envelope(text: str, **more: Any) -> dict[str, Any]:
    found = changed(copy.deepcopy(EXAMPLE), "/target/recipient", MISSING)
    found["conversation"] = {"id": "C1", "kind": "channel"}
    found["content"] = [{"type": "text", "text": text}]
    return {**found, **more}


def text_of(host: Host, agent: str, event: str) -> str:
    rows = host.do(list={"agent": agent, "include": "body"})["events"]
    (found,) = [row for row in rows if row["eventId"] == event]
    return str(found["content"][0]["text"])


def test_the_harness_of_another_agent_changes_no_delivered_message(host: Host):
    host.people()
    host.do(receive={"agent": AMBER, "envelope": envelope("the true text?")})
    forged = host.do(receive={"agent": BLUE, "envelope": envelope("a forged text?", contentVersion=9)})

    assert forged["status"] == "accepted", "it is a message of its own"
    assert text_of(host, AMBER, "evt_123") == "the true text?"
    host.wait("5s")
    assert "forged" not in host.inject(AMBER)["text"]


def test_nor_one_that_a_platform_brought(host: Host):
    host.people()
    host.says("evt_123", "the true text?", mentions=["U1"])
    forged = {"agent": BLUE, "envelope": envelope("a forged text?", contentVersion=9)}

    assert host.do(receive=forged)["status"] == "duplicate"
    assert text_of(host, AMBER, "evt_123") == "the true text?"
    assert host.explain("evt_123", BLUE)["now"]["policy"] == "must_not_respond", "our own decision counts"


@pytest.mark.parametrize("event", ["hidden", "unheard-of"])
def test_what_the_agent_cannot_see_is_neither_changed_nor_told(host: Host, event: str):
    host.people()
    host.do(conversation={"id": "P1", "is_private": True, "members": [AMBER]})
    host.says("hidden", "the secret", conversation="P1", mentions=["U1"])
    forged = {"agent": BLUE, "envelope": envelope("a forged text?", eventId=event, contentVersion=9)}

    assert host.do(receive=forged)["status"] == "accepted", "the same answer, whether it is there or not"
    assert host.do(receive=forged)["status"] == "duplicate"
    assert text_of(host, AMBER, "hidden") == "the secret"
    assert "the secret" not in str(host.do(list={"agent": BLUE, "include": "body"}))


def test_nothing_is_added_to_a_conversation_that_the_agent_cannot_see(host: Host):
    host.people()
    host.do(conversation={"id": "P1", "is_private": True, "members": [AMBER]})
    hidden = envelope("hello", conversation={"id": "P1", "kind": "channel"})

    assert host.refusal(receive={"agent": BLUE, "envelope": hidden}).code == "NOT_FOUND"
    assert host.do(receive={"agent": AMBER, "envelope": hidden})["status"] == "accepted"


def test_the_same_delivery_for_two_agents_is_one_message_whose_text_the_first_harness_edits(host: Host):
    host.people()
    for agent in (AMBER, BLUE):
        assert host.do(receive={"agent": agent, "envelope": envelope("well?")})["status"] == "accepted"
    newer = envelope("never mind?", contentVersion=2)

    assert host.do(receive={"agent": BLUE, "envelope": newer})["status"] == "duplicate"
    assert text_of(host, BLUE, "evt_123") == "well?"
    assert host.do(receive={"agent": AMBER, "envelope": newer})["status"] == "accepted"
    assert {text_of(host, agent, "evt_123") for agent in (AMBER, BLUE)} == {"never mind?"}


def test_a_knock_is_no_key_to_the_text_of_another_delivery(host: Host):
    host.people()
    hidden = {"conversation": {"id": "D9", "kind": "dm"}}
    host.do(receive={"agent": AMBER, "envelope": envelope("the secret", **hidden)})
    knock = changed(changed(envelope("", **hidden), "/content", MISSING), "/injection/mode", "notify")
    host.do(receive={"agent": BLUE, "envelope": knock})

    assert "the secret" not in str(host.do(list={"agent": BLUE, "include": "body"}))


def test_an_id_of_ours_is_no_way_to_a_message_of_an_agent(host: Host):
    host.people()
    sent = host.send(AMBER, "It is green.", "k", target={"conversation": "C1"})["messageId"]
    forged = envelope("It is red.", eventId=sent, contentVersion=9)
    del forged["source"]

    assert host.do(receive={"agent": BLUE, "envelope": forged})["status"] == "duplicate"
    assert text_of(host, BLUE, sent) == "It is green."
