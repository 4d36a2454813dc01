"""C2A §Event Disposition, items 86 to 97 of the checklist: what becomes of an event, and that something does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, Host, InMemory, message

QUESTION, REQUEST = "Is the deploy blocked?", "Please restart the runner."


def answer(host: Host, event: str, text: str = "It is.", by: str = AMBER, key: str = "k", **more: Any) -> Any:
    return host.send(by, text, key, inReplyTo=event, **{"visibility": "dm", **more})


def three_ways(host: Host, event: str, agent: str = AMBER) -> list[str | None]:
    """What has become of an event: as it is shown, listed, and explained."""
    rows = host.do(list={"agent": agent, "limit": 200})["events"]
    listed = [row["disposition"] for row in rows if row["eventId"] == event]
    return [host.disposition(event, agent), *listed, host.explain(event, agent)["disposition"]]


# -- 86 to 92: each of them


@pytest.mark.parametrize("way", ["send", "resolve", "done"])
def test_c2a_086_what_is_answered_or_done_is_responded(host: Host, way: str):
    host.people()
    host.dm("1", QUESTION)
    if way == "send":
        assert answer(host, "1")["disposition"] == "responded"
    elif way == "resolve":
        assert host.do(resolve={"agent": AMBER, "eventId": "1"})["disposition"] == "responded"
    else:
        assert host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"})["disposition"] == "responded"

    assert three_ways(host, "1") == ["responded"] * 3
    assert host.do(pending=AMBER)["events"] == []
    assert host.sees(AMBER) == []


@pytest.mark.parametrize("way", ["react", "receipt"])
def test_c2a_087_what_is_only_confirmed_is_acknowledged(host: Host, way: str):
    host.people()
    host.dm("1", "thanks!")
    if way == "react":
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "seen"})
    else:
        assert answer(host, "1", "Any time.")["disposition"] == "acknowledged"

    assert three_ways(host, "1") == ["acknowledged"] * 3


@pytest.mark.parametrize("way", ["defer", "queued"])
def test_c2a_088_what_is_put_off_is_deferred(host: Host, way: str):
    host.people()
    host.dm("1", QUESTION)
    if way == "defer":
        host.do(defer={"agent": AMBER, "eventId": "1", "reason": "the deploy runs"})
    else:
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "queued"})

    assert three_ways(host, "1") == ["deferred"] * 3
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]
    host.wait("10s")
    assert host.sees(AMBER) == []


@pytest.mark.parametrize("way", ["claim", "working", "claimed"])
def test_c2a_089_what_is_taken_on_is_claimed(host: Host, way: str):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    if way == "claim":
        host.do(claim={"agent": AMBER, "eventId": "1"})
    else:
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": way})

    assert three_ways(host, "1") == ["claimed"] * 3
    assert host.do(show={"agent": AMBER, "event": "1"})["claim"]["owner"] == AMBER


def test_c2a_090_what_asks_for_nothing_is_ignored(host: Host):
    host.people((BLUE, "@backend"))
    host.says("1", "good morning")
    host.says("2", "@backend ping", mentions=["@backend"])

    assert three_ways(host, "1") == ["ignored"] * 3
    assert host.disposition("2", BLUE) is None
    host.wait("25h")
    host.do(tick={})
    assert three_ways(host, "2", BLUE) == ["ignored"] * 3


def test_c2a_091_what_is_taken_back_is_superseded(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.do(delete={"eventId": "1"})

    assert host.disposition("1") == "superseded"
    assert host.do(show={"agent": AMBER, "event": "1"})["supersededBy"] == "deleted"
    assert host.sees(AMBER) == []


def test_c2a_091_what_was_merged_is_superseded_by_what_it_was_merged_into(host: Host):
    host.people()
    for n, text in enumerate(("can", "you", "look?")):
        host.dm(str(n), text)
    host.wait("4s")
    host.inject()

    assert [host.disposition(event) for event in ("0", "1", "2")] == ["superseded", "superseded", None]
    shown = [host.do(show={"agent": AMBER, "event": event}) for event in ("0", "1")]
    assert [each["supersededBy"] for each in shown] == ["2", "2"]
    assert host.refusal(send=reply("0")).code == "SUPERSEDED"


def reply(event: str, text: str = "It is.", by: str = AMBER, key: str = "k") -> dict[str, Any]:
    return {
        "agent": by,
        "content": text,
        "inReplyTo": event,
        "idempotencyKey": key,
        "visibility": "dm",
        "directedness": "to_other",
    }


def test_c2a_091_an_edit_that_takes_the_name_away_leaves_nothing_to_do(host: Host):
    host.people()
    host.says("1", "U1 can you look?", mentions=["U1"])
    host.do(edit=message("1", "can somebody look?"))

    assert host.triple("1") == "ambient/must_not_respond/tool_mailbox"
    assert host.disposition("1") == "ignored"
    assert host.do(pending=AMBER)["events"] == []


def test_c2a_092_what_a_harness_cannot_do_has_failed_and_says_why(memory: InMemory):
    memory.people()
    memory.dm("1", QUESTION)
    memory.do(connect={"agent": AMBER})
    memory.wait("5s")
    for _ in range(3):
        memory.do(deliver={"agent": AMBER})
        memory.do(acknowledge={"agent": AMBER, "event": "1"})
        memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
        memory.do(turn={"agent": AMBER, "event": "1", "state": "failed"})
    memory.do(tick={})

    assert three_ways(memory, "1") == ["failed"] * 3
    shown = memory.do(show={"agent": AMBER, "event": "1"})
    assert shown["failure"] == "3 turns failed"
    assert shown["phase"] == "closed"


# -- 93: exactly one


def test_c2a_093_what_is_left_lying_is_found(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.dm("2", QUESTION, to=BLUE)
    host.says("3", "good morning")
    host.do(resolve={"agent": BLUE, "eventId": "2"})
    host.wait("25h")
    host.dm("4", QUESTION)

    leaks = host.do(audit={"openOlder": "1d"})["open"]
    assert [(each["eventId"], each["agent"]) for each in leaks] == [("1", AMBER)]
    host.do(resolve={"agent": AMBER, "eventId": "1"})
    assert host.do(audit={"openOlder": "1d"})["open"] == []


@pytest.mark.parametrize("then", ["declined", "seen", "queued", "working"])
def test_c2a_093_what_is_responded_stays_so(host: Host, then: str):
    host.people()
    host.dm("1", QUESTION)
    answer(host, "1")

    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": then}) if then != "working" else host.refusal(
        react={"agent": AMBER, "inReplyTo": "1", "signal": then}
    )

    assert three_ways(host, "1") == ["responded"] * 3
    assert host.refusal(defer={"agent": AMBER, "eventId": "1", "reason": "later"}).code == "NOT_DEFERRABLE"
    host.do(resolve={"agent": AMBER, "eventId": "1", "outcome": "wont_do"})
    assert host.disposition("1") == "responded"


def test_c2a_093_what_is_acknowledged_may_still_be_responded_to(host: Host):
    host.people()
    host.dm("1", "thanks!")
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "seen"})
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"})

    assert host.disposition("1") == "responded"


def test_c2a_093_what_is_ignored_by_its_agent_does_not_come_back(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "declined"})
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"})

    assert three_ways(host, "1") == ["ignored"] * 3


# -- 94 to 96: what each policy ends with


def test_c2a_094_what_must_not_be_answered_stays_ignored_though_it_is_read(host: Host):
    host.people()
    host.says("1", "good morning")
    host.says("2", "U2 please", mentions=["U2"])

    for event in ("1", "2"):
        assert host.disposition(event) == "ignored"
        host.do(read={"agent": AMBER, "eventId": event})
        host.do(react={"agent": AMBER, "inReplyTo": event, "signal": "seen"})
        assert three_ways(host, event) == ["ignored"] * 3
        for signal in ("agree", "done", "queued", "blocked", "declined"):
            host.do(react={"agent": AMBER, "inReplyTo": event, "signal": signal})
            assert host.disposition(event) == "ignored"


def test_c2a_094_unless_it_is_superseded(host: Host):
    host.people()
    host.says("1", "U2 please", mentions=["U2"])
    host.do(edit=message("1", "U1 please", mentions=["U1"]))
    assert host.triple("1", BLUE) == "to_other/must_not_respond/tool_mailbox"
    assert host.disposition("1", BLUE) == "ignored"

    host.do(delete={"eventId": "1"})

    assert host.disposition("1", BLUE) == "superseded"


def test_c2a_095_thanks_end_acknowledged_or_ignored(host: Host):
    host.people()
    host.dm("1", "thanks!")
    host.dm("2", "thank you so much")
    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "agree"})
    host.wait("25h")
    host.do(tick={})

    assert [host.disposition(event) for event in ("1", "2")] == ["acknowledged", "ignored"]
    assert host.do(audit={})["counters"].get("overSilence", 0) == 0


def test_c2a_096_what_is_owed_is_never_ignored_in_silence(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.inject()
    for _ in range(4):
        host.wait("13h")
        host.do(tick={})

    assert host.disposition("1") is None
    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["open"], found["originalPolicy"]) == (True, "must_respond")
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]
    assert host.do(audit={})["counters"]["overSilence"] == 1


@pytest.mark.parametrize("way", ["declined", "wont_do"])
def test_c2a_096_who_refuses_says_so_and_the_next_one_is_asked_at_once(host: Host, way: str):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.says("1", "U1 can you look?", mentions=["U1"])
    if way == "declined":
        host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": way})
    else:
        host.do(resolve={"agent": AMBER, "eventId": "1", "outcome": way, "note": "not ours"})

    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["disposition"], found["deviation"]) == ("ignored", True)
    asked = [row for row in host.do(list={"agent": CORAL})["events"] if row.get("linked") == "1"]
    assert [(row["reason"], row["policy"]) for row in asked] == [("escalated", "must_respond")]


# -- 97: what fully satisfies


@pytest.mark.parametrize(
    ("said", "intent", "signal", "becomes"),
    [
        (QUESTION, "question", "seen", None),
        (REQUEST, "message", "seen", None),
        (QUESTION, "question", "agree", None),
        ("May I merge it?", "approval_request", "agree", "acknowledged"),
        (REQUEST, "message", "agree", "acknowledged"),
    ],
)
def test_c2a_097_only_what_satisfies_a_request_closes_it(
    host: Host, said: str, intent: str, signal: str, becomes: str | None
):
    host.people()
    host.dm("1", said, intent=intent)
    assert host.triple("1").split("/")[1] == "must_respond"

    host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": signal})

    assert host.disposition("1") == becomes
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ([] if becomes else ["1"])
