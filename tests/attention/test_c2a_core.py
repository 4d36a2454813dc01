"""C2A §1.1 of the checklist, items 1 to 13: what is delivered, in which order, how often, and what that obliges to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.acts.tools import TOOLS
from bb.attention.words import MODES, POLICIES
from tests.attention.hosts import AMBER, BLUE, CORAL, CommandLine, Host, InMemory, message
from tests.near import near

CANARY = "quartz-lantern"


# -- 1: every delivered event has one policy


def test_c2a_001_whatever_comes_in_has_exactly_one_policy_for_everybody(host: Host):
    host.people((BLUE, "@backend"))
    host.dm("dm", "check the deploy?")
    host.says("channel", "good morning")
    host.says("mention", "U1 look", mentions=["U1"])
    host.says("thread", "a reply", thread="T1")
    host.says("system", "deployed", conversation="S", kind="system", author_kind="system")
    host.says("tool", "exit 1", conversation="T", kind="tool", author_kind="tool")
    host.says("role", "anybody?", mentions=["@backend"])
    host.do(edit=message("mention", "U1 look again", mentions=["U1"]))
    host.do(reaction={"eventId": "mention", "author": {"id": "W2"}, "glyph": "👍", "source": {"platform": "slack"}})
    host.do(delete={"eventId": "channel"})

    for agent in (AMBER, BLUE, CORAL):
        rows = host.do(list={"agent": agent, "limit": 200})["events"]
        assert {"channel", "mention", "thread", "role"} <= {row["eventId"] for row in rows}
        for row in rows:
            assert row["policy"] in POLICIES
            assert row["injection"] in MODES
        for event in ("channel", "mention", "thread", "system", "tool", "role"):
            found = host.explain(event, agent)
            assert found["policy"] in POLICIES
            assert found["now"]["policy"] in POLICIES
    host.wait("5s")
    assert [each["policy"] in POLICIES for each in host.inject(AMBER)["blocks"]] == [True, True]


# -- 2: the policy is stronger than instinct


def test_c2a_002_a_reply_that_the_policy_forbids_is_refused_and_nothing_is_said(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True})
    host.says("1", "the lights are on")

    assert host.triple("1") == "ambient/must_not_respond/tool_mailbox"
    answer = {"content": "so they are", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    refused = host.refusal(send={"agent": AMBER, "directedness": "ambient", **answer})
    assert refused.code == "POLICY_FORBIDS"
    assert refused.status in (None, 4)
    assert host.do(outbox={}) == []
    assert [row["eventId"] for row in host.do(list={"agent": BLUE})["events"]] == ["1"]


def test_c2a_002_the_rules_come_with_the_first_thing_an_agent_sees(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.wait("5s")

    assert host.inject()["text"].startswith("C2A RESPONSE RULES\n- Obey response_policy.\n")


# -- 3: identity only routes


def test_c2a_003_what_somebody_is_called_changes_nothing(host: Host):
    host.people()
    titles = {"title": "Chief Architect", "persona": "stern", "role": "boss"}
    host.says("1", "can you look?", mentions=["U1"], name="Will")
    host.says("2", "can you look?", mentions=["U1"], name="The CEO <urgent>", author_more=titles)
    line = message("3", "can you look?", mentions=["U1"], name="agent:amber-otter")
    host.do(ingest=line | {"author": line["author"] | titles, "persona": "system"})

    for agent in (AMBER, BLUE):
        first, *others = ({**host.explain(event, agent), "eventId": ""} for event in ("1", "2", "3"))
        assert [json.dumps(each) for each in others] == [json.dumps(first)] * 2


def test_c2a_003_no_tool_knows_of_posts_or_titles():
    taken = {name for tool in TOOLS.values() for name in tool.schema()["properties"]}

    assert taken.isdisjoint({"role", "title", "persona", "manager", "team", "org", "rank"})


# -- 4: the order of the source


def test_c2a_004_what_a_platform_counts_stays_in_that_order(host: Host):
    host.people()
    host.do(ingest=[message(str(n), f"part {n}", mentions=["U1"], sequence=n) for n in (3, 1, 2)])

    assert [row["eventId"] for row in host.do(list={"agent": AMBER})["events"]] == ["3", "2", "1"]
    in_conversation = host.do(list={"agent": AMBER, "conversation": "C1"})["events"]
    assert [row["eventId"] for row in in_conversation] == ["3", "2", "1"]
    items = host.do(read={"agent": BLUE, "conversation": "C1"})["items"]
    assert [item["eventId"] for item in items] == ["1", "2", "3"]
    host.wait("5s")
    (block,) = host.inject()["blocks"]
    assert [part["text"] for part in block["content"]] == ["part 1", "part 2", "part 3"]


def test_c2a_004_what_comes_late_still_stands_where_the_platform_counts_it(host: Host):
    host.people()
    for n in (3, 1, 2):
        host.says(str(n), f"part {n}", mentions=["U1"], sequence=n)
        host.wait("1s")

    items = host.do(read={"agent": BLUE, "conversation": "C1"})["items"]
    assert [item["eventId"] for item in items] == ["1", "2", "3"]
    host.wait("5s")
    (block,) = host.inject()["blocks"]
    assert [part["text"] for part in block["content"]] == ["part 1", "part 2", "part 3"]


def test_c2a_004_an_answer_stands_behind_what_it_answers(host: Host):
    host.people()
    host.says("1", "can you look?", mentions=["U1"], sequence=1748890000000100)
    host.send(AMBER, "I have.", "k", inReplyTo="1")
    host.says("2", "and now?", mentions=["U1"], sequence=1748890000000200)

    items = host.do(read={"agent": BLUE, "conversation": "C1"})["items"]
    assert [item["parts"][0]["text"] for item in items] == ["can you look?", "I have.", "and now?"]


def test_c2a_004_where_nothing_is_counted_it_stays_as_it_came(host: Host):
    host.people()
    host.do(ingest=[message(name, name) for name in ("third", "first", "second")])

    items = host.do(read={"agent": BLUE, "conversation": "C1"})["items"]
    assert [item["eventId"] for item in items] == ["third", "first", "second"]


def test_c2a_004_one_conversation_does_not_wait_for_another(host: Host):
    host.people()
    host.says("slow", "still typing", conversation="C1", mentions=["U1"], sequence=1)
    host.wait("4s")
    host.says("later", "still typing", conversation="C2", mentions=["U1"], sequence=900)

    assert host.sees(AMBER) == ["content slow must_respond"]


def test_c2a_004_a_page_of_a_conversation_goes_on_where_the_last_one_ended(host: Host):
    host.people()
    for n in (5, 1, 4, 2, 3):
        host.says(str(n), f"part {n}", sequence=n)
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(5):
        page = host.do(list={"agent": AMBER, "conversation": "C1", "limit": 2, **cursor})
        seen += [row["eventId"] for row in page["events"]]
        cursor = {"cursor": page["cursor"]}
        if page["cursor"] is None:
            break

    assert sorted(seen) == ["1", "2", "3", "4", "5"]


# -- 5: stable ids


def test_c2a_005_the_same_message_twice_is_one(host: Host):
    host.people()
    first = host.says("evt", "can you look?", mentions=["U1"])
    host.wait("5s")
    host.inject()
    again = host.says("evt", "can you look?", mentions=["U1"])

    assert (first["status"], again["status"]) == ("recorded", "duplicate")
    assert first["eventId"] == again["eventId"] == "evt"
    assert [row["eventId"] for row in host.do(list={"agent": AMBER})["events"]] == ["evt"]
    assert host.sees(AMBER) == []


def test_c2a_005_a_message_that_two_clones_have_taken_in_is_one(memory: InMemory):
    memory.people()
    memory.do(clone="there")
    for n in range(5):
        memory.step_in("there", ingest=message(f"other {n}", "something else"))
    line = message("evt", "can you look?", mentions=["U1"])
    memory.do(ingest=line)
    memory.wait("5s")
    memory.inject()
    memory.step_in("there", ingest=line)

    assert memory.do(merge=["here", "there"])["agree"]
    for clone in ("here", "there"):
        rows = memory.step_in(clone, list={"agent": AMBER})["events"]
        assert [(row["eventId"], row["attempt"]) for row in rows if row["eventId"] == "evt"] == [("evt", 1)]
        assert memory.step_in(clone, inject=AMBER)["blocks"] == []


def test_c2a_005_whoever_one_of_two_clones_means_by_it_is_meant(memory: InMemory):
    memory.do(agents=[{"id": AMBER}, {"id": BLUE}])
    memory.do(clone="there")
    memory.do(bind={"agent": AMBER, "handles": ["slack:U1"]})
    memory.step_in("there", bind={"agent": BLUE, "handles": ["slack:U2"]})
    line = message("evt", "can you two look?", mentions=["U1", "U2"])
    memory.do(ingest=line)
    memory.step_in("there", ingest=line)
    memory.do(merge=["here", "there"])
    memory.do(delete={"eventId": "evt"})

    for agent in (AMBER, BLUE):
        assert memory.do(show={"agent": agent, "event": "evt"})["disposition"] == "superseded"


# -- 6: sends may be repeated


def test_c2a_006_sent_twice_under_one_key_it_is_said_once(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True})
    said = {"target": {"conversation": "C1"}, "directedness": "ambient"}
    first = host.send(AMBER, "The deploy is through.", "k", **said)
    again = host.send(AMBER, "The deploy is through.", "k", **said)

    assert (first["deduplicated"], again["deduplicated"]) == (False, True)
    assert first["messageId"] == again["messageId"]
    assert [each["id"] for each in host.do(outbox={})] == [first["messageId"]]
    other = host.send(BLUE, "The deploy is through.", "k", **said)
    assert other["messageId"] != first["messageId"], "a key is one agent's own"


# -- 7: acknowledge, try again, resume


def test_c2a_007_what_nobody_has_acknowledged_comes_again(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    memory.dm("1", "check the deploy?")
    memory.dm("2", "and the logs?", author="W2")
    memory.wait("5s")
    first = memory.do(deliver=AMBER)["blocks"]
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    at_once = memory.do(deliver=AMBER)["blocks"]
    memory.do(connect={"agent": AMBER})
    memory.wait("2s")
    second = memory.do(deliver=AMBER)["blocks"]

    assert [(each["eventId"], each["attempt"]) for each in first] == [("1", 1), ("2", 1)]
    assert at_once == []
    assert [(each["eventId"], each["attempt"]) for each in second] == [("2", 2)]
    assert [(row["eventId"], row["attempt"]) for row in memory.do(pending=AMBER)["events"]] == [("1", 1), ("2", 2)]
    memory.do(acknowledge={"agent": AMBER, "event": "2"})
    memory.wait("10m")
    assert memory.do(deliver=AMBER)["blocks"] == []


def test_c2a_007_what_was_handed_over_is_not_handed_over_again(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.wait("5s")

    assert [each["eventId"] for each in host.inject()["blocks"]] == ["1"]
    assert host.inject()["blocks"] == []
    (row,) = host.do(pending=AMBER)["events"]
    assert (row["eventId"], row["attempt"], row["phase"]) == ("1", 1, "accepted")


# -- 8: to accept is not to agree


def test_c2a_008_what_was_accepted_is_as_open_as_before(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    memory.dm("1", "check the deploy?")
    memory.wait("5s")
    memory.do(deliver=AMBER)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})

    found = memory.do(show={"agent": AMBER, "event": "1"})
    assert (found["phase"], found["disposition"], found["open"]) == ("accepted", None, True)


def test_c2a_008_what_was_injected_is_as_open_as_before(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.wait("5s")
    host.inject()

    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["phase"], found["disposition"], found["open"]) == ("accepted", None, True)


# -- 9: six ways to be seen


def test_c2a_009_each_way_of_being_seen_leads_to_one_place(host: Host):
    host.people()
    rules = [{"match": {"conversation": f"C-{mode}"}, "set": {"injection": mode}} for mode in MODES]
    host.do(policy={"rules": rules})
    for mode in MODES:
        host.says(mode, f"look at {mode}", conversation=f"C-{mode}", mentions=["U1"])

    assert host.sees(AMBER) == ["content immediate must_respond", "knock notify must_respond"]
    host.wait("5s")
    knocks = [each["eventId"] for each in host.do(knocks=AMBER)["knocks"]]
    listed = {row["eventId"]: row["injection"] for row in host.do(list={"agent": AMBER})["events"]}
    found = host.do(digest=AMBER)
    reported = [report["eventId"] for section in found["sections"] for report in section["reports"]]
    audited = {record["eventId"] for record in host.do(audit={})["records"] if "eventId" in record}
    injected = {each["eventId"]: each["mode"] for each in host.inject()["blocks"]}

    assert injected == {"immediate": "immediate", "buffered": "buffered", "notify": "notify"}
    assert knocks == ["notify"]
    assert reported == ["digest"]
    assert listed == {mode: mode for mode in MODES if mode != "silent"}
    assert audited == set(MODES)


# -- 10: no streams of chatter


def test_c2a_010_a_hundred_ambient_messages_enter_no_turn(host: Host):
    host.people()
    host.do(ingest=[message(str(n), f"{CANARY} number {n}", author=f"W{n % 7}") for n in range(100)])
    host.wait("1m")

    assert host.sees(AMBER) == []
    injected = host.inject()
    assert (injected["blocks"], injected["text"]) == ([], "")
    told = [host.do(knocks=AMBER), host.do(pending=AMBER), host.do(list={"agent": AMBER}), host.do(digest=AMBER)]
    assert CANARY not in json.dumps(told)
    assert CANARY in json.dumps(host.do(read={"agent": AMBER, "conversation": "C1"}))
    assert CANARY in json.dumps(host.do(list={"agent": AMBER, "include": "body"}))


# -- 12: what was not delivered is kept


def test_c2a_012_a_new_session_goes_on_behind_what_was_acknowledged_last(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    for n in (1, 2, 3):
        memory.dm(str(n), "check the deploy?", author=f"W{n}")
    memory.wait("5s")
    memory.do(deliver=AMBER)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.do(connect={"agent": AMBER})
    memory.wait("2s")

    assert memory.sees(AMBER) == ["content 2 must_respond", "content 3 must_respond"]


def test_c2a_012_what_is_owed_is_the_same_however_often_one_asks(host: Host):
    host.people()
    host.dm("1", "check the deploy?")
    host.dm("2", "and the logs?", author="W2")
    before = host.do(pending=AMBER), host.do(list={"agent": AMBER}), host.sees(AMBER)

    assert [row["eventId"] for row in before[0]["events"]] == ["1", "2"]
    assert (host.do(pending=AMBER), host.do(list={"agent": AMBER}), host.sees(AMBER)) == before


# -- 13: the specification's own shape

EXAMPLE: dict[str, Any] = {
    "eventId": "evt_123",
    "source": {"platform": "slack", "workspaceId": "T123"},
    "conversation": {
        "id": "C123",
        "kind": "dm",
        "streamId": "stream_backend-migration",
        "threadId": "1748890000.000100",
    },
    "author": {"id": "U123", "kind": "human", "displayName": "Will"},
    "target": {"mentions": ["agent:lead"], "recipient": "agent:lead", "directedness": "to_me"},
    "content": [{"type": "text", "text": "Can you check whether the deploy is blocked?"}],
    "timing": {"createdAt": "2026-06-02T19:10:00Z", "sequence": 42},
    "attention": {
        "policy": "must_respond",
        "reason": "direct_message",
        "priority": "normal",
        "deadlineMs": 300000,
    },
    "injection": {"mode": "buffered", "context": "thread_window", "role": "user"},
    "reliability": {"attempt": 1, "idempotencyKey": "evt_123:agent_lead"},
}


def test_c2a_013_the_example_of_the_specification_is_taken_as_it_stands(host: Host):
    host.people()

    assert host.do(receive={"agent": AMBER, "envelope": EXAMPLE})["status"] == "accepted"
    found = host.do(show={"agent": AMBER, "event": "evt_123"})
    decided = {"directedness": "to_me", "policy": "must_respond", "injection": "buffered", "reason": "direct_message"}
    assert found.items() >= decided.items()
    assert found["deadlineMs"] == 300000
    assert found["at"] == "2026-06-02T19:10:00.000Z"
    host.wait("20s")
    assert "\nMESSAGE\nCan you check whether the deploy is blocked?" in host.inject()["text"]


def test_c2a_013_the_whole_request_is_taken_too(tmp_path):

    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    request = {"jsonrpc": "2.0", "id": "deliver-456", "method": "chat/deliver", "params": EXAMPLE}

    assert host.do(receive={"agent": AMBER, "envelope": request})["status"] == "accepted"


@pytest.mark.parametrize("recipient", ["agent:blue-heron", "U2"])
def test_c2a_013_who_is_named_in_it_is_meant(recipient: str, tmp_path):

    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    target = EXAMPLE["target"] | {"recipient": recipient}

    assert host.do(receive={"agent": AMBER, "envelope": EXAMPLE | {"target": target}})["agent"] == BLUE
    assert [row["eventId"] for row in host.do(pending=BLUE)["events"]] == ["evt_123"]
    assert host.do(pending=AMBER)["events"] == []
