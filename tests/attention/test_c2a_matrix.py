"""C2A §Default Matrix, items 32 to 42 of the checklist: from what a surface hands in to what each agent is to do."""

from __future__ import annotations

from tests.attention.hosts import AMBER, BLUE, CORAL, Host


def test_c2a_032_a_private_message_is_to_be_answered(host: Host):
    host.people()
    host.dm("1", "check the deploy?")

    assert host.triple("1") == "to_me/must_respond/buffered"


def test_c2a_033_thanks_are_only_acknowledged(host: Host):
    host.people()
    host.dm("1", "thanks!")
    host.dm("2", "got it 👍")
    host.dm("3", "thanks, now also fix X")

    assert host.triple("1") == "to_me/ack_only/notify"
    assert host.triple("2") == "to_me/ack_only/notify"
    assert host.triple("3") == "to_me/must_respond/buffered"


def test_c2a_037_a_role_is_asked_and_whoever_claims_it_is_shown_it(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    first = next(agent for agent in (AMBER, BLUE) if host.explain("1", agent).get("defaultResponder"))
    other = BLUE if first == AMBER else AMBER

    assert host.triple("1", first) == host.triple("1", other) == "to_my_role/may_respond/notify"
    answer = {"content": "pong", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    assert host.refusal(send={"agent": first, "directedness": "to_me", **answer}).code == "CLAIM_REQUIRED"
    host.do(claim={"agent": first, "eventId": "1"})
    assert host.sees(first) == ["content 1 may_respond"]
    assert host.sees(other) == []
    assert host.triple("1", CORAL) == "to_other/must_not_respond/tool_mailbox"
