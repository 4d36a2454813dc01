"""C2A §Outbound Posture, items 76 to 85 of the checklist: what an agent says, and what that makes of it for others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, EVERYBODY, Host

NOBODY_OBLIGED = ("ambient/must_not_respond/tool_mailbox", "ambient/must_not_respond/digest")


def said(host: Host, text: str, by: str = AMBER, conversation: str = "C1", **more: Any) -> dict[str, Any]:
    """What somebody says in a channel, to nobody in particular unless MORE says otherwise."""
    host.count = getattr(host, "count", 0) + 1  # a key for each
    return host.send(by, text, f"key {host.count}", target={"conversation": conversation}, **more)


def there_for(host: Host, agent: str) -> list[tuple[str, bool]]:
    return [(row["eventId"], row["open"]) for row in host.do(list={"agent": agent})["events"]]


def warned(answer: dict[str, Any]) -> list[str]:
    return [each["code"] for each in answer["warnings"]]


# -- 76: a channel post that names nobody


@pytest.mark.parametrize("directedness", ["ambient", "to_me"])
def test_c2a_076_what_is_said_to_a_channel_obliges_nobody(host: Host, directedness: str):
    host.people()
    found = said(host, "The cache is warm again.", directedness=directedness)

    assert found["effects"] == {}
    for agent in (BLUE, CORAL, DELTA):
        assert host.triple(found["messageId"], agent) == "ambient/must_not_respond/tool_mailbox"
        assert host.sees(agent) == []
    reply = {"content": "Good.", "inReplyTo": found["messageId"], "idempotencyKey": "r", "visibility": "channel"}
    assert host.refusal(send={"agent": BLUE, "directedness": "ambient", **reply}).code == "POLICY_FORBIDS"


# -- 77: a reaction


@pytest.mark.parametrize("signal", ["seen", "queued", "working"])
def test_c2a_077_a_reaction_settles_and_costs_nobody_a_turn(host: Host, signal: str):
    host.people()
    asked = said(host, "Please look at the cache.", directedness="to_me", mentions=[BLUE])["messageId"]
    before = {agent: host.sees(agent) for agent in (AMBER, CORAL, DELTA)}
    rows = {agent: there_for(host, agent) for agent in before}

    host.do(react={"agent": BLUE, "inReplyTo": asked, "signal": signal})

    assert {agent: host.sees(agent) for agent in (AMBER, CORAL, DELTA)} == before
    assert not any(before.values())
    assert {agent: there_for(host, agent) for agent in before} == rows
    assert len(host.do(read={"agent": AMBER, "conversation": "C1"})["items"]) == 1


# -- 78: progress


def test_c2a_078_progress_is_summed_up_and_obliges_nobody(host: Host):
    host.people()
    host.do(progress={"agent": AMBER, "token": "deploy", "progress": 2, "total": 5, "message": f"@{BLUE} halfway"})

    for agent in (BLUE, CORAL):
        assert host.sees(agent) == []
        assert host.do(list={"agent": agent})["events"] == []
        assert host.do(pending=agent)["events"] == []
    found = host.do(digest=BLUE)
    assert found["policy"] == "must_not_respond"
    assert [(each["token"], each["progress"], each["total"]) for each in found["progress"]] == [("deploy", 2, 5)]


# -- 79: who is named is obliged


def test_c2a_079_to_name_somebody_and_mean_nobody_is_warned_of(host: Host):
    host.people()
    found = said(host, f"@{BLUE} built this, as you know.", directedness="ambient")

    assert warned(found) == ["mention_creates_obligation"]
    assert host.triple(found["messageId"], BLUE) == "ambient/must_not_respond/tool_mailbox"


def test_c2a_079_where_the_workspace_is_strict_it_is_refused_and_not_said(host: Host):
    host.people()
    host.do(policy={"is_strict": True})
    message = {"content": f"@{BLUE} built this.", "idempotencyKey": "k", "visibility": "channel"}
    target = {"conversation": "C1"}

    assert host.refusal(send={"agent": AMBER, "directedness": "ambient", "target": target, **message}).code == (
        "POLICY_FORBIDS"
    )
    assert host.do(list={"agent": BLUE})["events"] == []
    assert said(host, f"@{BLUE} please look.", directedness="to_me")["warnings"] == []


# -- 80: a signal is enough


@pytest.mark.parametrize(
    ("text", "signal"),
    [("Got it", "agree"), ("on it!", "working"), ("Approved.", "agree"), ("not me", "declined"), ("Thanks!", "seen")],
)
def test_c2a_080_what_a_reaction_says_as_well_is_warned_of(host: Host, text: str, signal: str):
    host.people()
    host.dm("1", "Please restart the runner.")
    found = host.send(AMBER, text, "k", inReplyTo="1", visibility="dm")

    assert [(each["code"], each.get("signal")) for each in found["warnings"]] == [("use_reaction", signal)]


def test_c2a_080_what_says_more_is_not(host: Host):
    host.people()
    host.dm("1", "Please restart the runner.")

    found = host.send(AMBER, "Got it, but the second one is stuck.", "k", inReplyTo="1", visibility="dm")

    assert found["warnings"] == []


# -- 81: one responder


def test_c2a_081_several_who_are_asked_at_once_are_warned_of_and_each_is_asked(host: Host):
    host.people()
    found = said(host, f"@{BLUE} @{CORAL} please look.", directedness="to_me")

    assert warned(found) == ["several_responders"]
    for agent in (BLUE, CORAL):
        assert host.triple(found["messageId"], agent) == "to_me/must_respond/buffered"
    assert warned(said(host, f"@{BLUE} please look.", directedness="to_me")) == []


# -- 82: thanks


def test_c2a_082_thanks_with_a_mention_are_only_acknowledged(host: Host):
    host.people()
    found = said(host, f"Thanks @{BLUE}!", directedness="to_me", intent="thanks")

    assert "thanks_with_mention" in warned(found)
    assert host.triple(found["messageId"], BLUE) == "to_me/ack_only/notify"
    assert host.triple(found["messageId"], CORAL).split("/")[1] == "must_not_respond"


# -- 83: status


def test_c2a_083_a_status_obliges_nobody_though_it_names_somebody(host: Host):
    host.people()
    found = said(host, f"Half of it is done, @{BLUE}.", directedness="to_me", intent="status")

    assert warned(found) == ["status_is_progress"]
    for agent in (BLUE, CORAL):
        assert host.triple(found["messageId"], agent) == "ambient/must_not_respond/digest"
        assert host.sees(agent) == []
    reports = [each for section in host.do(digest=BLUE)["sections"] for each in section["reports"]]
    assert [each["eventId"] for each in reports] == [found["messageId"]]


# -- 84: claims


def test_c2a_084_nobody_answers_what_another_has_claimed(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.wait("31s")
    host.do(claim={"agent": AMBER, "eventId": "1"})

    reply = {"content": "pong", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    assert host.refusal(send={"agent": BLUE, "directedness": "to_other", **reply}).code == "CLAIMED_BY_OTHER"
    assert [item["eventId"] for item in host.do(read={"agent": BLUE, "conversation": "C1"})["items"]] == ["1"]


# -- 85: what is meant is honoured


def test_c2a_085_who_is_named_in_passing_inherits_what_the_sender_meant(host: Host):
    host.people()
    found = said(host, f"I asked @{BLUE} yesterday, and it works now.", directedness="ambient")

    assert host.triple(found["messageId"], BLUE) == "ambient/must_not_respond/tool_mailbox"
    assert host.sees(BLUE) == []


def test_c2a_085_what_only_informs_obliges_nobody(host: Host):
    host.people()
    found = said(host, f"@{BLUE} may want to know: it works.", directedness="to_other")

    assert host.triple(found["messageId"], BLUE) == "to_other/must_not_respond/tool_mailbox"


def test_c2a_085_work_that_is_offered_by_name_may_be_left(host: Host):
    host.people()
    found = said(host, f"@{BLUE} could take this, or somebody else.", directedness="to_my_role")

    assert host.triple(found["messageId"], BLUE) == "to_my_role/may_respond/notify"


@pytest.mark.parametrize("directedness", ["to_other", "ambient"])
def test_c2a_085_a_private_message_that_only_informs_is_there_to_be_read(host: Host, directedness: str):
    host.people()
    found = host.send(
        AMBER, "It works now.", "k", target={"recipient": BLUE}, visibility="dm", directedness=directedness
    )

    assert host.triple(found["messageId"], BLUE) == f"{directedness}/must_not_respond/tool_mailbox"
    assert host.do(read={"agent": BLUE, "eventId": found["messageId"]})["items"][0]["parts"][0]["text"] == (
        "It works now."
    )
    assert host.refusal(read={"agent": CORAL, "eventId": found["messageId"]}).code == "NOT_FOUND"


def test_c2a_085_nothing_is_assumed_about_who_is_meant(host: Host):
    host.people()
    for missing in ("directedness", "visibility"):
        message = {"content": "x", "idempotencyKey": "k", "visibility": "channel", "directedness": "ambient"}
        del message[missing]
        refused = host.refusal(send={"agent": AMBER, "target": {"conversation": "C1"}, **message})
        assert (refused.code, refused.details["member"]) == ("MISSING_MEMBER", missing)
    assert all(host.do(list={"agent": agent})["events"] == [] for agent in EVERYBODY)


# -- answers go where they belong


def test_c2a_073_an_answer_in_private_reaches_who_asked(host: Host):
    host.people()
    asked = host.send(
        AMBER, "Is the cache warm?", "k", target={"recipient": BLUE}, visibility="dm", directedness="to_me"
    )
    assert host.triple(asked["messageId"], BLUE) == "to_me/must_respond/buffered"

    answer = host.send(BLUE, "It is.", "a", inReplyTo=asked["messageId"], visibility="dm", directedness="to_me")

    assert host.triple(answer["messageId"], AMBER) == "to_me/must_respond/buffered"
    assert host.disposition(asked["messageId"], BLUE) == "responded"
    assert host.refusal(explain={"agent": CORAL, "event": answer["messageId"]}).code == "NOT_FOUND"
