"""C2A §1.7 and §1.8 of the checklist, items 60 to 75: what may be answered, what may not, and to what one's own words
oblige."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, Host, InMemory, Refused, message

IN_C1: dict[str, Any] = {"target": {"conversation": "C1"}, "directedness": "ambient"}
IN_T: dict[str, Any] = {
    "target": {"conversation": "C1", "thread": "T"},
    "directedness": "ambient",
    "visibility": "thread",
}


def answers(host: Host, event: str, agent: str = AMBER, text: str = "It is the cache.") -> str:
    """What comes of an answer to an event: the disposition, or why it is refused, and that then nothing was said."""
    before = len(said(host))
    stands = host.explain(event, agent)
    visibility = "dm" if stands["inputs"]["kind"] == "dm" else "channel"
    answer = {"content": text, "inReplyTo": event, "idempotencyKey": f"{agent} {event}", "visibility": visibility}
    step = {"send": {"agent": agent, "directedness": "to_other", **answer}}
    if stands["now"]["policy"] in ("must_respond", "may_respond"):
        try:
            found: str = host.do(**step)["disposition"]
        except Refused as refused:
            return refused.code
        assert len(said(host)) == before + 1
        return found
    code = host.refusal(**step).code
    assert len(said(host)) == before
    return code


def said(host: Host) -> list[str]:
    """What the agents have said so far, as the audit has it."""
    return [record["eventId"] for record in host.do(audit={})["records"] if record["what"] == "sent"]


# -- respond


def test_c2a_060_a_private_message_is_answered(host: Host):
    host.people()
    host.dm("1", "check the deploy?")

    assert host.triple("1") == "to_me/must_respond/buffered"
    assert answers(host, "1") == "responded"


def test_c2a_061_who_is_named_answers(host: Host):
    host.people()
    host.says("1", "U1 is it red?", mentions=["U1"])

    assert host.triple("1") == "to_me/must_respond/buffered"
    assert answers(host, "1") == "responded"


def test_c2a_062_who_is_given_work_answers(host: Host):
    host.people()
    host.says("1", "Rotate the keys", recipient="U1", intent="assignment")

    assert (host.triple("1"), host.explain("1")["reason"]) == ("to_me/must_respond/buffered", "assignment")
    assert answers(host, "1") == "responded"


def test_c2a_063_who_is_asked_in_its_own_thread_answers(host: Host):
    host.people()
    host.send(AMBER, "The deploy is through.", "k", **IN_T)
    host.says("1", "all of it?", thread="T")

    assert (host.triple("1"), host.explain("1")["reason"]) == ("to_me/must_respond/buffered", "thread_question")
    assert answers(host, "1") == "responded"


def test_c2a_064_news_of_ones_own_work_may_be_answered_without_a_claim(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "streams": ["acme/kettle"], "threads": ["C1 T"]})
    host.says("1", "the boiler is blocked again", stream="acme/kettle")
    host.says("2", "the lid is blocked again", thread="T")

    for event in ("1", "2"):
        assert host.triple(event) == "to_my_role/may_respond/notify"
        assert host.explain(event)["reason"] == "owned_work_changed"
        assert answers(host, event) == "responded"


def test_c2a_065_who_needs_something_from_a_person_may_ask(host: Host):
    host.people()
    host.do(policy={"agent_per_minute": 3})
    for n in range(3):
        asked = host.send(AMBER, f"May I restart number {n}?", f"k{n}", **IN_C1 | {"intent": "question"})
        assert (asked["deduplicated"], asked["disposition"]) == (False, None)
    refused = host.refusal(
        send={"agent": AMBER, "content": "And 4?", "idempotencyKey": "k4", "visibility": "channel", **IN_C1}
    )

    assert refused.code == "RATE_LIMITED"
    assert 0 < int(refused.details["retry_after_ms"]) <= 60_000
    assert len(said(host)) == 3
    assert host.send(BLUE, "And I?", "k", **IN_C1)["deduplicated"] is False, "others are not held up"
    again = host.send(AMBER, "May I restart number 2?", "k2", **IN_C1 | {"intent": "question"})
    assert again["deduplicated"] is True, "what was said before may be asked for again"
    host.wait("61s")
    assert host.send(AMBER, "And 4?", "k4", **IN_C1)["deduplicated"] is False


# -- do not respond


@pytest.mark.parametrize("text", ["It is the cache.", "noted"])
def test_c2a_066_chatter_is_not_answered(host: Host, text: str):
    host.people()
    host.says("1", "I wonder why it is slow?")
    host.says("2", "so do I", author="U2")

    assert answers(host, "1", text=text) == answers(host, "2", text=text) == "POLICY_FORBIDS"


def test_c2a_067_a_status_is_not_answered(host: Host):
    host.people()
    host.says("1", "U1: build 17 failed", author="ci", author_kind="tool")
    host.says("2", "deployed to staging", author="cd", author_kind="system")
    host.send(BLUE, "2 of 5", "status", **IN_C1 | {"intent": "status"})

    assert answers(host, "1") == answers(host, "2") == "POLICY_FORBIDS"
    (status,) = said(host)
    assert answers(host, status) == "POLICY_FORBIDS"


def test_c2a_068_what_is_to_another_is_not_answered(host: Host):
    host.people((BLUE, "@backend"))
    host.says("1", "U2 is it red?", mentions=["U2"])
    host.says("2", "@backend is it red?", mentions=["@backend"])
    host.says("3", "W9 is it red?", mentions=["W9"])

    assert [answers(host, event) for event in "123"] == ["POLICY_FORBIDS"] * 3


def test_c2a_069_what_another_has_claimed_is_not_answered(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend is it red?", mentions=["@backend"])
    host.wait("31s")
    host.do(claim={"agent": BLUE, "eventId": "1"})
    answer = {"content": "It is.", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    refused = host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer})

    assert (refused.code, refused.details["owner"]) == ("CLAIMED_BY_OTHER", BLUE)
    assert refused.details["expires_at"] == "2026-06-02T19:15:31.000Z"
    assert host.triple("1") == "to_my_role/must_not_respond/tool_mailbox"
    assert host.explain("1")["now"]["reason"] == "claimed_by_other"
    assert said(host) == []
    assert answers(host, "1", BLUE) == "responded"


def test_c2a_069_nor_in_a_thread_that_another_has_claimed(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "streams": ["acme/kettle"]})
    host.says("0", "good morning", thread="T")
    host.do(claim={"agent": BLUE, "thread": "C1/T"})
    host.says("1", "the lid is blocked", thread="T", stream="acme/kettle")
    answer = {"content": "It is.", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "thread"}

    assert host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer}).code == "CLAIMED_BY_OTHER"
    host.wait("16m")
    assert answers(host, "1") == "responded", "a claim runs out"


def test_c2a_070_what_was_answered_is_not_answered_again(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    assert answers(host, "1") == "responded"
    again = {"content": "It is the disk.", "inReplyTo": "1", "idempotencyKey": "other", "visibility": "dm"}

    assert host.refusal(send={"agent": AMBER, "directedness": "to_other", **again}).code == "ALREADY_RESPONDED"
    more = host.send(AMBER, "It is the disk.", "other", inReplyTo="1", followup=True, visibility="dm")
    assert more["deduplicated"] is False


def test_c2a_070_what_was_merged_or_taken_back_is_not_answered(host: Host):
    host.people()
    host.dm("1", "check")
    host.dm("2", "the deploy?")
    host.says("3", "U1 and the logs?", mentions=["U1"])
    host.do(delete={"eventId": "3"})
    host.wait("5s")
    host.inject()

    for event in ("1", "3"):
        answer = {"content": "It is.", "inReplyTo": event, "idempotencyKey": event, "visibility": "channel"}
        assert host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer}).code == "SUPERSEDED"
    assert answers(host, "2") == "responded"


@pytest.mark.parametrize("is_ticked", [True, False])
def test_c2a_070_what_has_grown_old_is_answered_only_after_a_look_at_the_thread(host: Host, is_ticked: bool):
    host.people()
    host.says("1", "U1 is it red?", mentions=["U1"], thread="T")
    host.wait("16m")
    if is_ticked:
        host.do(tick={})
    assert host.explain("1")["now"]["policy"] == "may_respond"
    assert host.explain("1")["threadCheckRequired"] is True
    assert answers(host, "1") == "STALE_CHECK_REQUIRED"
    host.do(read={"agent": AMBER, "eventId": "1"})
    host.wait("1s")
    host.says("2", "never mind", thread="T", author="W2")
    assert answers(host, "1") == "STALE_CHECK_REQUIRED", "something was said since"
    host.do(read={"agent": AMBER, "eventId": "1"})
    assert answers(host, "1") == "responded"


@pytest.mark.parametrize("text", ["thanks!", "got it 👍", "Perfect, thank you."])
def test_c2a_071_thanks_are_not_answered(host: Host, text: str):
    host.people()
    host.dm("1", text)
    host.says("2", f"{text}", mentions=["U1"])

    assert host.explain("1")["policy"] == host.explain("2")["policy"] == "ack_only"
    answer = {"content": "You are welcome!\nBy the way, it is green.", "idempotencyKey": "k", "visibility": "dm"}
    for event in ("1", "2"):
        step = {"agent": AMBER, "directedness": "to_other", "inReplyTo": event, **answer}
        assert host.refusal(send=step).code == "POLICY_FORBIDS"
    assert said(host) == []


def test_c2a_072_where_nobody_must_answer_silence_is_an_answer(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.send(AMBER, "The deploy is through.", "k", **IN_T)
    host.says("1", "so it is", thread="T")
    told = [block["eventId"] for block in host.inject()["blocks"]]
    due = []
    for _ in range(24):
        host.wait("1h")
        due += host.do(tick={})["due"]
        assert host.sees(AMBER) == host.sees(CORAL) == []

    assert told == ["1"]
    assert [(each["eventId"], each["agent"], each["what"]) for each in due] == [("1", AMBER, "ignored")]
    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["disposition"], found["open"], found["phase"]) == ("ignored", False, "closed")
    assert [row["eventId"] for row in host.do(list={"agent": DELTA})["events"]] == ["1", said(host)[0]]


# -- 73 to 75: what one says obliges others


@pytest.mark.parametrize("how", ["dm", "mention", "in the text"])
def test_c2a_073_who_is_named_by_an_agent_is_to_answer(host: Host, how: str):
    host.people()
    ways: dict[str, dict[str, Any]] = {
        "dm": {"target": {"recipient": BLUE}, "visibility": "dm"},
        "mention": {"target": {"conversation": "C1"}, "mentions": [BLUE]},
        "in the text": {"target": {"conversation": "C1"}},
    }
    text = "@blue-heron can you look?" if how == "in the text" else "can you look?"
    sent = host.send(AMBER, text, "k", directedness="to_me", **ways[how])
    event = sent["messageId"]

    assert {agent: each["policy"] for agent, each in sent["effects"].items()} == {BLUE: "must_respond"}
    assert host.triple(event, BLUE) == "to_me/must_respond/buffered"
    assert host.sees(BLUE) == [f"content {event} must_respond"], "agents send whole messages"
    if how == "dm":
        assert host.refusal(explain={"agent": DELTA, "event": event}).code == "NOT_FOUND"
    else:
        assert host.triple(event, DELTA) == "to_other/must_not_respond/tool_mailbox"
    assert host.sees(DELTA) == host.sees(AMBER) == []


def test_c2a_073_a_handle_of_the_platform_names_an_agent_too(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "platform": "slack"})
    event = host.send(AMBER, "can you look?", "k", directedness="to_me", mentions=["U2"], target={"conversation": "C1"})

    assert host.triple(event["messageId"], BLUE) == "to_me/must_respond/buffered"


def test_c2a_074_a_role_that_is_called_may_answer_once_one_has_claimed_it(host: Host):
    host.people((BLUE, "@backend"), (CORAL, "@backend"))
    sent = host.send(AMBER, "@backend can you look?", "k", directedness="to_my_role", target={"conversation": "C1"})
    event = sent["messageId"]
    first = next(agent for agent in (BLUE, CORAL) if sent["effects"][agent].get("defaultResponder"))
    other = BLUE if first == CORAL else CORAL

    for agent in (BLUE, CORAL):
        assert host.triple(event, agent) == "to_my_role/may_respond/notify"
    assert host.sees(first) == [f"knock {event} may_respond"]
    assert host.sees(other) == []
    assert answers(host, event, first) == "CLAIM_REQUIRED"
    assert host.triple(event, DELTA) == "to_other/must_not_respond/tool_mailbox"
    host.do(claim={"agent": first, "eventId": event})
    assert answers(host, event, first) == "responded"


def test_c2a_075_who_writes_in_a_thread_hears_of_what_others_add(host: Host):
    host.people()
    host.send(BLUE, "The deploy is through.", "k1", **IN_T)
    host.send(CORAL, "All of it.", "k2", **IN_T)
    event = host.send(AMBER, "So is the rollback.", "k3", **IN_T | {"directedness": "to_my_role"})["messageId"]

    for agent in (BLUE, CORAL):
        assert host.triple(event, agent) == "to_my_role/may_respond/notify"
        assert host.explain(event, agent)["reason"] == "thread_participation"
    assert host.explain(event, DELTA)["now"]["policy"] == "must_not_respond"
    assert host.sees(DELTA) == []


def test_c2a_075_so_does_whoever_people_answer_there(memory: InMemory):
    memory.people()
    sent = memory.send(AMBER, "The deploy is through.", "k", **IN_C1)
    memory.do(ingest=message("1", "so it is", thread="T", reply_to=sent["messageId"]))

    assert memory.triple("1") == "to_my_role/may_respond/notify"


@pytest.mark.parametrize("until", ["2026-06-02T18:59:59Z", "2026-06-02T19:00:00Z", "2031-01-01T00:00:00Z"])
def test_c2a_120_what_is_put_off_comes_back_within_a_year(host: Host, until: str):
    host.people()
    host.dm("1", "check the deploy?")

    assert host.refusal(defer={"agent": AMBER, "eventId": "1", "reason": "later", "until": until}).status in (None, 2)
    react = {"agent": AMBER, "inReplyTo": "1", "signal": "queued", "until": until}
    assert host.refusal(react=react).code == "INVALID_ENVELOPE"
    assert host.disposition("1") is None
