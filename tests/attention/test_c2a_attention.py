"""C2A §1.3 of the checklist, items 22 to 31: three questions apart from each other, and what each answer means."""

from __future__ import annotations

import json

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, Host, InMemory

CANARY = "quartz lantern under the stairs"


# -- 22: three axes


def test_c2a_022_what_is_owed_may_come_as_a_knock(host: Host):
    host.people()
    host.do(policy={"rules": [{"match": {"conversation": "C1"}, "set": {"injection": "notify"}}]})
    host.says("1", CANARY, mentions=["U1"])

    assert host.triple("1") == "to_me/must_respond/notify"
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]
    assert host.sees(AMBER) == ["knock 1 must_respond"]
    assert CANARY not in json.dumps(host.inject())
    assert host.do(show={"agent": AMBER, "event": "1"})["open"] is True


def test_c2a_022_what_obliges_nobody_may_come_in_full(host: Host):
    host.people()
    host.do(policy={"rules": [{"match": {"conversation": "C1"}, "set": {"policy": "may_respond"}}]})
    host.says("1", CANARY, mentions=["U1"])
    host.wait("5s")

    assert host.triple("1") == "to_me/may_respond/buffered"
    assert host.do(pending=AMBER)["events"] == []
    assert CANARY in host.inject()["text"]


# -- 23: without a binding


def test_c2a_023_who_is_bound_to_nothing_is_meant_by_nothing(host: Host):
    host.do(agents=[{"id": AMBER}, {"id": BLUE}])
    host.says("1", "can you look?", mentions=["U1"])
    unbound = host.explain("1")

    assert host.triple("1") == "ambient/must_not_respond/tool_mailbox"
    assert unbound["reason"] == "unbound"
    assert "chat bind" in unbound["warnings"][0]
    host.do(bind={"agent": AMBER, "handles": ["slack:U1"]})
    bound = host.explain("1")
    assert (bound["directedness"], bound["policy"], bound["reason"]) == ("to_me", "must_respond", "direct_mention")
    assert bound["warnings"] == []
    host.says("2", "and now?", mentions=["U1"])
    assert host.triple("2") == "to_me/must_respond/buffered"


def test_c2a_023_a_name_means_one_agent_only(host: Host):
    host.people()

    assert host.refusal(bind={"agent": BLUE, "handles": ["slack:U1"]}).code == "NAME_TAKEN"


# -- 24: to me


@pytest.mark.parametrize("kind", ["recipient", "conversation", "mention"])
def test_c2a_024_a_private_message_is_to_whom_it_is_sent(host: Host, kind: str):
    host.people()
    host.do(bind={"agent": AMBER, "conversations": ["D9"]})
    how = {
        "recipient": {"conversation": "D8", "recipient": "U1"},
        "conversation": {"conversation": "D9"},
        "mention": {"conversation": "D7", "mentions": ["U1"]},
    }
    host.says("1", "check the deploy?", kind="dm", **how[kind])

    assert host.triple("1") == "to_me/must_respond/buffered"
    assert host.explain("1")["reason"] == "direct_message"
    assert host.refusal(explain={"agent": BLUE, "event": "1"}).code == "NOT_FOUND", "it is nobody else's"


def test_c2a_024_so_is_a_mention_that_leads_to_an_agent(host: Host):
    host.people()
    host.says("1", "can you look?", mentions=["U1"])
    host.says("2", "can you look?", mentions=["agent:amber-otter"])
    host.says("3", "@amber-otter can you look?", platform="bb")

    for event in ("1", "2", "3"):
        assert host.triple(event) == "to_me/must_respond/buffered"
        assert host.explain(event)["reason"] == "direct_mention"


@pytest.mark.parametrize(
    "text",
    [
        "> @amber-otter can you look?\nno, it is fine",
        "it prints `@amber-otter` there",
        "```\n@amber-otter can you look?\n```\nis what it says",
        "~~~~\n@amber-otter\n~~~~",
        "   > > @amber-otter",
        "write to ops@amber-otter",
        "see https://example.org/@amber-otter",
        "the package is org/@amber-otter",
    ],
)
def test_c2a_024_who_is_only_talked_about_is_not_talked_to(memory: InMemory, text: str):
    memory.people()
    memory.says("1", text, platform="bb")

    assert memory.triple("1") == "ambient/must_not_respond/tool_mailbox"


@pytest.mark.parametrize(
    "text",
    [
        "@amber-otter, can you look?",
        "(@amber-otter) look",
        "> it is broken\n@amber-otter is it?",
        "`x` @amber-otter",
        "```\nlog\n```\n@amber-otter",
        "ask @amber-otter.",
    ],
)
def test_c2a_024_who_is_talked_to_is(memory: InMemory, text: str):
    memory.people()
    memory.says("1", text, platform="bb")

    assert memory.triple("1") == "to_me/must_respond/buffered"


def test_c2a_024_what_the_platform_says_counts_more_than_what_the_text_looks_like(memory: InMemory):
    memory.people()
    memory.says("1", "@amber-otter look", platform="bb", mentions=[])

    assert memory.triple("1") == "ambient/must_not_respond/tool_mailbox"


def test_c2a_024_nobody_is_asked_by_what_they_said_themselves(host: Host):
    host.people()
    host.says("1", "note to self", author="U1", author_kind="agent", mentions=["U1", "U2"])

    assert [row["eventId"] for row in host.do(list={"agent": AMBER})["events"]] == []
    assert host.triple("1", BLUE) == "to_me/must_respond/buffered"


# -- 25: to my role


def test_c2a_025_a_role_a_thread_and_a_stream_of_ones_own_are_knocked_for(host: Host):
    host.people((AMBER, "@backend"))
    host.do(bind={"agent": AMBER, "threads": ["C1 T1"], "streams": ["acme/kettle"]})
    host.says("role", "@backend ping", mentions=["@backend"])
    host.says("thread", "anybody?", thread="T1")
    host.says("stream", "anybody?", stream="acme/kettle")
    host.says("other-thread", "anybody?", thread="T2")
    host.says("other-stream", "anybody?", stream="acme/pot")

    reasons = {"role": "role_mention", "thread": "owned_thread", "stream": "owned_stream"}
    for event, reason in reasons.items():
        assert host.triple(event) == "to_my_role/may_respond/notify"
        assert host.explain(event)["reason"] == reason
    for event in ("other-thread", "other-stream"):
        assert host.triple(event) == "ambient/must_not_respond/tool_mailbox"


def test_c2a_025_a_role_may_be_of_one_platform_only(host: Host):
    host.people((AMBER, "slack:@S1"))
    host.says("1", "ping", mentions=["@S1"])
    host.says("2", "ping", mentions=["@S1"], platform="matrix", conversation="!m")

    assert host.triple("1") == "to_my_role/may_respond/notify"
    assert host.explain("2")["now"]["directedness"] != "to_my_role"


def test_c2a_025_what_says_that_one_owns_it_is_claimed_before_it_is_answered_by_a_role(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    answer = {"content": "pong", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}

    assert host.refusal(send={"agent": AMBER, "directedness": "to_me", **answer}).code == "CLAIM_REQUIRED"
    host.do(claim={"agent": AMBER, "eventId": "1"})
    assert host.send(AMBER, "pong", "k", inReplyTo="1")["disposition"] == "responded"


# -- 26: to another


def test_c2a_026_who_only_stands_by_finds_it_in_the_mailbox(host: Host):
    host.people((BLUE, "@backend"))
    host.says("agent", "U2 look", mentions=["U2"])
    host.says("role", "@backend look", mentions=["@backend"])
    host.says("person", "W7 look", mentions=["W7"])
    host.says("recipient", "look", recipient="U2")

    for event in ("agent", "role", "person", "recipient"):
        assert host.triple(event) == "to_other/must_not_respond/tool_mailbox"
        assert host.explain(event)["reason"] == "addressed_to_other"
    assert host.sees(AMBER) == []


# -- 27: to nobody


def test_c2a_027_what_is_to_nobody_waits_in_the_mailbox(host: Host):
    host.people()
    host.says("1", "good morning, can anybody tell me the time?")

    for agent in (AMBER, BLUE):
        assert host.triple("1", agent) == "ambient/must_not_respond/tool_mailbox"
        assert host.explain("1", agent)["reason"] == "unaddressed"


def test_c2a_027_where_several_hold_the_first_does(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.do(bind={"agent": CORAL, "threads": ["C1 T1"]})
    host.says("1", "U1 and @backend, and U4", mentions=["U1", "@backend", "U4", "W9"], thread="T1")

    assert host.triple("1", AMBER) == "to_me/must_respond/buffered", "more than the role"
    assert host.triple("1", BLUE) == "to_my_role/may_respond/notify", "more than that others are named"
    assert host.triple("1", CORAL) == "to_my_role/may_respond/notify", "its thread, though others are named"
    assert host.triple("1", DELTA) == "to_me/must_respond/buffered"
    host.says("2", "and you?", mentions=["W9"])
    assert host.triple("2", AMBER) == "to_other/must_not_respond/tool_mailbox", "more than that nobody here is"


# -- 28: must


def test_c2a_028_what_is_owed_is_pending_until_it_is_answered(host: Host):
    host.people()
    for event in ("sent", "done", "resolved", "agreed"):
        host.dm(event, "check the deploy?" if event != "agreed" else "please approve", intent="approval_request")
    pending = [row["eventId"] for row in host.do(pending=AMBER)["events"]]
    (opened,) = {row["open"] for row in host.do(list={"agent": AMBER})["events"]}
    host.send(AMBER, "It is not.", "k", inReplyTo="sent", visibility="dm")
    host.do(react={"agent": AMBER, "inReplyTo": "done", "signal": "done"})
    host.do(resolve={"agent": AMBER, "eventId": "resolved"})
    host.do(react={"agent": AMBER, "inReplyTo": "agreed", "signal": "agree"})

    assert sorted(pending) == ["agreed", "done", "resolved", "sent"]
    assert opened is True
    assert host.do(pending=AMBER)["events"] == []
    assert {row["open"] for row in host.do(list={"agent": AMBER})["events"]} == {False}


@pytest.mark.parametrize("by", ["tool", "reaction"])
def test_c2a_028_what_is_owed_may_be_put_off(host: Host, by: str):
    host.people()
    host.dm("1", "check the deploy?")
    if by == "tool":
        host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
    else:
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "queued", "eta": "after the deploy"})
    host.wait("10m")

    assert host.do(tick={})["due"] == []
    assert host.sees(AMBER) == []
    (row,) = host.do(pending=AMBER)["events"]
    assert (row["disposition"], row["open"]) == ("deferred", True)


def test_c2a_028_what_is_owed_and_not_answered_is_knocked_at_once_more(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.wait("5s")
    host.inject()
    host.wait("8m")
    due = host.do(tick={})["due"]

    assert [(each["eventId"], each["agent"], each["what"]) for each in due] == [("1", AMBER, "reminded")]
    assert host.sees(AMBER) == ["knock 1 must_respond"]
    (block,) = host.inject()["blocks"]
    assert (block["eventId"], block["attempt"]) == ("1", 2)
    assert host.sees(AMBER) == []


def test_c2a_028_to_have_seen_it_is_not_to_have_answered_it(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.do(read={"agent": AMBER, "eventId": "1"})
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "seen"})

    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]


# -- 29: may


def test_c2a_029_what_may_be_answered_may(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "streams": ["acme/kettle"]})
    host.says("1", "anybody?", stream="acme/kettle")

    assert host.triple("1") == "to_my_role/may_respond/notify"
    assert host.send(AMBER, "I know.", "k", inReplyTo="1")["disposition"] == "responded"


def test_c2a_029_to_say_nothing_closes_it_without_a_word(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "streams": ["acme/kettle"]})
    host.says("1", "anybody?", stream="acme/kettle")
    host.inject()
    host.wait("12h")
    halfway = host.do(tick={})["due"]
    host.wait("12h")
    due = host.do(tick={})["due"]

    assert halfway == []
    assert [(each["eventId"], each["what"]) for each in due] == [("1", "ignored")]
    assert host.sees(AMBER) == []
    assert host.do(pending=AMBER)["events"] == []
    assert (host.disposition("1"), host.explain("1")["open"]) == ("ignored", False)


# -- 30: acknowledge at most

RECEIPTS = ["noted", "Got it, thank you!", "x" * 140, "read your message, all clear"]
ANSWERS = ["x" * 141, "noted\u2028and more", "noted\nand one more thing", "noted @blue-heron", "```x```"]


def test_c2a_030_a_short_receipt_is_let_through(host: Host):
    host.people()
    for number, text in enumerate(RECEIPTS):
        host.dm(str(number), "thanks!")
        sent = host.send(AMBER, text, f"k{number}", inReplyTo=str(number), visibility="dm")
        assert sent["disposition"] == "acknowledged"
        assert host.disposition(str(number)) == "acknowledged"


def test_c2a_030_more_than_a_receipt_is_not(host: Host):
    host.people()
    host.dm("1", "thanks!")
    for number, text in enumerate(ANSWERS):
        answer = {"content": text, "inReplyTo": "1", "idempotencyKey": f"k{number}", "visibility": "dm"}
        assert host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer}).code == "POLICY_FORBIDS"

    assert host.disposition("1") is None
    assert len(host.do(list={"agent": AMBER})["events"]) == 1


def test_c2a_030_mentions_beside_the_text_count_as_well(host: Host):
    host.people()
    host.dm("1", "thanks!")
    answer = {"content": "noted", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "dm", "mentions": ["U2"]}

    assert host.refusal(send={"agent": AMBER, "directedness": "to_me", **answer}).code == "POLICY_FORBIDS"


def test_c2a_030_a_reaction_acknowledges(host: Host):
    host.people()
    host.dm("1", "thanks!")
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "seen"})

    assert host.disposition("1") == "acknowledged"


# -- 31: must not


def test_c2a_031_no_answer_to_what_must_not_be_answered(host: Host):
    host.people()
    host.says("ambient", "good morning")
    host.says("other", "U2 look", mentions=["U2"])
    host.says("tool", "exit 1", author="ci", author_kind="tool")
    for event in ("ambient", "other", "tool"):
        for text in ("noted", "I would rather say something about that"):
            answer = {"content": text, "inReplyTo": event, "idempotencyKey": f"{event} {text}", "visibility": "channel"}
            refused = host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer})
            assert (refused.code, refused.details["event_id"]) == ("POLICY_FORBIDS", event)

    sent = host.send(AMBER, "The lift is out of order.", "k", target={"conversation": "C1"}, directedness="ambient")
    assert (sent["disposition"], sent["deduplicated"]) == (None, False)
