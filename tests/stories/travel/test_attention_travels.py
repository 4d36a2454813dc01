"""Attention in several clones: what was decided in one holds in all, and of two claims the earlier one counts."""

from __future__ import annotations

from typing import Any

import pytest

from bb.kernel import clock
from bb.kernel.errors import BbError
from tests.stories.travel.travel_support import AMBER, COBALT, NOON, Clone, settle

LATER = clock.text(clock.parse(NOON) + clock.MINUTE)


def line(event: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "eventId": event,
        "source": {"platform": "slack"},
        "conversation": {"id": "C1", "kind": "channel"},
        "author": {"id": "W1", "kind": "human"},
        "content": [{"type": "text", "text": text}],
        **more,
    }


def both_asked(pair: list[Clone]) -> tuple[Clone, Clone]:
    """Two clones that know of one message to the role of both agents."""
    here, there = pair
    for agent, handle in ((AMBER, "slack:U1"), (COBALT, "slack:U2")):
        here.ask("chat.bind", agent=agent, handle=[handle], role=["@builders"])
    here.ask("chat.ingest", lines=[line("s:1", "@builders ping", target={"mentions": ["@builders"]})])
    settle(pair)
    return here, there


def seen(clone: Clone, agent: str, now: str = LATER) -> dict[str, Any]:
    shown: dict[str, Any] = clone.ask("chat.show", event="s:1", agent=agent, now=now)
    return {name: shown.get(name) for name in ("directedness", "policy", "injection", "disposition", "claim")}


def test_what_was_decided_in_one_clone_is_decided_in_the_other(pair: list[Clone]):
    here, there = both_asked(pair)

    for agent in (AMBER, COBALT):
        assert seen(here, agent) == seen(there, agent)
        assert seen(there, agent)["policy"] == "may_respond"


def test_the_same_message_taken_in_twice_is_one_event(pair: list[Clone]):
    both_asked(pair)
    again = line("s:2", "Anybody?")

    for each in pair:
        assert each.ask("chat.ingest", lines=[again])["counts"] == {"recorded": 1}
    settle(pair)

    for each in pair:
        rows = each.ask("chat.list", agent=AMBER)["events"]
        assert [row["eventId"] for row in rows].count("slack:s:2") == 1
        assert each.ask("chat.ingest", lines=[again])["counts"] == {"duplicate": 1}


def test_of_two_claims_that_know_nothing_of_each_other_one_counts_everywhere(pair: list[Clone]):
    here, there = both_asked(pair)

    assert here.ask("chat.claim", event="s:1", agent=AMBER, now=LATER)["granted"]
    assert there.ask("chat.claim", event="s:1", agent=COBALT, now=LATER)["granted"]
    settle(pair, LATER)

    owners = {each.ask("chat.show", event="s:1", agent=AMBER, now=LATER)["claim"]["owner"] for each in pair}
    assert len(owners) == 1
    (winner,) = owners
    loser = COBALT if winner == AMBER else AMBER
    for each in pair:
        assert seen(each, winner)["policy"] == "may_respond"
        assert seen(each, loser)["policy"] == "must_not_respond"
    answer = {"text": "pong", "in_reply_to": "s:1", "visibility": "channel", "directedness": "to_other"}
    lost = here if loser == AMBER else there
    refused = lost.refused("send", by=loser, idempotency_key="k", **answer)
    assert refused.code in ("CLAIMED_BY_OTHER", "CLAIM_EXPIRED")


def test_an_answer_that_was_sent_in_two_clones_under_one_key_is_one_answer(pair: list[Clone]):
    here, _ = both_asked(pair)
    here.ask("chat.ingest", lines=[line("s:3", "<@U1> well?", target={"mentions": ["U1"]})])
    settle(pair)
    answer = {"text": "It is.", "in_reply_to": "s:3", "visibility": "channel", "directedness": "to_other"}

    named = {each.ask("send", by=AMBER, idempotency_key="k", **answer)["messageId"] for each in pair}
    settle(pair)

    assert len(named) == 1
    for each in pair:
        rows = [row for row in each.ask("chat.list", agent=COBALT)["events"] if row["eventId"] in named]
        assert len(rows) == 1
        assert each.ask("chat.show", event="s:3", agent=AMBER)["disposition"] == "responded"


def test_the_person_allows_in_one_clone_what_an_agent_asked_in_another(pair: list[Clone]):
    here, there = pair
    here.ask("chat.bind", agent=AMBER, handle=["slack:U1"])
    private = line("s:1", "Is it broken?", conversation={"id": "D1", "kind": "dm"}, target={"recipient": "U1"})
    here.ask("chat.ingest", lines=[private])
    said = {"in_reply_to": "s:1", "conversation": "C1", "visibility": "channel", "directedness": "ambient"}
    said |= {"idempotency_key": "k", "by": AMBER}
    with pytest.raises(BbError) as refused:
        here.ask("send", text="It is.", **said)
    settle(pair)

    (request,) = there.ask("chat.confirmations")["confirmations"]
    assert request["id"] == refused.value.details["confirmation"]
    there.ask("chat.confirm", request=request["id"])
    settle(pair)
    assert here.ask("chat.confirmations")["confirmations"] == []
    assert here.ask("send", text="It is.", **said)["disposition"] == "responded"
